#pragma once
// Tensors [..., tokens, heads, head_dim] as the functions of xcpu.h take them: vectors at a distance from
// token to token and from head to head. Others are copied.

#include <cstdint>

#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {

struct Heads {
  xcpu_heads heads;
  std::int64_t tokens;
  std::int64_t count;
  std::int64_t head_dim;
};
Heads heads_of(const plug::Call& call, const plug::Tensor& tensor, const char* name);

// The elements of a tensor of int64.
const std::int64_t* integers_of(const plug::Call& call, const plug::Tensor& tensor, const char* name);

}  // namespace xcpu::plugin
