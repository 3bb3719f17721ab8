#pragma once
// Blocks that were given back while streams may still use them, each with an event on every such stream.
// Belongs to an allocator; any thread may call it. It calls the plugin, so no lock that giving a block back
// needs is held meanwhile.
//
// A Block has `used_on`, a vector of Stream, and `awaited`, a number that is this class's own.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/event.h"

namespace torchplug::memory {

template <class Block>
class PendingUses {
 public:
  // Records an event on each stream in used_on, and forgets them. If the plugin cannot, the block never
  // passes.
  void add(Block* block);
  // The blocks whose streams have all passed. Looks at the oldest use of each stream first, and no further
  // than the first that has not passed.
  std::vector<Block*> take_passed();
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Use {
    std::unique_ptr<Event> event;  // null on a lost device, where there is nothing to wait for
    Block* block;

    bool is_over() const { return event == nullptr || event->is_over(); }
  };
  using Uses = std::deque<Use>;
  static constexpr size_t kMostSpare = 64;

  std::unique_ptr<Event> an_event(DeviceIndex device);
  std::vector<Uses*> all_uses();
  // Whether the oldest use has passed.
  bool take_oldest(Uses& uses, std::vector<Block*>& passed);

  std::mutex asking_lock_;  // one at a time asks whether events are ready
  std::mutex uses_lock_;    // guards what follows
  std::map<std::pair<DeviceIndex, c10::StreamId>, Uses> uses_;
  std::map<DeviceIndex, std::vector<std::unique_ptr<Event>>> spare_;
  std::atomic<size_t> count_{0};
};

template <class Block>
void PendingUses<Block>::add(Block* block) {
  const std::vector<Stream> streams = std::exchange(block->used_on, {});
  block->awaited = static_cast<uint32_t>(streams.size());
  ++count_;
  for (const Stream& stream : streams) {
    std::unique_ptr<Event> event;
    if (!is_lost(stream.device())) {
      event = an_event(stream.device());
      event->record(stream);
    }
    std::lock_guard lock(uses_lock_);
    uses_[{stream.device(), stream.id()}].push_back({std::move(event), block});
  }
}

template <class Block>
std::unique_ptr<Event> PendingUses<Block>::an_event(DeviceIndex device) {
  {
    std::lock_guard lock(uses_lock_);
    auto& spare = spare_[device];
    if (!spare.empty()) {
      std::unique_ptr<Event> event = std::move(spare.back());
      spare.pop_back();
      return event;
    }
  }
  return std::make_unique<Event>(device, /*with_timing=*/false);
}

template <class Block>
std::vector<Block*> PendingUses<Block>::take_passed() {
  std::vector<Block*> passed;
  if (is_empty()) return passed;
  std::lock_guard asking(asking_lock_);
  for (Uses* uses : all_uses()) {
    while (take_oldest(*uses, passed)) {
    }
  }
  count_ -= passed.size();
  return passed;
}

// Entries of a map stay where they are.
template <class Block>
std::vector<typename PendingUses<Block>::Uses*> PendingUses<Block>::all_uses() {
  std::lock_guard lock(uses_lock_);
  std::vector<Uses*> all;
  for (auto& [stream, uses] : uses_) {
    if (!uses.empty()) all.push_back(&uses);
  }
  return all;
}

template <class Block>
bool PendingUses<Block>::take_oldest(Uses& uses, std::vector<Block*>& passed) {
  const Use* oldest = nullptr;
  {
    std::lock_guard lock(uses_lock_);
    if (uses.empty()) return false;
    oldest = &uses.front();
  }
  if (!oldest->is_over()) return false;
  std::lock_guard lock(uses_lock_);
  Use use = std::move(uses.front());
  uses.pop_front();
  if (--use.block->awaited == 0) passed.push_back(use.block);
  if (use.event == nullptr) return true;
  auto& spare = spare_[use.event->device()];
  if (spare.size() < kMostSpare) spare.push_back(std::move(use.event));
  return true;
}

}  // namespace torchplug::memory
