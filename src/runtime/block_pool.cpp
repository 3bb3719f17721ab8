#include "runtime/block_pool.h"

#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <shared_mutex>
#include <utility>

#include "immortal.h"

namespace torchplug {
namespace {

using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

constexpr size_t kMinimum = 512;
constexpr size_t kSmall = size_t{1} << 20;
constexpr size_t kLargeStep = size_t{2} << 20;

// Few distinct sizes, so that cached blocks fit again: eight to a doubling below 1 MiB, then
// multiples of 2 MiB.
size_t round_up(size_t bytes) {
  size_t step = kLargeStep;
  if (bytes <= kSmall) {
    step = kMinimum;
    while (step * 16 < bytes) step *= 2;
  }
  return (bytes + step - 1) / step * step;
}

// A cached block may be this much longer than asked for.
size_t longest_fit(size_t bytes) { return bytes <= kSmall ? bytes + bytes / 4 : bytes + bytes / 8; }

std::shared_mutex index_lock;
std::map<const char*, Block*>& address_index() {
  static auto& index = *immortal<std::map<const char*, Block*>>();
  return index;
}

template <class Function>
void for_each_stat(StatArray& stats, size_t bytes, Function function) {
  const auto pool = bytes <= kSmall ? StatType::SMALL_POOL : StatType::LARGE_POOL;
  function(stats[static_cast<size_t>(StatType::AGGREGATE)]);
  function(stats[static_cast<size_t>(pool)]);
}

void increase(StatArray& stats, size_t bytes, size_t amount) {
  for_each_stat(stats, bytes, [amount](auto& stat) { stat.increase(amount); });
}

void decrease(StatArray& stats, size_t bytes, size_t amount) {
  for_each_stat(stats, bytes, [amount](auto& stat) { stat.decrease(amount); });
}

std::string in_words(size_t bytes) {
  if (bytes < kSmall) return std::to_string(bytes) + " bytes";
  const size_t tenths = bytes * 10 / kSmall;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

// Addresses for a device whose memory cannot be addressed: PyTorch adds offsets to them, nobody
// follows them.
char* reserve_addresses(size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK_WITH(OutOfMemoryError, address != MAP_FAILED, "No address space is left for ", bytes,
                   " bytes.");
  return static_cast<char*>(address);
}

}  // namespace

const Block* find_block(const void* address) {
  const char* wanted = static_cast<const char*>(address);
  std::shared_lock lock(index_lock);
  auto after = address_index().upper_bound(wanted);
  if (after == address_index().begin()) return nullptr;
  const Block* block = std::prev(after)->second;
  return wanted < block->address + block->bytes ? block : nullptr;
}

Block* BlockPool::take(const Stream& stream, size_t bytes) {
  take_back_finished();
  const size_t rounded = round_up(bytes);
  Block* block = rounded < bytes ? nullptr : find_cached(stream, rounded);
  if (block == nullptr) block = make(stream, rounded < bytes ? bytes : rounded);
  block->requested = bytes;
  count_taken(*block);
  return block;
}

void BlockPool::give(Block* block) {
  count_given(*block);
  if (block->used_on.empty()) {
    cache(block);
    return;
  }
  Pending pending{block, {}};
  for (const Stream& stream : block->used_on) {
    pending.events.push_back(std::make_unique<Event>(stream.device(), /*with_timing=*/false));
    pending.events.back()->record(stream);
  }
  block->used_on.clear();
  pending_.push_back(std::move(pending));
}

void BlockPool::release_cached() {
  check(runtime().device_sync(plugin_index(device_)), "device_sync", device_);
  take_back_finished();
  const auto cached = std::exchange(cached_, {});
  cached_bytes_ = 0;
  std::exception_ptr failure;
  for (const auto& [stream, blocks] : cached) {
    for (const auto& [bytes, block] : blocks) {
      try {
        destroy(block);
      } catch (...) {
        failure = std::current_exception();
      }
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

void BlockPool::take_back_finished() {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto ready = [](const auto& event) { return event->is_ready(); };
    if (std::all_of(it->events.begin(), it->events.end(), ready)) {
      cache(it->block);
      it = pending_.erase(it);
    } else {
      ++it;
    }
  }
}

void BlockPool::cache(Block* block) {
  cached_[block->stream.id()].emplace(block->bytes, block);
  cached_bytes_ += block->bytes;
}

Block* BlockPool::find_cached(const Stream& stream, size_t bytes) {
  auto& blocks = cached_[stream.id()];
  auto found = blocks.lower_bound(bytes);
  if (found == blocks.end() || found->first > longest_fit(bytes)) return nullptr;
  Block* block = found->second;
  blocks.erase(found);
  cached_bytes_ -= block->bytes;
  return block;
}

plug_status BlockPool::try_make(size_t bytes, void** base) const {
  take_plugin_error();
  return runtime().mem_alloc(plugin_index(device_), bytes, base);
}

Block* BlockPool::make(const Stream& stream, size_t bytes) {
  void* base = nullptr;
  plug_status status = try_make(bytes, &base);
  if (status == PLUG_NO_MEMORY) {
    ++stats_.num_alloc_retries;
    const std::string said = take_plugin_error();
    release_cached();
    status = try_make(bytes, &base);
    if (status == PLUG_NO_MEMORY) throw_out_of_memory(bytes, said);
  }
  check(status, "mem_alloc", device_);
  ++stats_.num_device_alloc;

  void* view = nullptr;
  if (runtime().host_view != nullptr && runtime().host_view(plugin_index(device_), base, &view) != PLUG_OK)
    view = nullptr;
  const bool addressable = (device_info(device_).flags & PLUG_ADDRESSABLE) != 0;
  char* address = addressable ? static_cast<char*>(base) : reserve_addresses(bytes);
  auto block = std::make_unique<Block>(Block{address, base, static_cast<char*>(view), bytes, 0, stream, {}});
  Block* made = block.get();
  owned_.emplace(made, std::move(block));
  reserved_bytes_ += bytes;
  increase(stats_.segment, bytes, 1);
  increase(stats_.reserved_bytes, bytes, bytes);
  std::unique_lock lock(index_lock);
  address_index()[made->address] = made;
  return made;
}

void BlockPool::destroy(Block* block) {
  {
    std::unique_lock lock(index_lock);
    address_index().erase(block->address);
  }
  if (block->address != block->base) ::munmap(block->address, block->bytes);
  reserved_bytes_ -= block->bytes;
  decrease(stats_.segment, block->bytes, 1);
  decrease(stats_.reserved_bytes, block->bytes, block->bytes);
  ++stats_.num_device_free;
  void* base = block->base;
  owned_.erase(block);
  check(runtime().mem_free(plugin_index(device_), base), "mem_free", device_);
}

void BlockPool::count_taken(const Block& block) {
  increase(stats_.allocation, block.bytes, 1);
  increase(stats_.active, block.bytes, 1);
  increase(stats_.allocated_bytes, block.bytes, block.bytes);
  increase(stats_.active_bytes, block.bytes, block.bytes);
  increase(stats_.requested_bytes, block.bytes, block.requested);
}

void BlockPool::count_given(const Block& block) {
  decrease(stats_.allocation, block.bytes, 1);
  decrease(stats_.active, block.bytes, 1);
  decrease(stats_.allocated_bytes, block.bytes, block.bytes);
  decrease(stats_.active_bytes, block.bytes, block.bytes);
  decrease(stats_.requested_bytes, block.bytes, block.requested);
}

void BlockPool::throw_out_of_memory(size_t bytes, const std::string& said) {
  ++stats_.num_ooms;
  const auto [free_bytes, total_bytes] = DeviceAllocator::instance().getMemoryInfo(device_);
  const size_t in_use = reserved_bytes_ - cached_bytes_;
  TORCH_CHECK_WITH(OutOfMemoryError, false, active_module().name, ":", int{device_},
                   " is out of memory: tried to allocate ", in_words(bytes), "; of ", in_words(total_bytes),
                   " the device has ", in_words(free_bytes), " free and torchplug holds ", in_words(in_use),
                   " in use and ", in_words(cached_bytes_),
                   " cached. The plugin said: ", said.empty() ? "nothing" : said, ".");
}

}  // namespace torchplug
