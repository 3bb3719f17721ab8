#include "runtime/pending_blocks.h"

#include <utility>

namespace torchplug {
namespace {

constexpr size_t kMostSpare = 64;

}  // namespace

void PendingBlocks::add(Block* block) {
  std::vector<Use> made;
  for (const Stream& stream : block->used_on) {
    made.push_back({an_event(stream.device()), block});
    made.back().event->record(stream);
  }
  const std::vector<Stream> streams = std::exchange(block->used_on, {});
  std::lock_guard lock(uses_lock_);
  block->awaited = static_cast<uint32_t>(made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    uses_[{streams[i].device(), streams[i].id()}].push_back(std::move(made[i]));
  }
  ++count_;
}

std::unique_ptr<Event> PendingBlocks::an_event(DeviceIndex device) {
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

std::vector<Block*> PendingBlocks::take_passed() {
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
std::vector<PendingBlocks::Uses*> PendingBlocks::all_uses() {
  std::lock_guard lock(uses_lock_);
  std::vector<Uses*> all;
  for (auto& [stream, uses] : uses_) {
    if (!uses.empty()) all.push_back(&uses);
  }
  return all;
}

bool PendingBlocks::take_oldest(Uses& uses, std::vector<Block*>& passed) {
  const Event* oldest = nullptr;
  {
    std::lock_guard lock(uses_lock_);
    if (uses.empty()) return false;
    oldest = uses.front().event.get();
  }
  if (!oldest->is_over()) return false;
  std::lock_guard lock(uses_lock_);
  Use use = std::move(uses.front());
  uses.pop_front();
  if (--use.block->awaited == 0) passed.push_back(use.block);
  auto& spare = spare_[use.event->device()];
  if (spare.size() < kMostSpare) spare.push_back(std::move(use.event));
  return true;
}

}  // namespace torchplug
