#include "runtime/host_allocator.h"

#include <c10/util/Exception.h>
#include <c10/util/llvmMathExtras.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "immortal.h"
#include "runtime/capture.h"
#include "runtime/event.h"
#include "runtime/failure.h"

namespace torchplug {
namespace {

constexpr size_t kAlignment = 4096;

struct PinnedBlock {
  char* address;
  size_t bytes;
  std::vector<c10::Stream> used_on;
  std::vector<std::unique_ptr<Event>> events;
};

void release_pinned(void* context);

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release_pinned, c10::kCPU};
    std::lock_guard lock(blocks_lock_);
    take_back_finished();
    const size_t rounded = c10::llvm::PowerOf2Ceil(std::max(bytes, kAlignment));
    auto found = free_.find(rounded);
    PinnedBlock* block = nullptr;
    if (found == free_.end()) {
      block = make(rounded);
    } else {
      block = found->second;
      free_.erase(found);
    }
    stats_.active_requests.increase(1);
    stats_.active_bytes.increase(block->bytes);
    return {block->address, block, &release_pinned, c10::kCPU};
  }

  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void copy_data(void* dest, const void* src, size_t bytes) const override {
    default_copy_data(dest, src, bytes);
  }

  bool record_event(void* address, void* /*context*/, c10::Stream stream) override {
    if (block_count_.load(std::memory_order_relaxed) == 0) return false;
    std::lock_guard lock(blocks_lock_);
    PinnedBlock* block = find(address);
    if (block == nullptr) return false;
    const bool known =
        std::find(block->used_on.begin(), block->used_on.end(), stream) != block->used_on.end();
    if (!known) block->used_on.push_back(stream);
    return true;
  }

  void give(PinnedBlock* block) {
    std::lock_guard lock(blocks_lock_);
    stats_.active_requests.decrease(1);
    stats_.active_bytes.decrease(block->bytes);
    // A stream that captures cannot be asked where it is: later.
    if (any_capture()) {
      deferred_.push_back(block);
    } else {
      record_uses(block);
    }
  }

  void record_uses(PinnedBlock* block) {
    for (const c10::Stream& stream : block->used_on) {
      if (is_lost(stream.device_index())) continue;
      block->events.push_back(std::make_unique<Event>(stream.device_index(), /*with_timing=*/false));
      block->events.back()->record(Stream(stream));
    }
    block->used_on.clear();
    pending_.push_back(block);
  }

  void empty_cache() override {
    std::lock_guard lock(blocks_lock_);
    take_back_finished();
    for (const auto& [bytes, block] : std::exchange(free_, {})) destroy(block);
  }

  bool owns(const void* address) {
    if (block_count_.load(std::memory_order_relaxed) == 0) return false;
    std::lock_guard lock(blocks_lock_);
    return find(address) != nullptr;
  }

  at::HostStats get_stats() override {
    std::lock_guard lock(blocks_lock_);
    return stats_;
  }
  void reset_accumulated_stats() override {
    std::lock_guard lock(blocks_lock_);
    for (auto* stat : all_stats()) stat->reset_accumulated();
  }
  void reset_peak_stats() override {
    std::lock_guard lock(blocks_lock_);
    for (auto* stat : all_stats()) stat->reset_peak();
  }

 private:
  std::vector<c10::CachingAllocator::Stat*> all_stats() {
    return {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes};
  }

  PinnedBlock* find(const void* address) {
    const char* wanted = static_cast<const char*>(address);
    auto after = blocks_.upper_bound(wanted);
    if (after == blocks_.begin()) return nullptr;
    PinnedBlock* block = std::prev(after)->second.get();
    return wanted < block->address + block->bytes ? block : nullptr;
  }

  void take_back_finished() {
    if (any_capture()) return;
    for (PinnedBlock* block : std::exchange(deferred_, {})) record_uses(block);
    for (auto it = pending_.begin(); it != pending_.end();) {
      PinnedBlock* block = *it;
      const auto over = [](const auto& event) { return event->is_over(); };
      if (!std::all_of(block->events.begin(), block->events.end(), over)) {
        ++it;
        continue;
      }
      block->events.clear();
      free_.emplace(block->bytes, block);
      it = pending_.erase(it);
    }
  }

  PinnedBlock* make(size_t bytes) {
    void* address = nullptr;
    if (runtime().host_alloc != nullptr) {
      check(runtime().host_alloc(bytes, &address), "host_alloc", -1);
    } else {
      address = std::aligned_alloc(kAlignment, bytes);
      TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr, "The host has no ", bytes,
                       " bytes left to pin.");
    }
    auto block = std::make_unique<PinnedBlock>(PinnedBlock{static_cast<char*>(address), bytes, {}, {}});
    PinnedBlock* made = block.get();
    blocks_[made->address] = std::move(block);
    ++block_count_;
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(bytes);
    ++stats_.num_host_alloc;
    return made;
  }

  void destroy(PinnedBlock* block) {
    stats_.allocations.decrease(1);
    stats_.allocated_bytes.decrease(block->bytes);
    ++stats_.num_host_free;
    char* address = block->address;
    blocks_.erase(address);
    --block_count_;
    if (runtime().host_free != nullptr) {
      check(runtime().host_free(address), "host_free", -1);
    } else {
      std::free(address);
    }
  }

  std::atomic<size_t> block_count_{0};  // for those that need not look
  std::mutex blocks_lock_;
  std::map<const char*, std::unique_ptr<PinnedBlock>> blocks_;
  std::multimap<size_t, PinnedBlock*> free_;
  std::list<PinnedBlock*> pending_;
  std::vector<PinnedBlock*> deferred_;  // given back while a stream captured
  at::HostStats stats_;
};

PinnedAllocator& allocator() {
  static auto& instance = *immortal<PinnedAllocator>();
  return instance;
}

// A deleter cannot throw: a block whose streams cannot be waited for is never used again.
void release_pinned(void* context) {
  if (context == nullptr || is_forked()) return;
  try {
    allocator().give(static_cast<PinnedBlock*>(context));
  } catch (...) {
    record_failure(current_device(), std::current_exception());
  }
}

}  // namespace

at::HostAllocator& host_allocator() { return allocator(); }

bool is_pinned(const void* address) { return allocator().owns(address); }

void record_pinned_use(const void* address, const c10::Stream& stream) {
  allocator().record_event(const_cast<void*>(address), nullptr, stream);
}

}  // namespace torchplug
