// Writing to caches, one instruction set.

#include "cache.h"

#include "cache_write.h"

namespace xcpu::XCPU_ISA {
namespace {

void write_units(const CacheWrite& write, std::int64_t begin, std::int64_t end) {
  const TileShape& shape = write.tiles.shape;
  HeadVector vector;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t token = unit % write.tokens;
    const std::int64_t head = unit / write.tokens;
    const std::int64_t slot = write.slots[token];
    if (slot < 0) continue;
    std::uint8_t* tile = tile_of_slot(write.tiles, slot, head);
    read_head(write.k, token, head, shape, vector);
    write_key(vector, write.kind, shape.dim, tile, slot % kTileTokens);
    read_head(write.v, token, head, shape, vector);
    write_value(vector, write.kind, shape.dim, tile + shape.key_bytes, slot % kTileTokens);
  }
}

}  // namespace

const CacheKernels kCacheKernels = {write_units};

}  // namespace xcpu::XCPU_ISA
