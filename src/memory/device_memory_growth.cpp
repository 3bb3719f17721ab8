// How a DeviceMemory gets memory from the plugin and returns it. All but free_uncached() is done with
// growth_lock_ held; lock_ is not held while the plugin is called.

#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <set>

#include "memory/address_index.h"
#include "memory/device_memory.h"
#include "memory/host_access.h"
#include "memory/memory_events.h"
#include "plugin/layers/serialize.h"
#include "runtime/capture.h"
#include "runtime/host_map.h"

namespace torchplug::memory {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSmallSegment = 2 * kMiB;
constexpr size_t kOwnSegmentSize = 10 * kMiB;  // from here on a request has a segment of its own
constexpr size_t kLargeStep = 2 * kMiB;

size_t segment_size(size_t rounded, bool is_small, const AllocatorSettings& settings) {
  if (is_small) return std::max(kSmallSegment, rounded);
  return rounded < kOwnSegmentSize ? settings.large_segment : round_up(rounded, kLargeStep);
}

std::string size_text(size_t bytes) {
  if (bytes < kMiB) return std::to_string(bytes) + " bytes";
  constexpr size_t kGiB = 1024 * kMiB;
  const bool is_large = bytes >= 10 * kGiB;
  const size_t unit = is_large ? kGiB : kMiB;
  const size_t tenths = bytes / unit * 10 + bytes % unit * 10 / unit;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + (is_large ? " GiB" : " MiB");
}

void check_memory(const void* base, size_t bytes) {
  TORCH_CHECK(base != nullptr, "Plugin '", device_type_name(), "' returned PLUG_OK from mem_alloc of ", bytes,
              " bytes but no memory. It must return PLUG_NO_MEMORY.");
}

std::string plugins_reason() {
  std::string error = take_plugin_error();
  if (error.ends_with('.')) error.pop_back();
  return error.empty() ? "The plugin gave no reason" : "The plugin said: " + error;
}

}  // namespace

Block* DeviceMemory::allocate_new(Request& request) {
  bool caches = false;
  {
    std::lock_guard lock(lock_);
    request.pool = &pool_for(request.stream);
    // What a graph has allocated stays its own, whatever is done with other memory.
    caches = caches_memory_ || request.pool->is_private();
    if (caches) {
      if (Block* block = find(request)) return block;
      if (request.is_small && !request.pool->is_private()) {
        flush(make_cache(request.stream));
        if (Block* block = find(request)) return block;
      }
    }
  }
  std::string reason;
  if (is_too_large(request, reason)) throw_out_of_memory(request, reason);
  if (!caches) return allocate_uncached(request);
  collect_garbage(request);
  const size_t size = segment_size_for(request);
  if (Block* block = grow(request, size, reason)) return block;
  return retry(request, size, reason);
}

// Of one mem_alloc; memory that grows in place, or that the user's functions allocate, has no such limit.
size_t DeviceMemory::largest_allocation(const Request& request) const {
  const uint64_t largest = device_info(device_).largest_bytes;
  const bool is_limited = largest != 0 && request.pool->source == plugin_memory() && !can_expand(request);
  return is_limited ? largest : std::numeric_limits<size_t>::max();
}

bool DeviceMemory::is_too_large(const Request& request, std::string& reason) const {
  const size_t largest = largest_allocation(request);
  if (request.rounded <= largest) return false;
  reason = "The largest allocation that the device allows is " + size_text(largest);
  return true;
}

size_t DeviceMemory::segment_size_for(const Request& request) const {
  const size_t size = segment_size(request.rounded, request.is_small, request.settings);
  return std::max(request.rounded, std::min(size, largest_allocation(request)));
}

// Pools with use_on_oom first, since they cost nothing; then whatever is cached is returned to the plugin.
Block* DeviceMemory::retry(Request& request, size_t size, std::string& reason) {
  {
    std::lock_guard lock(lock_);
    for (const auto& [id, pool] : private_pools_) {
      if (!pool->use_on_oom || pool.get() == request.pool) continue;
      if (Block* block = find_in(*pool, request)) return block;
    }
    statistics_.count(&Statistics::Values::num_alloc_retries);
  }
  release(std::nullopt);
  if (Block* block = grow(request, size, reason)) return block;
  // The last resort: no more than what was requested.
  if (request.rounded < size) {
    if (Block* block = grow(request, request.rounded, reason)) return block;
  }
  throw_out_of_memory(request, reason);
}

