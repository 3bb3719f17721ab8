// How a BlockPool gets memory from the plugin and gives it back. Everything here but the deleters' part is
// done with growth_lock_ held, and the books closed while the plugin is called.

#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "memory/address_index.h"
#include "memory/block_pool.h"
#include "memory/memory_events.h"
#include "plugin/layers/serialize.h"

namespace torchplug::memory {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSmallSegment = 2 * kMiB;
constexpr size_t kLeastLarge = 10 * kMiB;  // from here on a request has a segment of its own
constexpr size_t kLargeStep = 2 * kMiB;

std::atomic<size_t> hidden_blocks{0};

size_t segment_size(size_t rounded, bool is_small, const AllocatorSettings& settings) {
  if (is_small) return std::max(kSmallSegment, rounded);
  return rounded < kLeastLarge ? settings.large_segment : round_up(rounded, kLargeStep);
}

std::string in_words(size_t bytes) {
  if (bytes < kMiB) return std::to_string(bytes) + " bytes";
  constexpr size_t kGiB = 1024 * kMiB;
  const bool is_large = bytes >= 10 * kGiB;
  const size_t unit = is_large ? kGiB : kMiB;
  const size_t tenths = bytes / unit * 10 + bytes % unit * 10 / unit;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + (is_large ? " GiB" : " MiB");
}

void check_given(const void* base, size_t bytes) {
  TORCH_CHECK(base != nullptr, "Plugin '", active_module().name, "' answered PLUG_OK to mem_alloc of ", bytes,
              " bytes but gave no memory. It should answer PLUG_NO_MEMORY.");
}

std::string said_by_plugin() {
  const std::string said = take_plugin_error();
  return "The plugin said: " + (said.empty() ? "nothing" : said);
}

// Addresses for a device whose memory cannot be addressed: PyTorch adds offsets to them, nobody
// follows them.
char* reserve_addresses(size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK_WITH(OutOfMemoryError, address != MAP_FAILED, "No address space is left for ", bytes,
                   " bytes.");
  return static_cast<char*>(address);
}

bool is_hidden(const Segment& segment) {
  return runtime_table().host_view != nullptr && segment.whole.view == nullptr;
}

}  // namespace

bool has_hidden_blocks() noexcept { return hidden_blocks.load(std::memory_order_relaxed) != 0; }

void count_hidden_block(int change) noexcept { hidden_blocks += static_cast<size_t>(change); }

Block* BlockPool::take_new(Request& request) {
  bool caches = false;
  {
    Books::Session session(books_);
    caches = caches_;
    request.pool = &pool_for(request.stream);
    if (caches) {
      if (Block* block = find(request)) return block;
      if (request.is_small && !request.pool->is_private()) {
        put_away(books_.clear(make_shelf(request.stream)));
        if (Block* block = find(request)) return block;
      }
    }
  }
  if (!caches) return take_uncached(request);
  collect_garbage(request);
  std::string said;
  const size_t size = segment_size(request.rounded, request.is_small, request.settings);
  if (Block* block = grow(request, size, said)) return block;
  return retry(request, size, said);
}

// Helpful pools first, since they cost nothing; then whatever is cached goes back to the plugin.
Block* BlockPool::retry(Request& request, size_t size, std::string& said) {
  {
    Books::Session session(books_);
    for (const auto& [id, pool] : private_pools_) {
      if (!pool->helps_others || pool.get() == request.pool) continue;
      if (Block* block = find_in(*pool, request)) return block;
    }
    books_.count(&Stats::num_alloc_retries);
  }
  release(std::nullopt);
  if (Block* block = grow(request, size, said)) return block;
  // The last resort: no more than what was asked for.
  if (request.rounded < size) {
    if (Block* block = grow(request, request.rounded, said)) return block;
  }
  throw_out_of_memory(request, said);
}

bool BlockPool::is_allowed(size_t bytes, std::string& said) {
  Books::Session session(books_);
  if (!fraction_) return true;
  const auto most = static_cast<size_t>(*fraction_ * static_cast<double>(device_info(device_).total_bytes));
  const auto reserved = static_cast<size_t>(books_.reserved_bytes());
  if (bytes <= most && reserved <= most - bytes) return true;
  said =
      "This process may have " + in_words(most) + " of the device's memory (set_per_process_memory_fraction)";
  return false;
}

Block* BlockPool::grow(Request& request, size_t bytes, std::string& said) {
  if (can_expand(request)) return grow_in_place(request, bytes, said);
  if (!is_allowed(bytes, said)) return nullptr;
  void* base = nullptr;
  take_plugin_error();
  const plug_status status = request.pool->source->allocate(request.stream, bytes, &base);
  if (status == PLUG_NO_MEMORY) {
    said = said_by_plugin();
    return nullptr;
  }
  check(status, "mem_alloc", device_);
  check_given(base, bytes);
  std::unique_ptr<Segment> segment = make_segment(request, base, bytes);
  Books::Session session(books_);
  Segment& added = add_segment(request, std::move(segment));
  request.pool->heap(added.is_small).add(added);
  count_growth(added, reinterpret_cast<uint64_t>(added.whole.address), bytes, request.context);
  return find_in(*request.pool, request);
}

