#pragma once
// A paged cache of keys and values: a tensor whose dtype and sizes say what it is (xcpu.h). Tokens are at
// slots: slot s is token s % page_tokens of page s / page_tokens.

#include <optional>
#include <string_view>

#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {

// The cache that a tensor is, for vectors of head_dim elements.
xcpu_cache cache_of(const plug::Tensor& tensor, std::int64_t head_dim);

inline constexpr const char* kMakeCache =
    "xcpu::make_cache(str kind, int pages, int kv_heads, int head_dim, int page_tokens=16) -> Tensor";
plug_status shape_of_cache(const plug_call* call);
void make_cache(plug::Call& call, std::string_view kind, std::int64_t pages, std::int64_t kv_heads,
                std::int64_t head_dim, std::int64_t page_tokens, plug::Out cache);

inline constexpr const char* kCacheWrite =
    "xcpu::cache_write(Tensor(a!) cache, Tensor slots, Tensor k, Tensor v) -> ()";
void cache_write(plug::Call& call, plug::Out cache, plug::Tensor slots, plug::Tensor k, plug::Tensor v);

// [slots, kv_heads, head_dim] twice; zeros for slot -1.
inline constexpr const char* kCacheRead =
    "xcpu::cache_read(Tensor cache, Tensor slots, int head_dim, *, ScalarType dtype=float32) -> "
    "(Tensor, Tensor)";
void cache_read(plug::Call& call, plug::Tensor cache, plug::Tensor slots, std::int64_t head_dim,
                plug::Dtype dtype, plug::Out k, plug::Out v);

}  // namespace xcpu::plugin
