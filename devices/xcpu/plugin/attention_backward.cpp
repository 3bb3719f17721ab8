#include "attention_backward.h"

#include <cmath>
#include <cstring>

#include "arguments.h"
#include "attention.h"
#include "heads.h"

namespace xcpu::plugin {
namespace {

void clear(const OptionalOut& tensor) {
  if (!tensor || tensor->numel() == 0) return;
  const auto bytes = static_cast<std::size_t>(tensor->numel()) * PLUG_DTYPE_BYTES(tensor->dtype());
  std::memset(plug_address(&tensor->raw().mem), 0, bytes);
}

xcpu_heads heads_of(const plug::Call& call, const OptionalOut& tensor, const char* name) {
  return tensor ? plugin::heads_of(call, *tensor, name).heads : xcpu_heads{};
}

// A sink takes its part of every row, and its value is zero: what the row would gain goes against it.
void store_sinks(const plug::Out& to, const xcpu_attention_backward_args& args, const float* out,
                 std::int64_t tokens) {
  const std::int64_t heads = args.forward.q_heads, dim = args.forward.head_dim;
  constexpr plug_dtype kDtypes[] = {PLUG_F32, PLUG_BF16, PLUG_F16};  // by xcpu_dtype
  const plug_dtype dtype = kDtypes[args.grad.dtype];
  const auto bytes = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(dtype));
  for (std::int64_t head = 0; head < heads; ++head) {
    double sum = 0;
    for (std::int64_t token = 0; token < tokens; ++token) {
      const auto* given = static_cast<const char*>(args.grad.data) +
                          (token * args.grad.token_stride + head * args.grad.head_stride) * bytes;
      const float* row = out + (token * heads + head) * dim;
      double dot = 0;
      for (std::int64_t d = 0; d < dim; ++d) {
        dot += double{row[d]} * plug_load(given + d * bytes, dtype);
      }
      sum -= dot * std::exp(double{args.forward.scores.sinks[head]} - args.forward.lse[token * heads + head]);
    }
    plug_store(static_cast<char*>(plug_address(&to.raw().mem)) +
                   head * static_cast<std::int64_t>(PLUG_DTYPE_BYTES(to.dtype())),
               to.dtype(), sum);
  }
}

}  // namespace

void attention_backward(plug::Call& call, plug::Tensor grad, plug::Tensor q, plug::Tensor k, plug::Tensor v,
                        std::optional<plug::Tensor> q_starts, std::optional<plug::Tensor> k_starts,
                        bool causal, std::optional<double> scale, std::int64_t window, double softcap,
                        std::optional<plug::Tensor> alibi, std::optional<plug::Tensor> sinks,
                        plug::Bools /*wanted*/, OptionalOut grad_q, OptionalOut grad_k, OptionalOut grad_v,
                        OptionalOut grad_sinks) {
  xcpu_attention_backward_args args{};
  args.forward =
      attention_args(call, q, k, v, q_starts, k_starts, causal, scale, window, softcap, alibi, sinks);
  expect_sizes(grad, "grad", q.sizes());
  clear(grad_sinks);
  if (q.numel() == 0 || k.numel() == 0) {
    for (const OptionalOut& result : {grad_q, grad_k, grad_v}) clear(result);
    return;
  }
  const std::int64_t heads = args.forward.q_heads, dim = args.forward.head_dim, rows = q.numel() / dim;
  const plug::Scratch<float> out(call, q.numel()), lse(call, rows);
  args.forward.out = {out.data(), XCPU_F32, heads * dim, dim};
  args.forward.lse = lse.data();
  {
    const plug::Scratch<char> scratch(call, xcpu_attention_scratch(&args.forward));
    check(xcpu_attention(&args.forward, scratch.data(), team()));
  }
  args.grad = plugin::heads_of(call, grad, "grad").heads;
  args.grad_q = heads_of(call, grad_q, "q");
  args.grad_k = heads_of(call, grad_k, "k");
  args.grad_v = heads_of(call, grad_v, "v");
  if (grad_q || grad_k || grad_v) {
    const plug::Scratch<char> scratch(call, xcpu_attention_backward_scratch(&args));
    check(xcpu_attention_backward(&args, scratch.data(), team()));
  }
  if (sinks && grad_sinks) store_sinks(*grad_sinks, args, out.data(), rows / heads);
}

}  // namespace xcpu::plugin
