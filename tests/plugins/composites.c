/* Kernels for operators that PyTorch composes of others and has gradients of its own for:
** forward alone. Of float32 and float64; each declines something. */
#include <math.h>

#include "base.h"
#include "elements.h"

static const plug_tensor *arg(const plug_call *call, uint32_t i) {
  return call->args[i].as.tensors;
}
static const plug_tensor *result(const plug_call *call, uint32_t i) {
  return call->results[i].as.tensors;
}

/* Declines a weight that is a vector. */
static plug_status linear(const plug_call *call) {
  const plug_tensor *in = arg(call, 0), *weight = arg(call, 1), *out = result(call, 0);
  if (!is_float(in) || weight->ndim != 2) return PLUG_UNSUPPORTED;
  const int64_t inner = weight->sizes[1], outer = weight->sizes[0];
  for (int64_t i = 0; i < elements_of(out); i++) {
    double sum = call->args[2].tag == PLUG_NONE ? 0 : get(arg(call, 2), i % outer);
    for (int64_t k = 0; k < inner; k++)
      sum += get(in, i / outer * inner + k) * get(weight, i % outer * inner + k);
    set(out, i, sum);
  }
  return PLUG_OK;
}

static int same_batches(const plug_tensor *a, const plug_tensor *b) {
  if (a->ndim <= 2 || b->ndim <= 2) return 1;
  for (int32_t d = 0; a->ndim == b->ndim && d < a->ndim - 2; d++) {
    if (a->sizes[d] != b->sizes[d]) return 0;
  }
  return a->ndim == b->ndim;
}

/* Of matrices, vectors and batches of the same sizes. */
static plug_status matmul(const plug_call *call) {
  const plug_tensor *a = arg(call, 0), *b = arg(call, 1), *out = result(call, 0);
  if (!is_float(a) || !same_batches(a, b)) return PLUG_UNSUPPORTED;
  const int64_t k = a->sizes[a->ndim - 1];
  const int64_t m = a->ndim == 1 ? 1 : a->sizes[a->ndim - 2];
  const int64_t n = b->ndim == 1 ? 1 : b->sizes[b->ndim - 1];
  const int64_t batches_a = elements_of(a) / (m * k),
                batches_b = elements_of(b) / (k * n);
  if (batches_a != batches_b && batches_a != 1 && batches_b != 1) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < elements_of(out); i++) {
    const int64_t batch = i / (m * n), row = i / n % m, column = i % n;
    double sum = 0;
    for (int64_t j = 0; j < k; j++)
      sum += get(a, (batches_a == 1 ? 0 : batch) * m * k + row * k + j) *
             get(b, (batches_b == 1 ? 0 : batch) * k * n + j * n + column);
    set(out, i, sum);
  }
  return PLUG_OK;
}

/* Without padding, dilation and ceil_mode. */
static plug_status max_pool(const plug_call *call) {
  const plug_tensor *in = arg(call, 0), *out = result(call, 0);
  const int64_t *size = call->args[1].as.ints, *padding = call->args[3].as.ints;
  const int64_t *stride = call->args[2].count ? call->args[2].as.ints : size;
  if (!is_float(in) || padding[0] || padding[1] || call->args[4].as.ints[0] != 1 ||
      call->args[4].as.ints[1] != 1 || call->args[5].as.i)
    return fail(PLUG_UNSUPPORTED, "no padding, no dilation");
  const int64_t h = in->sizes[in->ndim - 2], w = in->sizes[in->ndim - 1];
  const int64_t oh = out->sizes[out->ndim - 2], ow = out->sizes[out->ndim - 1];
  for (int64_t i = 0; i < elements_of(out); i++) {
    const int64_t plane = i / (oh * ow), row = i / ow % oh, column = i % ow;
    double most = -INFINITY;
    for (int64_t y = 0; y < size[0]; y++) {
      for (int64_t x = 0; x < size[1]; x++)
        most = fmax(most, get(in, plane * h * w + (row * stride[0] + y) * w +
                                      column * stride[1] + x));
    }
    set(out, i, most);
  }
  return PLUG_OK;
}

