#include "memory/device_allocator.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "base/immortal.h"
#include "base/settings.h"
#include "memory/address_index.h"
#include "memory/device_memory.h"
#include "memory/foreign_memory.h"
#include "memory/memory_events.h"
#include "runtime/failure.h"
#include "runtime/memory_copy.h"

namespace torchplug::memory {
namespace {

// By device; made when memory of the device is first allocated.
constinit std::array<std::atomic<DeviceMemory*>, std::numeric_limits<DeviceIndex>::max() + 1> memories{};

// What applies to all devices, also to those whose memory is used later.
struct Options {
  std::mutex options_lock;
  bool caching = true;
  std::shared_ptr<MemorySource> source;
  std::vector<DeviceAllocator::OutOfMemoryObserver> observers;
  std::vector<DeviceAllocator::Reclaimer> reclaimers;
};

Options& options() {
  static auto& instance = *immortal<Options>();
  return instance;
}

bool caching_is_disabled() { return flag_setting("TORCHPLUG_NO_MEMORY_CACHING"); }

C10_NOINLINE DeviceMemory& make_memory_of(DeviceIndex device) {
  const Options& shared = options();
  std::lock_guard lock(options().options_lock);
  std::atomic<DeviceMemory*>& place = memories[static_cast<size_t>(device)];
  if (place != nullptr) return *place;
  auto* made = immortal<DeviceMemory>(device);
  if (!shared.caching || caching_is_disabled()) made->set_caching(false);
  if (shared.source != nullptr) made->set_source(shared.source);
  place = made;
  return *made;
}

DeviceMemory& memory_of(DeviceIndex device) {
  DeviceMemory* made = memories[static_cast<size_t>(device)].load(std::memory_order_acquire);
  return C10_LIKELY(made != nullptr) ? *made : make_memory_of(device);
}

template <class Function>
void for_each_memory(const Function& function) {
  if (!are_devices_known()) return;
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    DeviceMemory* made = memories[static_cast<size_t>(device)].load(std::memory_order_acquire);
    if (made != nullptr && is_open(device)) function(*made);
  }
}

void free_nothing(void* /*context*/) {}

// `sign`: 1 for a block just allocated, -1 for one about to be freed.
C10_NOINLINE void report(DeviceMemory& memory, const Block& block, int64_t sign) {
  const DeviceMemory::Usage usage = memory.usage();
  const auto bytes = static_cast<int64_t>(block.bytes);
  report_memory(block.address, sign * bytes, sign < 0 ? usage.allocated - block.bytes : usage.allocated,
                usage.reserved, block.stream.device());
}

size_t reclaim() {
  std::vector<DeviceAllocator::Reclaimer> reclaimers;
  {
    std::lock_guard lock(options().options_lock);
    reclaimers = options().reclaimers;
  }
  size_t freed = 0;
  for (const auto& each : reclaimers) freed += each();
  return freed;
}

C10_NOINLINE Block* allocate_or_reclaim(DeviceMemory& memory, const Stream& stream, size_t bytes) {
  try {
    return memory.allocate(stream, bytes);
  } catch (const c10::OutOfMemoryError&) {
    if (reclaim() == 0) throw;
  }
  return memory.allocate(stream, bytes);
}

// The usual way is short and calls nothing: what is rare is out of line, here and below, which spares the
// usual one a fifth of its instructions, spent on keeping registers.
C10_ALWAYS_INLINE Block* allocate_block(const Stream& stream, size_t bytes) {
  ensure_open(stream.device());
  DeviceMemory& memory = memory_of(stream.device());
  Block* block = memory.allocate_cached(stream, bytes);
  if (C10_UNLIKELY(block == nullptr)) block = allocate_or_reclaim(memory, stream, bytes);
  if (C10_UNLIKELY(is_memory_watched())) report(memory, *block, 1);
  return block;
}

// A deleter cannot throw: a block that the plugin will not let us wait for is never used again, and the
// reason is kept.
C10_NOINLINE void free_uncached(DeviceMemory& memory, Block* block) noexcept {
  const DeviceIndex device = block->stream.device();
  try {
    memory.free(block);
  } catch (...) {
    record_failure(device, std::current_exception());
  }
}

constexpr c10::StorageImpl::use_byte_size_t kInBytes;

C10_NOINLINE c10::Storage create_storage(c10::StorageImplCreateHelper create, c10::DataPtr data, size_t bytes,
                                         bool resizable) {
  // Where there is no memory it may ask for some, on the current device.
  const c10::DeviceGuard guard(data.device());
  return create(kInBytes, static_cast<int64_t>(bytes), std::move(data), &DeviceAllocator::instance(),
                resizable);
}

C10_ALWAYS_INLINE c10::DataPtr new_data(const Stream& stream, size_t bytes) {
  const c10::Device device(kDeviceType, stream.device());
  if (C10_UNLIKELY(bytes == 0)) {
    ensure_open(stream.device());
    return {nullptr, nullptr, &free_nothing, device};
  }
  Block* block = allocate_block(stream, bytes);
  return {block->address, block, &detail::free_block, device};
}

C10_ALWAYS_INLINE c10::Storage new_storage(c10::DataPtr&& data, size_t bytes, bool resizable) {
  const auto create = c10::GetStorageImplCreate(kDeviceType);
  if (C10_UNLIKELY(create != nullptr)) return create_storage(create, std::move(data), bytes, resizable);
  return c10::make_intrusive<c10::StorageImpl>(kInBytes, static_cast<int64_t>(bytes), std::move(data),
                                               &DeviceAllocator::instance(), resizable);
}

// The block that a DataPtr lies in, whoever made the DataPtr; null if there is none.
Block* block_of(const c10::DataPtr& data) {
  if (data.get_deleter() == &detail::free_block) return static_cast<Block*>(data.get_context());
  if (Block* foreign = foreign_block(data)) return foreign;
  return detail::block_at(data.get());
}

}  // namespace