Block* BlockPool::grow_in_place(Request& request, size_t bytes, std::string& said) {
  const size_t unit = device_info(device_).map_bytes;
  BlockHeap& heap = request.pool->heap(request.is_small);
  while (true) {
    Block* room = nullptr;
    size_t wanted = 0;
    {
      Books::Session session(books_);
      if (Block* block = find_in(*request.pool, request)) return block;
      room = heap.find_room(request.stream, request.rounded);
      if (room != nullptr) {
        const bool joins = room->before != nullptr && room->before->is_free();
        wanted = std::min(room->bytes, round_up(bytes - (joins ? room->before->bytes : 0), unit));
      }
    }
    if (room == nullptr) {
      if (!reserve_room(request, said)) return nullptr;
      continue;
    }
    if (!is_allowed(wanted, said)) return nullptr;
    take_plugin_error();
    const plug_status status =
        runtime_table().mem_map(plugin_index(device_), room->base, room->offset, wanted);
    if (status == PLUG_NO_MEMORY) {
      said = said_by_plugin();
      return nullptr;
    }
    check(status, "mem_map", device_);
    Books::Session session(books_);
    const auto address = reinterpret_cast<uint64_t>(room->address);
    Segment& segment = *room->segment;
    heap.map(room, wanted);
    count_growth(segment, address, wanted, request.context);
  }
}

// As many addresses as the device could ever fill, and some for holes.
bool BlockPool::reserve_room(const Request& request, std::string& said) {
  const size_t unit = device_info(device_).map_bytes;
  const size_t total = device_info(device_).total_bytes;
  const size_t bytes = std::max(round_up(total + total / 8, unit), round_up(request.rounded, unit));
  void* base = nullptr;
  take_plugin_error();
  const plug_status status = runtime_table().mem_reserve(plugin_index(device_), bytes, &base);
  if (status == PLUG_NO_MEMORY) {
    said = said_by_plugin();
    return false;
  }
  check(status, "mem_reserve", device_);
  std::unique_ptr<Segment> segment = make_segment(request, base, bytes);
  segment->is_expandable = true;
  Books::Session session(books_);
  Segment& added = add_segment(request, std::move(segment));
  request.pool->heap(added.is_small).add(added);
  return true;
}

std::unique_ptr<Segment> BlockPool::make_segment(const Request& request, void* base, size_t bytes) const {
  void* view = nullptr;
  if (runtime_table().host_view != nullptr &&
      runtime_table().host_view(plugin_index(device_), base, &view) != PLUG_OK)
    view = nullptr;
  const bool addressable = (device_info(device_).flags & PLUG_ADDRESSABLE) != 0;
  char* address = addressable ? static_cast<char*>(base) : reserve_addresses(bytes);
  auto segment =
      std::make_unique<Segment>(Block{address, base, static_cast<char*>(view), bytes, 0, request.stream, {}});
  segment->pool = request.pool;
  segment->is_small = request.is_small;
  segment->context = request.context;
  return segment;
}

Segment& BlockPool::add_segment(const Request& request, std::unique_ptr<Segment> segment) {
  Segment& added = *segment;
  if (is_hidden(added)) count_hidden_block(1);
  segments_[added.whole.address] = std::move(segment);
  ++request.pool->segments;
  add_to_address_index(added.whole);
  return added;
}

void BlockPool::count_growth(const Segment& segment, uint64_t address, size_t bytes, const Context& context) {
  const bool is_whole = !segment.is_expandable;
  books_.reserve(kind_of(segment.is_small), segment.pool->id, static_cast<int64_t>(bytes), is_whole ? 1 : 0);
  books_.count(&Stats::num_device_alloc);
  if (is_whole && bytes >= books_.max_split_size) books_.oversize_segment(true);
  history_.record(is_whole ? "segment_alloc" : "segment_map", address, bytes, segment.stream(),
                  segment.pool->id, context);
  note_idle();
}

void BlockPool::count_shrinkage(const Segment& segment, uint64_t address, size_t bytes) {
  const bool is_whole = !segment.is_expandable;
  books_.reserve(kind_of(segment.is_small), segment.pool->id, -static_cast<int64_t>(bytes),
                 is_whole ? -1 : 0);
  books_.count(&Stats::num_device_free);
  if (is_whole && bytes >= books_.max_split_size) books_.oversize_segment(false);
  history_.record(is_whole ? "segment_free" : "segment_unmap", address, bytes, segment.stream(),
                  segment.pool->id, segment.context);
}

