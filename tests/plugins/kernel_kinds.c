/* Kernels of all kinds, all of them right: one that prepares, an operator of the plugin's
** own that also takes CPU tensors, and `any`, which computes neg. With kernel_kinds.alone
** set there is no device, and with kernel_kinds.crashes set relu crashes. */
#include "base.h"

struct plan {
  int64_t count;
};

static plug_status prepare(const plug_call *call, void **state) {
  const plug_tensor *in = call->args[0].as.tensors;
  struct plan *plan = malloc(sizeof *plan);
  if (in->dtype != PLUG_F32) {
    free(plan);
    return PLUG_UNSUPPORTED;
  }
  if (!plan) return fail(PLUG_NO_MEMORY, "the host has no memory left");
  plan->count = count_of(in);
  *state = plan;
  return PLUG_OK;
}

static plug_status relu(const plug_call *call) {
  const struct plan *plan = call->state;
  const float *x = (const float *)at(&call->args[0].as.tensors->mem);
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  if (!plan) return fail(PLUG_INVALID, "relu was not prepared");
  if (host->option(host, "kernel_kinds.crashes")) abort();
  for (int64_t i = 0; i < plan->count; i++) y[i] = x[i] < 0 ? 0 : x[i];
  return PLUG_OK;
}

static plug_status scale(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const float *x = (const float *)at(&in->mem);
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  if (in->dtype != PLUG_F32) return fail(PLUG_INVALID, "scale is for float32");
  for (int64_t i = 0; i < count_of(in); i++) y[i] = x[i] * (float)call->args[1].as.f;
  return PLUG_OK;
}

static plug_status anything(const plug_call *call) {
  if (!call->name || strcmp(call->name, "aten::neg") != 0) return PLUG_UNSUPPORTED;
  const plug_tensor *in = call->args[0].as.tensors;
  const float *x = (const float *)at(&in->mem);
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  if (in->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(in); i++) y[i] = -x[i];
  return PLUG_OK;
}

static const plug_kernel list[] = {
    {.schema = "kernel_kinds::scale(Tensor x, float by=1.0) -> Tensor",
     .fn = scale,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x",
     .gradient = "x: kernel_kinds::scale(grad, by)"},
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .fn = relu,
     .prepare = prepare,
     .forget = free},
};

static const plug_kernel any = {.fn = anything};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "kernel_kinds");
  add_kernels(list, 2);
  kernels.any = &any;
  if (given->option(given, "kernel_kinds.alone")) {
    module.runtime = NULL;
    kernels.any = NULL;
    kernels.count = 1;
  }
  *out = &module;
  return PLUG_OK;
}
