#include "plugin/layers/validate_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "plugin/layers/validate_messages.h"

namespace torchplug::plugin::validation {
namespace {

constexpr uint8_t kFresh = 0xFF;
constexpr uint8_t kRed = 0xAA;
constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();

std::string bytes_at(uint64_t bytes, const void* base) {
  return std::to_string(bytes) + " bytes at " + hexadecimal(base);
}

}  // namespace

Extent extent_of(const plug_tensor& tensor) {
  const auto item = static_cast<int64_t>(PLUG_DTYPE_BYTES(tensor.dtype));
  int64_t first = 0;
  int64_t last = 0;
  for (int32_t d = 0; d < tensor.ndim; ++d) {
    if (tensor.sizes[d] == 0) return {};
    const int64_t reach = (tensor.sizes[d] - 1) * tensor.strides[d] * item;
    (reach < 0 ? first : last) += reach;
  }
  return {first, static_cast<uint64_t>(last - first + item)};
}

// ---- allocations ----

uint64_t Memory::with_red_zone(int32_t device, uint64_t bytes) {
  const uint64_t largest = facts(device).largest_bytes;
  if (largest != 0 && bytes > largest) {
    violate(Rule::kAllocLargest, "mem_alloc of device " + std::to_string(device) + " was asked for " +
                                     std::to_string(bytes) + " bytes, and its largest allocation is " +
                                     std::to_string(largest) + ".");
  }
  const uint64_t most = largest != 0 ? largest : kMost;
  return bytes > most || most - bytes < kRedZoneBytes ? bytes : bytes + kRedZoneBytes;
}

Memory::Allocation* Memory::find(int32_t device, const void* base) {
  const auto found = live_.find(key(device, base));
  return found == live_.end() ? nullptr : &found->second;
}

Memory::DeviceFacts Memory::facts(int32_t device) {
  {
    std::lock_guard lock(lock_);
    const auto found = facts_.find(device);
    if (found != facts_.end()) return found->second;
  }
  plug_device_info info{};
  info.size = sizeof info;
  info.alignment = 1;
  DeviceFacts known;
  if (below_.call<&plug_runtime::device_info>(device, &info) == PLUG_OK) {
    known = {std::max<uint64_t>(info.alignment, 1), info.map_bytes, info.largest_bytes, info.flags};
  }
  std::lock_guard lock(lock_);
  return facts_[device] = known;
}

void Memory::check_alignment(int32_t device, void* base, const DeviceFacts& facts) {
  if (!facts.is_addressable() || reinterpret_cast<uintptr_t>(base) % facts.alignment == 0) return;
  violate(Rule::kAllocAlignment, "mem_alloc of device " + std::to_string(device) + " returned " +
                                     hexadecimal(base) + ", which is not a multiple of its alignment, " +
                                     std::to_string(facts.alignment) + ".");
}

// PyTorch tells addressable memory apart by its addresses, whichever device's it is.
void Memory::check_overlap(int32_t device, void* base, uint64_t bytes, const DeviceFacts& facts) {
  const auto begin = reinterpret_cast<uintptr_t>(base);
  std::string other;
  {
    std::lock_guard lock(lock_);
    for (const auto& [place, allocation] : live_) {
      const bool is_same = place == key(device, base);
      const bool overlaps =
          facts.is_addressable() && begin < place.second + allocation.bytes && place.second < begin + bytes;
      if (is_same || overlaps) other = bytes_at(allocation.bytes, reinterpret_cast<void*>(place.second));
    }
  }
  if (other.empty()) return;
  violate(Rule::kAllocOverlap, "Device " + std::to_string(device) + " returned " + bytes_at(bytes, base) +
                                   ", which overlap the live " + other + ".");
}

void Memory::add(int32_t device, void* base, uint64_t bytes) {
  const DeviceFacts known = facts(device);
  check_overlap(device, base, bytes, known);
  try {
    check_alignment(device, base, known);
  } catch (...) {
    below_.call<&plug_runtime::mem_free>(device, base);  // the core does not hear of it
    throw;
  }
  const bool is_filled = with_red_zone(device, bytes) != bytes && fill(device, base, 0, kFresh, bytes) &&
                         fill(device, base, bytes, kRed, kRedZoneBytes);
  char* const view = is_filled ? view_of(device, base) : nullptr;
  std::lock_guard lock(lock_);
  freed_.erase(key(device, base));
  live_[key(device, base)] = {
      .bytes = bytes, .has_red_zone = is_filled, .red_zone = view != nullptr ? view + bytes : nullptr};
}

void Memory::add_import(int32_t device, void* base) {
  std::lock_guard lock(lock_);
  live_[key(device, base)] = {.bytes = 0, .is_import = true};
}

std::string Memory::place_of(int32_t device, void* base, uint64_t bytes) {
  return "the allocation of " + bytes_at(bytes, base) + " on device " + std::to_string(device);
}

void Memory::check_live(const char* function, int32_t device, void* base) {
  check_not_freed(function, device, base);
  {
    std::lock_guard lock(lock_);
    if (find(device, base) != nullptr) return;
  }
  violate(Rule::kMemoryDead, std::string(function) + " was given " + hexadecimal(base) +
                                 ", which is not an allocation of device " + std::to_string(device) + ".");
}

void Memory::check_not_freed(const char* function, int32_t device, void* base) {
  {
    std::lock_guard lock(lock_);
    if (find(device, base) != nullptr || !freed_.contains(key(device, base))) return;
  }
  violate(Rule::kMemoryDead, std::string(function) + " was given " + hexadecimal(base) +
                                 ", which has been freed, on device " + std::to_string(device) + ".");
}

void Memory::check_free(const char* function, int32_t device, void* base) {
  check_live(function, device, base);
  Allocation allocation;
  {
    std::lock_guard lock(lock_);
    const Allocation* found = find(device, base);
    if (found == nullptr) return;
    allocation = *found;
  }
  if (is_host_mapped({base, 0, device, 0}, 0, allocation.bytes)) {
    violate(Rule::kMappedUse, std::string(function) + " was given " +
                                  place_of(device, base, allocation.bytes) +
                                  ", of which a part is mapped for the host.");
  }
  for (const auto& [stream, number] : allocation.uses) {
    if (order_.has_passed({stream, number})) continue;
    violate(Rule::kFreeInUse, std::string(function) + " was given " +
                                  place_of(device, base, allocation.bytes) +
                                  ", which a stream still uses. Synchronise first.");
  }
}

void Memory::check_import(int32_t device, void* base) {
  check_live("ipc_close", device, base);
  bool is_import = false;
  {
    std::lock_guard lock(lock_);
    const Allocation* found = find(device, base);
    is_import = found == nullptr || found->is_import;
  }
  if (!is_import) {
    violate(Rule::kMemoryDead,
            "ipc_close was given " + hexadecimal(base) + ", which ipc_import did not return.");
  }
}

std::string Memory::remove(int32_t device, void* base) {
  Allocation allocation;
  {
    std::lock_guard lock(lock_);
    const Allocation* found = find(device, base);
    if (found == nullptr) return "";
    allocation = *found;
  }
  std::string wrong = allocation.has_red_zone ? damage(device, base, allocation.bytes) : "";
  std::lock_guard lock(lock_);
  live_.erase(key(device, base));
  freed_[key(device, base)] = allocation.bytes;
  return wrong;
}

std::string Memory::damage(int32_t device, void* base, uint64_t bytes) {
  std::array<uint8_t, kRedZoneBytes> zone{};
  if (!read_red_zone(device, base, bytes, zone.data())) return "";
  const auto* written = std::find_if(zone.begin(), zone.end(), [](uint8_t byte) { return byte != kRed; });
  if (written == zone.end()) return "";
  return "Something wrote " + std::to_string(written - zone.begin()) + " bytes behind the end of " +
         place_of(device, base, bytes) + ".";
}

// Another thread may free the allocation: what the host sees of it is read while nobody can.
bool Memory::read_red_zone(int32_t device, void* base, uint64_t bytes, uint8_t* zone) {
  {
    std::lock_guard lock(lock_);
    const Allocation* found = find(device, base);
    if (found == nullptr || found->bytes != bytes) return false;
    if (found->red_zone != nullptr) {
      std::memcpy(zone, found->red_zone, kRedZoneBytes);
      return true;
    }
  }
  if (!read(device, base, bytes, zone, kRedZoneBytes)) return false;
  std::lock_guard lock(lock_);
  return find(device, base) != nullptr;
}

void Memory::check_red_zones(int32_t device) {
  std::vector<std::pair<void*, uint64_t>> guarded;
  {
    std::lock_guard lock(lock_);
    for (const auto& [place, allocation] : live_) {
      if (place.first == device && allocation.has_red_zone) {
        guarded.emplace_back(reinterpret_cast<void*>(place.second), allocation.bytes);
      }
    }
  }
  for (const auto& [base, bytes] : guarded) {
    const std::string wrong = damage(device, base, bytes);
    if (wrong.empty()) continue;
    fill(device, base, bytes, kRed, kRedZoneBytes);
    violate(Rule::kRedZone, wrong);
  }
}

void Memory::check_view(int32_t device, void* base, void* view) {
  const auto begin = reinterpret_cast<uintptr_t>(view);
  bool is_wrong = view == nullptr;
  {
    std::lock_guard lock(lock_);
    Allocation* own = find(device, base);
    if (own == nullptr) return;  // what somebody else allocated may be a part of anything
    for (const auto& [place, other] : live_) {
      if (&other == own || other.view == 0) continue;
      is_wrong = is_wrong || (begin < other.view + other.bytes && other.view < begin + own->bytes);
    }
    own->view = begin;
  }
  if (is_wrong) {
    violate(Rule::kViewOverlap, "host_view of device " + std::to_string(device) + " returned " +
                                    hexadecimal(view) + " for " + hexadecimal(base) +
                                    ", which is NULL, or the view of another allocation.");
  }
}

// ---- reservations ----

void Memory::add_reservation(int32_t device, void* base, uint64_t bytes) {
  check_overlap(device, base, bytes, facts(device));
  std::lock_guard lock(lock_);
  live_[key(device, base)] = {.bytes = bytes, .is_reservation = true};
}

bool Memory::is_mapped(const Allocation& reservation, uint64_t offset, uint64_t bytes) {
  uint64_t reached = offset;
  for (const auto& [begin, end] : reservation.mapped) {
    if (begin <= reached && reached < end) reached = end;
  }
  return reached >= offset + bytes;
}

void Memory::check_map(const char* function, int32_t device, void* base, uint64_t offset, uint64_t bytes,
                       bool mapped) {
  check_live(function, device, base);
  const uint64_t unit = std::max<uint64_t>(facts(device).map_bytes, 1);
  const char* wrong = nullptr;
  {
    std::lock_guard lock(lock_);
    const Allocation* found = find(device, base);
    if (found == nullptr) return;
    const auto touches = [&](const auto& part) {
      return part.first < offset + bytes && offset < part.second;
    };
    if (!found->is_reservation) {
      wrong = "is of memory that mem_reserve did not return";
    } else if (offset % unit != 0 || bytes % unit != 0 || bytes == 0) {
      wrong = "is not of multiples of the device's map_bytes";
    } else if (bytes > found->bytes || offset > found->bytes - bytes) {
      wrong = "reaches outside of the reservation";
    } else if (mapped && std::any_of(found->mapped.begin(), found->mapped.end(), touches)) {
      wrong = "is of a part that is mapped already";
    } else if (!mapped && !is_mapped(*found, offset, bytes)) {
      wrong = "is of a part that is not mapped";
    }
  }
  if (wrong == nullptr) return;
  violate(Rule::kMapRange, std::string(function) + " of " + bytes_at(bytes, base) + " + " +
                               std::to_string(offset) + " " + wrong + ".");
}

void Memory::set_mapped(int32_t device, void* base, uint64_t offset, uint64_t bytes, bool mapped) {
  std::lock_guard lock(lock_);
  Allocation* found = find(device, base);
  if (found == nullptr) return;
  if (mapped) {
    found->mapped[offset] = offset + bytes;
    return;
  }
  std::map<uint64_t, uint64_t> left;
  for (const auto& [begin, end] : found->mapped) {
    if (begin < offset) left[begin] = std::min(end, offset);
    if (end > offset + bytes) left[std::max(begin, offset + bytes)] = end;
  }
  found->mapped = std::move(left);
}

void Memory::check_unreserve(int32_t device, void* base) {
  check_live("mem_unreserve", device, base);
  bool is_wrong = false;
  {
    std::lock_guard lock(lock_);
    const Allocation* found = find(device, base);
    is_wrong = found != nullptr && (!found->is_reservation || !found->mapped.empty());
  }
  if (is_wrong) {
    violate(Rule::kMapRange, "mem_unreserve was given " + hexadecimal(base) +
                                 ", which mem_reserve did not return, or of which a part is still mapped.");
  }
}

// ---- a host view for a while ----

bool Memory::is_host_mapped(const plug_mem& mem, uint64_t offset, uint64_t bytes) {
  std::lock_guard lock(lock_);
  return std::any_of(host_maps_.begin(), host_maps_.end(), [&](const HostMap& map) {
    return map.mem.base == mem.base && map.mem.device == mem.device && map.mem.offset < offset + bytes &&
           offset < map.mem.offset + map.bytes;
  });
}

void Memory::check_host_map(int32_t device, const plug_mem& mem, uint64_t bytes, uint32_t flags) {
  constexpr uint32_t kKnown = PLUG_MAP_READ | PLUG_MAP_WRITE;
  if (flags == 0 || (flags & ~kKnown) != 0) {
    violate(Rule::kFlags, "host_map was given flags " + std::to_string(flags) + ".");
  }
  const bool is_wrong = bytes == 0 || mem.device != device || is_host_mapped(mem, mem.offset, bytes);
  if (is_wrong) {
    violate(Rule::kHostMap, "host_map was given " + bytes_at(bytes, mem.base) + " + " +
                                std::to_string(mem.offset) +
                                ", which are none, of another device, or mapped already.");
  }
  check_use("host_map", mem, {0, bytes});
}

void Memory::add_host_map(const plug_mem& mem, uint64_t bytes, void* view) {
  if (view == nullptr) violate(Rule::kOutputMissing, "host_map answered PLUG_OK but gave no address.");
  std::lock_guard lock(lock_);
  host_maps_.push_back({mem, bytes, view});
}

std::vector<Memory::HostMap>::iterator Memory::find_host_map(const plug_mem& mem, uint64_t bytes,
                                                             const void* view) {
  return std::find_if(host_maps_.begin(), host_maps_.end(), [&](const HostMap& map) {
    return map.view == view && map.bytes == bytes && map.mem.base == mem.base &&
           map.mem.device == mem.device && map.mem.offset == mem.offset;
  });
}

void Memory::check_host_unmap(const plug_mem& mem, uint64_t bytes, const void* view) {
  {
    std::lock_guard lock(lock_);
    if (find_host_map(mem, bytes, view) != host_maps_.end()) return;
  }
  violate(Rule::kHostMap, "host_unmap was given " + bytes_at(bytes, mem.base) + " + " +
                              std::to_string(mem.offset) + " and " + hexadecimal(view) +
                              ", which host_map did not give for it.");
}

void Memory::remove_host_map(const plug_mem& mem, uint64_t bytes, const void* view) {
  std::lock_guard lock(lock_);
  const auto found = find_host_map(mem, bytes, view);
  if (found != host_maps_.end()) host_maps_.erase(found);
}

size_t Memory::host_maps() {
  std::lock_guard lock(lock_);
  return host_maps_.size();
}

void Memory::check_lacks(const char* function, int32_t device, uint32_t lack) {
  if ((facts(device).flags & lack) == 0) return;
  violate(Rule::kDeviceLacks,
          std::string(function) + " was called for device " + std::to_string(device) + ", which lacks it.");
}

// ---- pinned memory ----

bool Memory::is_pinned(const void* address, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  {
    std::lock_guard lock(lock_);
    const auto after = pinned_.upper_bound(begin);
    if (after != pinned_.begin() && begin + bytes <= std::prev(after)->first + std::prev(after)->second)
      return true;
  }
  int32_t by_others = 0;
  return below_.has<&plug_runtime::host_pinned>() &&
         below_.call<&plug_runtime::host_pinned>(address, &by_others) == PLUG_OK && by_others != 0;
}

void Memory::add_pinned(void* base, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(base);
  bool overlaps = base == nullptr;
  {
    std::lock_guard lock(lock_);
    for (const auto& [other, length] : pinned_)
      overlaps = overlaps || (begin < other + length && other < begin + bytes);
    pinned_[begin] = bytes;
  }
  if (overlaps) {
    violate(Rule::kAllocOverlap,
            "host_alloc returned " + bytes_at(bytes, base) + ", which is NULL, or in use.");
  }
}

void Memory::check_pinned(void* base) {
  {
    std::lock_guard lock(lock_);
    if (pinned_.contains(reinterpret_cast<uintptr_t>(base))) return;
  }
  violate(Rule::kMemoryDead,
          "host_free was given " + hexadecimal(base) + ", which is not memory that host_alloc returned.");
}

void Memory::remove_pinned(void* base) {
  std::lock_guard lock(lock_);
  pinned_.erase(reinterpret_cast<uintptr_t>(base));
}

// ---- use ----

void Memory::check_use(const char* function, const plug_mem& mem, const Extent& extent) {
  constexpr uint32_t kKnown = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;
  if ((mem.flags & ~kKnown) != 0) {
    violate(Rule::kFlags,
            std::string(function) + " was given memory flags " + std::to_string(mem.flags) + ".");
  }
  if (extent.bytes == 0) return;
  const uint64_t offset = mem.offset + static_cast<uint64_t>(extent.first);
  const bool is_host = mem.device == PLUG_HOST;
  if ((mem.flags & PLUG_MEM_PINNED) != 0) {
    const auto begin = reinterpret_cast<uintptr_t>(mem.base) + offset;
    if (!is_host || !is_pinned(reinterpret_cast<const void*>(begin), extent.bytes)) {
      violate(Rule::kMemoryPinned,
              std::string(function) + " was told that " + bytes_at(extent.bytes, mem.base) + " + " +
                  std::to_string(offset) +
                  " is pinned, but host_alloc did not return it, nor does host_pinned know it.");
    }
  }
  if (is_host) {
    if (mem.base == nullptr) violate(Rule::kMemoryDead, std::string(function) + " was given no host memory.");
    return;
  }
  if (is_host_mapped(mem, offset, extent.bytes)) {
    violate(Rule::kMappedUse, std::string(function) + " was given " + bytes_at(extent.bytes, mem.base) +
                                  " + " + std::to_string(offset) +
                                  ", of which a part is mapped for the host.");
  }
  if ((mem.flags & PLUG_MEM_FOREIGN) != 0) return;
  check_live(function, mem.device, mem.base);
  std::unique_lock lock(lock_);
  const Allocation* found = find(mem.device, mem.base);
  if (found == nullptr || found->is_import) return;
  const uint64_t size = found->bytes;
  const bool is_inside = extent.bytes <= size && offset <= size - extent.bytes &&
                         (!found->is_reservation || is_mapped(*found, offset, extent.bytes));
  lock.unlock();
  if (!is_inside) {
    violate(Rule::kMemoryExtent, std::string(function) + " uses " + std::to_string(extent.bytes) +
                                     " bytes at offset " + std::to_string(static_cast<int64_t>(offset)) +
                                     " on of " + place_of(mem.device, mem.base, size) + ".");
  }
}

// Where nothing is asynchronous everything has passed at once; what is captured has yet to be replayed.
void Memory::note_use(const plug_mem& mem, const Order::Place& place) {
  if (mem.device == PLUG_HOST || !below_.has<&plug_runtime::stream_create>() || order_.is_capturing()) return;
  std::lock_guard lock(lock_);
  if (Allocation* found = find(mem.device, mem.base)) {
    WorkNumber& latest = found->uses[place.stream];
    latest = std::max(latest, place.number);
  }
}

Memory::Count Memory::live() {
  std::lock_guard lock(lock_);
  Count count{live_.size(), 0};
  for (const auto& [place, allocation] : live_) count.bytes += allocation.bytes;
  return count;
}

Memory::Count Memory::pinned() {
  std::lock_guard lock(lock_);
  Count count{pinned_.size(), 0};
  for (const auto& [base, bytes] : pinned_) count.bytes += bytes;
  return count;
}

// ---- reaching the bytes ----

char* Memory::view_of(int32_t device, void* base) {
  void* view = nullptr;
  if (!below_.has<&plug_runtime::host_view>() || (facts(device).flags & PLUG_LACKS_HOST_VIEW) != 0 ||
      below_.call<&plug_runtime::host_view>(device, base, &view) != PLUG_OK)
    return nullptr;
  return static_cast<char*>(view);
}

// Null if the plugin has none.
plug_stream Memory::own_stream(int32_t device) {
  {
    std::lock_guard lock(lock_);
    if (own_streams_[device] != nullptr) return own_streams_[device];
  }
  plug_stream made = nullptr;
  if (below_.call<&plug_runtime::stream_create>(device, 0, &made) != PLUG_OK) return nullptr;
  std::unique_lock lock(lock_);
  plug_stream& own = own_streams_[device];
  if (own == nullptr) return own = made;
  plug_stream first = own;  // another thread was faster
  lock.unlock();
  below_.call<&plug_runtime::stream_destroy>(device, made);
  return first;
}

// On a stream of its own, which nobody can hold up. Not while somebody captures, who would capture this.
bool Memory::copy(int32_t device, const plug_mem& to, const plug_mem& from, uint64_t bytes) {
  if (order_.is_capturing()) return false;
  plug_stream stream = nullptr;
  if (below_.has<&plug_runtime::stream_create>()) {
    stream = own_stream(device);
    if (stream == nullptr) return false;
  }
  return below_.call<&plug_runtime::copy>(device, stream, &to, &from, bytes) == PLUG_OK &&
         (stream == nullptr || below_.call<&plug_runtime::stream_sync>(device, stream) == PLUG_OK);
}

bool Memory::fill(int32_t device, void* base, uint64_t offset, uint8_t byte, uint64_t bytes) {
  if (bytes == 0) return true;
  if (char* view = view_of(device, base)) {
    std::memset(view + offset, byte, bytes);
    return true;
  }
  const std::vector<uint8_t> pattern(std::min<uint64_t>(bytes, 1 << 20), byte);
  const plug_mem from{const_cast<uint8_t*>(pattern.data()), 0, PLUG_HOST, 0};
  for (uint64_t done = 0; done < bytes; done += pattern.size()) {
    const plug_mem to{base, offset + done, device, 0};
    if (!copy(device, to, from, std::min<uint64_t>(pattern.size(), bytes - done))) return false;
  }
  return true;
}

bool Memory::read(int32_t device, void* base, uint64_t offset, void* to, uint64_t bytes) {
  if (const char* view = view_of(device, base)) {
    std::memcpy(to, view + offset, bytes);
    return true;
  }
  return copy(device, {to, 0, PLUG_HOST, 0}, {base, offset, device, 0}, bytes);
}

}  // namespace torchplug::plugin::validation
