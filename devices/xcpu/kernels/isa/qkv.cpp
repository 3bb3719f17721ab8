// Queries, keys and values from the rows of a product to their places, one instruction set.

#include "qkv.h"

#include "cache_write.h"
#include "rotary_turn.h"

namespace xcpu::XCPU_ISA {
namespace {

void write_query(const QkvSplit& split, const Angles& angles, std::int64_t token, std::int64_t head) {
  const std::int64_t dim = split.tiles.shape.head_dim;
  const xcpu_rows out{split.q.data, split.q.dtype, split.q.token_stride};
  turn<kAnyDtype>(split.rotary, angles, dim, split.products, token * split.products.stride + head * dim, out,
                  token * split.q.token_stride + head * split.q.head_stride);
}

void write_key_and_value(const QkvSplit& split, const Angles& angles, std::int64_t token, std::int64_t head) {
  const std::int64_t slot = split.slots[token];
  if (slot < 0) return;
  const TileShape& shape = split.tiles.shape;
  const std::int64_t kv_heads = split.tiles.kv_heads;
  const std::int64_t row = token * split.products.stride;
  std::uint8_t* tile = tile_of_slot(split.tiles, slot, head);
  HeadVector vector;
  for (std::int64_t i = 0; i < shape.dim; i += kLanes) {
    store(vector.values + i, fill(0.0F), first_lanes(kLanes));
  }
  turn<kAnyDtype>(split.rotary, angles, shape.head_dim, split.products,
                  row + (split.q_heads + head) * shape.head_dim, {vector.values, XCPU_F32, 0}, 0);
  write_key(vector, split.kind, shape.dim, tile, slot % kTileTokens);
  const xcpu_heads products{split.products.data, split.products.dtype, split.products.stride, shape.head_dim};
  read_head(products, token, split.q_heads + kv_heads + head, shape, vector);
  write_value(vector, split.kind, shape.dim, tile + shape.key_bytes, slot % kTileTokens);
}

void split_units(const QkvSplit& split, std::int64_t begin, std::int64_t end) {
  const std::int64_t heads = split.q_heads + split.tiles.kv_heads;
  Angles angles;
  std::int64_t known = -1;  // the token whose angles these are
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t token = unit / heads;
    const std::int64_t head = unit % heads;
    if (token != known) read_angles(split.rotary, token, angles);
    known = token;
    if (head < split.q_heads) {
      write_query(split, angles, token, head);
    } else {
      write_key_and_value(split, angles, token, head - split.q_heads);
    }
  }
}

}  // namespace

const QkvKernels kQkvKernels = {split_units};

}  // namespace xcpu::XCPU_ISA