static plug_status rms_norm(const plug_call *call) {
  const plug_tensor *in = arg(call, 0), *out = result(call, 0), *rstd = result(call, 1);
  const plug_value *weight = &call->args[2];
  int64_t size = 1;
  if (!is_float(in)) return PLUG_UNSUPPORTED;
  for (uint32_t d = 0; d < call->args[1].count; d++) size *= call->args[1].as.ints[d];
  const double standard =
      in->dtype == PLUG_F32 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
  const double eps = call->args[3].tag == PLUG_NONE ? standard : call->args[3].as.f;
  for (int64_t row = 0; row < elements_of(in) / size; row++) {
    double sum = 0;
    for (int64_t i = 0; i < size; i++)
      sum += get(in, row * size + i) * get(in, row * size + i);
    const double scale = 1 / sqrt(sum / (double)size + eps);
    set(rstd, row, scale);
    for (int64_t i = 0; i < size; i++) {
      const double w = weight->tag == PLUG_NONE ? 1 : get(weight->as.tensors, i);
      set(out, row * size + i, get(in, row * size + i) * scale * w);
    }
  }
  return PLUG_OK;
}

/* Of float32 alone. */
static plug_status rms_norm_backward(const plug_call *call) {
  const plug_tensor *grad = arg(call, 0), *in = arg(call, 1), *rstd = arg(call, 3);
  const plug_value *weight = &call->args[4];
  int64_t size = 1;
  if (in->dtype != PLUG_F32) return fail(PLUG_UNSUPPORTED, "only float32");
  if (call->results[0].tag != PLUG_VALUE_TENSOR ||
      call->results[1].tag != PLUG_VALUE_TENSOR)
    return fail(PLUG_UNSUPPORTED, "both gradients or none");
  for (uint32_t d = 0; d < call->args[2].count; d++) size *= call->args[2].as.ints[d];
  for (int64_t i = 0; i < size; i++) set(result(call, 1), i, 0);
  for (int64_t row = 0; row < elements_of(in) / size; row++) {
    const double scale = get(rstd, row);
    double dot = 0;
    for (int64_t i = 0; i < size; i++)
      dot += get(grad, row * size + i) * get(weight->as.tensors, i) *
             get(in, row * size + i);
    for (int64_t i = 0; i < size; i++) {
      const double x = get(in, row * size + i) * scale, g = get(grad, row * size + i);
      const double w = get(weight->as.tensors, i);
      set(result(call, 0), row * size + i,
          scale * (g * w - x * scale * dot / (double)size));
      set(result(call, 1), i, get(result(call, 1), i) + g * x);
    }
  }
  return PLUG_OK;
}

static plug_status silu_backward(const plug_call *call) {
  if (!is_float(arg(call, 0))) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < elements_of(result(call, 0)); i++) {
    const double x = get(arg(call, 1), i), s = 1 / (1 + exp(-x));
    set(result(call, 0), i, get(arg(call, 0), i) * s * (1 + x * (1 - s)));
  }
  return PLUG_OK;
}

static plug_status mish_backward(const plug_call *call) {
  if (!is_float(arg(call, 0))) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < elements_of(result(call, 0)); i++) {
    const double x = get(arg(call, 1), i), s = 1 / (1 + exp(-x)), t = tanh(log1p(exp(x)));
    set(result(call, 0), i, get(arg(call, 0), i) * (t + x * s * (1 - t * t)));
  }
  return PLUG_OK;
}

/* Channel j * groups + i of the result is channel i * (channels / groups) + j. */
static plug_status channel_shuffle(const plug_call *call) {
  const plug_tensor *in = arg(call, 0), *out = result(call, 0);
  const int64_t groups = call->args[1].as.i, channels = in->sizes[1];
  int64_t inner = 1;
  for (int32_t d = 2; d < in->ndim; d++) inner *= in->sizes[d];
  for (int64_t i = 0; i < elements_of(out); i++) {
    const int64_t n = i / inner / channels, c = i / inner % channels;
    const int64_t from = c % groups * (channels / groups) + c / groups;
    set(out, i, get(in, (n * channels + from) * inner + i % inner));
  }
  return PLUG_OK;
}

/* Zero but where an index says: there the gradient. */
static plug_status select_backward(const plug_call *call) {
  const plug_tensor *grad = arg(call, 0), *indices = arg(call, 2), *out = result(call, 0);
  const int64_t dim =
      call->args[1].as.i < 0 ? call->args[1].as.i + out->ndim : call->args[1].as.i;
  int64_t inner = 1;
  for (int32_t d = (int32_t)dim + 1; d < out->ndim; d++) inner *= out->sizes[d];
  for (int64_t i = 0; i < elements_of(out); i++) set(out, i, 0);
  for (int64_t i = 0; i < elements_of(grad); i++) {
    const int64_t place =
        (i / inner * out->sizes[dim] + (int64_t)get(indices, i)) * inner;
    set(out, place + i % inner, get(grad, i));
  }
  return PLUG_OK;
}

