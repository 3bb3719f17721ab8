/* Compilers: their tables, and the results of engines made of graphs of all kinds that
** they say they take. A graph that is declined is counted, and no fault. */
#include "compilers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the check says: how much of it the compiler took. */
static void say_how_many(void) {
  static char none[96];
  snprintf(none, sizeof none, "the compiler declined all %d graphs: nodes run one by one",
           declined);
  if (compiled == 0) absent(declined ? none : "no schema that plug-check has graphs for");
  note("%d of %d graphs compiled", compiled, compiled + declined);
}

/* ---- tables ---- */

static void check_schemas(void) {
  struct schema schema;
  expect(compiled_count == 0 || compiled_schemas, "there are %u schemas, but no list",
         compiled_count);
  for (uint32_t i = 0; i < compiled_count; i++) {
    expect(compiled_schemas[i] != NULL, "schema %u is NULL", i);
    const char *wrong = parse_schema(compiled_schemas[i], &schema);
    expect(!wrong, "schema %u is '%s': %s", i, compiled_schemas[i], wrong);
    for (uint32_t n = 0; n < i; n++)
      expect(strcmp(compiled_schemas[n], compiled_schemas[i]) != 0,
             "%s is in the list twice", schema.name);
  }
}

static void tables(void) {
  const uint64_t known = PLUG_COMPILER_SYMBOLS | PLUG_COMPILER_STRIDED |
                         PLUG_COMPILER_UPDATES | PLUG_COMPILER_EXCLUSIVE |
                         PLUG_COMPILER_HOST;
  need_compiler();
  expect((compiler.flags & ~known) == 0, "flags are 0x%llx, which plug.h does not have",
         (unsigned long long)(compiler.flags & ~known));
  expect(compiler.schemas || compiler.list_schemas,
         "it has neither schemas nor list_schemas");
  expect(module.runtime || (compiler.flags & PLUG_COMPILER_HOST),
         "it lacks PLUG_COMPILER_HOST, and the plugin has no device");
  const int on_disk = (compiler.identity != NULL) + (compiler.engine_save != NULL) +
                      (compiler.engine_load != NULL);
  expect(on_disk == 0 || on_disk == 3,
         "identity, engine_save and engine_load are all or none");
  expect(!compiler.engine_pack || compiler.engine_info,
         "engine_pack without engine_info is never called: info.packed says for what");
  check_schemas();
}

/* ---- graphs of one node ---- */

static bool is_tensor(const struct input *input) {
  return input->value.tag == PLUG_VALUE_TENSOR || input->value.tag == PLUG_VALUE_TENSORS;
}

/* The example's tensors as inputs of the graph and of the call; their references. */
static void add_tensors(struct graph *graph, struct engine_call *call, plug_value *arg,
                        const struct input *input, enum variation variation,
                        bool is_pointwise) {
  int64_t refs[MOST_ITEMS], strides[DIMS];
  for (uint32_t n = 0; n < input->value.count; n++) {
    const struct array *array = &input->arrays[n];
    strides_of_input(array, variation, call->tensor_count, is_pointwise, strides);
    refs[n] = add_graph_input(graph, input->dtype, array->ndim, array->sizes, strides, 0);
    *add_engine_input(call, input->dtype) = *array;
  }
  *arg = (plug_value){.tag = PLUG_VALUE_REF, .as.i = refs[0]};
  if (input->value.tag == PLUG_VALUE_TENSORS)
    set_refs(graph, arg, refs, input->value.count);
}

/* False if there is no such node. */
static bool add_example(struct graph *graph, struct engine_call *call, int32_t op,
                        const struct schema *schema, const struct example *example,
                        enum variation variation) {
  int64_t strides[DIMS];
  plug_node *node = add_graph_node(graph, op, compiled_schemas[op], schema->arg_count,
                                   schema->result_count);
  for (uint32_t i = 0; i < schema->arg_count; i++) {
    const struct input *input = find_input(example, schema->args[i].name);
    plug_value *arg = node_arg(graph, node, i);
    if (!input) {
      if (!take_default(&schema->args[i], arg)) return false;
    } else if (is_tensor(input)) {
      add_tensors(graph, call, arg, input, variation, example->compute != 0);
    } else {
      *arg = input->value;
      if (arg->tag == PLUG_VALUE_INTS) arg->as.ints = input->ints;
    }
  }
  for (uint32_t i = 0; i < schema->result_count; i++) {
    const struct array *array = &example->results[i];
    strides_of_result(array, variation, example->compute != 0, strides);
    add_graph_output(graph,
                     add_graph_result(graph, node, i, example->result_dtypes[i],
                                      array->ndim, array->sizes),
                     strides, -1);
    *add_engine_result(call, example->result_dtypes[i]) = *array;
  }
  call->example.compute = example->compute;
  return true;
}

