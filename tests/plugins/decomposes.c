/* A few kernels of float32 and float64, of contiguous tensors, and PLUG_DECOMPOSE: what
** PyTorch decomposes into these has no need of the CPU. exp declines the number of
** elements that decomposes.declines says. */
#include <math.h>

#include "base.h"
#include "elements.h"
#include "torchplug/plug_util.h"
#include "torchplug/schemas.h"

static const plug_tensor *arg(const plug_call *call, uint32_t i) {
  return call->args[i].as.tensors;
}
static const plug_tensor *result(const plug_call *call) {
  return call->results[0].as.tensors;
}

static plug_status unary(const plug_call *call, double (*fn)(double)) {
  for (int64_t i = 0; i < elements_of(result(call)); i++)
    set(result(call), i, fn(get(arg(call, 0), i)));
  return PLUG_OK;
}

static double negative(double x) { return -x; }
static double inverse_root(double x) { return 1 / sqrt(x); }

static plug_status declining_exp(const plug_call *call) {
  const char *declined = host->option(host, "decomposes.declines");
  if (declined && atoll(declined) == elements_of(result(call)))
    return fail(PLUG_UNSUPPORTED, "an unlucky number of elements");
  return unary(call, exp);
}
static plug_status log_of(const plug_call *call) { return unary(call, log); }
static plug_status neg(const plug_call *call) { return unary(call, negative); }
static plug_status rsqrt(const plug_call *call) { return unary(call, inverse_root); }

enum operation { ADD, SUB, MUL, DIV, GT, LE };

static double apply(enum operation operation, double a, double b) {
  switch (operation) {
    case ADD:
      return a + b;
    case SUB:
      return a - b;
    case MUL:
      return a * b;
    case DIV:
      return a / b;
    case GT:
      return a > b;
    default:
      return a <= b;
  }
}

static plug_status binary(const plug_call *call, enum operation operation, double alpha) {
  for (int64_t i = 0; i < elements_of(result(call)); i++)
    set(result(call), i,
        apply(operation, get(arg(call, 0), i), alpha * get(arg(call, 1), i)));
  return PLUG_OK;
}

static plug_status with_number(const plug_call *call, enum operation operation) {
  for (int64_t i = 0; i < elements_of(result(call)); i++)
    set(result(call), i,
        apply(operation, get(arg(call, 0), i), number_of(&call->args[1])));
  return PLUG_OK;
}

static plug_status add(const plug_call *call) {
  return binary(call, ADD, number_of(&call->args[2]));
}
static plug_status sub(const plug_call *call) {
  return binary(call, SUB, number_of(&call->args[2]));
}
static plug_status mul(const plug_call *call) { return binary(call, MUL, 1); }
static plug_status divide(const plug_call *call) { return binary(call, DIV, 1); }
static plug_status gt(const plug_call *call) { return with_number(call, GT); }
static plug_status le(const plug_call *call) { return with_number(call, LE); }

static plug_status where(const plug_call *call) {
  for (int64_t i = 0; i < elements_of(result(call)); i++)
    set(result(call), i,
        get(arg(call, 0), i) != 0 ? get(arg(call, 1), i) : get(arg(call, 2), i));
  return PLUG_OK;
}

static plug_status clamp(const plug_call *call) {
  for (int64_t i = 0; i < elements_of(result(call)); i++) {
    double x = get(arg(call, 0), i), low = -INFINITY, high = INFINITY;
    plug_get_double(&call->args[1], &low);
    plug_get_double(&call->args[2], &high);
    set(result(call), i, isnan(x) ? x : fmin(fmax(x, low), high));
  }
  return PLUG_OK;
}

static plug_status fill(const plug_call *call) {
  for (int64_t i = 0; i < elements_of(result(call)); i++)
    set(result(call), i, number_of(&call->args[1]));
  return PLUG_OK;
}

