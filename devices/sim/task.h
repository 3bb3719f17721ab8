#pragma once
// One piece of work on a stream: a callable kept in place, run once and destroyed, or kept and run again.
// Lives in a slot of a TaskQueue or of a Lane and fills one cache line; what does not fit is a compile error.
// A callable with a release() is told when it will not run again.

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
      end(stored);
    };
    keep_ = [](void* place, Kept use) noexcept {
      Stored& stored = *std::launder(static_cast<Stored*>(place));
      if (use == Kept::kRun) {
        stored();
      } else {
        end(stored);
      }
    };
  }

  // Once: the slot is empty afterwards.
  void run() noexcept { run_(work_); }
  // Any number of times, and then drop(), which empties the slot.
  void repeat() noexcept { keep_(work_, Kept::kRun); }
  void drop() noexcept { keep_(work_, Kept::kDrop); }

 private:
  enum class Kept { kRun, kDrop };

  template <class Stored>
  static void end(Stored& stored) noexcept {
    if constexpr (requires { stored.release(); }) stored.release();
    stored.~Stored();
  }

  static constexpr std::size_t kCapacity = 48;

  alignas(std::max_align_t) std::byte work_[kCapacity];
  void (*run_)(void*) noexcept;
  void (*keep_)(void*, Kept) noexcept;
};

static_assert(sizeof(Task) == 64);

}  // namespace torchplug::sim
