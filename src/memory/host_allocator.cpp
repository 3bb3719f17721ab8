#include "memory/host_allocator.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "base/spin_lock.h"
#include "base/torch_compat.h"
#include "memory/block_pool.h"
#include "memory/pending_uses.h"
#include "plugin/layers/serialize.h"
#include "runtime/failure.h"

namespace torchplug::memory {
namespace {

constexpr size_t kAlignment = 4096;

struct PinnedBlock {
  PinnedBlock(char* address, size_t bytes) : address(address), bytes(bytes) {}

  char* address;
  size_t bytes;
  std::vector<Stream> used_on;  // guarded by uses_lock
  uint32_t awaited = 0;
  SpinLock uses_lock;
};

size_t bucket_of(size_t bytes) { return static_cast<size_t>(std::bit_width(bytes - 1)); }

// What is rounded up to a power of two fits again.
size_t rounded(size_t bytes) {
  if (bytes > compat::pinned_max_round_threshold() || bytes > compat::pinned_max_cached_size()) return bytes;
  return std::bit_ceil(std::max(bytes, kAlignment));
}

int64_t microseconds_since(std::chrono::steady_clock::time_point start) {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
}

void release_pinned(void* context);

// Where blocks lie, for whoever knows only an address.
class PinnedAddresses {
 public:
  void add(std::unique_ptr<PinnedBlock> block) {
    std::unique_lock lock(lock_);
    blocks_[block->address] = std::move(block);
    ++count_;
  }
  void remove(const PinnedBlock& block) {
    std::unique_lock lock(lock_);
    blocks_.erase(block.address);
    --count_;
  }
  // Whether the address lies in a block; `use` is called with that block, which stays meanwhile.
  template <class Use>
  bool find(const void* address, const Use& use) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const char* wanted = static_cast<const char*>(address);
    std::shared_lock lock(lock_);
    const auto after = blocks_.upper_bound(wanted);
    if (after == blocks_.begin()) return false;
    PinnedBlock& block = *std::prev(after)->second;
    if (wanted >= block.address + block.bytes) return false;
    use(block);
    return true;
  }

