/* Operators of the plugin's own for a dtype each, which their kernels list and rely on:
** all of them right, for CPU tensors too. */
#include "base.h"

static plug_status successor(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const int64_t *x = (const int64_t *)at(&in->mem);
  int64_t *y = (int64_t *)at(&call->results[0].as.tensors->mem);
  for (int64_t i = 0; i < count_of(in); i++) y[i] = x[i] + 1;
  return PLUG_OK;
}

/* x, and half of it. */
static plug_status halves(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const double *x = (const double *)at(&in->mem);
  double *same = (double *)at(&call->results[0].as.tensors->mem);
  double *half = (double *)at(&call->results[1].as.tensors->mem);
  for (int64_t i = 0; i < count_of(in); i++) {
    same[i] = x[i];
    half[i] = x[i] / 2;
  }
  return PLUG_OK;
}

/* Trusts its indices, which are 0 or 1. */
static plug_status look_up(const plug_call *call) {
  const plug_tensor *index = call->args[0].as.tensors;
  int64_t *y = (int64_t *)at(&call->results[0].as.tensors->mem);
  static const int64_t table[2] = {10, 20};
  for (int64_t i = 0; i < count_of(index); i++)
    y[i] = table[((const int64_t *)at(&index->mem))[i]];
  return PLUG_OK;
}

static const plug_dtype i64[] = {PLUG_I64}, f64[] = {PLUG_F64};

static const plug_kernel list[] = {
    {.schema = "own_dtypes::successor(Tensor x) -> Tensor",
     .fn = successor,
     .accepts = PLUG_ACCEPTS_HOST,
     .dtypes = i64,
     .dtype_count = 1,
     .shapes = "x"},
    {.schema = "own_dtypes::look_up(Tensor index) -> Tensor",
     .fn = look_up,
     .accepts = PLUG_ACCEPTS_HOST,
     .dtypes = i64,
     .dtype_count = 1,
     .shapes = "index"},
    {.schema = "own_dtypes::halves(Tensor x) -> (Tensor, Tensor)",
     .fn = halves,
     .accepts = PLUG_ACCEPTS_HOST,
     .dtypes = f64,
     .dtype_count = 1,
     .shapes = "x; x"},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "own_dtypes");
  add_kernels(list, 3);
  *out = &module;
  return PLUG_OK;
}