static void try_example(int32_t op, const struct operation *operation,
                        const struct schema *schema, const struct example *example,
                        enum variation variation) {
  static struct engine_call call;
  char what[WORD + 32];
  if (!suits(operation, schema, example)) return;
  snprintf(what, sizeof what, "an engine of %s", schema->name);
  memset(&call, 0, sizeof call);
  call.what = what;
  struct graph *graph = new_graph();
  if (!add_example(graph, &call, op, schema, example, variation)) {
    free_graph(graph);
    return;
  }
  plug_engine engine = compile_graph(graph, what);
  if (!engine) return;
  run_engine_in_all_ways(engine, &call, variation);
  destroy_engine(engine);
}

static void try_each_schema(enum variation variation) {
  static const plug_dtype dtypes[] = {PLUG_F32, PLUG_F64, PLUG_BF16,
                                      PLUG_F16, PLUG_I64, PLUG_I32};
  static struct example example;
  struct schema schema, whole;
  for (uint32_t op = 0; op < compiled_count; op++) {
    if (parse_schema(compiled_schemas[op], &schema)) continue;
    const struct operation *operation = find_operation(schema.name);
    if (!operation || parse_schema(operation->schema, &whole)) continue;
    if (whole.result_count != schema.result_count) continue;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
      if (!is_float(dtypes[d]) && !operation->takes_integers) continue;
      for (int round = 0; round < ROUNDS; round++) {
        memset(&example, 0, sizeof example);
        if (operation->make(operation, &example, dtypes[d], variation, round))
          try_example((int32_t)op, operation, &schema, &example, variation);
      }
    }
  }
  say_how_many();
}

static void nodes(void) {
  need_compiler_on_device();
  try_each_schema(PLAIN);
}

static void strided(void) {
  need_compiler_on_device();
  if (!(compiler.flags & PLUG_COMPILER_STRIDED))
    absent("no PLUG_COMPILER_STRIDED: the host makes inputs and outputs contiguous");
  try_each_schema(STRIDED);
}

/* ---- graphs of several nodes ---- */

/* Functions that enlarge no error, so that a chain of them can be compared. */
static const char *const tame[] = {"aten::tanh", "aten::sigmoid", "aten::sin",
                                   "aten::cos",  "aten::relu",    "aten::neg",
                                   "aten::abs",  "aten::erf"};
enum { TAME = sizeof tame / sizeof *tame };

/* Where the schema of that name with so many arguments stands; -1: nowhere. */
static int32_t find_op(const char *name, uint32_t arg_count) {
  struct schema schema;
  for (uint32_t op = 0; op < compiled_count; op++) {
    if (parse_schema(compiled_schemas[op], &schema) || strcmp(schema.name, name) != 0)
      continue;
    if (schema.arg_count == arg_count && schema.result_count == 1) return (int32_t)op;
  }
  return -1;
}

static uint32_t find_tame(int32_t ops[TAME], double (*functions[TAME])(double)) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < TAME; i++) {
    const int32_t op = find_op(tame[i], 1);
    if (op < 0) continue;
    functions[count] = find_operation(tame[i])->function;
    ops[count++] = op;
  }
  return count;
}

static int32_t add_unary(struct graph *graph, int32_t op, int32_t of, int32_t ndim,
                         const int64_t *sizes) {
  plug_node *node = add_graph_node(graph, op, compiled_schemas[op], 1, 1);
  *node_arg(graph, node, 0) = (plug_value){.tag = PLUG_VALUE_REF, .as.i = of};
  return add_graph_result(graph, node, 0, PLUG_F32, ndim, sizes);
}

/* aten::mul.Tensor, or -1. */
static int32_t find_product(void) { return find_op("aten::mul.Tensor", 2); }

static int32_t add_product(struct graph *graph, int32_t a, int32_t b, int32_t ndim,
                           const int64_t *sizes) {
  const int32_t op = find_product();
  plug_node *node = add_graph_node(graph, op, compiled_schemas[op], 2, 1);
  *node_arg(graph, node, 0) = (plug_value){.tag = PLUG_VALUE_REF, .as.i = a};
  *node_arg(graph, node, 1) = (plug_value){.tag = PLUG_VALUE_REF, .as.i = b};
  return add_graph_result(graph, node, 0, PLUG_F32, ndim, sizes);
}

