#include "cache.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "arguments.h"
#include "heads.h"

namespace xcpu::plugin {
namespace {

// By xcpu_cache_kind. No floating types, so that a module is cast without its cache.
constexpr plug_dtype kElements[] = {PLUG_I32, PLUG_I16, PLUG_I8};

std::int32_t number(std::int64_t value, const char* name) {
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
    refuse(std::string(name) + " is " + std::to_string(value) + "; it is a number of 31 bits");
  }
  return static_cast<std::int32_t>(value);
}

xcpu_cache new_cache(std::string_view kind, std::int64_t pages, std::int64_t kv_heads, std::int64_t head_dim,
                     std::int64_t page_tokens) {
  xcpu_cache cache{};
  cache.kind = static_cast<xcpu_cache_kind>(word_of(kind, "kind", {"fp32", "bf16", "int8"}));
  cache.pages = number(pages, "pages");
  cache.kv_heads = number(kv_heads, "kv_heads");
  cache.head_dim = number(head_dim, "head_dim");
  cache.page_tokens = number(page_tokens, "page_tokens");
  return cache;
}

std::int32_t kind_of(const plug::Tensor& tensor) {
  std::int32_t kind = 0;
  for (const plug_dtype element : kElements) {
    if (element == tensor.dtype()) return kind;
    ++kind;
  }
  refuse("cache is " + look_of(tensor) + "; it is one that xcpu::make_cache has made");
}

std::size_t bytes_of(const plug::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * PLUG_DTYPE_BYTES(tensor.dtype());
}

const std::int64_t* slots_of(const plug::Call& call, const plug::Tensor& slots) {
  if (slots.ndim() != 1) {
    refuse("slots has the sizes " + text_of(slots.sizes()) + "; it has a slot for each token");
  }
  return integers_of(call, slots, "slots");
}

}  // namespace

xcpu_cache cache_of(const plug::Tensor& tensor, std::int64_t head_dim) {
  xcpu_cache cache{};
  cache.kind = static_cast<xcpu_cache_kind>(kind_of(tensor));
  if (tensor.ndim() != 4)
    refuse("cache is " + look_of(tensor) + "; it is one that xcpu::make_cache has made");
  cache.pages = number(tensor.size(0), "cache.size(0)");
  cache.kv_heads = number(tensor.size(1), "cache.size(1)");
  cache.page_tokens = number(tensor.size(2), "cache.size(2)");
  cache.head_dim = number(head_dim, "head_dim");
  std::array<std::int64_t, 4> sizes{};
  const char* fault = xcpu_cache_sizes(&cache, sizes.data());
  if (fault != nullptr || sizes[3] != tensor.size(3)) {
    refuse("cache is " + look_of(tensor) + ", which xcpu::make_cache never gives for a head_dim of " +
           std::to_string(head_dim));
  }
  if (!tensor.is_contiguous()) {
    refuse("cache has the strides " + text_of(tensor.strides()) + "; it is contiguous, as it was made");
  }
  cache.data = plug_address(&tensor.raw().mem);
  return cache;
}

plug_status shape_of_cache(const plug_call* call) {
  return plug::guarded([&] {
    const plug_value* args = call->args;
    const xcpu_cache cache =
        new_cache({args[0].as.str, args[0].count}, args[1].as.i, args[2].as.i, args[3].as.i, args[4].as.i);
    std::array<std::int64_t, 4> sizes{};
    check(xcpu_cache_sizes(&cache, sizes.data()));
    plug::check(plug::host->output(plug::host, call, 0, kElements[cache.kind], 4, sizes.data(), nullptr));
  });
}

void make_cache(plug::Call& /*call*/, std::string_view /*kind*/, std::int64_t /*pages*/,
                std::int64_t /*kv_heads*/, std::int64_t /*head_dim*/, std::int64_t /*page_tokens*/,
                plug::Out cache) {
  if (cache.numel() > 0) std::memset(plug_address(&cache.raw().mem), 0, bytes_of(cache));
}

void cache_write(plug::Call& call, plug::Out cache, plug::Tensor slots, plug::Tensor k, plug::Tensor v) {
  const Heads keys = heads_of(call, k, "k"), values = heads_of(call, v, "v");
  xcpu_cache_args args{};
  args.cache = cache_of(cache, keys.head_dim);
  expect_sizes(v, "v", k.sizes());
  if (keys.count != args.cache.kv_heads) {
    refuse("k is " + look_of(k) + ", and cache has " + std::to_string(args.cache.kv_heads) + " heads");
  }
  if (slots.numel() != keys.tokens) {
    refuse("slots is " + look_of(slots) + ", and k has " + std::to_string(keys.tokens) + " tokens");
  }
  args.tokens = keys.tokens;
  args.slots = slots_of(call, slots);
  args.k = keys.heads;
  args.v = values.heads;
  if (args.tokens > 0) check(xcpu_cache_write(&args, team()));
}

void cache_read(plug::Call& call, plug::Tensor cache, plug::Tensor slots, std::int64_t head_dim,
                plug::Dtype /*dtype*/, plug::Out k, plug::Out v) {
  xcpu_cache_args args{};
  args.cache = cache_of(cache, head_dim);
  args.tokens = slots.numel();
  args.slots = slots_of(call, slots);
  if (args.tokens == 0) return;
  args.k = heads_of(call, k, "dtype").heads;
  args.v = heads_of(call, v, "dtype").heads;
  std::memset(plug_address(&k.raw().mem), 0, bytes_of(k));  // slot -1 is not read
  std::memset(plug_address(&v.raw().mem), 0, bytes_of(v));
  check(xcpu_cache_read(&args, team()));
}

}  // namespace xcpu::plugin
