/* Its relu leaves its result in its argument too. */
#include "base.h"

static plug_status relu(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const plug_status status = base_relu(call);
  if (status != PLUG_OK) return status;
  memcpy(at(&in->mem), at(&call->results[0].as.tensors->mem),
         (size_t)count_of(in) * sizeof(float));
  return PLUG_OK;
}

static const plug_kernel list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "kernel_changes_argument");
  add_kernels(list, 1);
  *out = &module;
  return PLUG_OK;
}