/* All of the compiler's tame functions, one after the other, of a tensor. */
struct chain {
  int32_t ops[TAME];
  double (*functions[TAME])(double);
  uint32_t count;
};

static struct chain need_chain(void) {
  struct chain chain;
  chain.count = find_tame(chain.ops, chain.functions);
  if (chain.count == 0) absent("no function of one tensor that plug-check has graphs of");
  return chain;
}

static int32_t add_chain(struct graph *graph, const struct chain *chain, int32_t from,
                         int32_t ndim, const int64_t *sizes) {
  for (uint32_t i = 0; i < chain->count; i++)
    from = add_unary(graph, chain->ops[i], from, ndim, sizes);
  return from;
}

static double apply_chain(const struct chain *chain, double x) {
  for (uint32_t i = 0; i < chain->count; i++) x = (double)(float)chain->functions[i](x);
  return x;
}

static void fill_row(struct array *array, int32_t ndim, int64_t a, int64_t b) {
  *array = (struct array){.ndim = ndim, .sizes = {a, b}};
  for (int64_t i = 0; i < count_of(array); i++)
    array->at[i] = (double)(float)((double)random_below(4001) / 1000 - 2);
}

/* x -> chain -> output, of a contiguous tensor of these sizes. */
static struct graph *chain_graph(const struct chain *chain, int32_t ndim,
                                 const int64_t *sizes, bool is_update) {
  struct graph *graph = new_graph();
  const int32_t x = add_graph_input(graph, PLUG_F32, ndim, sizes, NULL, 0);
  add_graph_output(graph, add_chain(graph, chain, x, ndim, sizes), NULL,
                   is_update ? 0 : -1);
  return graph;
}

static void set_chain_call(struct engine_call *call, const struct chain *chain,
                           int32_t ndim, int64_t a, int64_t b) {
  memset(call, 0, sizeof *call);
  call->what = "an engine of several functions";
  call->example.compute = PLUG_F32;
  struct array *x = add_engine_input(call, PLUG_F32), *y;
  fill_row(x, ndim, a, b);
  y = add_engine_result(call, PLUG_F32);
  *y = *x;
  for (int64_t i = 0; i < count_of(y); i++) y->at[i] = apply_chain(chain, x->at[i]);
}

static void chains(void) {
  static const int64_t shapes[][2] = {{5, 1}, {3, 4}, {0, 4}, {1, 1}, {31, 33}};
  static struct engine_call call;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    set_chain_call(&call, &chain, 2, shapes[i][0], shapes[i][1]);
    plug_engine engine =
        compile_graph(chain_graph(&chain, 2, shapes[i], false), call.what);
    if (!engine) continue;
    run_engine_in_all_ways(engine, &call, PLAIN);
    destroy_engine(engine);
  }
  say_how_many();
}

/* y = f(x) and z = f(f(x)) * y, both outputs; an input that nobody uses; an output that
 *is
 ** an input. */
static void outputs(void) {
  static const int64_t sizes[] = {3, 4};
  static struct engine_call call;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  for (int with_input = 0; with_input < 2; with_input++) {
    struct graph *graph = new_graph();
    memset(&call, 0, sizeof call);
    call.what = with_input ? "an engine whose output is an input"
                           : "an engine with several outputs";
    const int32_t x = add_graph_input(graph, PLUG_F32, 2, sizes, NULL, 0);
    add_graph_input(graph, PLUG_F32, 2, sizes, NULL, 0);
    fill_row(add_engine_input(&call, PLUG_F32), 2, 3, 4);
    fill_row(add_engine_input(&call, PLUG_F32), 2, 3, 4);
    const int32_t y = add_chain(graph, &chain, x, 2, sizes);
    int32_t z = add_unary(graph, chain.ops[0], y, 2, sizes);
    const bool has_product = find_product() >= 0;
    if (has_product) z = add_product(graph, z, y, 2, sizes);
    add_graph_output(graph, z, NULL, -1);
    add_graph_output(graph, y, NULL, -1);
    if (with_input) add_graph_output(graph, x, NULL, -1);
    struct array *of_z = add_engine_result(&call, PLUG_F32);
    struct array *of_y = add_engine_result(&call, PLUG_F32);
    *of_z = *of_y = call.example.inputs[0].arrays[0];
    for (int64_t i = 0; i < count_of(of_y); i++) {
      of_y->at[i] = apply_chain(&chain, of_y->at[i]);
      of_z->at[i] = chain.functions[0](of_y->at[i]) * (has_product ? of_y->at[i] : 1);
    }
    if (with_input)
      *add_engine_result(&call, PLUG_F32) = call.example.inputs[0].arrays[0];
    call.example.compute = PLUG_F32;
    plug_engine engine = compile_graph(graph, call.what);
    if (!engine) continue;
    run_engine_in_all_ways(engine, &call, PLAIN);
    destroy_engine(engine);
  }
  say_how_many();
}

