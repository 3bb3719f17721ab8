#pragma once
// What the validate layer knows of memory: the allocations that live, where the streams use them, and the red
// zone behind each. Fresh memory is filled with 0xFF (a NaN in every floating type, -1 in every integer), so
// that reading what nobody wrote shows; the red zone is filled with 0xAA and must still be when it is looked
// at. One lock guards it all and is not held while the plugin is called; any thread may call.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plugin/layers/validate_order.h"
#include "plugin/runtime.h"
#include "torchplug/plug.h"

namespace torchplug::plugin::validation {

inline constexpr uint64_t kRedZoneBytes = 256;

// A run of bytes that an operation uses, from a place that may lie before or behind it.
struct Extent {
  int64_t first = 0;
  uint64_t bytes = 0;
};
// What the elements of a strided tensor span.
Extent extent_of(const plug_tensor& tensor);

class Memory {
 public:
  Memory(const Runtime& below, Order& order) : below_(below), order_(order) {}

  // ---- allocations ----
  // What to ask of the plugin for `bytes` bytes.
  uint64_t with_red_zone(int32_t device, uint64_t bytes);
  // The plugin gave memory: checks where it lies, fills it and keeps it.
  void add(int32_t device, void* base, uint64_t bytes);
  // Something whose size only the plugin knows, from another process.
  void add_import(int32_t device, void* base);
  void check_free(const char* function, int32_t device, void* base);
  void check_import(int32_t device, void* base);
  // Forgets the allocation; gives what is wrong with its red zone, or "".
  std::string remove(int32_t device, void* base);
  // Throws for the first red zone that has been written, and forgets that it has.
  void check_red_zones(int32_t device);
  void check_live(const char* function, int32_t device, void* base);
  // It may also be memory that somebody else allocated: of that only the plugin knows.
  void check_not_freed(const char* function, int32_t device, void* base);
  void check_view(int32_t device, void* base, void* view);

  // ---- reservations ----
  void add_reservation(int32_t device, void* base, uint64_t bytes);
  void check_map(const char* function, int32_t device, void* base, uint64_t offset, uint64_t bytes,
                 bool mapped);
  void set_mapped(int32_t device, void* base, uint64_t offset, uint64_t bytes, bool mapped);
  void check_unreserve(int32_t device, void* base);

  // ---- a host view for a while ----
  void check_host_map(int32_t device, const plug_mem& mem, uint64_t bytes, uint32_t flags);
  void add_host_map(const plug_mem& mem, uint64_t bytes, void* view);
  void check_host_unmap(const plug_mem& mem, uint64_t bytes, const void* view);
  void remove_host_map(const plug_mem& mem, uint64_t bytes, const void* view);
  size_t host_maps();

  // PLUG_LACKS_*: what the plugin has and the device has not.
  void check_lacks(const char* function, int32_t device, uint32_t lack);

  // ---- pinned memory ----
  void add_pinned(void* base, uint64_t bytes);
  void check_pinned(void* base);
  void remove_pinned(void* base);

  // ---- use ----
  void check_use(const char* function, const plug_mem& mem, const Extent& extent);
  // On a stream, by work with this number.
  void note_use(const plug_mem& mem, const Order::Place& place);

  struct Count {
    size_t number;
    uint64_t bytes;
  };
  Count live();
  Count pinned();

 private:
  using Key = std::pair<int32_t, uintptr_t>;
  struct Allocation {
    uint64_t bytes = 0;
    bool has_red_zone = false;
    char* red_zone = nullptr;  // if the host sees it
    bool is_import = false;
    bool is_reservation = false;
    uintptr_t view = 0;
    std::map<uint64_t, uint64_t> mapped{};  // of a reservation: offset to end
    std::map<StreamNumber, WorkNumber> uses{};
  };
  struct DeviceFacts {
    uint64_t alignment = 1;
    uint64_t map_bytes = 0;
    uint64_t largest_bytes = 0;
    uint32_t flags = 0;

    bool is_addressable() const { return (flags & PLUG_ADDRESSABLE) != 0; }
  };
  struct HostMap {
    plug_mem mem;
    uint64_t bytes;
    void* view;
  };

  static Key key(int32_t device, const void* base) { return {device, reinterpret_cast<uintptr_t>(base)}; }
  Allocation* find(int32_t device, const void* base);
  DeviceFacts facts(int32_t device);
  std::string place_of(int32_t device, void* base, uint64_t bytes);
  void check_alignment(int32_t device, void* base, const DeviceFacts& facts);
  void check_overlap(int32_t device, void* base, uint64_t bytes, const DeviceFacts& facts);
  static bool is_mapped(const Allocation& reservation, uint64_t offset, uint64_t bytes);
  bool is_host_mapped(const plug_mem& mem, uint64_t offset, uint64_t bytes);
  bool is_pinned(const void* address, uint64_t bytes);
  std::string damage(int32_t device, void* base, uint64_t bytes);
  bool read_red_zone(int32_t device, void* base, uint64_t bytes, uint8_t* zone);
  plug_stream own_stream(int32_t device);
  std::vector<HostMap>::iterator find_host_map(const plug_mem& mem, uint64_t bytes, const void* view);

  // Bytes of the device, by the host's view or on a stream of the layer's own.
  bool fill(int32_t device, void* base, uint64_t offset, uint8_t byte, uint64_t bytes);
  bool read(int32_t device, void* base, uint64_t offset, void* to, uint64_t bytes);
  bool copy(int32_t device, const plug_mem& to, const plug_mem& from, uint64_t bytes);
  char* view_of(int32_t device, void* base);

  const Runtime& below_;
  Order& order_;
  std::mutex lock_;
  std::map<Key, Allocation> live_;
  std::map<Key, uint64_t> freed_;  // for the words of a message
  std::map<uintptr_t, uint64_t> pinned_;
  std::vector<HostMap> host_maps_;
  std::map<int32_t, DeviceFacts> facts_;
  std::map<int32_t, plug_stream> own_streams_;
};

}  // namespace torchplug::plugin::validation