 private:
  std::shared_mutex lock_;
  std::map<const char*, std::unique_ptr<PinnedBlock>> blocks_;
  std::atomic<size_t> count_{0};  // for those that need not look
};

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release_pinned, c10::kCPU};
    const size_t size = rounded(bytes);
    PinnedBlock* block = take_free(size);
    if (block == nullptr) {
      take_back_passed();
      block = take_free(size);
    }
    if (block == nullptr) block = make(size);
    return {block->address, block, &release_pinned, c10::kCPU};
  }

  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void copy_data(void* dest, const void* src, size_t bytes) const override {
    default_copy_data(dest, src, bytes);
  }

  bool record_event(void* address, void* /*context*/, c10::Stream stream) override {
    const Stream user(stream);
    return addresses_.find(address, [&](PinnedBlock& block) {
      std::lock_guard guard(block.uses_lock);
      const bool known = std::find(block.used_on.begin(), block.used_on.end(), user) != block.used_on.end();
      if (!known) block.used_on.push_back(user);
    });
  }

  void give(PinnedBlock* block) {
    if (block->used_on.empty()) {
      put_away({block});
    } else if (is_any_capture_underway()) {
      std::lock_guard lock(free_lock_);
      deferred_.push_back(block);
    } else {
      pending_.add(block);
    }
  }

  void empty_cache() override {
    take_back_passed();
    std::vector<PinnedBlock*> blocks;
    {
      std::lock_guard lock(free_lock_);
      for (const auto& [bytes, block] : free_) blocks.push_back(block);
      free_.clear();
    }
    for (PinnedBlock* block : blocks) destroy(block);
  }

  bool owns(const void* address) {
    return addresses_.find(address, [](const PinnedBlock&) {});
  }

  at::HostStats get_stats() override {
    std::lock_guard lock(free_lock_);
    return stats_;
  }
  void reset_accumulated_stats() override {
    std::lock_guard lock(free_lock_);
    for (auto* stat :
         {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes}) {
      stat->reset_accumulated();
    }
    stats_.host_alloc_time.reset_accumulated();
    stats_.host_free_time.reset_accumulated();
    stats_.num_host_alloc = 0;
    stats_.num_host_free = 0;
  }
  void reset_peak_stats() override {
    std::lock_guard lock(free_lock_);
    for (auto* stat :
         {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes}) {
      stat->reset_peak();
    }
    stats_.host_alloc_time.reset_peak();
    stats_.host_free_time.reset_peak();
  }

 private:
  // With free_lock_ held.
  void count_taken(const PinnedBlock& block) {
    stats_.active_requests.increase(1);
    stats_.active_bytes.increase(block.bytes);
  }

  PinnedBlock* take_free(size_t bytes) {
    std::lock_guard lock(free_lock_);
    const auto found = free_.find(bytes);
    if (found == free_.end()) return nullptr;
    PinnedBlock* block = found->second;
    free_.erase(found);
    count_taken(*block);
    return block;
  }

  // Nobody uses them. Those too long to be kept go back at once.
  void put_away(const std::vector<PinnedBlock*>& blocks) {
    std::vector<PinnedBlock*> leaving;
    {
      std::lock_guard lock(free_lock_);
      for (PinnedBlock* block : blocks) {
        stats_.active_requests.decrease(1);
        stats_.active_bytes.decrease(block->bytes);
        if (block->bytes > compat::pinned_max_cached_size()) {
          leaving.push_back(block);
        } else {
          free_.emplace(block->bytes, block);
        }
      }
    }
    for (PinnedBlock* block : leaving) destroy(block);
  }

  void take_back_passed() {
    if (is_any_capture_underway()) return;  // a captured stream cannot be asked
    std::vector<PinnedBlock*> deferred;
    {
      std::lock_guard lock(free_lock_);
      deferred.swap(deferred_);
    }
    for (PinnedBlock* block : deferred) pending_.add(block);
    if (pending_.is_empty()) return;
    const auto calls = lock_calls(active_module());
    const std::vector<PinnedBlock*> passed = pending_.take_passed();
    if (!passed.empty()) put_away(passed);
  }

  PinnedBlock* make(size_t bytes) {
    const auto start = std::chrono::steady_clock::now();
    void* address = nullptr;
    if (runtime_table().host_alloc != nullptr) {
      take_plugin_error();
      if (runtime_table().host_alloc(bytes, &address) != PLUG_OK) {
        take_plugin_error();
        empty_cache();
        check(runtime_table().host_alloc(bytes, &address), "host_alloc", -1);
      }
      TORCH_CHECK(address != nullptr, "Plugin '", active_module().name,
                  "' answered PLUG_OK to host_alloc of ", bytes,
                  " bytes but gave no memory. It should answer PLUG_NO_MEMORY.");
    } else {
      address = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
      TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr, "The host has no ", bytes,
                       " bytes left to pin.");
    }
    auto block = std::make_unique<PinnedBlock>(static_cast<char*>(address), bytes);
    PinnedBlock* made = block.get();
    addresses_.add(std::move(block));
    std::lock_guard lock(free_lock_);
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(bytes);
    stats_.host_alloc_time.increase(microseconds_since(start));
    ++stats_.num_host_alloc;
    const size_t bucket = bucket_of(bytes);
    if (bucket < stats_.bucket_allocation.size()) ++stats_.bucket_allocation[bucket];
    count_taken(*made);
    return made;
  }

  void destroy(PinnedBlock* block) {
    const auto start = std::chrono::steady_clock::now();
    char* address = block->address;
    const size_t bytes = block->bytes;
    addresses_.remove(*block);
    plug_status status = PLUG_OK;
    if (runtime_table().host_free != nullptr) {
      status = runtime_table().host_free(address);
    } else {
      std::free(address);
    }
    {
      std::lock_guard lock(free_lock_);
      stats_.allocations.decrease(1);
      stats_.allocated_bytes.decrease(bytes);
      stats_.host_free_time.increase(microseconds_since(start));
      ++stats_.num_host_free;
    }
    check(status, "host_free", -1);
  }

  PinnedAddresses addresses_;
  PendingUses<PinnedBlock> pending_;

  std::mutex free_lock_;  // guards what follows; the plugin is not called with it
  std::multimap<size_t, PinnedBlock*> free_;
  std::vector<PinnedBlock*> deferred_;  // given back during a capture
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

}  // namespace torchplug::memory
