// host->team: a function of a plugin's on every thread that PyTorch may use.

#include "plugin/team.h"

#include <ATen/Parallel.h>

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "harness.h"

namespace torchplug::tests {
namespace {

struct Seen {
  std::mutex lock;
  std::set<int32_t> indices;
  std::set<std::thread::id> threads;
  int32_t count = 0;
  std::atomic<int> nested{0};

  void add(int32_t index, int32_t of) {
    const std::lock_guard guard(lock);
    indices.insert(index);
    threads.insert(std::this_thread::get_id());
    count = of;
  }
};

void note(void* argument, int32_t index, int32_t count) { static_cast<Seen*>(argument)->add(index, count); }

void expect_team_of(int32_t size) {
  Seen seen;
  plugin::run_team(note, &seen);
  EXPECT_EQ(seen.count, size);
  EXPECT_EQ(seen.indices.size(), static_cast<size_t>(size));
  EXPECT_EQ(seen.threads.size(), static_cast<size_t>(size));
  EXPECT_TRUE(seen.threads.contains(std::this_thread::get_id())) << "the calling thread is one of them";
}

TEST(Team, has_as_many_threads_as_pytorch_may_use) {
  alone([] {
    for (const int size : {3, 1, 2}) {
      at::set_num_threads(size);
      expect_team_of(size);
    }
  });
}

TEST(Team, inside_a_team_has_one) {
  alone([] {
    at::set_num_threads(3);
    Seen seen;
    plugin::run_team(
        [](void* argument, int32_t /*index*/, int32_t /*count*/) {
          plugin::run_team(
              [](void* inner, int32_t index, int32_t count) {
                if (index == 0 && count == 1) ++static_cast<Seen*>(inner)->nested;
              },
              argument);
        },
        &seen);
    EXPECT_EQ(seen.nested, 3);
    at::parallel_for(0, 2, 1, [&](int64_t /*begin*/, int64_t /*end*/) {
      Seen inner;
      plugin::run_team(note, &inner);
      EXPECT_EQ(inner.count, at::in_parallel_region() ? 1 : 3);
    });
  });
}

// set_num_threads holds for the thread that called it.
TEST(Team, of_a_plugins_own_thread_is_that_of_the_thread_that_called_a_kernel) {
  alone([] {
    at::set_num_threads(3);
    expect_team_of(3);
    ASSERT_TRUE(plugin::is_team_used());
    plugin::note_threads();
    std::thread([] { expect_team_of(3); }).join();
    at::set_num_threads(2);
    plugin::note_threads();
    std::thread([] { expect_team_of(2); }).join();
  });
}

TEST(Team, of_two_callers_at_once_are_two) {
  alone([] {
    at::set_num_threads(2);
    plugin::note_threads();
    std::array<std::thread, 2> callers;
    for (std::thread& caller : callers) {
      caller = std::thread([] {
        for (int i = 0; i < 50; ++i) expect_team_of(2);
      });
    }
    for (std::thread& caller : callers) caller.join();
  });
}

}  // namespace
}  // namespace torchplug::tests
