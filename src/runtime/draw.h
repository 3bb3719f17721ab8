#pragma once
// A place in a sequence of random numbers, and the state of a generator: where in its sequence it is.

#include <cstdint>
#include <mutex>

#include "base/spin_lock.h"

namespace torchplug::runtime {

struct Draw {
  uint64_t seed;
  uint64_t offset;  // a multiple of 4
};

// Draws set whole Philox blocks of four 32-bit numbers aside.
constexpr uint64_t rounded_draws(uint64_t count) { return (count + 3) / 4 * 4; }

// Shared by a generator, those that graphsafe_get_state made of it, and the graphs it is registered with.
class PhiloxState {
 public:
  explicit PhiloxState(uint64_t seed) : place_{seed, 0} {}

  Draw place() const {
    std::lock_guard lock(place_lock_);
    return place_;
  }
  void set_place(const Draw& place) {
    std::lock_guard lock(place_lock_);
    place_ = place;
  }
  // Where the next `count` numbers begin, which are nobody else's from now on.
  Draw take(uint64_t count) {
    std::lock_guard lock(place_lock_);
    const Draw draw = place_;
    place_.offset += rounded_draws(count);
    return draw;
  }

 private:
  mutable SpinLock place_lock_;
  Draw place_;
};

}  // namespace torchplug::runtime
