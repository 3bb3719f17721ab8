#pragma once
// From the clock of a device to the host's. A value.
// A reading says that the device's clock showed a time somewhere between two moments of the host's: how far
// the clocks are apart lies between two bounds. All readings together, and that no work precedes its launch,
// narrow them. Only readings that contradict each other show that the clocks drift: a slow reading must not
// look like it.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::profiler {

// In nanoseconds.
struct ClockReading {
  int64_t device = 0;
  int64_t before = 0;  // on the host, as is
  int64_t after = 0;
};

class ClockMap {
 public:
  // The readings of two moments; the second may be the first again.
  ClockMap(const std::vector<ClockReading>& first, const std::vector<ClockReading>& last) {
    if (first.empty() || last.empty()) return;
    const Bounds early = bounds_of(first);
    const Bounds late = bounds_of(last);
    distance_ = {std::max(early.lowest, late.lowest), std::min(early.highest, late.highest)};
    if (distance_.lowest <= distance_.highest) return;
    distance_ = {early.middle(), early.middle()};
    origin_ = first.front().device;
    drift_ = static_cast<double>(late.middle() - early.middle()) /
             static_cast<double>(std::max<int64_t>(last.front().device - origin_, 1));
  }

  // What the device did at that time came after that moment of the host.
  void follow(int64_t device, int64_t host) {
    distance_.lowest = std::max(distance_.lowest, std::min(host - device, distance_.highest));
  }

  int64_t to_host(int64_t device) const {
    const auto drifted = static_cast<int64_t>(static_cast<double>(device - origin_) * drift_);
    return device + distance_.middle() + drifted;
  }

 private:
  // Of how much the host's clock shows more than the device's.
  struct Bounds {
    int64_t lowest = 0;
    int64_t highest = 0;

    int64_t middle() const { return lowest + (highest - lowest) / 2; }
  };

  static Bounds bounds_of(const std::vector<ClockReading>& readings) {
    Bounds bounds{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    for (const ClockReading& reading : readings) {
      bounds.lowest = std::max(bounds.lowest, reading.before - reading.device);
      bounds.highest = std::min(bounds.highest, reading.after - reading.device);
    }
    return bounds;
  }

  Bounds distance_;
  int64_t origin_ = 0;  // on the device's clock
  double drift_ = 0;    // what the host's clock gains on the device's in a nanosecond
};

}  // namespace torchplug::profiler
