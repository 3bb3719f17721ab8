// The statistics against a second count: every number at every moment somebody asks, and every peak though
// nobody was looking when it was reached.

#include <algorithm>
#include <array>
#include <barrier>
#include <random>

#include "caching_allocator.h"

namespace torchplug::tests {
namespace {

using c10::CachingAllocator::StatArray;

struct Number {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;
  int64_t freed = 0;

  void change(int64_t by) {
    current += by;
    peak = std::max(peak, current);
    (by > 0 ? allocated : freed) += std::abs(by);
  }
};

void expect_equal(const StatArray& stats, const std::array<Number, 3>& numbers, const char* what) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(stats[i].current, numbers[i].current) << what << " " << i;
    EXPECT_EQ(stats[i].peak, numbers[i].peak) << what << " " << i;
    EXPECT_EQ(stats[i].allocated, numbers[i].allocated) << what << " " << i;
    EXPECT_EQ(stats[i].freed, numbers[i].freed) << what << " " << i;
  }
}

// One thread, several streams: what was allocated, in every order, with looks at the statistics now and then.
class SecondCount {
 public:
  explicit SecondCount(size_t streams) {
    for (size_t i = 0; i < streams; ++i) streams_.push_back(new_stream());
  }

  void run(std::mt19937& random, int steps, unsigned looks_every) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      // Waves: more is allocated than freed, then the other way round.
      const bool rising = (i / 500) % 2 == 0;
      if (live_.empty() || random() % 10 < (rising ? 7u : 3u)) {
        allocate(random);
      } else {
        release(random() % live_.size());
      }
      if (random() % looks_every == 0) look();
    }
    look();
  }

  void reset_peaks() {
    allocator().resetPeakStats(0);
    for (auto* numbers : {&count_, &bytes_, &requested_}) {
      for (Number& number : *numbers) number.peak = number.current;
    }
  }

 private:
  struct Live {
    c10::DataPtr data;
    int64_t bytes;
    int64_t requested;
  };
  using Numbers = std::array<Number, 3>;  // all, small, large

  void allocate(std::mt19937& random) {
    static constexpr size_t kSizes[] = {1, 512, 700, 5000, 70000, 300000, 1 << 20, 3 << 20};
    const size_t requested = kSizes[random() % std::size(kSizes)];
    c10::DataPtr data = allocator().allocate_on(streams_[random() % streams_.size()], requested);
    const auto& block = *static_cast<const Block*>(data.get_context());
    EXPECT_GE(block.bytes, requested);
    live_.push_back({std::move(data), static_cast<int64_t>(block.bytes), static_cast<int64_t>(requested)});
    change(live_.back(), 1);
  }

  void release(size_t which) {
    std::swap(live_[which], live_.back());
    change(live_.back(), -1);
    live_.pop_back();
  }

  void change(const Live& live, int64_t sign) {
    for (size_t i : {size_t{0}, live.bytes <= (1 << 20) ? size_t{1} : size_t{2}}) {
      count_[i].change(sign);
      bytes_[i].change(sign * live.bytes);
      requested_[i].change(sign * live.requested);
    }
  }

  void look() const {
    const auto stats = allocator().getDeviceStats(0);
    expect_equal(stats.allocation, count_, "allocation");
    expect_equal(stats.active, count_, "active");
    expect_equal(stats.allocated_bytes, bytes_, "allocated_bytes");
    expect_equal(stats.active_bytes, bytes_, "active_bytes");
    expect_equal(stats.requested_bytes, requested_, "requested_bytes");
    EXPECT_LE(stats.active_bytes[0].current + stats.inactive_split_bytes[0].current,
              stats.reserved_bytes[0].current);
    EXPECT_GE(stats.inactive_split_bytes[0].peak, stats.inactive_split_bytes[0].current);
  }

  std::vector<Stream> streams_;
  std::vector<Live> live_;
  Numbers count_{};
  Numbers bytes_{};
  Numbers requested_{};
};

