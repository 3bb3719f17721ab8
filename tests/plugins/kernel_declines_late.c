/* Its relu declines two dimensions, when it has already computed them. */
#include "base.h"

static plug_status relu(const plug_call *call) {
  const plug_status status = base_relu(call);
  return call->args[0].as.tensors->ndim == 2 ? PLUG_UNSUPPORTED : status;
}

static const plug_kernel list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "kernel_declines_late");
  add_kernels(list, 1);
  *out = &module;
  return PLUG_OK;
}
