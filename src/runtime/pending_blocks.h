#pragma once
// Blocks that were given back while other streams than their own may still use them (record_stream), each
// with an event on every such stream. Belongs to a BlockPool; any thread may call it. It calls the plugin, so
// no lock that giving a block back needs is held meanwhile.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/block.h"
#include "runtime/event.h"

namespace torchplug {

class PendingBlocks {
 public:
  // Records an event on each stream in used_on, and forgets them.
  void add(Block* block);
  // The blocks whose streams have all passed. Looks at the oldest of each stream first, and no further than
  // the first that has not passed.
  std::vector<Block*> take_passed();
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Use {
    std::unique_ptr<Event> event;
    Block* block;
  };
  using Uses = std::deque<Use>;

  std::unique_ptr<Event> an_event(DeviceIndex device);
  std::vector<Uses*> all_uses();
  // The block of the oldest use, if it has passed.
  bool take_oldest(Uses& uses, std::vector<Block*>& passed);

  std::mutex asking_lock_;  // one at a time asks whether events are ready
  std::mutex uses_lock_;    // guards what follows
  std::map<std::pair<DeviceIndex, c10::StreamId>, Uses> uses_;
  std::map<DeviceIndex, std::vector<std::unique_ptr<Event>>> spare_;
  std::atomic<size_t> count_{0};
};

}  // namespace torchplug
