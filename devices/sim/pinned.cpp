#include "pinned.h"

#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "error.h"
#include "mapping.h"

namespace torchplug::sim {
namespace {

struct Free {
  void operator()(void* base) const noexcept { std::free(base); }
};
using Block = std::unique_ptr<void, Free>;

struct Blocks {
  std::mutex mutex;  // guards by_address
  std::unordered_map<const void*, Block> by_address;
};

// Never destroyed: the host may hold memory, and workers use it, to the very end of the process.
Blocks& blocks() {
  static Blocks& instance = *std::make_unique<Blocks>().release();
  return instance;
}

}  // namespace

void* allocate_pinned(std::uint64_t bytes) {
  const std::uint64_t page = page_size();
  Block block;
  if (bytes <= std::numeric_limits<std::int64_t>::max() - page) {
    const std::uint64_t pages = bytes / page + (bytes % page != 0 || bytes == 0);
    block.reset(std::aligned_alloc(page, pages * page));
  }
  if (!block) fail(PLUG_NO_MEMORY, "The host has no ", bytes, " bytes of memory.");
  void* const base = block.get();
  const std::lock_guard lock(blocks().mutex);
  blocks().by_address.emplace(base, std::move(block));
  return base;
}

void release_pinned(void* base) {
  const std::lock_guard lock(blocks().mutex);
  if (blocks().by_address.erase(base) == 0) {
    fail(PLUG_INVALID, base, " is not memory that host_alloc returned.");
  }
}

}  // namespace torchplug::sim
