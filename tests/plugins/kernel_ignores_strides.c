/* Its relu says that it takes any strides, and heeds those of its result alone. */
#include "base.h"

static int64_t place_of(const plug_tensor *tensor, int64_t i) {
  int64_t place = 0;
  for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
    place += i % tensor->sizes[d] * tensor->strides[d];
    i /= tensor->sizes[d];
  }
  return place;
}

static plug_status relu(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors, *out = call->results[0].as.tensors;
  const float *x = (const float *)at(&in->mem);
  float *y = (float *)at(&out->mem);
  if (in->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(in); i++) y[place_of(out, i)] = x[i] < 0 ? 0 : x[i];
  return PLUG_OK;
}

static const plug_kernel list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .fn = relu,
     .accepts = PLUG_ACCEPTS_STRIDED},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "kernel_ignores_strides");
  add_kernels(list, 1);
  *out = &module;
  return PLUG_OK;
}
