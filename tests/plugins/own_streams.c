/* sim with an operator of its own that is done later, in the order of its stream, and one
** that says which stream it was given. */
#include "on_sim.h"

struct work {
  const float *x;
  float *y;
  int64_t count;
};

static float *data_of(const plug_tensor *tensor) {
  void *view = NULL;
  const plug_status status = sim.host_view(tensor->mem.device, tensor->mem.base, &view);
  return status == PLUG_OK ? (float *)((char *)view + tensor->mem.offset) : NULL;
}

static void double_each(void *arg, plug_status status) {
  const struct work *work = arg;
  if (status != PLUG_OK || !work->x || !work->y) return;
  for (int64_t i = 0; i < work->count; i++) work->y[i] = 2 * work->x[i];
}

static plug_status twice(const plug_call *call) {
  const plug_tensor *x = call->args[0].as.tensors;
  struct work *work = malloc(sizeof *work);
  if (!work) return PLUG_NO_MEMORY;
  *work = (struct work){data_of(x), data_of(call->results[0].as.tensors), 1};
  for (int32_t d = 0; d < x->ndim; d++) work->count *= x->sizes[d];
  const plug_status status =
      sim.host_func(call->device, call->stream, double_each, free, work);
  if (status != PLUG_OK) free(work);
  return status;
}

/* The stream, and whether it captures. */
static plug_status where(const plug_call *call) {
  call->results[0].as.i = (int64_t)(intptr_t)call->stream;
  call->results[1].as.i = (call->flags & PLUG_CALL_CAPTURED) != 0;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static const plug_kernel list[] = {
      {.schema = "own_streams::twice(Tensor x) -> Tensor", .fn = twice, .shapes = "x"},
      {.schema = "own_streams::where(Tensor x) -> (int, bool)", .fn = where},
  };
  static const plug_kernels kernels = {.size = sizeof kernels,
                                       .kernel_size = sizeof *list,
                                       .count = sizeof list / sizeof *list,
                                       .list = list};
  const plug_status status = make_sim(given, "own_streams");
  if (status != PLUG_OK) return status;
  module.kernels = &kernels;
  *out = &module;
  return PLUG_OK;
}
