/* A fused kernel for attention, forward and backward, of float32 without mask or dropout
** and with as many heads of keys as of queries. By default it says in `prepare` which
** calls it takes; with attention.late set, when it is called. */
#include <math.h>

#include "base.h"
#include "elements.h"

static int64_t asked, forward_calls, backward_calls;

PLUG_EXPORT void attention_reset(void) { asked = forward_calls = backward_calls = 0; }
PLUG_EXPORT int64_t attention_asked(void) { return asked; }
PLUG_EXPORT int64_t attention_forward(void) { return forward_calls; }
PLUG_EXPORT int64_t attention_backward(void) { return backward_calls; }

static const plug_tensor *arg(const plug_call *call, uint32_t i) {
  return call->args[i].as.tensors;
}
static const plug_tensor *result(const plug_call *call, uint32_t i) {
  return call->results[i].as.tensors;
}

static plug_status takes(const plug_call *call) {
  const plug_tensor *q = arg(call, 0), *k = arg(call, 1);
  if (q->dtype != PLUG_F32) return fail(PLUG_UNSUPPORTED, "only float32");
  if (call->args[3].tag != PLUG_NONE) return fail(PLUG_UNSUPPORTED, "no masks");
  if (call->args[4].as.f != 0) return fail(PLUG_UNSUPPORTED, "no dropout");
  if (q->ndim != 4 || q->sizes[1] != k->sizes[1])
    return fail(PLUG_UNSUPPORTED, "as many heads of keys as of queries");
  return PLUG_OK;
}

static plug_status prepare(const plug_call *call, void **state) {
  (void)state;
  asked++;
  return takes(call);
}

static double scale_of(const plug_value *given, const plug_tensor *q) {
  return given->tag == PLUG_NONE ? 1 / sqrt((double)q->sizes[3]) : given->as.f;
}

/* The weight of key s for query l of head h, h counting all batches. */
static double score(const plug_tensor *q, const plug_tensor *k, double scale, int64_t h,
                    int64_t l, int64_t s) {
  const int64_t n = q->sizes[3];
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += get(q, (h * q->sizes[2] + l) * n + i) * get(k, (h * k->sizes[2] + s) * n + i);
  return sum * scale;
}

static plug_status forward(const plug_call *call) {
  const plug_status taken = takes(call);
  if (taken != PLUG_OK) return taken;
  const plug_tensor *q = arg(call, 0), *k = arg(call, 1), *v = arg(call, 2);
  const int64_t heads = q->sizes[0] * q->sizes[1], length = q->sizes[2];
  const int64_t keys = k->sizes[2], width = v->sizes[3];
  const double scale = scale_of(&call->args[7], q);
  const int causal = call->args[5].as.i != 0;
  forward_calls++;
  for (int64_t h = 0; h < heads; h++) {
    for (int64_t l = 0; l < length; l++) {
      const int64_t seen = causal && l + 1 < keys ? l + 1 : keys;
      double total = 0;
      for (int64_t s = 0; s < seen; s++) total += exp(score(q, k, scale, h, l, s));
      set(result(call, 1), h * length + l, log(total));
      for (int64_t i = 0; i < width; i++) {
        double sum = 0;
        for (int64_t s = 0; s < seen; s++)
          sum += exp(score(q, k, scale, h, l, s)) / total *
                 get(v, (h * keys + s) * width + i);
        set(result(call, 0), (h * length + l) * width + i, sum);
      }
    }
  }
  call->results[4].as.i = length;
  call->results[5].as.i = keys;
  return PLUG_OK;
}

static void add_to(const plug_tensor *tensor, int64_t i, double value) {
  set(tensor, i, get(tensor, i) + value);
}

/* For the query l of head h, given the gradient of what it attended to. */
static void backward_of(const plug_call *call, double scale, int causal, int64_t h,
                        int64_t l) {
  const plug_tensor *grad = arg(call, 0), *q = arg(call, 1), *k = arg(call, 2),
                    *v = arg(call, 3);
  const int64_t length = q->sizes[2], keys = k->sizes[2], width = v->sizes[3],
                n = q->sizes[3];
  const int64_t seen = causal && l + 1 < keys ? l + 1 : keys, row = h * length + l;
  const double total = get(arg(call, 7), row);
  double mean = 0;
  for (int64_t i = 0; i < width; i++)
    mean += get(grad, row * width + i) * get(arg(call, 6), row * width + i);
  for (int64_t s = 0; s < seen; s++) {
    const double weight = exp(score(q, k, scale, h, l, s) - total);
    double by_weight = 0;
    for (int64_t i = 0; i < width; i++) {
      const double g = get(grad, row * width + i);
      by_weight += g * get(v, (h * keys + s) * width + i);
      add_to(result(call, 2), (h * keys + s) * width + i, weight * g);
    }
    const double by_score = weight * (by_weight - mean) * scale;
    for (int64_t i = 0; i < n; i++) {
      add_to(result(call, 0), row * n + i, by_score * get(k, (h * keys + s) * n + i));
      add_to(result(call, 1), (h * keys + s) * n + i, by_score * get(q, row * n + i));
    }
  }
}

static plug_status backward(const plug_call *call) {
  const plug_tensor *q = arg(call, 1);
  for (uint32_t r = 0; r < 3; r++) {
    if (call->results[r].tag != PLUG_VALUE_TENSOR) return PLUG_UNSUPPORTED;
    for (int64_t i = 0; i < elements_of(result(call, r)); i++) set(result(call, r), i, 0);
  }
  backward_calls++;
  for (int64_t h = 0; h < q->sizes[0] * q->sizes[1]; h++) {
    for (int64_t l = 0; l < q->sizes[2]; l++)
      backward_of(call, scale_of(&call->args[16], q), call->args[13].as.i != 0, h, l);
  }
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static plug_kernel list[] = {
      {.schema = "aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, "
                 "Tensor key, Tensor value, Tensor? attn_bias=None, float dropout_p=0.0, "
                 "bool is_causal=False, bool return_debug_mask=False, *, float? "
                 "scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, "
                 "Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, "
                 "Tensor philox_offset, Tensor debug_attn_mask)",
       .fn = forward},
      {.schema = "aten::_scaled_dot_product_fused_attention_overrideable_backward(Tensor "
                 "grad_out, Tensor query, Tensor key, Tensor value, Tensor attn_bias, "
                 "bool[4] grad_input_mask, Tensor out, Tensor logsumexp, Tensor "
                 "cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float "
                 "dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, "
                 "*, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor "
                 "grad_value, Tensor grad_attn_bias)",
       .fn = backward}};
  make_device(given, "attention");
  if (!host->option(host, "attention.late")) list[0].prepare = prepare;
  add_kernels(list, host->option(host, "attention.alone") ? 1 : 2);
  *out = &module;
  return PLUG_OK;
}
