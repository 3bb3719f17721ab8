#pragma once
// Blocks that were freed while streams may still use them, each with an event on every such stream. While a
// graph is captured no event can be recorded or queried, so blocks that are freed then wait for its end.
// Belongs to an allocator; any thread may call it. It calls the plugin, so no lock that a free needs is held
// meanwhile.
//
// A Block has `used_on`, a vector of Stream, and `awaited`, a number that is this class's own.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "plugin/layers/serialize.h"
#include "runtime/capture.h"
#include "runtime/event.h"

namespace torchplug::memory {

template <class Block>
class PendingUses {
 public:
  // Records an event on each stream in used_on, and clears that. If the plugin cannot, the block never
  // passes.
  void add(Block* block);
  // The blocks that all their streams have passed. Looks at the oldest use of each stream first, and no
  // further than the first that has not passed. `module`: whose events they are.
  std::vector<Block*> take_passed(const Module& module);
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Destroys the events that are kept for reuse.
  void release_events();

 private:
  struct Use {
    std::unique_ptr<Event> event;  // null on a lost device, where there is nothing to wait for
    Block* block;

    bool is_over() const { return event == nullptr || event->is_over(); }
  };
  using Uses = std::deque<Use>;
  static constexpr size_t kMostSpare = 64;

  void record_uses(Block* block);
  void record_deferred();
  std::unique_ptr<Event> make_event(DeviceIndex device);
  std::vector<Uses*> all_uses();
  // Whether the oldest use has passed.
  bool take_oldest(Uses& uses);

  std::mutex query_lock_;       // one thread at a time queries events
  std::vector<Block*> passed_;  // guarded by query_lock_; kept if a query fails
  std::mutex uses_lock_;        // guards what follows
  std::map<std::pair<DeviceIndex, c10::StreamId>, Uses> uses_;
  std::deque<Block*> deferred_;  // freed during a capture
  std::map<DeviceIndex, std::vector<std::unique_ptr<Event>>> spare_;
  std::atomic<size_t> count_{0};
};

template <class Block>
void PendingUses<Block>::add(Block* block) {
  ++count_;
  if (any_capture()) {
    std::lock_guard lock(uses_lock_);
    deferred_.push_back(block);
  } else {
    record_uses(block);
  }
}

template <class Block>
void PendingUses<Block>::record_uses(Block* block) {
  const std::vector<Stream> streams = std::exchange(block->used_on, {});
  block->awaited = static_cast<uint32_t>(streams.size());
  for (const Stream& stream : streams) {
    std::unique_ptr<Event> event;
    if (!is_lost(stream.device())) {
      event = make_event(stream.device());
      event->record(stream);
    }
    std::lock_guard lock(uses_lock_);
    uses_[{stream.device(), stream.id()}].push_back({std::move(event), block});
  }
}

// One by one: the others stay where they are if the plugin fails.
template <class Block>
void PendingUses<Block>::record_deferred() {
  while (true) {
    Block* block = nullptr;
    {
      std::lock_guard lock(uses_lock_);
      if (deferred_.empty()) return;
      block = deferred_.front();
      deferred_.pop_front();
    }
    record_uses(block);
  }
}

template <class Block>
std::unique_ptr<Event> PendingUses<Block>::make_event(DeviceIndex device) {
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
std::vector<Block*> PendingUses<Block>::take_passed(const Module& module) {
  if (is_empty() || any_capture()) return {};
  // Before our own lock: a kernel that asks for scratch memory holds it already.
  const auto calls = lock_calls(module);
  std::lock_guard querying(query_lock_);
  record_deferred();
  for (Uses* uses : all_uses()) {
    while (take_oldest(*uses)) {
    }
  }
  count_ -= passed_.size();
  return std::exchange(passed_, {});
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
bool PendingUses<Block>::take_oldest(Uses& uses) {
  const Use* oldest = nullptr;
  {
    std::lock_guard lock(uses_lock_);
    if (uses.empty()) return false;
    oldest = &uses.front();
  }
  if (!oldest->is_over()) return false;
  std::unique_ptr<Event> superfluous;  // destroyed without the lock
  std::lock_guard lock(uses_lock_);
  Use use = std::move(uses.front());
  uses.pop_front();
  if (--use.block->awaited == 0) passed_.push_back(use.block);
  if (use.event == nullptr) return true;
  auto& spare = spare_[use.event->device()];
  (spare.size() < kMostSpare ? spare.emplace_back() : superfluous) = std::move(use.event);
  return true;
}

template <class Block>
void PendingUses<Block>::release_events() {
  decltype(spare_) released;
  std::lock_guard lock(uses_lock_);
  released.swap(spare_);
}

}  // namespace torchplug::memory