bool DeviceMemory::is_allowed(size_t bytes, std::string& reason) {
  std::lock_guard lock(lock_);
  if (!fraction_) return true;
  const auto most = static_cast<size_t>(*fraction_ * static_cast<double>(device_info(device_).total_bytes));
  const auto reserved = static_cast<size_t>(statistics_.reserved_bytes());
  if (bytes <= most && reserved <= most - bytes) return true;
  reason = "This process may allocate " + size_text(most) +
           " of the device's memory (set_per_process_memory_fraction)";
  return false;
}

Block* DeviceMemory::grow(Request& request, size_t bytes, std::string& reason) {
  if (can_expand(request)) return grow_in_place(request, bytes, reason);
  if (!is_allowed(bytes, reason)) return nullptr;
  void* base = nullptr;
  take_plugin_error();
  const plug_status status = request.pool->source->allocate(request.stream, bytes, &base);
  if (status == PLUG_NO_MEMORY) {
    reason = plugins_reason();
    return nullptr;
  }
  check(status, "mem_alloc", device_);
  check_memory(base, bytes);
  std::unique_ptr<Segment> segment = make_segment(request, base, bytes);
  std::lock_guard lock(lock_);
  Segment& added = add_segment(request, std::move(segment));
  request.pool->free_blocks(added.is_small).add(added);
  count_growth(added, reinterpret_cast<uint64_t>(added.whole.address), bytes, request.context);
  return find_in(*request.pool, request);
}

Block* DeviceMemory::grow_in_place(Request& request, size_t bytes, std::string& reason) {
  const size_t unit = device_info(device_).map_bytes;
  FreeBlocks& free_blocks = request.pool->free_blocks(request.is_small);
  while (true) {
    Block* unmapped = nullptr;
    size_t wanted = 0;
    {
      std::lock_guard lock(lock_);
      if (Block* block = find_in(*request.pool, request)) return block;
      unmapped = free_blocks.find_unmapped(request.stream, request.rounded);
      if (unmapped != nullptr) {
        const bool joins = unmapped->before != nullptr && unmapped->before->is_free();
        wanted = std::min(unmapped->bytes, round_up(bytes - (joins ? unmapped->before->bytes : 0), unit));
      }
    }
    if (unmapped == nullptr) {
      if (!reserve_addresses_for(request, reason)) return nullptr;
      continue;
    }
    if (!is_allowed(wanted, reason)) return nullptr;
    take_plugin_error();
    const plug_status status =
        ask_plugin<&plug_runtime::mem_map>(device_, unmapped->base, unmapped->offset, wanted);
    if (status == PLUG_NO_MEMORY) {
      reason = plugins_reason();
      return nullptr;
    }
    check(status, "mem_map", device_);
    std::lock_guard lock(lock_);
    const auto address = reinterpret_cast<uint64_t>(unmapped->address);
    const Segment& segment = *unmapped->segment;
    free_blocks.map(unmapped, wanted);
    count_growth(segment, address, wanted, request.context);
  }
}

// As many addresses as the device could ever fill, and some for holes.
bool DeviceMemory::reserve_addresses_for(const Request& request, std::string& reason) {
  const size_t unit = device_info(device_).map_bytes;
  const size_t total = device_info(device_).total_bytes;
  const size_t bytes = std::max(round_up(total + total / 8, unit), round_up(request.rounded, unit));
  void* base = nullptr;
  take_plugin_error();
  const plug_status status = ask_plugin<&plug_runtime::mem_reserve>(device_, bytes, &base);
  if (status == PLUG_NO_MEMORY) {
    reason = plugins_reason();
    return false;
  }
  check(status, "mem_reserve", device_);
  std::unique_ptr<Segment> segment = make_segment(request, base, bytes);
  segment->is_expandable = true;
  std::lock_guard lock(lock_);
  Segment& added = add_segment(request, std::move(segment));
  request.pool->free_blocks(added.is_small).add(added);
  return true;
}

