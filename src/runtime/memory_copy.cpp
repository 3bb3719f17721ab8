#include "runtime/memory_copy.h"

#include "runtime/capture.h"
#include "runtime/launch_trace.h"

namespace torchplug {

void copy_memory(const plug_mem& to, const plug_mem& from, uint64_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  const DeviceIndex device = stream.device();
  ensure_open(device);
  if (any_capture()) {
    if (const auto capture = capture_of(stream)) capture->note("copy of " + std::to_string(bytes) + " bytes");
  }
  plug_stream handle = stream.handle();
  const auto describe = [&] {
    return Launch{.kind = Launch::Kind::kCopy,
                  .stream = stream,
                  .handle = handle,
                  .call = "copy",
                  .bytes = bytes,
                  .to = &to,
                  .from = &from};
  };
  check(launch(describe, [&] { return runtime().copy(plugin_index(device), handle, &to, &from, bytes); }),
        "copy", device);
}

}  // namespace torchplug