static plug_status reduce(const plug_call *call, int is_sum) {
  const plug_tensor *tensors[] = {result(call), arg(call, 0)};
  plug_reduction reduction;
  plug_runs kept, reduced;
  const plug_dtype dtype = result(call)->dtype;
  const plug_status status =
      plug_reduction_make(&reduction, 1, 1, tensors, &call->args[1], 0);
  if (status != PLUG_OK) return status;
  if (dtype != arg(call, 0)->dtype) return PLUG_UNSUPPORTED;
  plug_runs_begin(&kept, &reduction.kept, 0, reduction.kept.count);
  while (plug_runs_next(&kept)) {
    for (int64_t i = 0; i < kept.n; i++) {
      char *base = kept.data[1] + i * kept.strides[1];
      double made = is_sum ? 0 : -INFINITY;
      plug_runs_from(&reduced, &reduction.reduced, &base, 0, reduction.reduced.count);
      while (plug_runs_next(&reduced)) {
        for (int64_t k = 0; k < reduced.n; k++) {
          const double x = plug_load(reduced.data[0] + k * reduced.strides[0], dtype);
          made = is_sum ? made + x : isnan(x) || isnan(made) ? NAN : fmax(made, x);
        }
      }
      plug_store(kept.data[0] + i * kept.strides[0], dtype, made);
    }
  }
  return PLUG_OK;
}

static plug_status sum(const plug_call *call) { return reduce(call, 1); }
static plug_status amax(const plug_call *call) { return reduce(call, 0); }

static int is_copied(const plug_tensor *tensor) {
  const plug_dtype dtype = tensor->dtype;
  if (tensor->layout != 0 || (tensor->flags & ~(uint32_t)PLUG_TENSOR_WRITTEN)) return 0;
  return dtype == PLUG_F32 || dtype == PLUG_F64 || dtype == PLUG_I32 ||
         dtype == PLUG_I64 || dtype == PLUG_BOOL;
}

static plug_status copy_strided(int32_t device, plug_stream stream,
                                const plug_tensor *dst, const plug_tensor *src) {
  (void)device, (void)stream;
  if (!is_copied(dst) || !is_copied(src)) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < elements_of(dst); i++) {
    if (dst->dtype == src->dtype)
      memcpy(element_at(dst, i), element_at(src, i), PLUG_DTYPE_BYTES(dst->dtype));
    else
      set(dst, i, get(src, i));
  }
  return PLUG_OK;
}

static const plug_dtype floats[] = {PLUG_F32, PLUG_F64};
static const plug_dtype with_bool[] = {PLUG_F32, PLUG_F64, PLUG_BOOL};

#define OF_FLOATS .dtypes = floats, .dtype_count = 2
#define OF_FLOATS_AND_BOOL .dtypes = with_bool, .dtype_count = 3

static const plug_kernel list[] = {
    {.schema = PLUG_SCHEMA_EXP, .fn = declining_exp, OF_FLOATS},
    {.schema = PLUG_SCHEMA_LOG, .fn = log_of, OF_FLOATS},
    {.schema = PLUG_SCHEMA_NEG, .fn = neg, OF_FLOATS},
    {.schema = PLUG_SCHEMA_RSQRT, .fn = rsqrt, OF_FLOATS},
    {.schema = PLUG_SCHEMA_ADD_TENSOR, .fn = add, OF_FLOATS},
    {.schema = PLUG_SCHEMA_SUB_TENSOR, .fn = sub, OF_FLOATS},
    {.schema = PLUG_SCHEMA_MUL_TENSOR, .fn = mul, OF_FLOATS},
    {.schema = PLUG_SCHEMA_DIV_TENSOR, .fn = divide, OF_FLOATS},
    {.schema = PLUG_SCHEMA_GT_SCALAR, .fn = gt, OF_FLOATS_AND_BOOL},
    {.schema = PLUG_SCHEMA_LE_SCALAR, .fn = le, OF_FLOATS_AND_BOOL},
    {.schema = PLUG_SCHEMA_CLAMP, .fn = clamp, OF_FLOATS},
    {.schema = PLUG_SCHEMA_FILL_SCALAR, .fn = fill, OF_FLOATS_AND_BOOL},
    {.schema = PLUG_SCHEMA_WHERE_SELF, .fn = where, OF_FLOATS_AND_BOOL},
    {.schema = PLUG_SCHEMA_SUM_DIM_INTLIST, .fn = sum, OF_FLOATS},
    {.schema = PLUG_SCHEMA_AMAX, .fn = amax, OF_FLOATS},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "decomposes");
  runtime.copy_strided = copy_strided;
  add_kernels(list, sizeof list / sizeof *list);
  module.flags = PLUG_DECOMPOSE;
  *out = &module;
  return PLUG_OK;
}
