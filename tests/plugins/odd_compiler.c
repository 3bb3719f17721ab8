/* A device with a compiler of relu that is wrong in one way, or in none:
** odd_compiler.fault says in which. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <time.h>

#include "base.h"

struct plug_engine_s {
  int64_t count; /* elements */
};

#define RELU "aten::relu(Tensor self) -> Tensor"
static const char *const schemas[] = {RELU, NULL};
static const char *const odd_schemas[] = {RELU, "nonsense", "", RELU};
static plug_compiler compiler;

static int is(const char *fault) {
  const char *given = host->option(host, "odd_compiler.fault");
  return given && !strcmp(given, fault);
}

static plug_status decline(void) {
  return fail(PLUG_UNSUPPORTED, "only relu of one tensor");
}

/* One input and one output that is another: whatever lies between, it is relu of it. */
static plug_status examine(const plug_graph *graph) {
  if (graph->input_count != 1 || graph->output_count != 1 || graph->node_count == 0 ||
      graph->inputs[0] == graph->outputs[0])
    return decline();
  for (uint32_t i = 0; i < graph->node_count; i++) {
    const plug_node *node = graph->nodes[i];
    if (node->op != 0 || node->args[0].tag != PLUG_VALUE_REF) return decline();
  }
  for (uint32_t i = 0; i < graph->value_count; i++) {
    const plug_graph_value *value = graph->values[i];
    if (value->dtype != PLUG_F32 || value->data) return decline();
    for (int32_t d = 0; d < value->ndim; d++)
      if (value->sizes[d] < 0) return decline();
  }
  return PLUG_OK;
}

/* One second is longer than a sixth of five. */
static void nap(void) {
  const struct timespec second = {1, 0};
  do nanosleep(&second, NULL);
  while (is("without end"));
}

static plug_status compile(const plug_compile *wish, plug_engine *engine) {
  if (is("slow") || is("without end")) nap();
  const plug_status status = examine(wish->graph);
  if (is("an engine that is NULL")) return PLUG_OK;
  if (is("compile fails")) return fail(PLUG_INTERNAL, "the chip has no such unit");
  if (status != PLUG_OK && !is("takes anything")) return status;
  const int32_t is_unwanted = wish->progress(wish, is("more than all is done") ? 2 : 0.5);
  if (is_unwanted && !is("slow")) return fail(PLUG_TIMEOUT, "nobody wants it");
  plug_engine made = calloc(1, sizeof *made);
  if (!made) return fail(PLUG_NO_MEMORY, "no memory is left");
  const plug_graph_value *input = wish->graph->values[wish->graph->inputs[0]];
  made->count = 1;
  for (int32_t d = 0; d < input->ndim; d++) made->count *= input->sizes[d];
  *engine = made;
  return PLUG_OK;
}

static plug_status run(const plug_call *call) {
  const plug_tensor *from = call->args[0].as.tensors, *to = call->results[0].as.tensors;
  const float *x = (const float *)((char *)from->mem.base + from->mem.offset);
  float *y = (float *)((char *)to->mem.base + to->mem.offset);
  const struct plug_engine_s *engine = call->user;
  if (is("run fails")) return fail(PLUG_INTERNAL, "the unit has overheated");
  if (is("run is not ready")) return PLUG_NOT_READY;
  if (is("run says what plug.h has not")) return 77;
  if (is("run declines")) return fail(PLUG_UNSUPPORTED, "not today");
  for (int64_t i = 0; i < engine->count; i++) y[i] = x[i] < 0 ? 0 : x[i];
  if (is("wrong results") && engine->count > 0) y[0] += 1;
  return PLUG_OK;
}

static plug_status engine_destroy(int32_t device, plug_engine engine) {
  (void)device;
  free(engine);
  return PLUG_OK;
}

static plug_status identity(int32_t device, const char **text) {
  (void)device;
  *text = "1";
  if (is("identity fails")) return fail(PLUG_INTERNAL, "the chip has no name");
  return PLUG_OK;
}

static plug_status engine_save(int32_t device, plug_engine engine,
                               void (*write)(void *context, const void *data,
                                             uint64_t bytes),
                               void *context) {
  (void)device;
  if (is("saves none")) return fail(PLUG_UNSUPPORTED, "not this one");
  if (!is("saves nothing")) write(context, engine, sizeof *engine);
  return PLUG_OK;
}

static plug_status engine_load(int32_t device, const void *data, uint64_t bytes,
                               plug_engine *engine) {
  (void)device;
  if (bytes != sizeof **engine) return fail(PLUG_UNSUPPORTED, "it is of another size");
  *engine = malloc(sizeof **engine);
  if (!*engine) return fail(PLUG_NO_MEMORY, "no memory is left");
  memcpy(*engine, data, sizeof **engine);
  return PLUG_OK;
}

static plug_status partition(int32_t device, const plug_graph *graph,
                             void (*take)(void *context, uint32_t node, int32_t group,
                                          const char *why),
                             void *context) {
  (void)device;
  for (uint32_t i = 0; i < graph->node_count; i++)
    take(context, i, is("groups what is not listed") ? 0 : -1, "it is \xff\xfe");
  return is("partition fails") ? fail(PLUG_INTERNAL, "the chip has no plan") : PLUG_OK;
}

static plug_status list_schemas(int32_t device, const char *const **list,
                                uint32_t *count) {
  (void)device, (void)list, (void)count;
  return fail(PLUG_INTERNAL, "the device does not answer");
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "odd_compiler");
  compiler = (plug_compiler){.size = sizeof compiler,
                             .schema_count = 1,
                             .schemas = schemas,
                             .compile = compile,
                             .run = run,
                             .engine_destroy = engine_destroy};
  if (is("no size")) compiler.size = 0;
  if (is("no compile")) compiler.compile = NULL;
  if (is("no run")) compiler.run = NULL;
  if (is("no engine_destroy")) compiler.engine_destroy = NULL;
  if (is("identity alone")) compiler.identity = identity;
  if (is("identity fails") || is("saves none") || is("saves nothing")) {
    compiler.identity = identity;
    compiler.engine_save = engine_save;
    compiler.engine_load = engine_load;
  }
  if (is("partition is no text") || is("groups what is not listed") ||
      is("partition fails"))
    compiler.partition = partition;
  if (is("no list")) compiler.schemas = NULL;
  if (is("no schema")) compiler.schema_count = 0;
  if (is("a schema that is NULL")) compiler.schema_count = 2;
  if (is("several wrong schemas"))
    compiler.schemas = odd_schemas, compiler.schema_count = 4;
  if (is("list_schemas fails")) compiler.list_schemas = list_schemas;
  module.compiler = &compiler;
  *out = &module;
  return PLUG_OK;
}
