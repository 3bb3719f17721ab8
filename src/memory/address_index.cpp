#include "memory/address_index.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/immortal.h"

namespace torchplug::memory {
namespace {

std::shared_mutex index_lock;

std::map<const char*, Block*>& blocks() {
  static auto& by_address = *immortal<std::map<const char*, Block*>>();
  return by_address;
}

// Few, and asked last.
std::vector<Block*>& foreign_blocks() {
  static auto& all = *immortal<std::vector<Block*>>();
  return all;
}

bool contains(const Block& block, const char* address) {
  return address >= block.address && address < block.address + block.bytes;
}

}  // namespace

void add_to_address_index(Block& block) {
  std::unique_lock lock(index_lock);
  blocks()[block.address] = &block;
}

void remove_from_address_index(const Block& block) {
  std::unique_lock lock(index_lock);
  blocks().erase(block.address);
}

void add_foreign_to_address_index(Block& block) {
  std::unique_lock lock(index_lock);
  foreign_blocks().push_back(&block);
}

void remove_foreign_from_address_index(const Block& block) {
  std::unique_lock lock(index_lock);
  std::erase(foreign_blocks(), &block);
}

Block* find_block(const void* address) {
  const char* wanted = static_cast<const char*>(address);
  std::shared_lock lock(index_lock);
  const auto after = blocks().upper_bound(wanted);
  if (after != blocks().begin()) {
    Block* block = std::prev(after)->second;
    if (contains(*block, wanted)) return block;
  }
  for (Block* block : foreign_blocks()) {
    if (contains(*block, wanted)) return block;
  }
  return nullptr;
}

}  // namespace torchplug::memory