static void constants(void) {
  static const int64_t sizes[] = {3, 4};
  static struct engine_call call;
  static struct array constant;
  need_compiler_on_device();
  if (find_product() < 0) absent("no aten::mul.Tensor to multiply by a constant with");
  struct graph *graph = new_graph();
  memset(&call, 0, sizeof call);
  call.what = "an engine with a constant";
  call.example.compute = PLUG_F32;
  fill_row(&constant, 2, 3, 4);
  const int32_t x = add_graph_input(graph, PLUG_F32, 2, sizes, NULL, 0);
  const int32_t c = add_graph_constant(graph, PLUG_F32, &constant);
  add_graph_output(graph, add_product(graph, x, c, 2, sizes), NULL, -1);
  fill_row(add_engine_input(&call, PLUG_F32), 2, 3, 4);
  struct array *y = add_engine_result(&call, PLUG_F32);
  *y = call.example.inputs[0].arrays[0];
  for (int64_t i = 0; i < count_of(y); i++) y->at[i] *= constant.at[i];
  plug_engine engine = compile_graph(graph, call.what);
  if (engine) {
    run_engine_in_all_ways(engine, &call, PLAIN);
    destroy_engine(engine);
  }
  say_how_many();
}

/* ---- symbols, updates ---- */

/* [s0, 4], and [3, s0], whose stride is the symbol. */
static void symbols(void) {
  static struct engine_call call;
  need_compiler_on_device();
  if (!(compiler.flags & PLUG_COMPILER_SYMBOLS))
    absent("no PLUG_COMPILER_SYMBOLS: the host has one engine for each set of sizes");
  const struct chain chain = need_chain();
  for (int first = 1; first >= 0; first--) {
    struct graph *graph = new_graph();
    add_graph_symbol(graph, 0, 64, 5);
    const int64_t sizes[] = {first ? -1 : 3, first ? 4 : -1};
    const int64_t strides[] = {first ? 4 : -1, 1};
    const int32_t x = add_graph_input(graph, PLUG_F32, 2, sizes, strides, 0);
    add_graph_output(graph, add_chain(graph, &chain, x, 2, sizes), strides, -1);
    plug_engine engine = compile_graph(graph, "an engine for sizes that are symbols");
    if (!engine) continue;
    static const int64_t given[] = {5, 1, 17, 0, 5};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
      set_chain_call(&call, &chain, 2, first ? given[i] : 3, first ? 4 : given[i]);
      call.what = "an engine for sizes that are symbols";
      add_engine_symbol(&call, given[i]);
      run_engine_in_all_ways(engine, &call, PLAIN);
    }
    destroy_engine(engine);
  }
  say_how_many();
}

static void updates(void) {
  static const int64_t sizes[] = {3, 4};
  static struct engine_call call;
  need_compiler_on_device();
  if (!(compiler.flags & PLUG_COMPILER_UPDATES))
    absent("no PLUG_COMPILER_UPDATES: the host copies what is updated");
  const struct chain chain = need_chain();
  plug_engine engine =
      compile_graph(chain_graph(&chain, 2, sizes, true), "an engine that updates");
  if (engine) {
    set_chain_call(&call, &chain, 2, 3, 4);
    call.what = "an engine that updates its input";
    run_engine(engine, &call, ALIAS, LOOK_AT_VALUES);
    run_engine(engine, &call, ALIAS, LOOK_AT_VALUES);
    destroy_engine(engine);
  }
  say_how_many();
}

/* ---- several engines, threads, the host ---- */

static void several(void) {
  static const int64_t small[] = {3, 4}, large[] = {31, 33};
  static struct engine_call small_call, large_call;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  set_chain_call(&small_call, &chain, 2, 3, 4);
  set_chain_call(&large_call, &chain, 2, 31, 33);
  plug_engine one = compile_graph(chain_graph(&chain, 2, small, false), "an engine");
  plug_engine two = compile_graph(chain_graph(&chain, 2, large, false), "a second one");
  plug_engine same = compile_graph(chain_graph(&chain, 2, small, false), "one like it");
  if (one && two && same) {
    for (int i = 0; i < 2; i++) {
      run_engine(one, &small_call, PLAIN, LOOK_AT_VALUES);
      run_engine(two, &large_call, PLAIN, LOOK_AT_VALUES);
    }
    destroy_engine(one);
    run_engine(same, &small_call, PLAIN, LOOK_AT_VALUES);
    run_engine(two, &large_call, PLAIN, LOOK_AT_VALUES);
    destroy_engine(two);
    run_engine(same, &small_call, PLAIN, LOOK_AT_VALUES);
    destroy_engine(same);
  }
  say_how_many();
}

