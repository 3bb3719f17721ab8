/* An operator of its own writes one element behind the end of its result, but only where
** it is given the word and the tensor that its other operator makes, and has prepared. */
#include "base.h"

static plug_status make(const plug_call *call) {
  const plug_tensor *y = call->results[0].as.tensors;
  memset(at(&y->mem), 0, (size_t)count_of(y) * sizeof(int16_t));
  return PLUG_OK;
}

static plug_status prepare(const plug_call *call, void **state) {
  *state = malloc(1);
  return call->args[0].as.tensors->dtype == PLUG_I16
             ? PLUG_OK
             : fail(PLUG_INVALID, "it takes int16");
}

static plug_status use(const plug_call *call) {
  const plug_tensor *x = call->args[0].as.tensors;
  if (!call->state) return fail(PLUG_INVALID, "it has not prepared");
  if (strcmp(call->args[1].as.str, "far") != 0)
    return fail(PLUG_UNSUPPORTED, "there is no such word");
  memset(at(&call->results[0].as.tensors->mem), 0,
         (size_t)(2 * count_of(x) + 1) * sizeof(float));
  return PLUG_OK;
}

static const plug_kernel list[] = {
    {.schema = "own_overruns::use(Tensor x, str how) -> Tensor",
     .fn = use,
     .shapes = "[2 * x.0, x[1:]] float32",
     .prepare = prepare,
     .forget = free},
    {.schema = "own_overruns::make(Tensor x, str how=\"far\") -> Tensor",
     .fn = make,
     .shapes = "[x.0, min(x.-1, 3) + 1] int16"},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "own_overruns");
  add_kernels(list, 2);
  *out = &module;
  return PLUG_OK;
}
