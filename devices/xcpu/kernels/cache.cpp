// xcpu_cache_*: shapes, checks, writing and reading.

#include "cache_shape.h"

#include <cstring>
#include <limits>

#include "check.h"
#include "error.h"
#include "half.h"
#include "kernels.h"
#include "team.h"

namespace xcpu {
namespace {

constexpr std::int64_t kElementBytes[] = {4, 2, 1};  // by xcpu_cache_kind
constexpr std::int64_t kAlone = 16384;               // elements for which a team costs more than it gains

std::string fault_of_call(const xcpu_cache_args& args) {
  const std::int64_t heads = args.cache.kv_heads;
  const std::int64_t dim = args.cache.head_dim;
  std::string fault =
      first_of({fault_of_cache(args.cache, "cache."),
                fault_of_numbers({{args.tokens, "tokens", 0, std::numeric_limits<std::int64_t>::max()}}),
                fault_of_heads({{args.k, "k", args.tokens, heads, dim, Need::kNeeded},
                                {args.v, "v", args.tokens, heads, dim, Need::kNeeded}})});
  if (!fault.empty()) return fault;
  if (args.cache.data == nullptr) return "cache.data is NULL";
  return fault_of_slots(args.cache, args.slots, args.tokens);
}

// Where the parts of one token lie in its tile.
struct Place {
  const std::uint8_t* keys;
  const std::uint8_t* values;
  std::int64_t token;
};

template <class T>
T read(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Element i of the token's key, or value, of an element type of `bytes` bytes.
std::int64_t key_at(const Place& place, std::int64_t i, std::int64_t bytes) {
  const std::int64_t values = 4 / bytes;
  return (i / values * kTileTokens + place.token) * 4 + i % values * bytes;
}
std::int64_t value_at(const Place& place, std::int64_t i, std::int64_t bytes, std::int64_t dim) {
  const std::int64_t values = 4 / bytes;
  return (place.token / values * dim + i) * 4 + place.token % values * bytes;
}

struct Element {
  float key, value;
};
Element element_of(const Place& place, xcpu_cache_kind kind, std::int64_t dim, std::int64_t i) {
  if (kind == XCPU_CACHE_F32) {
    return {read<float>(place.keys + key_at(place, i, 4)),
            read<float>(place.values + value_at(place, i, 4, dim))};
  }
  if (kind == XCPU_CACHE_BF16) {
    return {from_bf16(read<std::uint16_t>(place.keys + key_at(place, i, 2))),
            from_bf16(read<std::uint16_t>(place.values + value_at(place, i, 2, dim)))};
  }
  constexpr std::int64_t kScales = std::int64_t{kTileTokens} * 4;
  const int key = place.keys[kScales + key_at(place, i, 1)] - 128;
  const auto value = static_cast<std::int8_t>(place.values[kScales + value_at(place, i, 1, dim)]);
  return {static_cast<float>(key) * read<float>(place.keys + place.token * 4),
          static_cast<float>(value) * read<float>(place.values + place.token * 4)};
}

void read_token(const xcpu_cache_args& args, const Tiles& tiles, std::int64_t token, std::int64_t head) {
  const std::int64_t slot = args.slots[token];
  if (slot < 0) return;
  const std::int64_t page = slot / args.cache.page_tokens;
  const std::int64_t tile = slot % args.cache.page_tokens / kTileTokens;
  const std::uint8_t* data =
      tiles.data + ((page * tiles.kv_heads + head) * tiles.page_tiles + tile) * tiles.shape.tile_bytes;
  const Place place{data, data + tiles.shape.key_bytes, slot % kTileTokens};
  const auto at = [&](const xcpu_heads& heads) {
    return token * heads.token_stride + head * heads.head_stride;
  };
  for (std::int64_t i = 0; i < args.cache.head_dim; ++i) {
    const Element element = element_of(place, args.cache.kind, tiles.shape.dim, i);
    set_element(args.k.data, args.k.dtype, at(args.k) + i, element.key);
    set_element(args.v.data, args.v.dtype, at(args.v) + i, element.value);
  }
}

}  // namespace

std::string fault_of_cache(const xcpu_cache& cache, const std::string& name) {
  const auto fault_of = [&](std::int64_t value, const char* member, std::int64_t least, std::int64_t most) {
    const std::string full = name + member;
    return fault_of_numbers({{value, full.c_str(), least, most}});
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::string fault = first_of({fault_of(cache.kind, "kind", XCPU_CACHE_F32, XCPU_CACHE_INT8),
                                fault_of(cache.kv_heads, "kv_heads", 1, kMost),
                                fault_of(cache.head_dim, "head_dim", 1, kMostHeadDim),
                                fault_of(cache.page_tokens, "page_tokens", kTileTokens, kMost),
                                fault_of(cache.pages, "pages", 0, kMost)});
  if (fault.empty() && cache.page_tokens % kTileTokens != 0) {
    fault = name + "page_tokens is " + std::to_string(cache.page_tokens) + "; it is a multiple of 16";
  }
  return fault;
}

std::string fault_of_slots(const xcpu_cache& cache, const std::int64_t* slots, std::int64_t tokens) {
  if (slots == nullptr && tokens > 0) return "slots is NULL";
  const std::int64_t all = cache.pages * cache.page_tokens;
  for (std::int64_t token = 0; token < tokens; ++token) {
    if (slots[token] >= -1 && slots[token] < all) continue;
    return "slots[" + std::to_string(token) + "] is " + std::to_string(slots[token]) + "; the cache has " +
           std::to_string(all) + " slots";
  }
  return "";
}

TileShape tile_shape_of(xcpu_cache_kind kind, std::int64_t head_dim) {
  const std::int64_t dim = (head_dim + 15) / 16 * 16;
  const std::int64_t scales = kind == XCPU_CACHE_INT8 ? kTileTokens * 4 : 0;
  const std::int64_t element = kElementBytes[kind];
  const std::int64_t part = scales + kTileTokens * dim * element;
  return {head_dim, dim, part, 2 * part};
}

Tiles tiles_of(const xcpu_cache& cache) {
  return {tile_shape_of(cache.kind, cache.head_dim),
          static_cast<std::uint8_t*>(cache.data),
          cache.kv_heads,
          cache.page_tokens / kTileTokens,
          nullptr,
          0};
}

}  // namespace xcpu

const char* xcpu_cache_sizes(const xcpu_cache* cache, int64_t sizes[4]) {
  const std::string fault = xcpu::fault_of_cache(*cache, "cache.");
  if (!fault.empty()) return xcpu::refuse(fault);
  const std::int64_t element = xcpu::kElementBytes[cache->kind];
  const std::int64_t bytes = xcpu::tile_shape_of(cache->kind, cache->head_dim).tile_bytes;
  sizes[0] = cache->pages;
  sizes[1] = cache->kv_heads;
  sizes[2] = cache->page_tokens;
  sizes[3] = bytes / xcpu::kTileTokens / element;
  return nullptr;
}

int64_t xcpu_cache_bytes(const xcpu_cache* cache) {
  if (!xcpu::fault_of_cache(*cache, "cache.").empty()) return 0;
  const std::int64_t tiles = cache->pages * cache->kv_heads * (cache->page_tokens / xcpu::kTileTokens);
  return tiles * xcpu::tile_shape_of(cache->kind, cache->head_dim).tile_bytes;
}

const char* xcpu_cache_write(const xcpu_cache_args* args, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_call(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  const xcpu::CacheWrite write{
      xcpu::tiles_of(args->cache), args->cache.kind, args->tokens, args->slots, args->k, args->v};
  const std::int64_t units = args->tokens * args->cache.kv_heads;
  const bool is_alone = units * args->cache.head_dim < xcpu::kAlone;
  xcpu::run_team(is_alone ? nullptr : team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share share = xcpu::share_of(units, index, count);
    kernels->cache->write(write, share.begin, share.end);
  });
  return nullptr;
}

const char* xcpu_cache_read(const xcpu_cache_args* args, const xcpu_team* team) {
  const std::string fault = xcpu::fault_of_call(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  const xcpu::Tiles tiles = xcpu::tiles_of(args->cache);
  xcpu::run_team(team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share tokens = xcpu::share_of(args->tokens, index, count);
    for (std::int64_t token = tokens.begin; token < tokens.end; ++token) {
      for (std::int64_t head = 0; head < args->cache.kv_heads; ++head) {
        xcpu::read_token(*args, tiles, token, head);
      }
    }
  });
  return nullptr;
}
