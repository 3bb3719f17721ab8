#pragma once
// One token's key or value of one head, from fp32 to its place in a tile (tiles.h).

#include "kernels.h"
#include "rows.h"

namespace xcpu::XCPU_ISA {

// A vector of a head as fp32, zero from head_dim to dim.
struct HeadVector {
  alignas(64) float values[kMostHeadDim];
};

inline void read_head(const xcpu_heads& heads, std::int64_t token, std::int64_t head, const TileShape& shape,
                      HeadVector& vector) {
  const std::int64_t begin = token * heads.token_stride + head * heads.head_stride;
  for (std::int64_t i = 0; i < shape.dim; i += kLanes) {
    store(vector.values + i, load_any(heads.data, heads.dtype, begin + i, first_lanes(shape.head_dim - i)),
          first_lanes(kLanes));
  }
}

// The scale of a vector of a head, and what its elements are multiplied by. Infinity and NaN make it NaN.
struct HeadScale {
  float scale, factor;
};
inline HeadScale scale_of(const HeadVector& vector, std::int64_t dim) {
  const Mask all = first_lanes(kLanes);
  Floats size = fill(0.0F);
  Floats nothing = fill(0.0F);
  for (std::int64_t i = 0; i < dim; i += kLanes) {
    const Floats values = load(vector.values + i, all);
    size = larger(size, absolute(values));
    nothing = multiply_add(values, fill(0.0F), nothing);
  }
  const float top = largest(size);
  const float not_a_number = sum(nothing);
  // Of subnormal elements the factor would be infinite: they are zero.
  const bool has_factor = top > 0x1p-120F && not_a_number == 0.0F;
  return {top / 127.0F + not_a_number, has_factor ? 127.0F / top : 0.0F};
}

struct HeadBytes {
  alignas(64) std::int8_t values[kMostHeadDim];
};
inline void to_bytes(const HeadVector& vector, std::int64_t dim, float factor, HeadBytes& bytes) {
  const Mask all = first_lanes(kLanes);
  for (std::int64_t i = 0; i < dim; i += kLanes) {
    store_bytes(bytes.values + i, to_integers(multiply(load(vector.values + i, all), fill(factor))));
  }
}

struct HeadHalves {
  alignas(64) std::uint16_t values[kMostHeadDim];
};
inline void to_halves(const HeadVector& vector, std::int64_t dim, HeadHalves& halves) {
  const Mask all = first_lanes(kLanes);
  for (std::int64_t i = 0; i < dim; i += kLanes)
    store_bf16(halves.values + i, load(vector.values + i, all), all);
}

XCPU_INLINE std::uint32_t word_at(const void* words, std::int64_t index) {
  std::uint32_t word;
  __builtin_memcpy(&word, static_cast<const std::uint8_t*>(words) + index * 4, 4);
  return word;
}

// Words of a key, each to the row of its elements.
XCPU_INLINE void scatter_words(const void* words, std::int64_t count, std::uint32_t change,
                               std::uint8_t* keys, std::int64_t token) {
  auto* to = reinterpret_cast<std::uint32_t*>(keys) + token;
  for (std::int64_t i = 0; i < count; ++i) to[i * kTileTokens] = word_at(words, i) ^ change;
}

inline void write_key(const HeadVector& vector, xcpu_cache_kind kind, std::int64_t dim, std::uint8_t* keys,
                      std::int64_t token) {
  if (kind == XCPU_CACHE_F32) return scatter_words(vector.values, dim, 0, keys, token);
  if (kind == XCPU_CACHE_BF16) {
    HeadHalves halves;
    to_halves(vector, dim, halves);
    return scatter_words(halves.values, dim / 2, 0, keys, token);
  }
  const HeadScale scale = scale_of(vector, dim);
  HeadBytes bytes;
  to_bytes(vector, dim, scale.factor, bytes);
  reinterpret_cast<float*>(keys)[token] = scale.scale;
  scatter_words(bytes.values, dim / 4, 0x80808080U, keys + kTileTokens * 4, token);
}

inline void write_value(const HeadVector& vector, xcpu_cache_kind kind, std::int64_t dim,
                        std::uint8_t* values, std::int64_t token) {
  if (kind == XCPU_CACHE_F32) {
    __builtin_memcpy(values + token * dim * 4, vector.values, static_cast<std::size_t>(dim) * 4);
    return;
  }
  if (kind == XCPU_CACHE_BF16) {
    HeadHalves halves;
    to_halves(vector, dim, halves);
    auto* to = reinterpret_cast<std::uint16_t*>(values) + token / 2 * dim * 2 + token % 2;
    for (std::int64_t i = 0; i < dim; ++i) to[2 * i] = halves.values[i];
    return;
  }
  const HeadScale scale = scale_of(vector, dim);
  HeadBytes bytes;
  to_bytes(vector, dim, scale.factor, bytes);
  reinterpret_cast<float*>(values)[token] = scale.scale;
  auto* to = reinterpret_cast<std::int8_t*>(values) + kTileTokens * 4 + token / 4 * dim * 4 + token % 4;
  for (std::int64_t i = 0; i < dim; ++i) to[4 * i] = bytes.values[i];
}

// The tile of a slot.
XCPU_INLINE std::uint8_t* tile_of_slot(const Tiles& tiles, std::int64_t slot, std::int64_t head) {
  const std::int64_t tile = slot / kTileTokens;
  const std::int64_t page = tile / tiles.page_tiles;
  return tiles.data + ((page * tiles.kv_heads + head) * tiles.page_tiles + tile % tiles.page_tiles) *
                          tiles.shape.tile_bytes;
}

}  // namespace xcpu::XCPU_ISA
