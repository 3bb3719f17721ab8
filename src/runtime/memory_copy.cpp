#include "runtime/memory_copy.h"

#include "runtime/capture.h"
#include "runtime/launch_trace.h"

namespace torchplug::runtime {
namespace {

void note_in_capture(const Stream& stream, const char* what, uint64_t bytes) {
  if (!any_capture()) return;
  if (const auto capture = capture_of(stream)) {
    capture->note(std::string(what) + " of " + std::to_string(bytes) + " bytes");
  }
}

}  // namespace

void copy_memory(const plug_mem& to, const plug_mem& from, uint64_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  const DeviceIndex device = stream.device();
  ensure_open(device);
  note_in_capture(stream, "copy", bytes);
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
  check(
      launch(describe, [&] { return runtime_table().copy(plugin_index(device), handle, &to, &from, bytes); }),
      "copy", device);
}

void fill_memory(const plug_mem& to, uint8_t byte, uint64_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  const DeviceIndex device = stream.device();
  ensure_open(device);
  note_in_capture(stream, "fill", bytes);
  plug_stream handle = stream.handle();
  const auto describe = [&] {
    return Launch{.kind = Launch::Kind::kFill,
                  .stream = stream,
                  .handle = handle,
                  .call = "mem_fill",
                  .bytes = bytes,
                  .to = &to};
  };
  check(launch(describe,
               [&] { return runtime_table().mem_fill(plugin_index(device), handle, &to, byte, bytes); }),
        "mem_fill", device);
}

}  // namespace torchplug::runtime
