#pragma once
// The free parts of an address range, as offsets: best fit, neighbours joined when given back.
// Owned by an Arena, which locks around every call. Knows nothing of the memory itself.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace torchplug::sim {

class FreeRanges {
 public:
  explicit FreeRanges(std::uint64_t size);

  // The offset of `size` bytes cut from the smallest range that holds them, or nothing.
  std::optional<std::uint64_t> take(std::uint64_t size);

  // Exactly what take() gave.
  void give_back(std::uint64_t offset, std::uint64_t size);

 private:
  using ByOffset = std::map<std::uint64_t, std::uint64_t>;  // offset to size

  void insert(std::uint64_t offset, std::uint64_t size);
  void erase(ByOffset::iterator range);

  ByOffset by_offset_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // size, offset
};

}  // namespace torchplug::sim