enum { ROW = 3001, RUNNERS = 4, RUNS = 10 };

struct runner {
  plug_engine engine;
  const struct chain *chain;
  uint32_t seed;
};

static void compare_row(const struct chain *chain, const float *x, const float *y) {
  for (int i = 0; i < ROW; i++) {
    const double want = apply_chain(chain, (double)x[i]);
    expect(fabs((double)y[i] - want) <= tolerance_of(PLUG_F32) * (1 + fabs(want)),
           "element %d is %.9g, not %.9g", i, (double)y[i], want);
  }
}

static void run_row(const struct chain *chain, plug_engine engine, int32_t on,
                    uint32_t seed) {
  float *x = malloc(ROW * sizeof *x), *y = malloc(ROW * sizeof *y);
  if (!x || !y) fail("there is no memory left");
  for (uint32_t i = 0; i < ROW; i++)
    x[i] = (float)((i * 37 + seed * 101) % 4001) / 1000 - 2;
  const struct plain_run run = {.engine = engine,
                                .fn = compiler.run,
                                .on = on,
                                .input_count = 1,
                                .count = ROW,
                                .inputs = {x},
                                .output = y};
  const plug_status status = run_plain(&run);
  well_formed(status, "run");
  if (status != PLUG_UNSUPPORTED) {
    ok(status, "run");
    compare_row(chain, x, y);
  }
  free(x);
  free(y);
}

static void *run_rows(void *arg) {
  const struct runner *runner = arg;
  for (uint32_t i = 0; i < RUNS; i++)
    run_row(runner->chain, runner->engine, device, runner->seed * RUNS + i);
  return NULL;
}

static void threads(void) {
  static const int64_t size = ROW;
  pthread_t started[RUNNERS];
  struct runner runners[RUNNERS];
  need_compiler_on_device();
  if (compiler.flags & PLUG_COMPILER_EXCLUSIVE)
    absent("PLUG_COMPILER_EXCLUSIVE: the host lets no two runs of an engine overlap");
  if (module.flags & PLUG_SERIALIZE) absent("PLUG_SERIALIZE: one call at a time");
  const struct chain chain = need_chain();
  plug_engine engine = compile_graph(chain_graph(&chain, 1, &size, false), "an engine");
  if (engine) {
    for (uint32_t i = 0; i < RUNNERS; i++) {
      runners[i] = (struct runner){engine, &chain, i};
      pthread_create(&started[i], NULL, run_rows, &runners[i]);
    }
    doing("an engine that several threads run");
    for (uint32_t i = 0; i < RUNNERS; i++) pthread_join(started[i], NULL);
    destroy_engine(engine);
  }
  say_how_many();
}

static void on_host_memory(void) {
  static const int64_t size = ROW;
  need_compiler();
  if (!(compiler.flags & PLUG_COMPILER_HOST))
    absent("no PLUG_COMPILER_HOST: it compiles for tensors of the device alone");
  const struct chain chain = need_chain();
  plug_engine engine = compile_for(PLUG_HOST, chain_graph(&chain, 1, &size, false),
                                   "an engine for host tensors");
  if (engine) {
    run_row(&chain, engine, PLUG_HOST, 1);
    run_row(&chain, engine, PLUG_HOST, 2);
    ok(compiler.engine_destroy(PLUG_HOST, engine), "engine_destroy");
  }
  say_how_many();
}

/* ---- what no compiler can take ---- */

static struct graph *odd_graph(int32_t op, const char *schema, plug_dtype dtype,
                               plug_value arg) {
  static const int64_t size = 4;
  struct graph *graph = new_graph();
  const int32_t x = add_graph_input(graph, dtype, 1, &size, NULL, 0);
  plug_node *node = add_graph_node(graph, op, schema, 1, 1);
  *node_arg(graph, node, 0) = arg;
  if (arg.tag == PLUG_VALUE_REF) node_arg(graph, node, 0)->as.i = x;
  add_graph_output(graph, add_graph_result(graph, node, 0, dtype, 1, &size), NULL, -1);
  return graph;
}