/* Without amsgrad, maximize and a scale of gradients. */
static plug_status fused_adamw(const plug_call *call) {
  const double lr = call->args[6].as.f, beta1 = call->args[7].as.f,
               beta2 = call->args[8].as.f, decay = call->args[9].as.f,
               eps = call->args[10].as.f;
  if (call->args[11].as.i || call->args[12].as.i || call->args[13].tag != PLUG_NONE)
    return fail(PLUG_UNSUPPORTED, "only the plain form is here");
  for (uint32_t n = 0; n < call->args[0].count; n++) {
    const plug_tensor *p = &call->args[0].as.tensors[n],
                      *g = &call->args[1].as.tensors[n],
                      *m = &call->args[2].as.tensors[n],
                      *v = &call->args[3].as.tensors[n];
    const double step = get(&call->args[5].as.tensors[n], 0);
    for (int64_t i = 0; i < elements_of(p); i++) {
      const double mean = beta1 * get(m, i) + (1 - beta1) * get(g, i);
      const double square = beta2 * get(v, i) + (1 - beta2) * get(g, i) * get(g, i);
      const double scale = sqrt(square) / sqrt(1 - pow(beta2, step)) + eps;
      set(m, i, mean);
      set(v, i, square);
      set(p, i,
          get(p, i) * (1 - lr * decay) - lr / (1 - pow(beta1, step)) * mean / scale);
    }
  }
  return PLUG_OK;
}

static plug_status range(const plug_call *call) {
  const plug_tensor *out = result(call, 0);
  if (out->mem.base != arg(call, 3)->mem.base)
    return fail(PLUG_INTERNAL, "the argument is not the result");
  for (int64_t i = 0; i < elements_of(out); i++)
    set(out, i, number_of(&call->args[0]) + (double)i * number_of(&call->args[2]));
  return PLUG_OK;
}

static plug_status nothing(const plug_call *call) {
  (void)call;
  return fail(PLUG_INTERNAL, "this kernel is for nothing");
}

static const plug_kernel list[] = {
    {.schema = "aten::_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] "
               "normalized_shape, Tensor rstd, Tensor? weight, bool[2] output_mask) -> "
               "(Tensor, Tensor)",
     .fn = rms_norm_backward},
    {.schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     .fn = linear},
    {.schema = "aten::matmul(Tensor self, Tensor other) -> Tensor", .fn = matmul},
    {.schema = "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], "
               "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
     .fn = max_pool},
    {.schema = "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? "
               "weight, float? eps) -> (Tensor, Tensor)",
     .fn = rms_norm},
    {.schema = "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor",
     .fn = silu_backward},
    {.schema = "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor",
     .fn = mish_backward},
    {.schema = "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .fn = channel_shuffle},
    {.schema = "aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor "
               "indices, SymInt[] sizes, bool keepdim) -> Tensor",
     .fn = select_backward},
    {.schema =
         "aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] "
         "exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] "
         "state_steps, *, float lr, float beta1, float beta2, float weight_decay, float "
         "eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? "
         "found_inf=None) -> ()",
     .fn = fused_adamw},
    {.schema = "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, "
               "Tensor(a!) out) -> Tensor(a!)",
     .fn = range},
    /* With a gradient that nobody has. */
    {.schema = "aten::_efficient_attention_forward(Tensor query, Tensor key, Tensor "
               "value, Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt? "
               "max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int "
               "custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None, "
               "Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, Tensor "
               "logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt "
               "max_seqlen_batch_q, SymInt max_seqlen_batch_k)",
     .fn = nothing},
    {.schema = "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> "
               "Tensor(a)",
     .fn = nothing},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "composites");
  /* The first computes a gradient that torchplug composes where it is left out. */
  const size_t left_out = host->option(host, "composites.gradients") ? 0 : 1;
  add_kernels(list + left_out, sizeof list / sizeof *list - left_out);
  *out = &module;
  return PLUG_OK;
}