// ---- giving back ----

void BlockPool::release_cached(std::optional<c10::MempoolId_t> pool) {
  const auto calls = lock_calls(active_module());
  std::lock_guard growth(growth_lock_);
  release(pool);
}

// First the segments, then the wait: what is given back meanwhile may still be in use.
void BlockPool::release(std::optional<c10::MempoolId_t> pool) {
  {
    Books::Session session(books_);
    if (is_capturing()) return;
  }
  if (!pending_.is_empty()) {
    synchronize();
    take_back_passed();
  }
  const Leaving leaving = take_leaving(pool);
  if (!leaving.is_empty()) {
    try {
      synchronize();
    } catch (...) {
      put_back(leaving);
      throw;
    }
    let_go(leaving);
  }
  forget_empty_pools();
}

BlockPool::Leaving BlockPool::take_leaving(std::optional<c10::MempoolId_t> only) {
  Leaving leaving;
  Books::Session session(books_);
  empty_shelves();
  const auto leave = [&](MemoryPool& pool) {
    for (bool is_small : {true, false}) {
      BlockHeap& heap = pool.heap(is_small);
      const auto whole = heap.take_whole([](const Block&) { return true; });
      leaving.segments.insert(leaving.segments.end(), whole.begin(), whole.end());
      if (runtime_table().mem_unmap == nullptr) continue;
      const auto ranges = heap.unmap(device_info(device_).map_bytes);
      leaving.ranges.insert(leaving.ranges.end(), ranges.begin(), ranges.end());
    }
  };
  if (!only) leave(own_);
  for (const auto& [id, pool] : private_pools_) {
    if (pool->users == 0 && (!only || id == *only)) leave(*pool);
  }
  note_idle();
  return leaving;
}

void BlockPool::put_back(const Leaving& leaving) {
  Books::Session session(books_);
  for (Segment* segment : leaving.segments) segment->pool->heap(segment->is_small).put_back(*segment);
  for (const auto& range : leaving.ranges) {
    range.segment->pool->heap(range.segment->is_small).map_again(range);
  }
  note_idle();
}

void BlockPool::let_go(const Leaving& leaving) {
  std::exception_ptr failure;
  const auto keep_failure = [&failure](const auto& work) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  for (Segment* segment : leaving.segments) keep_failure([&] { free_segment(*segment); });
  for (const auto& range : leaving.ranges) keep_failure([&] { unmap(range); });
  if (failure == nullptr) keep_failure([&] { free_unmapped(leaving); });
  if (failure != nullptr) std::rethrow_exception(failure);
}

void BlockPool::free_segment(Segment& segment) {
  const Block whole = segment.whole;
  remove_from_address_index(segment.whole);
  if (whole.address != whole.base) ::munmap(whole.address, whole.bytes);
  if (is_hidden(segment)) count_hidden_block(-1);
  const std::shared_ptr<MemorySource> source = segment.pool->source;
  const bool is_expandable = segment.is_expandable;
  {
    Books::Session session(books_);
    if (!is_expandable) {
      count_shrinkage(segment, reinterpret_cast<uint64_t>(whole.address), whole.bytes);
      store_.release(segment.first);
    }
    --segment.pool->segments;
    segments_.erase(whole.address);
  }
  if (is_expandable) {
    check(runtime_table().mem_unreserve(plugin_index(device_), whole.base), "mem_unreserve", device_);
  } else {
    source->release(whole.stream, whole.base, whole.bytes);
  }
}

void BlockPool::unmap(const BlockHeap::Range& range) {
  const Segment& segment = *range.segment;
  check(runtime_table().mem_unmap(plugin_index(device_), segment.whole.base, range.offset, range.bytes),
        "mem_unmap", device_);
  Books::Session session(books_);
  count_shrinkage(segment, reinterpret_cast<uint64_t>(segment.whole.address) + range.offset, range.bytes);
}

// Addresses behind which no memory is left.
void BlockPool::free_unmapped(const Leaving& leaving) {
  std::set<Segment*> unmapped;
  {
    Books::Session session(books_);
    for (const auto& range : leaving.ranges) {
      if (BlockHeap::is_unmapped(*range.segment)) unmapped.insert(range.segment);
    }
    for (Segment* segment : unmapped) segment->pool->heap(segment->is_small).forget_unmapped(*segment);
  }
  for (Segment* segment : unmapped) free_segment(*segment);
}

// A pool that nobody uses is kept for the memory that is still in use.
void BlockPool::forget_empty_pools() {
  Books::Session session(books_);
  std::erase_if(private_pools_,
                [](const auto& entry) { return entry.second->users == 0 && entry.second->segments == 0; });
}

void BlockPool::synchronize() {
  check(runtime_table().device_sync(plugin_index(device_)), "device_sync", device_);
  Books::Session session(books_);
  books_.count(&Stats::num_sync_all_streams);
}

