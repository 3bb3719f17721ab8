#include "sharing/ipc.h"

#include <c10/util/Exception.h>

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "memory/foreign_memory.h"
#include "plugin/layers/serialize.h"

namespace torchplug::sharing {
namespace {

constexpr size_t kHandleCapacity = 4096;

void check_can_share(DeviceIndex device) {
  TORCH_CHECK(can_share(device), "Memory of device '", device_type_name(),
              "' cannot be shared between processes: its plugin has no ipc_export.");
}

DeviceIndex visible_device(int32_t plugins_index) {
  const DeviceIndex device = visible_index(plugins_index);
  TORCH_CHECK(device >= 0, "The shared memory is on device ", plugins_index, " of plugin '",
              device_type_name(),
              "', which is not visible in this process. Add it to TORCHPLUG_VISIBLE_DEVICES.");
  return device;
}

// An object's handle, by one of the plugin's two export functions.
template <auto Function, class Object>
std::pair<std::string, FileDescriptor> export_handle(DeviceIndex device, Object object) {
  std::array<char, kHandleCapacity> bytes{};
  uint64_t count = 0;
  int32_t fd = -1;
  call_plugin<Function>(device, object, static_cast<void*>(bytes.data()), uint64_t{bytes.size()}, &count,
                        &fd);
  return {std::string(bytes.data(), count), FileDescriptor(fd)};
}

// What this process has sent. The plugin's lock, where it has one, is taken before ours: a kernel that holds
// it may free what comes here.
class Exports {
 public:
  SharedStorage add(const c10::Storage& storage) {
    const plug_mem memory = DeviceAllocator::instance().locate(*storage.unsafeGetStorageImpl()).memory();
    const auto calls = lock_calls(module_of(storage.device().index()));
    std::lock_guard lock(exports_lock_);
    const Place place{memory.device, memory.base};
    auto found = storages_.find(storage.unsafeGetStorageImpl());
    if (found == storages_.end()) found = insert(storage, place);
    const SharedReference reference = found->second.reference;
    send_copy(reference);
    const Allocation& allocation = allocations_.at(place);
    return {memory.device, allocation.handle, allocation.fd.number(),
            memory.offset, storage.nbytes(),  reference};
  }

  // What came back to the process that had sent it.
  c10::Storage take_back(const SharedReference& reference) {
    std::lock_guard lock(exports_lock_);
    for (const auto& [impl, sent] : storages_) {
      if (sent.reference.number != reference.number) continue;
      take_back_copy(reference);
      return sent.storage;
    }
    TORCH_CHECK(false, "Shared storage ", reference.number, " was received back but never sent.");
  }

  size_t collect() {
    std::vector<c10::Storage> released;  // without the lock: what it frees may come here again
    std::lock_guard lock(exports_lock_);
    for (auto it = storages_.begin(); it != storages_.end();) {
      Sent& sent = it->second;
      if (is_outstanding(sent.reference)) {
        ++it;
        continue;
      }
      retire(sent.reference);
      const auto allocation = allocations_.find(sent.place);
      if (--allocation->second.storages == 0) allocations_.erase(allocation);
      released.push_back(std::move(sent.storage));
      it = storages_.erase(it);
    }
    return released.size();
  }

 private:
  using Place = std::pair<int32_t, void*>;
  struct Allocation {
    std::string handle;
    FileDescriptor fd;
    size_t storages = 0;
  };
  struct Sent {
    c10::Storage storage;
    Place place;
    SharedReference reference;
  };
  using Storages = std::map<c10::StorageImpl*, Sent>;

  Storages::iterator insert(const c10::Storage& storage, const Place& place) {
    auto allocation = allocations_.find(place);
    if (allocation == allocations_.end()) {
      auto [handle, fd] = export_handle<&plug_runtime::ipc_export>(storage.device().index(), place.second);
      allocation = allocations_.emplace(place, Allocation{std::move(handle), std::move(fd)}).first;
    }
    ++allocation->second.storages;
    storage.unsafeGetStorageImpl()->set_resizable(false);
    return storages_.emplace(storage.unsafeGetStorageImpl(), Sent{storage, place, new_reference()}).first;
  }

  std::mutex exports_lock_;
  Storages storages_;
  std::map<Place, Allocation> allocations_;
};

// What other processes have sent to this one.
class Imports {
 public:
  c10::Storage add(const SharedStorage& shared, FileDescriptor fd) {
    const Key key{shared.reference.table_name, shared.reference.number};
    const auto calls = lock_calls(module_of(visible_device(shared.device)));
    std::lock_guard lock(imports_lock_);
    auto found = storages_.find(key);
    if (found == storages_.end()) {
      found = insert(key, shared, std::move(fd));
    } else {
      found->second.reference->receive_copy();
      if (auto storage = found->second.storage.lock()) return {std::move(storage)};
    }
    return make_storage(key, found->second);
  }

  // The same storage for another process; nothing if it was not sent here.
  std::optional<SharedStorage> forward(const c10::Storage& storage) {
    std::lock_guard lock(imports_lock_);
    for (const auto& [key, received] : storages_) {
      if (received.storage._unsafe_get_target() != storage.unsafeGetStorageImpl()) continue;
      received.reference->send_copy();
      SharedStorage forwarded = received.shared;
      forwarded.fd = allocations_.at(received.place).fd.number();
      return forwarded;
    }
    return std::nullopt;
  }

