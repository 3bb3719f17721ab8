/* Engines: made of graphs, and run as the host runs them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compilers.h"
#include "verdict.h"

plug_compiler compiler;
const char *const *compiled_schemas;
uint32_t compiled_count;
int compiled, declined;
int32_t cancels;
int progress_calls;

double left_out_after;

/* ---- time ---- */

static struct timespec begin;

static double seconds_passed(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - begin.tv_sec) +
         (double)(now.tv_nsec - begin.tv_nsec) / 1e9;
}

bool has_time(void) {
  const double passed = seconds_passed();
  if (passed * 6 < time_limit) return true;
  if (left_out_after == 0) left_out_after = passed;
  return false;
}

const char *what_was_left_out(void) {
  static char text[96];
  if (left_out_after > 0)
    snprintf(text, sizeof text,
             ", the rest left out after %.1f s: give a longer --timeout", left_out_after);
  return text;
}

/* ---- the compiler ---- */

void adopt_compiler(void) {
  if (!module.compiler) absent("no compiler: operators run one by one");
  adopt(&compiler, sizeof compiler, module.compiler, module.compiler->size);
}

bool has_mandatory_functions(void) {
  return compiler.compile && compiler.run && compiler.engine_destroy;
}

plug_status ask_for_schemas(void) {
  compiled_schemas = compiler.schemas;
  compiled_count = compiler.schemas ? compiler.schema_count : 0;
  if (!compiler.list_schemas) return PLUG_OK;
  doing("list_schemas");
  return compiler.list_schemas(module.runtime ? device : PLUG_HOST, &compiled_schemas,
                               &compiled_count);
}

static bool has_schemas(void) {
  if (ask_for_schemas() != PLUG_OK) return false;
  if (compiled_count > 0 && !compiled_schemas) return false;
  for (uint32_t i = 0; i < compiled_count; i++)
    if (!compiled_schemas[i]) return false;
  return true;
}

void need_compiler(void) {
  adopt_compiler();
  if (!has_mandatory_functions()) absent("some of its three functions are missing");
  if (!has_schemas()) absent("the list of schemas could not be had");
  clock_gettime(CLOCK_MONOTONIC, &begin);
}

void need_compiler_on_device(void) {
  need_compiler();
  if (!module.runtime) absent("the plugin has no device");
}

/* ---- compiling ---- */

static int32_t progress(const plug_compile *wish, double done) {
  (void)wish;
  progress_calls++;
  expect(done >= 0 && done <= 1, "compile says that %g of it is done", done);
  return cancels;
}

static plug_status compile_on(int32_t on, struct graph *graph, const char *what,
                              plug_engine *engine) {
  static const char *const options[] = {NULL};
  char said[WORD + 96];
  plug_compile *wish = malloc(sizeof *wish); /* overwritten behind the call, as graphs */
  if (!wish) fail("there is no memory left");
  *wish = (plug_compile){.size = sizeof *wish,
                         .device = on,
                         .graph = graph_of(graph),
                         .options = options,
                         .progress = progress};
  snprintf(said, sizeof said, "compile of %s; one that takes longer needs --timeout",
           what);
  doing(said);
  const plug_status status = compiler.compile(wish, engine);
  memset(wish, 0xdd, sizeof *wish);
  free(wish);
  free_graph(graph);
  return status;
}

/* What compile writes over only if it succeeds. */
static int untouched;
static plug_engine untouched_engine(void) { return (plug_engine)(void *)&untouched; }

plug_engine compile_for(int32_t on, struct graph *graph, const char *what) {
  plug_engine engine = untouched_engine();
  const plug_status status = compile_on(on, graph, what, &engine);
  if (status >= PLUG_INVALID) ok(status, what);
  well_formed(status, what);
  expect(status == PLUG_OK || status == PLUG_UNSUPPORTED, "compile of %s returned: %s",
         what, status_text(status));
  if (status == PLUG_OK) {
    expect(engine != NULL && engine != untouched_engine(),
           "compile of %s returned PLUG_OK but no engine", what);
    compiled++;
    return engine;
  }
  expect(engine == untouched_engine(), "compile of %s wrote an engine and declined",
         what);
  declined++;
  return NULL;
}

plug_engine compile_graph(struct graph *graph, const char *what) {
  return compile_for(device, graph, what);
}

plug_status compile_wrong(struct graph *graph, const char *what) {
  plug_engine engine = untouched_engine();
  const int32_t on = module.runtime ? device : PLUG_HOST;
  const plug_status status = compile_on(on, graph, what, &engine);
  expect(status == PLUG_OK || engine == untouched_engine(),
         "compile of %s failed and wrote an engine", what);
  return status;
}

void destroy_engine(plug_engine engine) {
  doing("engine_destroy");
  if (module.runtime) ok(rt.device_sync(device), "device_sync");
  ok(compiler.engine_destroy(module.runtime ? device : PLUG_HOST, engine),
     "engine_destroy");
}

/* ---- running on examples ---- */

