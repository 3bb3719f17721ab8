/* Kernels for operators of which the host does a part itself: those that write what they
** are given, make or look at tensors, or are one half of a pair. */
#include <math.h>

#include "base.h"

static const float *floats(const plug_call *call, uint32_t i) {
  return (const float *)at(&call->args[i].as.tensors->mem);
}

static float *written(const plug_call *call, uint32_t i) {
  return (float *)at(&call->results[i].as.tensors->mem);
}

static plug_status fill(const plug_call *call) {
  const plug_tensor *out = call->results[0].as.tensors;
  const plug_value *value = &call->args[1];
  if (out->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(out); i++) {
    written(call, 0)[i] =
        value->tag == PLUG_VALUE_FLOAT ? (float)value->as.f : (float)value->as.i;
  }
  return PLUG_OK;
}

static plug_status neg(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  for (int64_t i = 0; i < count_of(in); i++) {
    if (in->dtype == PLUG_F32) written(call, 0)[i] = -floats(call, 0)[i];
    if (in->dtype == PLUG_I64)
      ((int64_t *)written(call, 0))[i] = -((const int64_t *)floats(call, 0))[i];
  }
  return in->dtype == PLUG_F32 || in->dtype == PLUG_I64 ? PLUG_OK : PLUG_UNSUPPORTED;
}

/* Between float32 and float64. */
static plug_status convert(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors, *out = call->results[0].as.tensors;
  const float *x = floats(call, 0);
  const double *wide = (const double *)x;
  for (int64_t i = 0; i < count_of(in); i++) {
    if (in->dtype == PLUG_F32 && out->dtype == PLUG_F64)
      ((double *)written(call, 0))[i] = x[i];
    else if (in->dtype == PLUG_F64 && out->dtype == PLUG_F32)
      written(call, 0)[i] = (float)wide[i];
    else
      return PLUG_UNSUPPORTED;
  }
  return PLUG_OK;
}

/* No random number at all: the mean. */
static plug_status normal(const plug_call *call) {
  const plug_tensor *out = call->results[0].as.tensors;
  if (out->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(out); i++)
    written(call, 0)[i] = (float)call->args[1].as.f;
  return PLUG_OK;
}

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* The forward of an LSTM's cell, with its gates after their activation as workspace. */
static plug_status lstm_cell(const plug_call *call) {
  const plug_tensor *cx = call->args[2].as.tensors;
  const int64_t batch = cx->sizes[0], size = cx->sizes[1];
  const int has_bias = call->args[3].tag != PLUG_NONE;
  for (int64_t b = 0; b < batch; b++) {
    for (int64_t h = 0; h < size; h++) {
      float gates[4];
      for (int64_t g = 0; g < 4; g++) {
        const int64_t place = b * 4 * size + g * size + h;
        float x = floats(call, 0)[place] + floats(call, 1)[place];
        if (has_bias) x += floats(call, 3)[g * size + h] + floats(call, 4)[g * size + h];
        gates[g] = g == 2 ? tanhf(x) : sigmoid(x);
        written(call, 2)[place] = gates[g];
      }
      const int64_t place = b * size + h;
      const float cy = gates[1] * floats(call, 2)[place] + gates[0] * gates[2];
      written(call, 1)[place] = cy;
      written(call, 0)[place] = gates[3] * tanhf(cy);
    }
  }
  return PLUG_OK;
}

/* Never called. */
static plug_status declines(const plug_call *call) {
  (void)call;
  return PLUG_UNSUPPORTED;
}

static plug_status nothing(const plug_call *call) {
  (void)call;
  return fail(PLUG_INTERNAL, "this kernel is for nothing");
}

static const plug_kernel list[] = {
    {.schema = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", .fn = fill},
    {.schema = "aten::neg(Tensor self) -> Tensor", .fn = neg},
    {.schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, "
               "Tensor)",
     .fn = declines},
    {.schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? "
               "layout=None, Device? device=None, bool? pin_memory=None, bool "
               "non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     .fn = convert},
    {.schema = "aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? "
               "generator=None) -> Tensor(a!)",
     .fn = normal},
    {.schema =
         "aten::_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, "
         "Tensor cx, Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor, "
         "Tensor, Tensor)",
     .fn = lstm_cell},
    {.schema = "aten::relu_(Tensor(a!) self) -> Tensor(a!)", .fn = nothing},
    {.schema = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", .fn = nothing},
    {.schema = "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, "
               "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
               "MemoryFormat? memory_format=None) -> Tensor",
     .fn = nothing},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "odd_kernels");
  add_kernels(list, sizeof list / sizeof *list);
  *out = &module;
  return PLUG_OK;
}
