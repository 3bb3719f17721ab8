#include "runtime/shelf.h"

#include <algorithm>

namespace torchplug {

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

std::vector<Block*> Shelf::blocks() const {
  std::vector<Block*> blocks;
  for (Block* first : places_) {
    for (Block* block = first; block != nullptr; block = block->next) blocks.push_back(block);
  }
  return blocks;
}

std::vector<Block*> Shelf::clear() {
  std::vector<Block*> taken = blocks();
  places_.fill(nullptr);
  now_[kIdleCount] = 0;
  now_[kIdleBytes] = 0;
  return taken;
}

}  // namespace torchplug
