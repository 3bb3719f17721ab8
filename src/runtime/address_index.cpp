#include "runtime/address_index.h"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "immortal.h"

namespace torchplug {
namespace {

std::shared_mutex index_lock;

std::map<const char*, const Block*>& blocks() {
  static auto& by_address = *immortal<std::map<const char*, const Block*>>();
  return by_address;
}

}  // namespace

void add_to_address_index(const Block& block) {
  std::unique_lock lock(index_lock);
  blocks()[block.address] = &block;
}

void remove_from_address_index(const Block& block) {
  std::unique_lock lock(index_lock);
  blocks().erase(block.address);
}

const Block* find_block(const void* address) {
  const char* wanted = static_cast<const char*>(address);
  std::shared_lock lock(index_lock);
  const auto after = blocks().upper_bound(wanted);
  if (after == blocks().begin()) return nullptr;
  const Block* block = std::prev(after)->second;
  return wanted < block->address + block->bytes ? block : nullptr;
}

}  // namespace torchplug
