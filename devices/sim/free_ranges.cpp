#include "free_ranges.h"

#include <iterator>

namespace torchplug::sim {

FreeRanges::FreeRanges(std::uint64_t size) { insert(0, size); }

std::optional<std::uint64_t> FreeRanges::take(std::uint64_t size) {
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) return std::nullopt;
  const auto [range_size, offset] = *fit;
  erase(by_offset_.find(offset));
  if (range_size > size) insert(offset + size, range_size - size);
  return offset;
}

void FreeRanges::give_back(std::uint64_t offset, std::uint64_t size) {
  auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      erase(previous);
    }
  }
  if (next != by_offset_.end() && next->first == offset + size) {
    size += next->second;
    erase(next);
  }
  insert(offset, size);
}

void FreeRanges::insert(std::uint64_t offset, std::uint64_t size) {
  by_offset_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void FreeRanges::erase(ByOffset::iterator range) {
  by_size_.erase({range->second, range->first});
  by_offset_.erase(range);
}

}  // namespace torchplug::sim
