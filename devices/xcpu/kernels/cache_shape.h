#pragma once
// A paged cache: what is wrong with its shape, and its tiles.

#include <string>

#include "tiles.h"

namespace xcpu {

std::string fault_of_cache(const xcpu_cache& cache, const std::string& name);
std::string fault_of_slots(const xcpu_cache& cache, const std::int64_t* slots, std::int64_t tokens);

TileShape tile_shape_of(xcpu_cache_kind kind, std::int64_t head_dim);
Tiles tiles_of(const xcpu_cache& cache);

}  // namespace xcpu
