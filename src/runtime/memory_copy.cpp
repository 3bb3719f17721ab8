#include "runtime/memory_copy.h"

#include "runtime/submit.h"

namespace torchplug::runtime {

void copy_memory(const plug_mem& to, const plug_mem& from, uint64_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  const DeviceIndex device = stream.device();
  ensure_open(device);
  const Work copy{.kind = Work::Kind::kCopy,
                  .stream = stream,
                  .function = "copy",
                  .bytes = bytes,
                  .to = &to,
                  .from = &from};
  submit(copy, [&](uint64_t /*number*/) {
    return ask_plugin<&plug_runtime::copy>(device, stream.handle(), &to, &from, bytes);
  });
}

bool can_access_peer(DeviceIndex from, DeviceIndex to) {
  ensure_open(from);
  ensure_open(to);
  if (from == to || !plugin_has<&plug_runtime::peer_access>(from)) return false;
  int32_t can_access = 0;
  call_plugin<&plug_runtime::peer_access>(from, plugin_index(to), &can_access);
  return can_access != 0;
}

void fill_memory(const plug_mem& to, uint8_t byte, uint64_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  const DeviceIndex device = stream.device();
  ensure_open(device);
  const Work fill{
      .kind = Work::Kind::kFill, .stream = stream, .function = "mem_fill", .bytes = bytes, .to = &to};
  submit(fill, [&](uint64_t /*number*/) {
    return ask_plugin<&plug_runtime::mem_fill>(device, stream.handle(), &to, byte, bytes);
  });
}

}  // namespace torchplug::runtime