static void unknown(void) {
  const plug_value ref = {.tag = PLUG_VALUE_REF};
  need_compiler();
  refused(
      compile_wrong(odd_graph(-1, "garbage::of(Tensor x) -> Tensor", PLUG_F32, ref), ""),
      "compile of a node that is not in its list");
  refused(compile_wrong(odd_graph(INT32_MAX, "garbage((", PLUG_F32, ref), ""),
          "compile of a node behind its list");
  const struct chain chain = need_chain();
  const int32_t op = chain.ops[0];
  const char *schema = compiled_schemas[op];
  refused(compile_wrong(odd_graph(op, schema, PLUG_DTYPE(99, 32), ref), ""),
          "compile of tensors of an unknown dtype");
  refused(compile_wrong(odd_graph(op, schema, PLUG_F32, (plug_value){.tag = 99}), ""),
          "compile of a node with an argument of an unknown tag");
}

/* ---- progress ---- */

static void progress(void) {
  static const int64_t size = ROW;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  cancels = 1;
  struct graph *graph = chain_graph(&chain, 1, &size, false);
  const plug_status status = compile_wrong(graph, "a compile that nobody wants");
  expect(status == PLUG_OK || status == PLUG_UNSUPPORTED || status == PLUG_TIMEOUT,
         "a compile that nobody wants any more failed otherwise: %s",
         status_text(status));
  expect(status != PLUG_TIMEOUT || progress_calls > 0,
         "compile returned PLUG_TIMEOUT and never asked progress");
  if (progress_calls == 0)
    absent("compile never calls progress: users wait, and cannot stop it");
  cancels = 0;
  plug_engine engine = compile_graph(chain_graph(&chain, 1, &size, false), "an engine");
  if (!engine) absent("the compiler declined the graph");
  run_row(&chain, engine, device, 1);
  destroy_engine(engine);
  note("asked %d times, %s", progress_calls,
       status == PLUG_TIMEOUT ? "and stopped when told to" : "and finished all the same");
}

/* ---- info, packed weights ---- */

static void info_of_engine(void) {
  static const int64_t size = ROW;
  need_compiler_on_device();
  if (!compiler.engine_info) absent("no engine_info: it is not known what engines hold");
  const struct chain chain = need_chain();
  plug_engine engine = compile_graph(chain_graph(&chain, 1, &size, false), "an engine");
  if (!engine) absent("the compiler declined the graph");
  struct {
    plug_engine_info info;
    uint64_t behind;
  } room = {.info = {.size = sizeof(plug_engine_info)}, .behind = 42};
  doing("engine_info");
  ok(compiler.engine_info(device, engine, &room.info), "engine_info");
  expect(room.behind == 42, "engine_info wrote behind the struct");
  expect(room.info.size == sizeof(plug_engine_info), "engine_info changed size");
  expect(!room.info.packed || room.info.packed[0] <= 1, "packed[0] is neither 0 nor 1");
  expect(!room.info.packed || !room.info.packed[0] || compiler.engine_pack,
         "an input is packed, but there is no engine_pack");
  plug_engine_info little = {.size = 8, .device_bytes = 7};
  ok(compiler.engine_info(device, engine, &little), "engine_info");
  expect(little.device_bytes == 7, "engine_info wrote beyond the size it was given");
  destroy_engine(engine);
}

/* y = x * w, of which the run is given garbage for w. */
static void pack(void) {
  static const int64_t size = ROW;
  static float x[ROW], w[ROW], y[ROW], garbage[ROW];
  need_compiler_on_device();
  if (!compiler.engine_pack) absent("no engine_pack: weights are arguments like others");
  if (find_product() < 0) absent("no aten::mul.Tensor to multiply by a weight with");
  struct graph *graph = new_graph();
  const int32_t in = add_graph_input(graph, PLUG_F32, 1, &size, NULL, 0);
  const int32_t by = add_graph_input(graph, PLUG_F32, 1, &size, NULL, PLUG_GRAPH_WEIGHT);
  add_graph_output(graph, add_product(graph, in, by, 1, &size), NULL, -1);
  plug_engine engine = compile_graph(graph, "an engine with a weight");
  if (!engine) absent("the compiler declined the graph");
  plug_engine_info about = {.size = sizeof about};
  ok(compiler.engine_info(device, engine, &about), "engine_info");
  if (!about.packed || !about.packed[1]) absent("the weight of a product is not packed");
  for (int round = 1; round < 3; round++) { /* and again, when it has changed */
    for (int i = 0; i < ROW; i++) {
      x[i] = (float)(i % 100);
      w[i] = (float)(i % 7 * round);
      garbage[i] = NAN;
    }
    struct plain_run run = {.engine = engine,
                            .fn = compiler.engine_pack,
                            .on = device,
                            .input_count = 2,
                            .count = ROW,
                            .inputs = {about.packed[0] ? x : NULL, w}};
    doing("engine_pack");
    ok(run_plain(&run), "engine_pack");
    run.fn = compiler.run;
    run.inputs[0] = about.packed[0] ? garbage : x;
    run.inputs[1] = garbage;
    run.output = y;
    ok(run_plain(&run), "run");
    for (int i = 0; i < ROW; i++)
      expect(y[i] == x[i] * w[i], "element %d is %g, not %g", i, (double)y[i],
             (double)(x[i] * w[i]));
  }
  destroy_engine(engine);
}

