#pragma once
// Tensors [..., tokens, heads, head_dim] as the functions of xcpu.h take them: vectors at a distance from
// token to token and from head to head. Others are copied. Beside them, the numbers that say where tokens
// are.

#include <cstdint>

#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {

struct Heads {
  xcpu_heads heads;
  std::int64_t tokens;
  std::int64_t count;
  std::int64_t head_dim;
  bool is_copied;
};
Heads heads_of(const plug::Call& call, const plug::Tensor& tensor, const char* name);

// The same in two steps: what holds for all calls that look alike, without an address, and what a call has.
Heads shape_of_heads(const plug::Tensor& tensor, const char* name);
xcpu_heads place_heads(const plug::Call& call, const plug::Tensor& tensor, const Heads& shape);

// The elements of a tensor of int64.
const std::int64_t* integers_of(const plug::Call& call, const plug::Tensor& tensor, const char* name);

// The elements of a tensor of one dimension as float32.
const float* floats_of(const plug::Call& call, const plug::Tensor& tensor, const char* name);

// Where sequences of tokens begin, and after the last the end, which is the number of tokens.
struct Starts {
  const std::int64_t* data;
  std::int64_t sequences;
};
Starts starts_of(const plug::Call& call, const plug::Tensor& starts, const char* name, std::int64_t tokens);

// How many threads may work at once: scratch grows with it, and PyTorch may have more than processors.
std::int32_t most_threads();

}  // namespace xcpu::plugin