// The older a free segment is, in searches since it was used, the sooner it goes; as PyTorch does it.
void BlockPool::collect_garbage(const Request& request) {
  if (request.settings.gc_threshold <= 0) return;
  Leaving leaving;
  {
    Books::Session session(books_);
    if (is_capturing()) return;
    const auto most = fraction_.value_or(1.0) * static_cast<double>(device_info(device_).total_bytes);
    const auto threshold = static_cast<int64_t>(request.settings.gc_threshold * most);
    int64_t excess = books_.reserved_bytes() - threshold;
    while (excess > 0) {
      uint64_t ages = 0;
      uint64_t count = 0;
      own_.large.for_each_free([&](const Block& block) {
        if (block.is_split() || block.segment->is_expandable) return;
        ages += own_.large.searches() - block.idle_since;
        ++count;
      });
      if (count == 0) break;
      const auto old = own_.large.take_whole(
          [&](const Block& block) { return (own_.large.searches() - block.idle_since) * count >= ages; });
      for (Segment* segment : old) excess -= static_cast<int64_t>(segment->whole.bytes);
      leaving.segments.insert(leaving.segments.end(), old.begin(), old.end());
    }
    note_idle();
  }
  if (leaving.is_empty()) return;
  try {
    synchronize();
  } catch (...) {
    put_back(leaving);
    throw;
  }
  let_go(leaving);
}

// ---- without caching ----

Block* BlockPool::take_uncached(Request& request) {
  std::string said;
  void* base = nullptr;
  if (!is_allowed(request.rounded, said)) throw_out_of_memory(request, said);
  take_plugin_error();
  plug_status status = request.pool->source->allocate(request.stream, request.rounded, &base);
  if (status == PLUG_NO_MEMORY) {
    said = said_by_plugin();
    release(std::nullopt);
    status = request.pool->source->allocate(request.stream, request.rounded, &base);
  }
  if (status == PLUG_NO_MEMORY) throw_out_of_memory(request, said);
  check(status, "mem_alloc", device_);
  check_given(base, request.rounded);
  std::unique_ptr<Segment> segment = make_segment(request, base, request.rounded);
  segment->is_cached = false;
  Books::Session session(books_);
  Segment& added = add_segment(request, std::move(segment));
  added.first = store_.make(added.whole);
  added.first->segment = &added;
  count_growth(added, reinterpret_cast<uint64_t>(added.whole.address), request.rounded, request.context);
  return hand_out(request, added.first);
}

// A free; growth_lock_ is not held. The memory goes when the streams that use it have passed.
void BlockPool::give_uncached(Block* block, const Context& context) {
  Segment& segment = *block->segment;
  {
    Books::Session session(books_);
    record("free_requested", *block, context);
    record("free_completed", *block, context);
    count_given(*block);
  }
  if (!segment.pool->source->orders_frees() && active_module().has_streams()) {
    block->used_on.push_back(block->stream);
    for (const Stream& stream : block->used_on) {
      check(runtime_table().stream_sync(plugin_index(stream.device()), stream.handle()), "stream_sync",
            stream.device());
    }
  }
  free_segment(segment);
}

// ---- out of memory ----

void BlockPool::throw_out_of_memory(const Request& request, const std::string& said) {
  const auto [free_bytes, total_bytes] = DeviceAllocator::instance().getMemoryInfo(device_);
  size_t in_use = 0;
  size_t reserved = 0;
  size_t largest = 0;
  {
    Books::Session session(books_);
    empty_shelves();
    books_.count(&Stats::num_ooms);
    in_use = static_cast<size_t>(books_.allocated_bytes());
    reserved = static_cast<size_t>(books_.reserved_bytes());
    largest = std::max(own_.small.largest(), own_.large.largest());
    for (const auto& [id, pool] : private_pools_) {
      largest = std::max({largest, pool->small.largest(), pool->large.largest()});
    }
    history_.record("oom", free_bytes, request.rounded, request.stream, request.pool->id, request.context);
  }
  report_out_of_memory(static_cast<int64_t>(request.rounded), in_use, reserved, device_);
  TORCH_CHECK_WITH(OutOfMemoryError, false, active_module().name, ":", int{device_},
                   " out of memory. Tried to allocate ", in_words(request.bytes), "; of ",
                   in_words(total_bytes), " the device has ", in_words(free_bytes), " free. torchplug holds ",
                   in_words(reserved), ": ", in_words(in_use), " in use and ", in_words(reserved - in_use),
                   " cached, the largest cached block being ", in_words(largest), ". ", said,
                   ". If much is cached, torch.", active_module().name,
                   ".empty_cache() or TORCHPLUG_ALLOC_CONF=expandable_segments:True may help.");
}

}  // namespace torchplug::memory
