/* The sim device with a compiler that packs every weight: engines keep copies of their
** own, and runs see these alone. How often it was asked to, packs_made() says. With
** packs.once it keeps the first weight that it is given, which is wrong; with
** packs.declines it packs none. */
#include "on_sim.h"

enum { kInputs = 64 };

struct plug_engine_s {
  plug_engine below;
  int32_t device;
  uint32_t inputs;
  uint8_t is_packed[kInputs];
  void *packed[kInputs];
};

static plug_compiler below;
static plug_compiler compiler;
static int packed; /* weights, in all */

PLUG_EXPORT int packs_made(void);
int packs_made(void) { return __atomic_load_n(&packed, __ATOMIC_SEQ_CST); }

static plug_status refuse(plug_status status, const char *why) {
  host->set_error(host, why);
  return status;
}

static plug_status engine_destroy(int32_t device, plug_engine engine) {
  for (uint32_t i = 0; i < engine->inputs; i++)
    if (engine->packed[i]) sim.mem_free(device, engine->packed[i]);
  const plug_status status = below.engine_destroy(device, engine->below);
  free(engine);
  return status;
}

static plug_status compile(const plug_compile *wish, plug_engine *made) {
  const plug_graph *graph = wish->graph;
  plug_engine engine = calloc(1, sizeof *engine);
  if (!engine) return refuse(PLUG_NO_MEMORY, "no memory is left");
  if (graph->input_count > kInputs) {
    free(engine);
    return refuse(PLUG_UNSUPPORTED, "there are too many inputs");
  }
  engine->inputs = graph->input_count;
  for (uint32_t i = 0; i < graph->input_count; i++)
    engine->is_packed[i] =
        (graph->values[graph->inputs[i]]->flags & PLUG_GRAPH_WEIGHT) != 0;
  const plug_status status = below.compile(wish, &engine->below);
  if (status != PLUG_OK) return free(engine), status;
  *made = engine;
  return PLUG_OK;
}

static plug_status engine_info(int32_t device, plug_engine engine,
                               plug_engine_info *info) {
  const plug_status status = below.engine_info(device, engine->below, info);
  if (PLUG_HAS(info, packed)) info->packed = engine->is_packed;
  return status;
}

/* Those of contiguous weights. */
static uint64_t bytes_of(const plug_tensor *tensor) {
  uint64_t bytes = PLUG_DTYPE_BYTES(tensor->dtype);
  for (int32_t d = 0; d < tensor->ndim; d++) bytes *= (uint64_t)tensor->sizes[d];
  return bytes;
}

static plug_status engine_pack(const plug_call *call) {
  struct plug_engine_s *engine = (struct plug_engine_s *)call->user;
  if (host->option(host, "packs.declines"))
    return refuse(PLUG_UNSUPPORTED, "it has no room for weights");
  for (uint32_t i = 0; i < engine->inputs; i++) {
    const plug_tensor *weight = call->args[i].as.tensors;
    if (weight->ndim < 0) continue;
    plug_status status = PLUG_OK;
    if (engine->packed[i] && host->option(host, "packs.once")) continue;
    if (!engine->packed[i])
      status = sim.mem_alloc(call->device, bytes_of(weight) + 64, &engine->packed[i]);
    if (status != PLUG_OK) return status;
    const plug_mem to = {engine->packed[i], 0, call->device, 0};
    status = sim.copy(call->device, call->stream, &to, &weight->mem, bytes_of(weight));
    if (status != PLUG_OK) return status;
    __atomic_add_fetch(&packed, 1, __ATOMIC_SEQ_CST);
  }
  return PLUG_OK;
}

static plug_status run(const plug_call *call) {
  const struct plug_engine_s *engine = call->user;
  plug_call inside = *call;
  plug_value args[2 * kInputs];
  plug_tensor weights[kInputs];
  if (call->arg_count > 2 * kInputs)
    return refuse(PLUG_UNSUPPORTED, "there are too many arguments");
  memcpy(args, call->args, call->arg_count * sizeof *args);
  for (uint32_t i = 0; i < engine->inputs; i++) {
    if (!engine->is_packed[i]) continue;
    if (!engine->packed[i]) return refuse(PLUG_INTERNAL, "a weight was never packed");
    weights[i] = *args[i].as.tensors;
    weights[i].mem = (plug_mem){engine->packed[i], 0, call->device, 0};
    args[i].as.tensors = &weights[i];
  }
  inside.user = engine->below;
  inside.args = args;
  return below.run(&inside);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  const plug_status status = make_sim(given, "packs");
  if (status != PLUG_OK) return status;
  below = compiler = *module.compiler;
  compiler.flags &= ~(uint64_t)PLUG_COMPILER_STRIDED; /* weights are contiguous */
  compiler.compile = compile;
  compiler.run = run;
  compiler.engine_destroy = engine_destroy;
  compiler.engine_info = engine_info;
  compiler.engine_pack = engine_pack;
  compiler.identity = NULL;
  compiler.engine_save = NULL;
  compiler.engine_load = NULL;
  module.compiler = &compiler;
  *out = &module;
  return PLUG_OK;
}
