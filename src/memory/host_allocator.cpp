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
#include "memory/held_storage.h"
#include "memory/pending_uses.h"
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

void free_pinned(void* context);

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
    if (bytes == 0) return {nullptr, nullptr, &free_pinned, c10::kCPU};
    const size_t size = rounded(bytes);
    PinnedBlock* block = allocate_cached(size);
    if (block == nullptr) {
      process_pending();
      block = allocate_cached(size);
    }
    if (block == nullptr) block = allocate_new(size);
    return {block->address, block, &free_pinned, c10::kCPU};
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

  void free(PinnedBlock* block) {
    if (block->used_on.empty()) {
      free_now({block});
    } else {
      pending_.add(block);
    }
  }

  void empty_cache() override {
    process_pending();
    release_passed_storages();
    pending_.release_events();
    std::vector<PinnedBlock*> blocks;
    {
      std::lock_guard lock(cache_lock_);
      for (const auto& [bytes, block] : cache_) blocks.push_back(block);
      cache_.clear();
    }
    destroy(blocks);
  }

  bool owns(const void* address) {
    return addresses_.find(address, [](const PinnedBlock&) {});
  }

  at::HostStats get_stats() override {
    std::lock_guard lock(cache_lock_);
    return stats_;
  }
  void reset_accumulated_stats() override {
    std::lock_guard lock(cache_lock_);
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
    std::lock_guard lock(cache_lock_);
    for (auto* stat :
         {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes}) {
      stat->reset_peak();
    }
    stats_.host_alloc_time.reset_peak();
    stats_.host_free_time.reset_peak();
  }

 private:
  // With cache_lock_ held.
  void count_allocation(const PinnedBlock& block) {
    stats_.active_requests.increase(1);
    stats_.active_bytes.increase(block.bytes);
  }

  PinnedBlock* allocate_cached(size_t bytes) {
    std::lock_guard lock(cache_lock_);
    const auto found = cache_.find(bytes);
    if (found == cache_.end()) return nullptr;
    PinnedBlock* block = found->second;
    cache_.erase(found);
    count_allocation(*block);
    return block;
  }

  // No stream uses them. Those too long to be cached are returned to the plugin at once.
  void free_now(const std::vector<PinnedBlock*>& blocks) {
    std::vector<PinnedBlock*> uncached;
    {
      std::lock_guard lock(cache_lock_);
      for (PinnedBlock* block : blocks) {
        stats_.active_requests.decrease(1);
        stats_.active_bytes.decrease(block->bytes);
        if (block->bytes > compat::pinned_max_cached_size()) {
          uncached.push_back(block);
        } else {
          cache_.emplace(block->bytes, block);
        }
      }
    }
    destroy(uncached);
  }

  void process_pending() {
    if (pending_.is_empty()) return;
    const std::vector<PinnedBlock*> passed = pending_.take_passed(*module_for_host());
    if (!passed.empty()) free_now(passed);
  }

  PinnedBlock* allocate_new(size_t bytes) {
    const auto start = std::chrono::steady_clock::now();
    void* address = nullptr;
    const Module* module = module_for_host();
    if (module != nullptr && module->runtime.has<&plug_runtime::host_alloc>()) {
      take_plugin_error();
      if (module->runtime.call<&plug_runtime::host_alloc>(bytes, &address) != PLUG_OK) {
        take_plugin_error();
        empty_cache();
        check(module->runtime.call<&plug_runtime::host_alloc>(bytes, &address), "host_alloc", -1);
      }
      TORCH_CHECK(address != nullptr, "Plugin '", module->name, "' returned PLUG_OK from host_alloc of ",
                  bytes, " bytes but no memory. It must return PLUG_NO_MEMORY.");
    } else {
      address = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
      TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr, bytes,
                       " bytes of pinned host memory cannot be allocated.");
    }
    auto block = std::make_unique<PinnedBlock>(static_cast<char*>(address), bytes);
    PinnedBlock* made = block.get();
    addresses_.add(std::move(block));
    std::lock_guard lock(cache_lock_);
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(bytes);
    stats_.host_alloc_time.increase(microseconds_since(start));
    ++stats_.num_host_alloc;
    const size_t bucket = bucket_of(bytes);
    if (bucket < stats_.bucket_allocation.size()) ++stats_.bucket_allocation[bucket];
    count_allocation(*made);
    return made;
  }

  // All of them, also if the plugin fails to free one.
  void destroy(const std::vector<PinnedBlock*>& blocks) {
    plug_status status = PLUG_OK;
    for (const PinnedBlock* block : blocks) {
      const plug_status freed = destroy(*block);
      if (status == PLUG_OK) status = freed;
    }
    check(status, "host_free", -1);
  }

  plug_status destroy(const PinnedBlock& block) {
    const auto start = std::chrono::steady_clock::now();
    char* address = block.address;
    const size_t bytes = block.bytes;
    addresses_.remove(block);
    plug_status status = PLUG_OK;
    const Module* module = module_for_host();
    if (module != nullptr && module->runtime.has<&plug_runtime::host_free>()) {
      status = module->runtime.call<&plug_runtime::host_free>(address);
    } else {
      std::free(address);
    }
    std::lock_guard lock(cache_lock_);
    stats_.allocations.decrease(1);
    stats_.allocated_bytes.decrease(bytes);
    stats_.host_free_time.increase(microseconds_since(start));
    ++stats_.num_host_free;
    return status;
  }

  PinnedAddresses addresses_;
  PendingUses<PinnedBlock> pending_;

  std::mutex cache_lock_;  // guards what follows; the plugin is not called with it
  std::multimap<size_t, PinnedBlock*> cache_;
  at::HostStats stats_;
};

PinnedAllocator& allocator() {
  static auto& instance = *immortal<PinnedAllocator>();
  return instance;
}

// A deleter cannot throw: a block whose streams cannot be waited for is never used again.
void free_pinned(void* context) {
  if (context == nullptr || is_forked()) return;
  try {
    allocator().free(static_cast<PinnedBlock*>(context));
  } catch (...) {
    record_failure(current_device(), std::current_exception());
  }
}

}  // namespace

at::HostAllocator& host_allocator() { return allocator(); }

bool is_pinned(const void* address) { return allocator().owns(address) || is_pinned_by_others(address); }

bool is_pinned_by_others(const void* address) {
  if (address == nullptr || !are_devices_known() || device_count() == 0 || !is_open(0)) return false;
  if (!plugin_has<&plug_runtime::host_pinned>(0)) return false;
  int32_t is_pinned = 0;
  const plug_status status = module_of(0).runtime.call<&plug_runtime::host_pinned>(address, &is_pinned);
  if (status == PLUG_UNSUPPORTED) return false;
  check(status, "host_pinned", -1);
  return is_pinned != 0;
}

bool record_pinned_use(const void* address, const Stream& stream) {
  return allocator().record_event(const_cast<void*>(address), nullptr, stream.unwrap());
}

}  // namespace torchplug::memory
