#pragma once
// What lies in memory, as a trace writes it: all of a small or integer tensor, a digest of the rest. Reading
// waits for the stream; while a stream captures, nothing is read. Belongs to a TraceLayer; any thread may
// read.

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plugin/runtime.h"

namespace torchplug::plugin::tracing {

// A place in a stream, at which memory is looked at.
struct Moment {
  int32_t device;
  plug_stream stream;
};

class Contents {
 public:
  explicit Contents(const Runtime& below) : below_(below) {}

  void note_capture(bool begins) { captures_ += begins ? 1 : -1; }

  // " data=[...]", " fill=0x... range=[0,9]" or " unread", of a tensor that has elements.
  std::string text(const plug_tensor& tensor, const Moment& moment) const;

 private:
  std::optional<std::vector<std::byte>> read(const plug_tensor& tensor, const Moment& moment) const;
  bool read_bytes(const plug_mem& from, int64_t first, uint64_t bytes, std::byte* to,
                  const Moment& moment) const;

  const Runtime below_;
  std::atomic<int> captures_{0};  // that have begun and not ended
};

// FNV-1a, of 64 bits.
uint64_t digest_of(const std::byte* bytes, size_t count);

// " data=00ff..." or " fill=0x..." of memory that has no dtype.
std::string text_of_bytes(const void* bytes, uint64_t count);

}  // namespace torchplug::plugin::tracing
