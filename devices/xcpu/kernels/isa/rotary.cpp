// Rotary embedding, one instruction set.

#include "rotary.h"

#include "rotary_turn.h"

namespace xcpu::XCPU_ISA {
namespace {

XCPU_INLINE xcpu_rows rows_of(const xcpu_heads& heads) {
  return {heads.data, heads.dtype, heads.token_stride};
}

template <int kDtype>
XCPU_INLINE void turn_heads(const xcpu_rotary_args& args, const Angles& angles, std::int64_t token,
                            std::int32_t count, const xcpu_heads& from, const xcpu_heads& to) {
  const xcpu_rows source = rows_of(from);
  const xcpu_rows target = rows_of(to);
  for (std::int64_t head = 0; head < count; ++head) {
    turn<kDtype>(args.rotary, angles, args.head_dim, source,
                 token * from.token_stride + head * from.head_stride, target,
                 token * to.token_stride + head * to.head_stride);
  }
}

template <int kDtype>
void rotate_as(const xcpu_rotary_args& args, std::int64_t begin, std::int64_t end) {
  Angles angles;
  for (std::int64_t token = begin; token < end; ++token) {
    read_angles(args.rotary, token, angles);
    if (args.q.data != nullptr) {
      turn_heads<kDtype>(args, angles, token, args.q_heads, args.q, args.q_out);
    }
    if (args.k.data != nullptr) {
      turn_heads<kDtype>(args, angles, token, args.k_heads, args.k, args.k_out);
    }
  }
}

void rotate(const xcpu_rotary_args& args, std::int64_t begin, std::int64_t end) {
  const auto dtype = [](const xcpu_heads& heads) { return rows_of(heads); };
  const xcpu_heads& some = args.q.data != nullptr ? args.q : args.k;
  switch (common_dtype(dtype(some), dtype(args.k), dtype(args.q_out), dtype(args.k_out))) {
    case XCPU_F32: return rotate_as<XCPU_F32>(args, begin, end);
    case XCPU_BF16: return rotate_as<XCPU_BF16>(args, begin, end);
    default: return rotate_as<kAnyDtype>(args, begin, end);
  }
}

}  // namespace

const RotaryKernels kRotaryKernels = {rotate};

}  // namespace xcpu::XCPU_ISA
