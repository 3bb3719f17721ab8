#pragma once
// One piece of work on a stream: a callable kept in place, run once and destroyed.
// Lives in a slot of a TaskQueue and fills one cache line; what does not fit is a compile error.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace torchplug::sim {

class alignas(64) Task {
 public:
  // Into an empty slot: a new one, or one whose task has run.
  template <class Work>
  void emplace(Work&& work) noexcept {
    using Stored = std::remove_cvref_t<Work>;
    static_assert(sizeof(Stored) <= kCapacity && alignof(Stored) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_constructible_v<Stored, Work&&>);
    ::new (static_cast<void*>(work_)) Stored(std::forward<Work>(work));
    run_ = [](void* place) noexcept {
      Stored& stored = *std::launder(static_cast<Stored*>(place));
      stored();
      stored.~Stored();
    };
  }

  void run() noexcept { run_(work_); }

 private:
  static constexpr std::size_t kCapacity = 48;

  alignas(std::max_align_t) std::byte work_[kCapacity];
  void (*run_)(void*) noexcept;
};

static_assert(sizeof(Task) == 64);

}  // namespace torchplug::sim
