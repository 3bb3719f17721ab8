#include "handle.h"

#include <cstring>

#include "error.h"

namespace torchplug::sim {

std::uint64_t write_handle(const Handle& handle, void* to, std::uint64_t capacity) {
  if (capacity < sizeof handle) {
    fail(PLUG_INVALID, "A handle of sim takes ", sizeof handle, " bytes, and there is room for ", capacity,
         ".");
  }
  std::memcpy(to, &handle, sizeof handle);
  return sizeof handle;
}

Handle read_handle(HandleKind kind, std::int32_t device, const void* from, std::uint64_t bytes) {
  Handle handle{};
  if (bytes == sizeof handle) std::memcpy(&handle, from, sizeof handle);
  if (handle.kind != kind) fail(PLUG_INVALID, bytes, " bytes are not a valid handle of sim.");
  if (handle.device != device) {
    fail(PLUG_INVALID, "The handle is of sim:", handle.device, ", not of sim:", device, ".");
  }
  return handle;
}

}  // namespace torchplug::sim
