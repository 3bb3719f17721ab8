/* A synchronous device with operators of its own, of which all but one take CPU
** tensors too, and one for float64, which is no dtype of kernels for PyTorch's
** operators. */
#define NAME "owner"
#include "own_operators.h"

#define COUNT (sizeof own_operators / sizeof *own_operators)

static plug_status info_of_f32(int32_t device, plug_device_info *info) {
  static const plug_dtype dtypes[] = {PLUG_F32};
  const plug_status status = base_info(device, info);
  info->dtypes = dtypes;
  info->dtype_count = 1;
  return status;
}

static plug_status halve(const plug_call *call) {
  const double *x = (const double *)at(&arg(call, 0)->mem);
  double *y = (double *)at(&res(call, 0)->mem);
  if (arg(call, 0)->dtype != PLUG_F64)
    return fail(PLUG_UNSUPPORTED, "only float64 can be halved");
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++) y[i] = x[i] / 2;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static plug_kernel list[COUNT + 2];
  make_device(given, NAME);
  runtime.device_info = info_of_f32;
  memcpy(list, own_operators, sizeof own_operators);
  list[COUNT] = (plug_kernel){
      .schema = NAME "::halve(Tensor x) -> Tensor", .fn = halve, .shapes = "x"};
  list[COUNT + 1] =
      (plug_kernel){.schema = "aten::relu(Tensor self) -> Tensor", .fn = base_relu};
  add_kernels(list, COUNT + 2);
  *out = &module;
  return PLUG_OK;
}