std::unique_ptr<Segment> DeviceMemory::make_segment(const Request& request, void* base, size_t bytes) const {
  char* address = make_address(device_, base, bytes);
  auto segment = std::make_unique<Segment>(
      Block{address, base, find_host_view(device_, base), bytes, 0, request.stream, {}});
  segment->pool = request.pool;
  segment->is_small = request.is_small;
  segment->context = request.context;
  return segment;
}

Segment& DeviceMemory::add_segment(const Request& request, std::unique_ptr<Segment> segment) {
  Segment& added = *segment;
  segments_[added.whole.address] = std::move(segment);
  ++request.pool->segments;
  add_to_address_index(added.whole);
  return added;
}

void DeviceMemory::count_growth(const Segment& segment, uint64_t address, size_t bytes,
                                const Context& context) {
  const bool is_whole = !segment.is_expandable;
  statistics_.change_reserved(Statistics::kind_of(segment.is_small), segment.pool->id,
                              static_cast<int64_t>(bytes), is_whole ? 1 : 0);
  statistics_.count(&Statistics::Values::num_device_alloc);
  if (is_whole && bytes >= statistics_.max_split_size) statistics_.change_oversize_segments(1);
  history_.record(is_whole ? "segment_alloc" : "segment_map", address, bytes, segment.stream(),
                  segment.pool->id, context);
}

void DeviceMemory::count_shrinkage(const Segment& segment, uint64_t address, size_t bytes) {
  const bool is_whole = !segment.is_expandable;
  statistics_.change_reserved(Statistics::kind_of(segment.is_small), segment.pool->id,
                              -static_cast<int64_t>(bytes), is_whole ? -1 : 0);
  statistics_.count(&Statistics::Values::num_device_free);
  if (is_whole && bytes >= statistics_.max_split_size) statistics_.change_oversize_segments(-1);
  history_.record(is_whole ? "segment_free" : "segment_unmap", address, bytes, segment.stream(),
                  segment.pool->id, segment.context);
}

// ---- returning memory to the plugin ----

void DeviceMemory::release_cached(std::optional<c10::MempoolId_t> pool) {
  const auto calls = lock_calls(module_of(device_));
  std::lock_guard growth(growth_lock_);
  release(pool);
}

void DeviceMemory::release(std::optional<c10::MempoolId_t> pool) {
  if (is_capturing(device_)) return;
  if (!pending_.is_empty()) {
    synchronize();
    process_pending();
  }
  pending_.release_events();
  return_to_plugin(take_releasable(pool));
  forget_empty_pools();
}

DeviceMemory::Releasable DeviceMemory::take_releasable(std::optional<c10::MempoolId_t> only) {
  Releasable releasable;
  std::lock_guard lock(lock_);
  flush_caches();
  const auto take = [&](MemoryPool& pool) {
    for (bool is_small : {true, false}) {
      FreeBlocks& free_blocks = pool.free_blocks(is_small);
      const auto whole = free_blocks.remove_whole([](const Block&) { return true; });
      releasable.segments.insert(releasable.segments.end(), whole.begin(), whole.end());
      if (!plugin_has<&plug_runtime::mem_unmap>(device_)) continue;
      const auto ranges = free_blocks.unmap(device_info(device_).map_bytes);
      releasable.ranges.insert(releasable.ranges.end(), ranges.begin(), ranges.end());
    }
  };
  if (!only) take(own_);
  for (const auto& [id, pool] : private_pools_) {
    if (pool->users == 0 && (!only || id == *only)) take(*pool);
  }
  return releasable;
}

void DeviceMemory::collect_garbage(const Request& request) {
  if (request.settings.gc_threshold <= 0 || is_capturing(device_)) return;
  return_to_plugin(take_garbage(request));
}

