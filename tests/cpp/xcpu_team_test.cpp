// Threads of the kernels of xcpu: shares of work, and the barrier between phases.

#include "team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "xcpu_team.h"

namespace xcpu_test {
namespace {

TEST(XcpuTeam, without_a_team_the_calling_thread_does_it_alone) {
  int calls = 0;
  xcpu::run_team(nullptr, [&](std::int32_t index, std::int32_t count) {
    EXPECT_EQ(index, 0);
    EXPECT_EQ(count, 1);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(XcpuTeam, shares_are_consecutive_and_differ_by_one) {
  for (const std::int64_t total : {0, 1, 2, 7, 64}) {
    for (const std::int64_t count : {1, 2, 3, 8}) {
      std::int64_t end = 0;
      for (std::int64_t index = 0; index < count; ++index) {
        const xcpu::Share share = xcpu::share_of(total, index, count);
        EXPECT_EQ(share.begin, end);
        EXPECT_GE(share.end - share.begin, total / count);
        EXPECT_LE(share.end - share.begin, (total + count - 1) / count);
        end = share.end;
      }
      EXPECT_EQ(end, total);
    }
  }
}

// Every thread writes in one phase what all others read in the next.
TEST(XcpuTeam, behind_the_barrier_is_seen_what_was_written_before_it) {
  constexpr int kPhases = 500;
  for (const int size : {1, 2, 3}) {
    Team team(size);
    xcpu::Barrier barrier;
    std::vector<int> written(static_cast<std::size_t>(size));
    std::atomic<int> wrong{0};
    xcpu::run_team(team.get(), [&](std::int32_t index, std::int32_t count) {
      for (int phase = 1; phase <= kPhases; ++phase) {
        written[static_cast<std::size_t>(index)] = phase;
        barrier.wait(count);
        for (const int by : written) wrong += by != phase;
        barrier.wait(count);
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

// Longer than a thread looks before it sleeps.
TEST(XcpuTeam, who_sleeps_at_the_barrier_is_woken) {
  Team team(3);
  xcpu::Barrier barrier;
  std::atomic<int> passed{0};
  xcpu::run_team(team.get(), [&](std::int32_t index, std::int32_t count) {
    for (int late = 0; late < 3; ++late) {
      if (index == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      barrier.wait(count);
      ++passed;
    }
  });
  EXPECT_EQ(passed, 9);
}

}  // namespace
}  // namespace xcpu_test
