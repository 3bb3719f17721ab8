#include "rotary.h"

#include <string>

#include "arguments.h"
#include "heads.h"

namespace xcpu::plugin {
namespace {

// As many tokens of each sequence as there are places in dim -3.
const std::int64_t* places(const plug::Call& call, const plug::Tensor& q, std::int64_t tokens) {
  const std::int64_t length = q.size(-3);
  if (tokens == length) return nullptr;  // their places are their indices
  const plug::Scratch<std::int64_t> found(call, tokens);
  for (std::int64_t i = 0; i < tokens; ++i) found[i] = i % length;
  return found.data();
}

xcpu_rotary rotary_of(const plug::Call& call, const plug::Tensor& q, const plug::Tensor& cos,
                      const plug::Tensor& sin, const std::optional<plug::Tensor>& positions, bool interleaved,
                      std::int64_t tokens) {
  expect_table(cos, sin, q.size(-1));
  xcpu_rotary rotary{};
  rotary.form = interleaved ? XCPU_ROTARY_INTERLEAVED : XCPU_ROTARY_HALVES;
  rotary.rotary_dim = static_cast<std::int32_t>(2 * cos.size(1));
  rotary.table_rows = cos.size(0);
  rotary.cos = rows_of(call, cos, "cos").rows;
  rotary.sin = rows_of(call, sin, "sin").rows;
  if (positions) {
    const plug::Ints leading(q.sizes().data(), q.ndim() - 2);
    expect_sizes(*positions, "positions", leading);
    rotary.positions = integers_of(call, *positions, "positions");
  } else {
    if (q.size(-3) > cos.size(0)) {
      refuse("cos has " + std::to_string(cos.size(0)) + " positions, and q has " +
             std::to_string(q.size(-3)) + " tokens");
    }
    rotary.positions = places(call, q, tokens);
  }
  return rotary;
}

void rotate(const plug::Call& call, const plug::Tensor& q, const plug::Tensor& k, const plug::Tensor& cos,
            const plug::Tensor& sin, const std::optional<plug::Tensor>& positions, bool interleaved,
            bool inverse, const plug::Out& q_out, const plug::Out& k_out) {
  const Heads queries = heads_of(call, q, "q"), keys = heads_of(call, k, "k");
  const plug::Ints tokens_of_q(q.sizes().data(), q.ndim() - 2), tokens_of_k(k.sizes().data(), k.ndim() - 2);
  if (text_of(tokens_of_q) != text_of(tokens_of_k) || queries.head_dim != keys.head_dim) {
    refuse("k is " + look_of(k) + "; it has the tokens and the head_dim of q, " + look_of(q));
  }
  if (q.numel() == 0 && k.numel() == 0) return;
  xcpu_rotary_args args{};
  args.rotary = rotary_of(call, q, cos, sin, positions, interleaved, queries.tokens);
  args.rotary.inverse = inverse ? 1 : 0;
  args.tokens = queries.tokens;
  args.head_dim = static_cast<std::int32_t>(queries.head_dim);
  args.q_heads = static_cast<std::int32_t>(queries.count);
  args.k_heads = static_cast<std::int32_t>(keys.count);
  args.q = queries.heads;
  args.k = keys.heads;
  args.q_out = heads_of(call, q_out, "q").heads;
  args.k_out = heads_of(call, k_out, "k").heads;
  constexpr std::int64_t kFew = 1 << 13;
  check(xcpu_rotate(&args, q.numel() + k.numel() <= kFew ? nullptr : team()));
}

}  // namespace

void rotary(plug::Call& call, plug::Tensor q, plug::Tensor k, plug::Tensor cos, plug::Tensor sin,
            std::optional<plug::Tensor> positions, bool interleaved, plug::Out q_out, plug::Out k_out) {
  rotate(call, q, k, cos, sin, positions, interleaved, false, q_out, k_out);
}

void rotary_inverse(plug::Call& call, plug::Tensor q, plug::Tensor k, plug::Tensor cos, plug::Tensor sin,
                    std::optional<plug::Tensor> positions, bool interleaved, plug::Out q_out,
                    plug::Out k_out) {
  rotate(call, q, k, cos, sin, positions, interleaved, true, q_out, k_out);
}

}  // namespace xcpu::plugin
