#include "imports.h"

#include <sys/mman.h>

#include <iterator>
#include <mutex>
#include <utility>

#include "error.h"

namespace torchplug::sim {

void* Imports::add(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const MemoryFile file(fd);
  const std::uint64_t size = file.size();
  if (offset > size || bytes > size - offset) {
    fail(PLUG_INVALID, "The file given for memory of ", owner_, " has ", size, " bytes and lacks ", bytes,
         " at ", offset, ".");
  }
  const std::uint64_t skipped = offset % page_size();
  const std::uint64_t mapped = skipped + bytes;
  Range range{Mapping(file, mapped, PROT_NONE, offset - skipped),
              Mapping(file, mapped, PROT_READ | PROT_WRITE, offset - skipped), skipped, bytes};
  std::byte* const base = range.guarded.address() + skipped;
  const std::lock_guard lock(mutex_);
  ranges_.emplace(base, std::move(range));
  return base;
}

void Imports::remove(const void* base) {
  const std::lock_guard lock(mutex_);
  if (ranges_.erase(static_cast<const std::byte*>(base)) == 0) {
    fail(PLUG_INVALID, base, " is not imported memory of ", owner_, ".");
  }
}

std::byte* Imports::view(const void* base) const {
  const std::shared_lock lock(mutex_);
  const auto found = ranges_.find(static_cast<const std::byte*>(base));
  return found == ranges_.end() ? nullptr : found->second.open.address() + found->second.skipped;
}

std::byte* Imports::find(const void* base, std::uint64_t offset, std::uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto after = ranges_.upper_bound(static_cast<const std::byte*>(base));
  if (after == ranges_.begin()) return nullptr;
  const auto& [start, range] = *std::prev(after);
  const auto inside = static_cast<std::uint64_t>(static_cast<const std::byte*>(base) - start);
  // An offset before the memory is a huge one.
  const std::uint64_t first = inside + offset;
  if (inside >= range.bytes || first > range.bytes || bytes > range.bytes - first) return nullptr;
  return range.open.address() + range.skipped + first;
}

}  // namespace torchplug::sim
