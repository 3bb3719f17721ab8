#include "memory/shelf.h"

#include <algorithm>

namespace torchplug::memory {

bool Shelf::raise_limits(Number first, Number last, const Numbers& by) {
  if (!is_exclusive_) return false;
  if (last == kIdleBytes && now_[kIdleBytes] + by[kIdleBytes] > kMostIdleBytes) return false;
  for (size_t i = first; i <= last; ++i) limit_[i] = std::max(limit_[i], now_[i] + by[i]);
  return true;
}

void Shelf::apply(const Numbers& change) {
  for (size_t i = 0; i < kNumbers; ++i) {
    now_[i] += change[i];
    risen_[i] += std::max<int64_t>(0, change[i]);
  }
}

std::vector<Block*> Shelf::blocks(size_t from) const {
  std::vector<Block*> blocks;
  for (size_t place = from; place < kPlaces; ++place) {
    for (Block* block = places_[place]; block != nullptr; block = block->next) blocks.push_back(block);
  }
  return blocks;
}

std::vector<Block*> Shelf::clear(size_t from) {
  std::vector<Block*> taken = blocks(from);
  std::fill(places_.begin() + static_cast<ptrdiff_t>(from), places_.end(), nullptr);
  for (const Block* block : taken) {
    --now_[kIdleCount];
    now_[kIdleBytes] -= static_cast<int64_t>(block->bytes);
  }
  return taken;
}

}  // namespace torchplug::memory