 private:
  using Key = std::pair<uint64_t, uint64_t>;       // table and number of the reference
  using Place = std::pair<uint64_t, std::string>;  // table and the allocation's handle
  struct Allocation {
    DeviceIndex device;
    void* base;
    FileDescriptor fd;
    size_t storages = 0;
  };
  struct Received {
    SharedStorage shared;
    Place place;
    std::unique_ptr<HeldReference> reference;
    size_t users =
        0;  // storages made of it that have not been released: one, or one that is about to be more
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  };
  using Storages = std::map<Key, Received>;

  Storages::iterator insert(const Key& key, const SharedStorage& shared, FileDescriptor fd) {
    // First: whatever fails below, the sender does not wait for us.
    auto reference = std::make_unique<HeldReference>(shared.reference);
    const DeviceIndex device = visible_device(shared.device);
    ensure_open(device);
    const Place place{shared.reference.table_name, shared.handle};
    auto allocation = allocations_.find(place);
    if (allocation == allocations_.end()) {
      void* base = nullptr;
      call_plugin<&plug_runtime::ipc_import>(device, shared.handle.data(), shared.handle.size(), fd.number(),
                                             &base);
      allocation = allocations_.emplace(place, Allocation{device, base, std::move(fd)}).first;
    }
    ++allocation->second.storages;
    return storages_
        .emplace(key,
                 Received{shared, place, std::move(reference), 0,
                          c10::weak_intrusive_ptr<c10::StorageImpl>(c10::intrusive_ptr<c10::StorageImpl>())})
        .first;
  }

  c10::Storage make_storage(const Key& key, Received& received) {
    const Allocation& allocation = allocations_.at(received.place);
    ++received.users;
    c10::DataPtr data =
        import_memory(allocation.device, allocation.base, received.shared.offset, received.shared.bytes,
                      [this, key, device = allocation.device] { remove_user(key, device); });
    c10::Storage storage =
        DeviceAllocator::make_storage(std::move(data), received.shared.bytes, /*resizable=*/false);
    received.storage = storage.getWeakStorageImpl();
    return storage;
  }

  void remove_user(const Key& key, DeviceIndex owner) {
    const auto calls = lock_calls(module_of(owner));
    std::lock_guard lock(imports_lock_);
    const auto received = storages_.find(key);
    if (--received->second.users != 0) return;
    const auto allocation = allocations_.find(received->second.place);
    storages_.erase(received);
    if (--allocation->second.storages != 0) return;
    const auto [device, base] = std::pair(allocation->second.device, allocation->second.base);
    allocations_.erase(allocation);
    call_plugin<&plug_runtime::ipc_close>(device, base);
  }

  std::mutex imports_lock_;
  Storages storages_;
  std::map<Place, Allocation> allocations_;
};

Exports& exports() {
  static Exports& instance = *immortal<Exports>();
  return instance;
}

Imports& imports() {
  static Imports& instance = *immortal<Imports>();
  return instance;
}

}  // namespace

bool can_share(DeviceIndex device) { return plugin_has<&plug_runtime::ipc_export>(device); }

SharedStorage export_storage(const c10::Storage& storage) {
  TORCH_CHECK(storage.device_type() == kDeviceType && storage.nbytes() != 0,
              "Expected a storage with memory of device '", device_type_name(), "'.");
  const DeviceIndex device = storage.device().index();
  ensure_open(device);
  check_can_share(device);
  // What other processes no longer use is not asked for before it is needed.
  static std::once_flag is_reclaimer;
  std::call_once(is_reclaimer, [] { DeviceAllocator::instance().add_reclaimer(&collect_exports); });
  collect_exports();
  synchronize_device(device);
  if (auto forwarded = imports().forward(storage)) return *forwarded;
  return exports().add(storage);
}

c10::Storage import_storage(const SharedStorage& shared, FileDescriptor fd) {
  if (shared.reference.is_of_this_process()) return exports().take_back(shared.reference);
  return imports().add(shared, std::move(fd));
}

size_t collect_exports() { return is_forked() ? 0 : exports().collect(); }

std::unique_ptr<Event> make_shared_event(DeviceIndex device) {
  ensure_open(device);
  check_can_share(device);
  plug_event handle = nullptr;
  call_plugin<&plug_runtime::event_create>(device, PLUG_EVENT_SHARED, &handle);
  return std::make_unique<Event>(device, handle);
}

SharedEvent export_event(const Event& event) {
  ensure_open(event.device());
  check_can_share(event.device());
  auto [handle, fd] = export_handle<&plug_runtime::ipc_export_event>(event.device(), event.handle());
  return {plugin_index(event.device()), std::move(handle), std::move(fd)};
}

std::unique_ptr<Event> import_event(const SharedEvent& shared) {
  const DeviceIndex device = visible_device(shared.device);
  ensure_open(device);
  check_can_share(device);
  plug_event handle = nullptr;
  call_plugin<&plug_runtime::ipc_import_event>(device, shared.handle.data(), shared.handle.size(),
                                               shared.fd.number(), &handle);
  return std::make_unique<Event>(device, handle);
}

}  // namespace torchplug::sharing
