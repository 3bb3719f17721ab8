// The allocator under random work of several threads on several streams. Every block carries a pattern,
// written and read by its streams in their order: a block that overlaps another, or that is given out before
// all its streams have passed, is found by a pattern that has changed. What the statistics say is counted
// here once more. 100,000 operations; a million with TORCHPLUG_TEST_SWEEP=all.

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <string_view>

#include "memory/device_allocator.h"
#include "runtime/event.h"
#include "sim_device.h"

namespace torchplug::tests {
namespace {

constexpr size_t kUnit = 512;
constexpr int kThreads = 4;
constexpr size_t kStreams = 4;

int operations() {
  const char* sweep = std::getenv("TORCHPLUG_TEST_SWEEP");
  return sweep != nullptr && std::string_view(sweep) == "all" ? 1000000 : 100000;
}

struct Live {
  c10::DataPtr data;
  size_t bytes = 0;
  uint64_t pattern = 0;
  size_t stream = 0;
};

// What was done, counted apart from the allocator.
struct Count {
  std::atomic<int64_t> allocations{0};
  std::atomic<int64_t> requested{0};
  std::atomic<int64_t> small_bytes{0};
  std::atomic<int64_t> broken{0};  // patterns that were not what they should have been
};

class Fuzz {
 public:
  Fuzz() {
    for (size_t i = 0; i < kStreams; ++i) streams_.push_back(new_stream());
  }

  void run(int id, int steps) {
    std::mt19937_64 random(static_cast<uint64_t>(id) + 1);
    std::vector<Live> mine;
    for (int i = 0; i < steps; ++i) {
      const uint64_t dice = random() % 100;
      if (mine.empty() || (dice < 50 && mine.size() < 200)) {
        mine.push_back(allocate(random));
      } else if (dice < 60) {
        use_elsewhere(mine[random() % mine.size()], random() % kStreams);
      } else if (dice < 70) {
        hand_over(mine, random);
      } else {
        release(take_one(mine, random));
      }
    }
    while (!mine.empty()) release(take_one(mine, random));
    for (Live& live : handed_over()) release(std::move(live));
  }

  const Count& count() const { return count_; }

 private:
  // Most are small; some are cut from large segments.
  static size_t random_bytes(std::mt19937_64& random) {
    const uint64_t kind = random() % 100;
    if (kind == 0) return 1 + random() % (4 << 20);
    return 1 + random() % (size_t{1} << (kind < 10 ? 18 : 6 + random() % 10));
  }

  Live allocate(std::mt19937_64& random) {
    Live live;
    live.bytes = random_bytes(random);
    live.pattern = random();
    live.stream = random() % kStreams;
    live.data = DeviceAllocator::instance().allocate_on(streams_[live.stream], live.bytes);
    ++count_.allocations;
    count_.requested += static_cast<int64_t>(live.bytes);
    const size_t rounded = (live.bytes + kUnit - 1) / kUnit * kUnit;
    if (rounded <= (1 << 20)) count_.small_bytes += static_cast<int64_t>(rounded);
    char* view = DeviceAllocator::instance().locate(live.data).host_address();
    enqueue(streams_[live.stream], [view, bytes = live.bytes, pattern = live.pattern] {
      for (size_t at = 0; at + sizeof pattern <= bytes; at += kUnit) {
        std::memcpy(view + at, &pattern, sizeof pattern);
      }
    });
    return live;
  }

  void check_on(const Live& live, size_t stream) {
    const char* view = DeviceAllocator::instance().locate(live.data).host_address();
    enqueue(streams_[stream], [this, view, bytes = live.bytes, pattern = live.pattern] {
      for (size_t at = 0; at + sizeof pattern <= bytes; at += kUnit) {
        if (std::memcmp(view + at, &pattern, sizeof pattern) != 0) ++count_.broken;
      }
    });
  }

  void use_elsewhere(const Live& live, size_t stream) {
    if (stream == live.stream) return;
    Event written(0, /*with_timing=*/false);
    written.record(streams_[live.stream]);
    written.block(streams_[stream]);
    if (live.pattern % 16 == 0) enqueue(streams_[stream], [] { std::this_thread::yield(); });
    check_on(live, stream);
    DeviceAllocator::instance().recordStream(live.data, streams_[stream].unwrap());
  }

  // The last thing its own stream does with it is to look whether it is still what it was.
  void release(Live live) {
    check_on(live, live.stream);
    live.data.clear();
  }

  static Live take_one(std::vector<Live>& mine, std::mt19937_64& random) {
    std::swap(mine[random() % mine.size()], mine.back());
    Live live = std::move(mine.back());
    mine.pop_back();
    return live;
  }

  // Whoever comes next frees what another thread allocated.
  void hand_over(std::vector<Live>& mine, std::mt19937_64& random) {
    Live given = take_one(mine, random);
    std::vector<Live> others = handed_over();
    {
      std::lock_guard lock(handed_lock_);
      handed_.push_back(std::move(given));
    }
    for (Live& live : others) release(std::move(live));
  }

  std::vector<Live> handed_over() {
    std::lock_guard lock(handed_lock_);
    return std::exchange(handed_, {});
  }

  std::vector<Stream> streams_;
  std::mutex handed_lock_;
  std::vector<Live> handed_;
  Count count_;
};

void fuzz() {
  ::alarm(600);
  ::setenv("TORCHPLUG_SIM_DEVICES", "1", 1);
  ::setenv("TORCHPLUG_SIM_MEMORY", "2GiB", 1);
  activate(SIM_LIBRARY);
  Fuzz work;
  {
    std::vector<std::jthread> threads;
    for (int id = 0; id < kThreads; ++id) {
      threads.emplace_back([&work, id] { work.run(id, operations() / kThreads); });
    }
  }
  synchronize_device(0);
  EXPECT_EQ(work.count().broken, 0);

  DeviceAllocator& allocator = DeviceAllocator::instance();
  allocator.emptyCache();
  const auto stats = allocator.getDeviceStats(0);
  EXPECT_EQ(stats.allocation[0].allocated, work.count().allocations);
  EXPECT_EQ(stats.requested_bytes[0].allocated, work.count().requested);
  EXPECT_EQ(stats.allocated_bytes[1].allocated, work.count().small_bytes);
  for (const auto* array :
       {&stats.allocation, &stats.allocated_bytes, &stats.active, &stats.active_bytes, &stats.requested_bytes,
        &stats.inactive_split, &stats.inactive_split_bytes, &stats.segment, &stats.reserved_bytes}) {
    for (const auto& stat : *array) {
      EXPECT_EQ(stat.current, 0);
      EXPECT_EQ(stat.allocated, stat.freed);
      EXPECT_GE(stat.allocated, stat.peak);
    }
  }
  EXPECT_EQ(allocator.getMemoryInfo(0).first, allocator.getMemoryInfo(0).second);
  EXPECT_LE(stats.allocation[0].peak, kThreads * 201 + 200);
}

TEST(AllocatorFuzz, no_block_overlaps_another_or_is_given_out_before_its_streams_have_passed) { alone(fuzz); }

TEST(AllocatorFuzz, the_same_with_segments_that_grow_in_place) {
  alone([] {
    ::setenv("TORCHPLUG_ALLOC_CONF", "expandable_segments:True", 1);
    fuzz();
  });
}

}  // namespace
}  // namespace torchplug::tests
