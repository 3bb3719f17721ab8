/* Engines apart from their results: several of them, threads, cancelling, weights, disk.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compilers.h"

/* ---- several engines, threads, the host ---- */

/* Ends the check if there is no time for it. */
static plug_engine compile_in_time(const struct chain *chain, const int64_t sizes[2],
                                   const char *what) {
  static char text[128];
  if (has_time()) return compile_graph(chain_graph(chain, 2, sizes, false), what);
  snprintf(text, sizeof text, "%d of 3 graphs compiled%s", compiled, what_was_left_out());
  absent(text);
}

static void several(void) {
  static const int64_t small[] = {3, 4}, large[] = {31, 33};
  static struct engine_call small_call, large_call;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  set_chain_call(&small_call, &chain, 2, 3, 4);
  set_chain_call(&large_call, &chain, 2, 31, 33);
  plug_engine one = compile_in_time(&chain, small, "an engine");
  plug_engine two = compile_in_time(&chain, large, "a second one");
  plug_engine same = compile_in_time(&chain, small, "one like it");
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

enum { LONG_ROW = 200003, RUNNERS = 4, RUNS = 10 };

struct runner {
  plug_engine engine;
  const struct chain *chain;
  uint32_t seed;
};

static void *run_rows(void *arg) {
  const struct runner *runner = arg;
  for (uint32_t i = 0; i < RUNS; i++)
    run_row(runner->chain, runner->engine, device, LONG_ROW, runner->seed * RUNS + i);
  return NULL;
}

static void threads(void) {
  static const int64_t size = LONG_ROW;
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
    run_row(&chain, engine, PLUG_HOST, ROW, 1);
    run_row(&chain, engine, PLUG_HOST, ROW, 2);
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

/* Whether there was time to see that it is declined. */
static int declines(struct graph *graph, const char *what) {
  char call[WORD];
  if (!has_time()) {
    free_graph(graph);
    return 0;
  }
  snprintf(call, sizeof call, "compile of %s", what);
  refused(compile_wrong(graph, what), call);
  return 1;
}

static void unknown(void) {
  const plug_value ref = {.tag = PLUG_VALUE_REF}, odd = {.tag = 99};
  int tried = 0;
  need_compiler();
  tried += declines(odd_graph(-1, "garbage::of(Tensor x) -> Tensor", PLUG_F32, ref),
                    "a node that is not in its list");
  tried += declines(odd_graph(INT32_MAX, "garbage((", PLUG_F32, ref),
                    "a node behind its list");
  const struct chain chain = need_chain();
  const int32_t op = chain.ops[0];
  const char *schema = compiled_schemas[op];
  tried += declines(odd_graph(op, schema, PLUG_DTYPE(99, 32), ref),
                    "tensors of an unknown dtype");
  tried += declines(odd_graph(op, schema, PLUG_F32, odd),
                    "a node with an argument of an unknown tag");
  if (left_out_after > 0) remark("%d of 4 graphs tried%s", tried, what_was_left_out());
}

/* ---- progress ---- */

static void progress(void) {
  static const int64_t size = ROW;
  need_compiler_on_device();
  const struct chain chain = need_chain();
  cancels = 1;
  struct graph *graph = chain_graph(&chain, 1, &size, false);
  const plug_status status = compile_wrong(graph, "a compile that nobody wants");
  well_formed(status, "compile");
  expect(status == PLUG_OK || status == PLUG_UNSUPPORTED || status == PLUG_TIMEOUT,
         "a compile that nobody wants any more failed otherwise: %s",
         status_text(status));
  expect(status != PLUG_TIMEOUT || progress_calls > 0,
         "compile returned PLUG_TIMEOUT and never asked progress");
  if (progress_calls == 0)
    absent("compile never calls progress: users wait, and cannot stop it");
  const char *stopped =
      status == PLUG_TIMEOUT ? "and stopped when told to" : "and finished all the same";
  if (!has_time()) {
    remark("asked %d times, %s%s", progress_calls, stopped, what_was_left_out());
    return;
  }
  cancels = 0;
  plug_engine engine = compile_graph(chain_graph(&chain, 1, &size, false), "an engine");
  if (!engine) absent("the compiler declined the graph");
  run_row(&chain, engine, device, ROW, 1);
  destroy_engine(engine);
  remark("asked %d times, %s", progress_calls, stopped);
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

/* y = x * w, of elements or of matrices with SIDE rows and columns. */
enum { SIDE = 16, MOST_ELEMENTS = SIDE * SIDE };

static double product_of(const char *name, const float *x, const float *w, int i) {
  double sum = 0;
  if (!strcmp(name, "aten::mul.Tensor")) return (double)x[i] * (double)w[i];
  for (int k = 0; k < SIDE; k++)
    sum += (double)x[i / SIDE * SIDE + k] * (double)(strcmp(name, "aten::linear")
                                                         ? w[k * SIDE + i % SIDE]
                                                         : w[i % SIDE * SIDE + k]);
  return sum;
}

/* Packs the weight, twice with another one, and gives runs garbage for what is packed. */
static void run_packed(const char *name, plug_engine engine, const uint8_t packed[2]) {
  static const int64_t sizes[] = {SIDE, SIDE};
  static float x[MOST_ELEMENTS], w[MOST_ELEMENTS], y[MOST_ELEMENTS],
      garbage[MOST_ELEMENTS];
  for (int round = 1; round < 3; round++) {
    for (int i = 0; i < MOST_ELEMENTS; i++) {
      x[i] = (float)(i % 11);
      w[i] = (float)(i % 7 * round);
      garbage[i] = NAN;
    }
    struct plain_run run = {.engine = engine,
                            .fn = compiler.engine_pack,
                            .on = device,
                            .input_count = 2,
                            .ndim = 2,
                            .sizes = sizes,
                            .inputs = {packed[0] ? x : NULL, w}};
    doing("engine_pack");
    const plug_status status = run_plain(&run);
    if (status == PLUG_UNSUPPORTED) absent("engine_pack declined the weight");
    ok(status, "engine_pack");
    doing("run");
    run.fn = compiler.run;
    run.inputs[0] = packed[0] ? garbage : x;
    run.inputs[1] = garbage;
    run.output = y;
    ok(run_plain(&run), "run");
    for (int i = 0; i < MOST_ELEMENTS; i++) {
      const double want = product_of(name, x, w, i);
      expect((double)y[i] == want, "%s: element %d is %g, not %g", name, i, (double)y[i],
             want);
    }
  }
}

/* Whether its weight is packed. */
static bool pack_weight_of(const char *name, uint32_t arg_count) {
  static const int64_t sizes[] = {SIDE, SIDE};
  const int32_t op = find_op(name, arg_count);
  if (op < 0 || !has_time()) return false;
  struct graph *graph = new_graph();
  const int32_t x = add_graph_input(graph, PLUG_F32, 2, sizes, NULL, 0);
  const int32_t w = add_graph_input(graph, PLUG_F32, 2, sizes, NULL, PLUG_GRAPH_WEIGHT);
  add_graph_output(graph, add_binary(graph, op, x, w, 2, sizes), NULL, -1);
  plug_engine engine = compile_graph(graph, "an engine with a weight");
  if (!engine) return false;
  plug_engine_info about = {.size = sizeof about};
  ok(compiler.engine_info(device, engine, &about), "engine_info");
  const bool is_packed = about.packed && about.packed[1];
  if (is_packed) run_packed(name, engine, about.packed);
  destroy_engine(engine);
  return is_packed;
}

static void pack(void) {
  need_compiler_on_device();
  if (!compiler.engine_pack) absent("no engine_pack: weights are arguments like others");
  const bool of_elements = pack_weight_of("aten::mul.Tensor", 2);
  const bool of_matrices = pack_weight_of("aten::mm", 2);
  const bool of_layers = pack_weight_of("aten::linear", 3);
  if (!of_elements && !of_matrices && !of_layers) {
    static char none[192];
    snprintf(none, sizeof none,
             "no weight of aten::mul.Tensor, aten::mm or aten::linear is packed%s",
             what_was_left_out());
    absent(none);
  }
  remark("weights of%s%s%s%s", of_elements ? " aten::mul.Tensor" : "",
         of_matrices ? " aten::mm" : "", of_layers ? " aten::linear" : "",
         what_was_left_out());
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

/* Bytes in front of memory that nobody may read, so that a load that does is found. */
struct guarded {
  unsigned char *map, *data;
  size_t map_bytes;
};

static struct guarded guard(const void *data, uint64_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + 15) / 16 * 16;
  struct guarded guarded = {.map_bytes = (room + page - 1) / page * page + page};
  guarded.map = mmap(NULL, guarded.map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (guarded.map == MAP_FAILED) fail("there is no memory left");
  mprotect(guarded.map + guarded.map_bytes - page, page, PROT_NONE);
  guarded.data = guarded.map + guarded.map_bytes - page - room;
  if (bytes > 0) memcpy(guarded.data, data, bytes);
  return guarded;
}

/* NULL: declined. */
static plug_engine load(const void *data, uint64_t bytes, const char *what) {
  plug_engine engine = NULL;
  const struct guarded guarded = guard(data, bytes);
  doing(what);
  const plug_status status = compiler.engine_load(device, guarded.data, bytes, &engine);
  munmap(guarded.map, guarded.map_bytes);
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
  if (status == PLUG_UNSUPPORTED) absent("the engine cannot be saved");
  ok(status, "engine_save");
  expect(saved.bytes > 0, "engine_save wrote nothing");
  destroy_engine(engine); /* what was saved does not need it */
  plug_engine loaded = load(saved.data, saved.bytes, "engine_load of what was saved");
  expect(loaded != NULL, "engine_load declines what engine_save has written");
  run_row(&chain, loaded, device, ROW, 1);
  load_damaged(&saved);
  run_row(&chain, loaded, device, ROW, 2);
  destroy_engine(loaded);
  remark("%llu bytes", (unsigned long long)saved.bytes);
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
  free_graph(graph);
  if (status == PLUG_UNSUPPORTED) absent("partition declined: the host groups itself");
  ok(status, "partition");
  for (int i = 0; i < PARTITIONED; i++) named += taken[i];
  expect(named > 0, "partition names no node: what is not compiled is in group -1");
  expect(!taken[1] || groups_taken[1] == -1,
         "partition puts a node that is not listed into group %d", groups_taken[1]);
}

const struct check engine_checks[] = {
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
