#include "memory/address_index.h"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/immortal.h"

namespace torchplug::memory {
namespace {

struct AddressIndex {
  std::shared_mutex lock;
  std::map<const char*, Block*> segments;
  std::vector<Block*> foreign;  // few, and looked at last
};

AddressIndex& address_index() {
  static auto& instance = *immortal<AddressIndex>();
  return instance;
}

std::atomic<size_t> blocks_without_view{0};

bool is_foreign(const Block& block) { return (block.flags & PLUG_MEM_FOREIGN) != 0; }

bool lacks_host_view(const Block& block) {
  return plugin_has<&plug_runtime::host_view>(block.stream.device()) && block.view == nullptr;
}

bool contains(const Block& block, const char* address) {
  return address >= block.address && address < block.address + block.bytes;
}

}  // namespace

void add_to_address_index(Block& block) {
  if (lacks_host_view(block)) ++blocks_without_view;
  AddressIndex& index = address_index();
  std::unique_lock lock(index.lock);
  if (is_foreign(block)) {
    index.foreign.push_back(&block);
  } else {
    index.segments[block.address] = &block;
  }
}

void remove_from_address_index(const Block& block) {
  if (lacks_host_view(block)) --blocks_without_view;
  AddressIndex& index = address_index();
  std::unique_lock lock(index.lock);
  if (is_foreign(block)) {
    std::erase(index.foreign, &block);
  } else {
    index.segments.erase(block.address);
  }
}

Block* find_block(const void* address) {
  const char* wanted = static_cast<const char*>(address);
  AddressIndex& index = address_index();
  std::shared_lock lock(index.lock);
  const auto after = index.segments.upper_bound(wanted);
  if (after != index.segments.begin()) {
    Block* block = std::prev(after)->second;
    if (contains(*block, wanted)) return block;
  }
  for (Block* block : index.foreign) {
    if (contains(*block, wanted)) return block;
  }
  return nullptr;
}

bool any_block_lacks_host_view() noexcept { return blocks_without_view.load(std::memory_order_relaxed) != 0; }

}  // namespace torchplug::memory