/* ---- engines on disk ---- */

struct saved {
  unsigned char *data;
  uint64_t bytes;
};

static void write_saved(void *context, const void *data, uint64_t n) {
  struct saved *saved = context;
  saved->data = realloc(saved->data, saved->bytes + n + 1);
  if (!saved->data) fail("there is no memory left");
  if (n > 0) memcpy(saved->data + saved->bytes, data, n);
  saved->bytes += n;
}

/* NULL: declined. */
static plug_engine load(const void *data, uint64_t bytes, const char *what) {
  plug_engine engine = NULL;
  unsigned char *copy =
      malloc(bytes + 1); /* of its own, so that reading behind is seen */
  if (!copy) fail("there is no memory left");
  if (bytes > 0) memcpy(copy, data, bytes);
  doing(what);
  const plug_status status = compiler.engine_load(device, copy, bytes, &engine);
  memset(copy, 0xdd, bytes);
  free(copy);
  well_formed(status, what);
  expect(status == PLUG_OK || status == PLUG_UNSUPPORTED,
         "%s returned: %s; for bytes that it cannot use it is PLUG_UNSUPPORTED", what,
         status_text(status));
  expect(status != PLUG_OK || engine, "%s returned PLUG_OK but no engine", what);
  return status == PLUG_OK ? engine : NULL;
}

static void load_damaged(const struct saved *saved) {
  static unsigned char noise[1000];
  struct saved damaged = {malloc(saved->bytes + 1), saved->bytes};
  fill_random(noise, sizeof noise);
  expect(!load("", 0, "engine_load of nothing"),
         "engine_load makes an engine of nothing");
  expect(!load(noise, sizeof noise, "engine_load of noise"),
         "engine_load makes an engine of noise");
  for (int i = 0; i < 8; i++) {
    const uint64_t bytes = saved->bytes * (uint64_t)i / 8;
    expect(!load(saved->data, bytes, "engine_load of a part"),
           "engine_load makes an engine of %llu of its %llu bytes",
           (unsigned long long)bytes, (unsigned long long)saved->bytes);
  }
  /* A bit that is wrong may be one that does not matter; the host knows by a digest. */
  for (int i = 0; i < 64 && damaged.data && saved->bytes > 0; i++) {
    memcpy(damaged.data, saved->data, saved->bytes);
    damaged.data[random_below((uint32_t)saved->bytes)] ^= (unsigned char)(1 << i % 8);
    plug_engine engine =
        load(damaged.data, damaged.bytes, "engine_load with a wrong bit");
    if (engine) destroy_engine(engine);
  }
  free(damaged.data);
}

static void save_and_load(void) {
  static const int64_t size = ROW;
  const char *text = NULL, *again = NULL;
  struct saved saved = {NULL, 0};
  need_compiler_on_device();
  if (!compiler.engine_save || !compiler.engine_load || !compiler.identity)
    absent("no engine_save and engine_load: every process compiles anew");
  ok(compiler.identity(device, &text), "identity");
  expect(text && *text, "identity is empty");
  ok(compiler.identity(device, &again), "identity");
  expect(again && strcmp(text, again) == 0, "identity changes from call to call");
  const struct chain chain = need_chain();
  plug_engine engine = compile_graph(chain_graph(&chain, 1, &size, false), "an engine");
  if (!engine) absent("the compiler declined the graph");
  doing("engine_save");
  const plug_status status = compiler.engine_save(device, engine, write_saved, &saved);
  well_formed(status, "engine_save");
  if (status == PLUG_UNSUPPORTED) absent("the engine cannot be saved");
  ok(status, "engine_save");
  destroy_engine(engine); /* what was saved does not need it */
  plug_engine loaded = load(saved.data, saved.bytes, "engine_load of what was saved");
  expect(loaded != NULL, "engine_load declines what engine_save has written");
  run_row(&chain, loaded, device, 1);
  load_damaged(&saved);
  run_row(&chain, loaded, device, 2);
  destroy_engine(loaded);
  note("%llu bytes", (unsigned long long)saved.bytes);
}

