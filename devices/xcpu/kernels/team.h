#pragma once
// Threads of a call: a function on every thread of the caller's team, and a barrier between its phases.
// A Barrier lies on the stack of the thread that starts a region and ends with it.

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "xcpu/xcpu.h"

namespace xcpu {

// Calls function(index, count) on every thread of the team; without one, on this thread.
template <class Function>
void run_team(const xcpu_team* team, Function&& function) {
  if (team == nullptr || team->run == nullptr) {
    function(0, 1);
    return;
  }
  using Called = std::remove_reference_t<Function>;
  team->run(
      team->context,
      [](void* argument, std::int32_t index, std::int32_t count) {
        (*static_cast<Called*>(argument))(index, count);
      },
      &function);
}

// Where `count` threads wait for each other, as often as they like. Who comes early looks for a while, as
// long as the others can be expected to be at most that much later, and then sleeps: the core may be wanted
// by others.
class Barrier {
 public:
  void wait(std::int32_t count);

 private:
  // Apart, since those that wait read the one while those that come write the other.
  alignas(64) std::atomic<std::int32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
};

// The part of `total` that is the index-th of count: consecutive parts that differ by at most one.
struct Share {
  std::int64_t begin, end;
};
inline Share share_of(std::int64_t total, std::int64_t index, std::int64_t count) {
  return {total * index / count, total * (index + 1) / count};
}

}  // namespace xcpu