static const char *const tensor_names[MOST_INPUTS] = {"x0", "x1", "x2", "x3",
                                                      "x4", "x5", "x6", "x7"};
static const char *const symbol_names[] = {"s0", "s1", "s2", "s3"};

struct array *add_engine_input(struct engine_call *call, plug_dtype dtype) {
  struct input *input = &call->example.inputs[call->example.input_count++];
  input->name = tensor_names[call->tensor_count++];
  input->value = (plug_value){.tag = PLUG_VALUE_TENSOR, .count = 1};
  input->dtype = dtype;
  return &input->arrays[0];
}

void add_engine_symbol(struct engine_call *call, int64_t value) {
  struct input *input = &call->example.inputs[call->example.input_count++];
  input->name = symbol_names[call->symbol_count++];
  input->value = (plug_value){.tag = PLUG_VALUE_INT, .as.i = value};
}

struct array *add_engine_result(struct engine_call *call, plug_dtype dtype) {
  call->example.result_dtypes[call->example.result_count] = dtype;
  return &call->example.results[call->example.result_count++];
}

bool run_engine(plug_engine engine, const struct engine_call *call,
                enum variation variation, enum look look) {
  const plug_kernel kernel = {.fn = compiler.run, .user = engine};
  const struct operation operation = {.name = call->what,
                                      .schema = "plug_check::engine() -> ()"};
  struct schema schema = {.name = "plug_check::engine",
                          .arg_count = call->example.input_count,
                          .result_count = call->example.result_count};
  for (uint32_t i = 0; i < schema.arg_count; i++)
    snprintf(schema.args[i].name, WORD, "%s", call->example.inputs[i].name);
  return call_with(&kernel, &operation, &schema, &call->example, variation, look, NULL);
}

bool run_engine_in_all_ways(plug_engine engine, const struct engine_call *call,
                            enum variation variation) {
  static const enum look looks[] = {LOOK_AT_VALUES, LOOK_AT_BOUNDS, LOOK_AT_ARGUMENTS,
                                    LOOK_AT_DECLINING, LOOK_AT_VALUES};
  bool ran = false;
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
    ran |= run_engine(engine, call, variation, looks[i]);
  return ran;
}

/* ---- running on rows ---- */

static void *make_row(int32_t on, const float *from, int64_t count) {
  const uint64_t bytes = (uint64_t)count * sizeof(float);
  void *base = on == PLUG_HOST ? malloc(bytes) : allocate_on(on, bytes);
  if (!base) fail("there is no memory left");
  if (from && on == PLUG_HOST) memcpy(base, from, bytes);
  if (from && on != PLUG_HOST) put(base, 0, from, bytes);
  return base;
}

static void take_row(int32_t on, void *base, float *to, int64_t count) {
  const uint64_t bytes = (uint64_t)count * sizeof(float);
  if (to && on == PLUG_HOST) memcpy(to, base, bytes);
  if (on == PLUG_HOST) {
    free(base);
    return;
  }
  ok(rt.device_sync(on), "device_sync");
  if (to) get(to, base, 0, bytes);
  ok(rt.mem_free(on, base), "mem_free");
}

plug_status run_plain(const struct plain_run *run) {
  const bool is_matrix = run->ndim == 2;
  const int64_t count = run->sizes[0] * (is_matrix ? run->sizes[1] : 1);
  const int64_t strides[] = {is_matrix ? run->sizes[1] : 1, 1};
  plug_tensor tensors[3];
  plug_value args[2], result = {.tag = PLUG_VALUE_TENSOR, .count = 1};
  for (uint32_t i = 0; i < 3; i++) {
    const float *from = i < run->input_count ? run->inputs[i] : NULL;
    const bool is_there = i == 2 ? run->output != NULL : from != NULL;
    void *base = is_there ? make_row(run->on, from, count) : NULL;
    tensors[i] = (plug_tensor){.mem = {base, 0, run->on, 0},
                               .dtype = PLUG_F32,
                               .ndim = is_there ? run->ndim : -1,
                               .sizes = run->sizes,
                               .strides = strides};
    if (i < 2)
      args[i] =
          (plug_value){.tag = PLUG_VALUE_TENSOR, .count = 1, .as.tensors = &tensors[i]};
  }
  tensors[2].flags = PLUG_TENSOR_WRITTEN;
  result.as.tensors = &tensors[2];
  const plug_call call = {.size = sizeof call,
                          .device = run->on,
                          .user = run->engine,
                          .args = args,
                          .results = &result,
                          .arg_count = run->input_count,
                          .result_count = run->output ? 1 : 0,
                          .sequence = 1,
                          .name = "plug_check::engine",
                          .schema = "plug_check::engine() -> ()"};
  const plug_status status = run->fn(&call);
  if (status >= PLUG_INVALID) ok(status, verdict->doing);
  for (uint32_t i = 0; i < 3; i++)
    if (tensors[i].mem.base)
      take_row(run->on, tensors[i].mem.base, i == 2 ? run->output : NULL, count);
  return status;
}