Block* detail::block_at(const void* address) {
  const Block* found = find_block(address);
  if (found == nullptr || found->segment == nullptr) return nullptr;
  return memory_of(found->stream.device()).block_at(*found->segment, address);
}

// In a forked child the plugin and its locks are out of reach, and the child's copy of the memory goes when
// it ends.
void detail::free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  const DeviceIndex device = block->stream.device();
  if (!may_give_back(device)) return;
  DeviceMemory& memory = memory_of(device);
  if (C10_UNLIKELY(is_memory_watched())) report(memory, *block, -1);
  if (C10_UNLIKELY(!memory.free_cached(block))) free_uncached(memory, block);
}

DeviceAllocator* const DeviceAllocator::instance_ = immortal<DeviceAllocator>();

c10::DataPtr DeviceAllocator::allocate(size_t bytes) {
  return allocate_on(Stream::current(current_device()), bytes);
}

c10::DataPtr DeviceAllocator::allocate_on(const Stream& stream, size_t bytes) {
  return new_data(stream, bytes);
}

c10::Storage DeviceAllocator::allocate_storage(const Stream& stream, size_t bytes) {
  return new_storage(new_data(stream, bytes), bytes, /*resizable=*/true);
}

c10::Storage DeviceAllocator::make_storage(c10::DataPtr data, size_t bytes, bool resizable) {
  return new_storage(std::move(data), bytes, resizable);
}

void DeviceAllocator::copy_data(void* dest, const void* src, size_t bytes) const {
  if (bytes == 0) return;
  const plug_mem to = locate(dest).memory();
  const plug_mem from = locate(src).memory();
  const Stream stream = Stream::current(visible_index(to.device));
  copy_memory(to, from, bytes, stream);
}

void DeviceAllocator::emptyCache(c10::MempoolId_t pool) {
  const bool is_all = pool == c10::MempoolId_t{0, 0};
  for_each_memory(
      [&](DeviceMemory& memory) { memory.release_cached(is_all ? std::nullopt : std::optional(pool)); });
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    if (is_open(device)) throw_recorded_failure(device);
  }
}

void DeviceAllocator::recordStream(const c10::DataPtr& data, c10::Stream stream) {
  Block* block = block_of(data);
  if (block == nullptr) return;
  const Stream user(stream);
  if (!(user == block->stream)) memory_of(block->stream.device()).record_use(block, user);
}

c10::CachingDeviceAllocator::DeviceStats DeviceAllocator::getDeviceStats(DeviceIndex device) {
  check_device(device);
  return memory_of(device).statistics();
}

void DeviceAllocator::resetAccumulatedStats(DeviceIndex device) {
  check_device(device);
  memory_of(device).reset_accumulated_statistics();
}

void DeviceAllocator::resetPeakStats(DeviceIndex device) {
  check_device(device);
  memory_of(device).reset_peak_statistics();
}

std::pair<size_t, size_t> DeviceAllocator::getMemoryInfo(DeviceIndex device) {
  ensure_open(device);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = device_info(device).total_bytes;
  if (plugin_has<&plug_runtime::mem_info>(device)) {
    call_plugin<&plug_runtime::mem_info>(device, &free_bytes, &total_bytes);
  } else {
    const size_t reserved = memory_of(device).usage().reserved;
    free_bytes = total_bytes > reserved ? total_bytes - reserved : 0;
  }
  return {free_bytes, total_bytes};
}

Placement DeviceAllocator::locate_other(const c10::DataPtr& data) const {
  const Block* block = foreign_block(data);
  if (block == nullptr) return locate(data.get());
  return {block, static_cast<uint64_t>(static_cast<const char*>(data.get()) - block->address)};
}

void DeviceAllocator::begin_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool,
                                             std::function<bool(const Stream&)> filter) {
  ensure_open(device);
  memory_of(device).begin_allocate_to(pool, std::move(filter));
}

