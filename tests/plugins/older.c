/* A plugin built against a header that ended earlier: its runtime table with `copy`,
** its module with `kernels`, its kernels with `user`. What lies behind is poison. */
#include "base.h"

struct old_kernel {
  const char *schema;
  plug_kernel_fn fn;
  const void *user;
};

static plug_status neg(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const float *x = (const float *)at(&in->mem);
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  if (in->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(in); i++) y[i] = -x[i];
  return PLUG_OK;
}

static const struct old_kernel list[] = {
    {"aten::relu(Tensor self) -> Tensor", base_relu, NULL},
    {"aten::neg(Tensor self) -> Tensor", neg, NULL},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "older");
  runtime.size = offsetof(plug_runtime, copy) + sizeof runtime.copy;
  memset((char *)&runtime + runtime.size, 0x5a, sizeof runtime - runtime.size);
  add_kernels((const plug_kernel *)list, sizeof list / sizeof *list);
  kernels.kernel_size = sizeof(struct old_kernel);
  module.size = offsetof(plug_module, kernels) + sizeof module.kernels;
  memset((char *)&module + module.size, 0x5a, sizeof module - module.size);
  *out = &module;
  return PLUG_OK;
}
