#pragma once
// Storages and events that several processes use.
// A storage is sent as the plugin's handle for the allocation it lies in, its place there and a reference.
// The sender keeps the memory until no process has a right to it; the receiver has one storage for one of the
// sender's, however often it comes, and may send it on. Needs the plugin's ipc functions.
// Any thread may call anything.

#include <c10/core/Storage.h>

#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "runtime/event.h"
#include "sharing/reference_count.h"

namespace torchplug::sharing {

// Whether the plugin can share memory and events with other processes.
bool can_share();

// What goes to the other process. It gets a duplicate of the descriptor, which stays the sender's.
struct SharedStorage {
  int32_t device;      // as the plugin calls it
  std::string handle;  // of the allocation
  int fd;              // that goes with it, or -1
  uint64_t offset;     // of the storage, in the allocation
  uint64_t bytes;
  SharedReference reference;
};

// Waits for the device: the receiver must not find work undone. From here on the storage keeps its size.
// Each call is one copy of the reference, to be received once.
SharedStorage export_storage(const c10::Storage& storage);
// `fd` is the duplicate that arrived.
c10::Storage import_storage(const SharedStorage& shared, FileDescriptor fd);

// Lets go of what was sent and is no longer used elsewhere; gives the number of storages.
size_t collect_exports();

struct SharedEvent {
  int32_t device;
  std::string handle;
  FileDescriptor fd;
};
std::unique_ptr<Event> make_shared_event(DeviceIndex device);
SharedEvent export_event(const Event& event);
std::unique_ptr<Event> import_event(const SharedEvent& shared);

}  // namespace torchplug::sharing