void DeviceAllocator::end_allocate_to_pool(DeviceIndex device, c10::MempoolId_t pool) {
  ensure_open(device);
  memory_of(device).end_allocate_to(pool);
}

void DeviceAllocator::release_pool(DeviceIndex device, c10::MempoolId_t pool) {
  ensure_open(device);
  memory_of(device).release_pool(pool);
}

void DeviceAllocator::make_pool(DeviceIndex device, c10::MempoolId_t pool, const PoolOptions& options) {
  ensure_open(device);
  memory_of(device).make_pool(pool, options);
}

int DeviceAllocator::users_of_pool(DeviceIndex device, c10::MempoolId_t pool) {
  ensure_open(device);
  return memory_of(device).users_of(pool);
}

c10::MempoolId_t DeviceAllocator::new_pool_id(bool by_user) {
  static std::atomic<c10::CaptureId_t> latest{0};
  const c10::CaptureId_t id = ++latest;
  return by_user ? c10::MempoolId_t{0, id} : c10::MempoolId_t{id, 0};
}

void DeviceAllocator::set_memory_fraction(DeviceIndex device, double fraction) {
  TORCH_CHECK_VALUE(fraction >= 0 && fraction <= 1, "A memory fraction must be between 0 and 1, not ",
                    fraction, ".");
  ensure_open(device);
  memory_of(device).set_fraction(fraction);
}

double DeviceAllocator::memory_fraction(DeviceIndex device) {
  ensure_open(device);
  return memory_of(device).fraction();
}

void DeviceAllocator::set_caching(bool caching) {
  {
    Options& shared = options();
    std::lock_guard lock(shared.options_lock);
    TORCH_CHECK(shared.source == nullptr, "A pluggable allocator is in use, which controls its own caching.");
    shared.caching = caching;
  }
  for_each_memory([caching](DeviceMemory& memory) { memory.set_caching(caching); });
}

bool DeviceAllocator::is_caching() const {
  Options& shared = options();
  std::lock_guard lock(shared.options_lock);
  return shared.caching && shared.source == nullptr && !caching_is_disabled();
}

void DeviceAllocator::replace_source(std::shared_ptr<MemorySource> source) {
  Options& shared = options();
  std::lock_guard lock(shared.options_lock);
  const bool any =
      std::any_of(memories.begin(), memories.end(), [](const auto& made) { return made != nullptr; });
  TORCH_CHECK(!any, "The allocator can only be changed before the first allocation on the device.");
  shared.source = std::move(source);
}

bool DeviceAllocator::has_plugins_source() const {
  Options& shared = options();
  std::lock_guard lock(shared.options_lock);
  return shared.source == nullptr;
}

MemorySnapshot DeviceAllocator::snapshot(std::optional<c10::MempoolId_t> pool, bool with_traces) {
  MemorySnapshot all;
  for_each_memory([&](DeviceMemory& memory) {
    for (SegmentInfo& segment : memory.snapshot(pool)) all.segments.push_back(std::move(segment));
  });
  if (!with_traces || !are_devices_known()) return all;
  all.traces.resize(static_cast<size_t>(device_count()));
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    DeviceMemory* made = memories[static_cast<size_t>(device)].load(std::memory_order_acquire);
    if (made != nullptr) all.traces[static_cast<size_t>(device)] = made->history();
  }
  all.annotations = MemoryHistory::annotations();
  return all;
}

void DeviceAllocator::record_history(const HistoryOptions& options) {
  MemoryHistory::set_options(options);
  for_each_memory([&](DeviceMemory& memory) { memory.follow_history(!options.enabled || options.clear); });
}

void DeviceAllocator::add_reclaimer(Reclaimer reclaim) {
  std::lock_guard lock(options().options_lock);
  options().reclaimers.push_back(reclaim);
}

void DeviceAllocator::add_out_of_memory_observer(OutOfMemoryObserver observer) {
  Options& shared = options();
  std::lock_guard lock(shared.options_lock);
  shared.observers.push_back(std::move(observer));
}

void DeviceAllocator::notify_out_of_memory(DeviceIndex device, size_t bytes) {
  std::vector<OutOfMemoryObserver> observers;
  {
    Options& shared = options();
    std::lock_guard lock(shared.options_lock);
    observers = shared.observers;
  }
  if (observers.empty()) return;
  const auto [free_bytes, total_bytes] = getMemoryInfo(device);
  const auto allowed = static_cast<size_t>(memory_fraction(device) * static_cast<double>(total_bytes));
  for (const OutOfMemoryObserver& observer : observers) observer(device, bytes, allowed, free_bytes);
}

Placement DeviceAllocator::locate(const void* address) const {
  const Block* block = find_block(address);
  TORCH_CHECK(block != nullptr, "The memory at ", address, " does not belong to device '", device_type_name(),
              "'. Use torchplug.from_blob for memory allocated elsewhere.");
  return {block, static_cast<uint64_t>(static_cast<const char*>(address) - block->address)};
}

}  // namespace torchplug::memory