// The older a free segment is, in searches since it was used, the sooner it goes; as PyTorch does it.
DeviceMemory::Releasable DeviceMemory::take_garbage(const Request& request) {
  Releasable releasable;
  std::lock_guard lock(lock_);
  FreeBlocks& free_blocks = own_.large;
  const auto most = fraction_.value_or(1.0) * static_cast<double>(device_info(device_).total_bytes);
  const auto threshold = static_cast<int64_t>(request.settings.gc_threshold * most);
  int64_t excess = statistics_.reserved_bytes() - threshold;
  while (excess > 0) {
    uint64_t ages = 0;
    uint64_t count = 0;
    free_blocks.for_each([&](const Block& block) {
      if (block.is_split() || block.segment->is_expandable) return;
      ages += free_blocks.searches() - block.idle_since;
      ++count;
    });
    if (count == 0) break;
    const auto old = free_blocks.remove_whole(
        [&](const Block& block) { return (free_blocks.searches() - block.idle_since) * count >= ages; });
    for (Segment* segment : old) excess -= static_cast<int64_t>(segment->whole.bytes);
    releasable.segments.insert(releasable.segments.end(), old.begin(), old.end());
  }
  return releasable;
}

// It was taken before the wait: what is freed during the wait may still be in use.
void DeviceMemory::return_to_plugin(const Releasable& releasable) {
  if (releasable.is_empty()) return;
  try {
    synchronize();
  } catch (...) {
    restore(releasable);
    throw;
  }
  std::exception_ptr failure;
  const auto keep_failure = [&failure](const auto& work) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  for (Segment* segment : releasable.segments) keep_failure([&] { free_segment(*segment); });
  for (const auto& range : releasable.ranges) keep_failure([&] { unmap(range); });
  if (failure == nullptr) keep_failure([&] { free_unmapped(releasable); });
  if (failure != nullptr) std::rethrow_exception(failure);
}

void DeviceMemory::restore(const Releasable& releasable) {
  std::lock_guard lock(lock_);
  for (Segment* segment : releasable.segments) {
    segment->pool->free_blocks(segment->is_small).restore_whole(*segment);
  }
  for (const auto& range : releasable.ranges) {
    range.segment->pool->free_blocks(range.segment->is_small).restore_mapping(range);
  }
}

void DeviceMemory::free_segment(Segment& segment) {
  const Block whole = segment.whole;
  remove_from_address_index(segment.whole);
  release_address(whole);
  const std::shared_ptr<MemorySource> source = segment.pool->source;
  const bool is_expandable = segment.is_expandable;
  {
    std::lock_guard lock(lock_);
    if (!is_expandable) {
      count_shrinkage(segment, reinterpret_cast<uint64_t>(whole.address), whole.bytes);
      store_.release(segment.first);
    }
    --segment.pool->segments;
    segments_.erase(whole.address);
  }
  if (is_expandable) {
    call_plugin<&plug_runtime::mem_unreserve>(device_, whole.base);
  } else {
    source->release(whole.stream, whole.base, whole.bytes);
  }
}

void DeviceMemory::unmap(const FreeBlocks::Range& range) {
  const Segment& segment = *range.segment;
  HostMaps::unmap_left(device_);
  call_plugin<&plug_runtime::mem_unmap>(device_, segment.whole.base, range.offset, range.bytes);
  std::lock_guard lock(lock_);
  count_shrinkage(segment, reinterpret_cast<uint64_t>(segment.whole.address) + range.offset, range.bytes);
}

// Addresses behind which no memory is left.
void DeviceMemory::free_unmapped(const Releasable& releasable) {
  std::set<Segment*> unmapped;
  {
    std::lock_guard lock(lock_);
    for (const auto& range : releasable.ranges) {
      if (FreeBlocks::is_wholly_unmapped(*range.segment)) unmapped.insert(range.segment);
    }
    for (Segment* segment : unmapped) {
      segment->pool->free_blocks(segment->is_small).remove_unmapped(*segment);
    }
  }
  for (Segment* segment : unmapped) free_segment(*segment);
}