void count_twice(size_t streams, unsigned looks_every) {
  alone([=] {
    ::setenv("TORCHPLUG_SIM_MEMORY", "4GiB", 1);
    activate(SIM_LIBRARY);
    std::mt19937 random(11);
    SecondCount second(streams);
    second.run(random, 4000, looks_every);
    second.reset_peaks();
    second.run(random, 4000, looks_every);
  });
}

TEST(AllocatorStatistics, are_exact_on_one_stream_at_every_step) { count_twice(1, 1); }
TEST(AllocatorStatistics, are_exact_on_one_stream_though_seldom_asked) { count_twice(1, 300); }
TEST(AllocatorStatistics, are_exact_on_three_streams_at_every_step) { count_twice(3, 1); }
TEST(AllocatorStatistics, are_exact_on_three_streams_though_seldom_asked) { count_twice(3, 300); }

// Two streams that were high in turn are half as high together: more than there ever was, though neither is
// higher than before.
TEST(AllocatorStatistics, a_peak_is_found_though_no_stream_is_at_its_own) {
  on_sim([] {
    constexpr int64_t kHeight = 40;
    const std::array<Stream, 2> streams = {new_stream(), new_stream()};
    std::vector<c10::DataPtr> held;
    const auto rise = [&](const Stream& stream, int64_t count) {
      for (int64_t i = 0; i < count; ++i) held.push_back(allocator().allocate_on(stream, 512));
    };
    for (int round = 0; round < 20; ++round) {
      for (const Stream& stream : streams) {
        rise(stream, kHeight);
        held.clear();
      }
    }
    EXPECT_EQ(allocator().getDeviceStats(0).allocation[0].peak, kHeight);
    for (int64_t i = 0; i < kHeight * 3 / 4; ++i) {
      for (const Stream& stream : streams) rise(stream, 1);
    }
    held.clear();
    EXPECT_EQ(allocator().getDeviceStats(0).allocation[0].peak, kHeight * 3 / 2);
    EXPECT_EQ(allocator().getDeviceStats(0).allocated_bytes[1].peak, kHeight * 3 / 2 * 512);
  });
}

// Each thread goes up to a height of its own and down again, all at once: the peak lies between the height of
// one and the sum of all.
TEST(AllocatorStatistics, a_peak_of_several_threads_is_one_that_there_was) {
  on_sim([] {
    constexpr int kThreads = 4;
    constexpr int64_t kHeight = 50;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([] {
          const Stream stream = new_stream();
          for (int round = 0; round < 200; ++round) {
            std::vector<c10::DataPtr> held;
            for (int64_t i = 0; i < kHeight; ++i) held.push_back(allocator().allocate_on(stream, 512));
          }
        });
      }
    }
    const auto stats = allocator().getDeviceStats(0);
    EXPECT_EQ(stats.allocation[0].current, 0);
    EXPECT_EQ(stats.allocation[0].allocated, kThreads * 200 * kHeight);
    EXPECT_GE(stats.allocation[0].peak, kHeight);
    EXPECT_LE(stats.allocation[0].peak, kThreads * kHeight);
    EXPECT_EQ(stats.allocated_bytes[0].peak, stats.allocation[0].peak * 512);
  });
}

// All four hold their blocks together once: that peak must be found, though each counted for itself.
TEST(AllocatorStatistics, a_peak_that_several_threads_reach_together_is_not_missed) {
  on_sim([] {
    constexpr int kThreads = 4;
    constexpr int64_t kHeight = 25;
    std::barrier<> together(kThreads);
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&together] {
          const Stream stream = new_stream();
          for (int round = 0; round < 100; ++round) allocator().allocate_on(stream, 512);
          std::vector<c10::DataPtr> held;
          for (int64_t i = 0; i < kHeight; ++i) held.push_back(allocator().allocate_on(stream, 512));
          together.arrive_and_wait();
          held.clear();
          for (int round = 0; round < 100; ++round) allocator().allocate_on(stream, 512);
        });
      }
    }
    EXPECT_EQ(allocator().getDeviceStats(0).allocation[0].peak, kThreads * kHeight);
    EXPECT_EQ(allocator().getDeviceStats(0).requested_bytes[0].peak, kThreads * kHeight * 512);
  });
}

}  // namespace
}  // namespace torchplug::tests
