#pragma once
// Memory of the same device in other processes, mapped into this one: twice, as an Arena is, a guarded
// view for PyTorch to hold and an open one to use. Owned by a Device; any thread may call anything.

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>

#include "mapping.h"

namespace torchplug::sim {

class Imports {
 public:
  explicit Imports(std::string owner) : owner_(std::move(owner)) {}

  // A guarded address for `bytes` bytes at `offset` of the file. Leaves the descriptor open.
  void* add(int fd, std::uint64_t offset, std::uint64_t bytes);
  void remove(const void* base);

  // The open address of what add() gave, or null.
  std::byte* view(const void* base) const;
  // The open address of `bytes` bytes at base + offset, where base is an address add() gave or one
  // inside; null if that is nowhere here.
  std::byte* find(const void* base, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  struct Range {
    Mapping guarded;
    Mapping open;
    std::uint64_t skipped;  // from the start of the mappings, which begin at a page
    std::uint64_t bytes;
  };

  const std::string owner_;
  mutable std::shared_mutex mutex_;           // guards what follows
  std::map<const std::byte*, Range> ranges_;  // by guarded address
};

}  // namespace torchplug::sim