// A pool that nobody uses is kept for the memory that is still in use.
void DeviceMemory::forget_empty_pools() {
  std::lock_guard lock(lock_);
  std::erase_if(private_pools_,
                [](const auto& entry) { return entry.second->users == 0 && entry.second->segments == 0; });
}

void DeviceMemory::synchronize() {
  call_plugin<&plug_runtime::device_sync>(device_);
  std::lock_guard lock(lock_);
  statistics_.count(&Statistics::Values::num_sync_all_streams);
}

// ---- without caching ----

Block* DeviceMemory::allocate_uncached(Request& request) {
  std::string reason;
  void* base = nullptr;
  if (!is_allowed(request.rounded, reason)) throw_out_of_memory(request, reason);
  take_plugin_error();
  plug_status status = request.pool->source->allocate(request.stream, request.rounded, &base);
  if (status == PLUG_NO_MEMORY) {
    reason = plugins_reason();
    release(std::nullopt);
    status = request.pool->source->allocate(request.stream, request.rounded, &base);
  }
  if (status == PLUG_NO_MEMORY) throw_out_of_memory(request, reason);
  check(status, "mem_alloc", device_);
  check_memory(base, request.rounded);
  std::unique_ptr<Segment> segment = make_segment(request, base, request.rounded);
  segment->is_cached = false;
  std::lock_guard lock(lock_);
  Segment& added = add_segment(request, std::move(segment));
  added.first = store_.make(added.whole);
  added.first->segment = &added;
  count_growth(added, reinterpret_cast<uint64_t>(added.whole.address), request.rounded, request.context);
  return allocate_block(request, added.first);
}

// growth_lock_ is not held. Waits for the streams that use the memory.
void DeviceMemory::free_uncached(Block* block, const Context& context) {
  Segment& segment = *block->segment;
  {
    std::lock_guard lock(lock_);
    record("free_requested", *block, context);
    record("free_completed", *block, context);
    statistics_.count_free_request(Statistics::kind_of(*block), *block);
    statistics_.count_free_completion(Statistics::kind_of(*block), *block);
  }
  if (!segment.pool->source->orders_frees() && has_streams(device_)) {
    block->used_on.push_back(block->stream);
    for (const Stream& stream : block->used_on) {
      call_plugin<&plug_runtime::stream_sync>(stream.device(), stream.handle());
    }
  }
  free_segment(segment);
}

// ---- out of memory ----

void DeviceMemory::throw_out_of_memory(const Request& request, const std::string& reason) {
  const auto [free_bytes, total_bytes] = DeviceAllocator::instance().getMemoryInfo(device_);
  size_t allocated = 0;
  size_t reserved = 0;
  size_t largest = 0;
  {
    std::lock_guard lock(lock_);
    flush_caches();
    statistics_.count(&Statistics::Values::num_ooms);
    allocated = static_cast<size_t>(statistics_.allocated_bytes());
    reserved = static_cast<size_t>(statistics_.reserved_bytes());
    largest = std::max(own_.small.largest(), own_.large.largest());
    for (const auto& [id, pool] : private_pools_) {
      largest = std::max({largest, pool->small.largest(), pool->large.largest()});
    }
    history_.record("oom", free_bytes, request.rounded, request.stream, request.pool->id, request.context);
  }
  report_out_of_memory(static_cast<int64_t>(request.rounded), allocated, reserved, device_);
  // Whatever else was cached has been returned to the plugin before this.
  const bool may_expand = reserved > allocated && supports_expansion() && !request.settings.expandable;
  TORCH_CHECK_WITH(OutOfMemoryError, false, device_type_name(), ":", int{device_},
                   " out of memory. Tried to allocate ", size_text(request.bytes), "; the device has ",
                   size_text(free_bytes), " free of ", size_text(total_bytes), ". torchplug has reserved ",
                   size_text(reserved), ": ", size_text(allocated), " allocated and ",
                   size_text(reserved - allocated), " cached, the largest cached block being ",
                   size_text(largest), ". ", reason, ". Free tensors that are not needed, or allocate less.",
                   may_expand ? " TORCHPLUG_ALLOC_CONF=expandable_segments:True reduces fragmentation." : "");
}

}  // namespace torchplug::memory