/* ---- partition ---- */

enum { PARTITIONED = 3 };
static int taken[PARTITIONED];
static int32_t groups_taken[PARTITIONED];

static void take(void *context, uint32_t node, int32_t group, const char *why) {
  (void)context, (void)why;
  expect(node < PARTITIONED, "partition takes node %u of %d", node, PARTITIONED);
  expect(taken[node]++ == 0, "partition takes node %u twice", node);
  expect(group >= -1, "partition puts node %u into group %d", node, group);
  groups_taken[node] = group;
}

/* A node that is not listed between two that are. */
static void partition(void) {
  static const int64_t size = 4;
  int named = 0;
  need_compiler_on_device();
  if (!compiler.partition) absent("no partition: the host groups what is listed");
  const struct chain chain = need_chain();
  struct graph *graph = new_graph();
  int32_t x = add_graph_input(graph, PLUG_F32, 1, &size, NULL, 0);
  x = add_unary(graph, chain.ops[0], x, 1, &size);
  plug_node *node = add_graph_node(graph, -1, "garbage::of(Tensor x) -> Tensor", 1, 1);
  *node_arg(graph, node, 0) = (plug_value){.tag = PLUG_VALUE_REF, .as.i = x};
  x = add_graph_result(graph, node, 0, PLUG_F32, 1, &size);
  add_graph_output(graph, add_unary(graph, chain.ops[0], x, 1, &size), NULL, -1);
  doing("partition");
  const plug_status status = compiler.partition(device, graph_of(graph), take, NULL);
  well_formed(status, "partition");
  free_graph(graph);
  if (status == PLUG_UNSUPPORTED) absent("partition declined: the host groups itself");
  ok(status, "partition");
  for (int i = 0; i < PARTITIONED; i++) named += taken[i];
  expect(named > 0, "partition names no node: what is not compiled is in group -1");
  expect(!taken[1] || groups_taken[1] == -1,
         "partition puts a node that is not listed into group %d", groups_taken[1]);
}

const struct check compiler_checks[] = {
    {.name = "compiler-tables",
     .promise = "a compiler has its three functions, known flags and schemas",
     .run = tables},
    {.name = "compiler-nodes",
     .promise = "engines of one node give the results that arithmetic in double does",
     .run = nodes},
    {.name = "compiler-strided",
     .promise = "so they do for tensors of any strides, if the compiler takes them",
     .run = strided},
    {.name = "compiler-chains",
     .promise = "so do engines of several nodes, and nothing of their graph is kept",
     .run = chains},
    {.name = "compiler-outputs",
     .promise = "so they do with several outputs, of which one is used or is an input",
     .run = outputs},
    {.name = "compiler-constants",
     .promise = "constants are copied into the engine",
     .run = constants},
    {.name = "compiler-symbols",
     .promise = "one engine serves all sizes of its symbols, if the compiler takes them",
     .run = symbols},
    {.name = "compiler-updates",
     .promise = "an engine writes the new content of an input in place, if it can",
     .run = updates},
    {.name = "compiler-engines",
     .promise = "engines are independent, and may be destroyed in any order",
     .run = several},
    {.name = "compiler-threads",
     .promise = "several threads run one engine at once",
     .run = threads},
    {.name = "compiler-host",
     .promise = "engines for host tensors are right, if the compiler makes them",
     .run = on_host_memory},
    {.name = "compiler-unknown",
     .promise = "what a compiler cannot know is declined",
     .run = unknown},
    {.name = "compiler-progress",
     .promise = "a compile tells how far it is, and stops when it is told to",
     .run = progress},
    {.name = "compiler-info",
     .promise = "engine_info fills in what it is asked for and no more",
     .run = info_of_engine},
    {.name = "compiler-pack",
     .promise = "packed weights are used, and used anew when they have changed",
     .run = pack},
    {.name = "compiler-disk",
     .promise = "a saved engine is loaded again, and damaged bytes are declined",
     .run = save_and_load},
    {.name = "compiler-partition",
     .promise = "partition names nodes, each once, and groups none that is not listed",
     .run = partition},
    {0},
};
