/* Its relu writes one element behind the end of its result. */
#include "base.h"

static plug_status relu(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const plug_status status = base_relu(call);
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  if (status == PLUG_OK) y[count_of(in)] = 0;
  return status;
}

static const plug_kernel list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "kernel_overruns");
  add_kernels(list, 1);
  *out = &module;
  return PLUG_OK;
}
