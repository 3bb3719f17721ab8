#pragma once
// From the clock of a device to the host's, given two moments that were read on both. A value.

#include <cstdint>

namespace torchplug {

// One moment on two clocks, each in nanoseconds.
struct ClockPair {
  int64_t device = 0;
  int64_t host = 0;
};

class ClockMap {
 public:
  // Clocks drift, so there are two moments; the second may be the first again.
  ClockMap(const ClockPair& first, const ClockPair& second) : first_(first) {
    const int64_t device = second.device - first.device;
    if (device > 0) rate_ = static_cast<double>(second.host - first.host) / static_cast<double>(device);
  }

  int64_t to_host(int64_t device) const {
    return first_.host + static_cast<int64_t>(static_cast<double>(device - first_.device) * rate_);
  }

 private:
  ClockPair first_;
  double rate_ = 1;  // host nanoseconds in one of the device's
};

}  // namespace torchplug
