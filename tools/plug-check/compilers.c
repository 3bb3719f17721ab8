/* Compilers: their tables, and the results of engines made of graphs of all kinds that
** they say they take. A graph that is declined is counted, and no fault. */
#include "compilers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

static bool is_listed_before(uint32_t place) {
  for (uint32_t i = 0; i < place; i++)
    if (strcmp(compiled_schemas[i], compiled_schemas[place]) == 0) return true;
  return false;
}

/* All that is wrong with the list is said at once: nothing hides behind the first. */
static void check_schemas(void) {
  char said[2048] = "", *at = said, *const end = said + sizeof said;
  struct schema schema;
  expect(compiled_count == 0 || compiled_schemas, "there are %u schemas, but no list",
         compiled_count);
  for (uint32_t i = 0; i < compiled_count; i++) {
    const char *text = compiled_schemas[i];
    expect(text != NULL, "schema %u is NULL", i);
    const char *wrong = parse_schema(text, &schema);
    if (!wrong && is_listed_before(i)) wrong = "it is in the list twice";
    if (!wrong || end - at < 2) continue;
    at += snprintf(at, (size_t)(end - at), "%sschema %u is '%.200s': %s",
                   at == said ? "" : "; ", i, text, wrong);
    if (at > end) at = end;
  }
  expect(at == said, "%s", said);
}

static void tables(void) {
  const uint64_t known = PLUG_COMPILER_SYMBOLS | PLUG_COMPILER_STRIDED |
                         PLUG_COMPILER_UPDATES | PLUG_COMPILER_EXCLUSIVE |
                         PLUG_COMPILER_HOST;
  adopt_compiler();
  expect(has_mandatory_functions(),
         "plug_compiler lacks some of compile, run and engine_destroy");
  expect((compiler.flags & ~known) == 0, "flags are 0x%llx, which plug.h does not have",
         (unsigned long long)(compiler.flags & ~known));
  expect((compiler.schemas && compiler.schema_count > 0) || compiler.list_schemas,
         "it has neither schemas nor list_schemas");
  expect(module.runtime || (compiler.flags & PLUG_COMPILER_HOST),
         "it lacks PLUG_COMPILER_HOST, and the plugin has no device");
  const int on_disk = (compiler.identity != NULL) + (compiler.engine_save != NULL) +
                      (compiler.engine_load != NULL);
  expect(on_disk == 0 || on_disk == 3,
         "identity, engine_save and engine_load are all or none");
  expect(!compiler.engine_pack || compiler.engine_info,
         "engine_pack without engine_info is never called: info.packed says for what");
  ok(ask_for_schemas(), "list_schemas");
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

static void try_schema(int32_t op, plug_dtype dtype, enum variation variation,
                       int round) {
  static struct example example;
  struct schema schema, whole;
  if (parse_schema(compiled_schemas[op], &schema)) return;
  const struct operation *operation = find_operation(schema.name);
  if (!operation || parse_schema(operation->schema, &whole)) return;
  if (whole.result_count != schema.result_count) return;
  if (!is_float(dtype) && !operation->takes_integers) return;
  memset(&example, 0, sizeof example);
  if (operation->make(operation, &example, dtype, variation, round))
    try_example(op, operation, &schema, &example, variation);
}

/* Each schema once before any a second time. */
static void try_each_schema(enum variation variation) {
  static const plug_dtype dtypes[] = {PLUG_F32, PLUG_F64, PLUG_BF16,
                                      PLUG_F16, PLUG_I64, PLUG_I32};
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
      for (uint32_t op = 0; op < compiled_count && has_time(); op++)
        try_schema((int32_t)op, dtypes[d], variation, round);
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

static void chains(void) {
  static const int64_t shapes[][2] = {{5, 1}, {3, 4}, {0, 4}, {1, 1}, {31, 33}};
  static struct engine_call call;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes && has_time(); i++) {
    set_chain_call(&call, &chain, 2, shapes[i][0], shapes[i][1]);
    plug_engine engine =
        compile_graph(chain_graph(&chain, 2, shapes[i], false), call.what);
    if (!engine) continue;
    run_engine_in_all_ways(engine, &call, PLAIN);
    destroy_engine(engine);
  }
  say_how_many();
}

/* y = f(x) and z = f(f(x)) * y, both outputs; an input that nobody uses; an output
** that is an input. */
static void outputs(void) {
  static const int64_t sizes[] = {3, 4};
  static struct engine_call call;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  for (int with_input = 0; with_input < 2 && has_time(); with_input++) {
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
  for (int first = 1; first >= 0 && has_time(); first--) {
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
    {0},
};
