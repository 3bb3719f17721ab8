// The device trace: launches and work with the times at which they were, whatever the times come from.

#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <latch>

#include <cstdlib>

#include "profiler/clock_map.h"
#include "profiler/device_trace.h"
#include "profiler/event_timer.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

// A reading that took no time.
std::vector<ClockReading> exact(int64_t device, int64_t host) { return {{device, host, host}}; }

TEST(ClockMap, a_clock_with_another_zero_is_shifted) {
  const ClockMap map(exact(100, 5000), exact(300, 5200));
  EXPECT_EQ(map.to_host(100), 5000);
  EXPECT_EQ(map.to_host(250), 5150);
  EXPECT_EQ(map.to_host(0), 4900);
}

TEST(ClockMap, a_clock_that_runs_faster_is_slowed) {
  const ClockMap map(exact(1'000, 0), exact(4'000, 1'500));
  EXPECT_EQ(map.to_host(1'000), 0);
  EXPECT_EQ(map.to_host(2'000), 500);
  EXPECT_EQ(map.to_host(4'000), 1'500);
}

TEST(ClockMap, times_as_large_as_those_since_1970_keep_their_nanoseconds) {
  constexpr int64_t kHost = 1'800'000'000'000'000'000;
  constexpr int64_t kDevice = 7'000'000'000'000'000;
  constexpr int64_t kHour = 3'600'000'000'000;
  const ClockMap map(exact(kDevice, kHost), exact(kDevice + kHour, kHost + kHour));
  EXPECT_EQ(map.to_host(kDevice + 1), kHost + 1);
  EXPECT_EQ(map.to_host(kDevice + kHour - 1), kHost + kHour - 1);
}

TEST(ClockMap, one_moment_is_enough) {
  const ClockMap map(exact(100, 5000), exact(100, 5000));
  EXPECT_EQ(map.to_host(130), 5030);
}

TEST(ClockMap, a_slow_reading_is_no_drift) {
  // The clocks are 1,000 apart; each second reading was held up, on either side of the device's.
  const ClockMap map({{100, 1'090, 1'110}, {200, 1'190, 9'000}}, {{300, 400, 1'310}, {400, 1'395, 1'500}});
  EXPECT_EQ(map.to_host(500) - map.to_host(300), 200);
  EXPECT_NEAR(static_cast<double>(map.to_host(300)), 1'300, 10);
}

TEST(ClockMap, nothing_precedes_its_launch) {
  ClockMap map({{100, 1'000, 1'200}}, {{300, 1'200, 1'400}});
  map.follow(150, 1'190);
  EXPECT_GE(map.to_host(150), 1'190);
  EXPECT_EQ(map.to_host(250) - map.to_host(150), 100);
  map.follow(150, 1'000'000);  // which no reading allows
  EXPECT_EQ(map.to_host(150), 1'250);
}

// How far two readings of the clocks may be apart on a machine that does other things, too.
constexpr int64_t kTolerance = 2'000'000;

FinishedTrace trace_of(const std::function<void()>& body) {
  DeviceTrace::instance().start();
  body();
  return DeviceTrace::instance().stop();
}

// Work whose true times the test knows: it lasts 20 ms and says when that was.
struct Known {
  int64_t begun = 0;
  int64_t ended = 0;

  void run() {
    begun = c10::getTime();
    while (c10::getTime() < begun + 20'000'000) std::this_thread::yield();
    ended = c10::getTime();
  }
};

void expect_holds(const DeviceWork& work, const Known& known) {
  EXPECT_LE(work.start, known.begun + kTolerance);
  EXPECT_GE(work.end, known.ended - kTolerance);
}

// On sim, whose own records give the times; and on sim without them, where events do.
class DeviceTraceOnSim : public testing::TestWithParam<Timing> {
 protected:
  void on_device(const std::function<void()>& body) {
    ::setenv("TORCHPLUG_SIM_PROFILER", GetParam() == Timing::kRecords ? "on" : "off", 1);
    on_sim(body);
    ::unsetenv("TORCHPLUG_SIM_PROFILER");
  }
};
INSTANTIATE_TEST_SUITE_P(Timings, DeviceTraceOnSim, testing::Values(Timing::kRecords, Timing::kEvents),
                         [](const auto& given) { return std::string(timing_name(given.param)); });

TEST_P(DeviceTraceOnSim, work_has_the_times_at_which_it_ran_not_those_of_its_launch) {
  on_device([] {
    const Stream stream = new_stream();
    std::latch launched(1);
    Known first;
    Known second;
    const FinishedTrace trace = trace_of([&] {
      enqueue(stream, [&] {
        launched.wait();
        first.run();
      });
      enqueue(stream, [&] { second.run(); });
      launched.count_down();
    });
    ASSERT_EQ(trace.works.size(), 2u);
    expect_holds(trace.works[0], first);
    expect_holds(trace.works[1], second);
    EXPECT_GE(trace.works[1].start, first.ended - kTolerance) << "it began when the first had ended";
    EXPECT_LE(trace.launches[1].end, first.ended - 20'000'000 + kTolerance) << "the launch did not wait";
  });
}

TEST_P(DeviceTraceOnSim, work_belongs_to_its_launch_and_stream) {
  on_device([] {
    const Stream one = new_stream(0);
    const Stream two = new_stream(0);
    const Stream far = new_stream(1);
    const FinishedTrace trace = trace_of([&] {
      for (const Stream& stream : {one, two, far}) enqueue(stream, [] {});
    });
    ASSERT_EQ(trace.launches.size(), 3u);
    ASSERT_EQ(trace.works.size(), 3u);
    for (const DeviceWork& work : trace.works) {
      ASSERT_NE(work.launch, nullptr);
      EXPECT_EQ(work.device, work.launch->device);
      EXPECT_EQ(work.stream, work.launch->stream);
      EXPECT_GE(work.start, work.launch->begin);
      EXPECT_EQ(work.name, "a host function [host]");
    }
    EXPECT_EQ(trace.launches[1].stream, two.id());
    EXPECT_EQ(trace.launches[2].device, 1);
    EXPECT_EQ(trace.devices.size(), 2u);
  });
}

TEST_P(DeviceTraceOnSim, stop_waits_for_what_has_been_launched) {
  on_device([] {
    const Stream stream = new_stream();
    std::atomic<bool> done = false;
    Known known;
    const FinishedTrace trace = trace_of([&] {
      enqueue(stream, [&] {
        known.run();
        done = true;
      });
    });
    EXPECT_TRUE(done);
    EXPECT_EQ(trace.works.size(), 1u);
  });
}

TEST_P(DeviceTraceOnSim, more_launches_than_fit_between_two_visits_are_all_there) {
  on_device([] {
    constexpr size_t kMany = 10'000;
    const Stream stream = new_stream();
    const FinishedTrace trace = trace_of([&] {
      for (size_t i = 0; i < kMany; ++i) enqueue(stream, [] {});
    });
    EXPECT_EQ(trace.works.size(), kMany);
    EXPECT_TRUE(trace.errors.empty());
    for (const DeviceWork& work : trace.works) EXPECT_NE(work.launch, nullptr);
  });
}

TEST_P(DeviceTraceOnSim, threads_launch_at_the_same_time_as_a_trace_ends) {
  on_device([] {
    std::atomic<bool> is_over = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const Stream stream = new_stream();
        while (!is_over) {
          for (int j = 0; j < 50; ++j) enqueue(stream, [] {});
          stream.synchronize();
        }
      });
    }
    for (int i = 0; i < 20; ++i) {
      DeviceTrace::instance().start();
      std::this_thread::yield();
      for (const DeviceWork& work : DeviceTrace::instance().stop().works) EXPECT_LE(work.start, work.end);
    }
    is_over = true;
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_P(DeviceTraceOnSim, a_trace_knows_nothing_of_what_was_launched_before_and_after) {
  on_device([] {
    const Stream stream = new_stream();
    Gate gate(stream);
    enqueue(stream, [] {});
    EXPECT_TRUE(trace_of([&] { gate.open(); }).works.empty());
    enqueue(stream, [] {});
    EXPECT_TRUE(trace_of([] {}).works.empty());
    EXPECT_EQ(trace_of([&] { enqueue(stream, [] {}); }).works.size(), 1u);
  });
}

TEST_P(DeviceTraceOnSim, launches_have_numbers_that_no_profiler_has_which_counts_from_one) {
  on_device([] {
    const FinishedTrace trace = trace_of([] { enqueue(new_stream(0), [] {}); });
    ASSERT_EQ(trace.launches.size(), 1u);
    EXPECT_GE(trace.launches[0].id, kFirstLaunch);
    ASSERT_EQ(trace.works.size(), 1u);
    EXPECT_EQ(trace.works[0].launch, &trace.launches[0]);
  });
}

TEST(DeviceTrace, a_device_that_is_not_used_is_not_opened) {
  on_sim([] {
    const FinishedTrace trace = trace_of([] {});
    EXPECT_FALSE(is_open(0));
    EXPECT_TRUE(trace.devices.empty());
    const FinishedTrace other = trace_of([] { enqueue(new_stream(1), [] {}); });
    EXPECT_FALSE(is_open(0));
    EXPECT_EQ(other.works.size(), 1u) << "opened while the trace ran";
  });
}

TEST(DeviceTrace, a_synchronous_device_is_timed_by_its_calls) {
  alone([] {
    activate(HELLO_LIBRARY);
    const at::Tensor x = on_device(at::full({1 << 20}, -1.0));
    at::relu(x);  // the first call of a kind does more
    const FinishedTrace trace = trace_of([&] { at::relu(x); });
    ASSERT_EQ(trace.works.size(), 1u);
    EXPECT_EQ(trace.works[0].name, "aten::relu [kernel]");
    EXPECT_EQ(trace.works[0].start, trace.launches[0].begin);
    EXPECT_EQ(trace.works[0].end, trace.launches[0].end);
    EXPECT_EQ(trace.devices[0].second, Timing::kCalls);
  });
}

TEST(DeviceTrace, a_clock_of_the_devices_own_is_read_as_the_hosts) {
  alone([] {
    activate(plugin_path("recorder"));
    const at::Tensor x = on_device(at::full({1 << 20}, -1.0));
    at::relu(x);  // the first call of a kind does more
    const FinishedTrace trace = trace_of([&] { at::relu(x); });
    ASSERT_EQ(trace.works.size(), 3u);
    const LaunchRecord& launch = trace.launches[0];
    EXPECT_EQ(trace.works[0].name, "load and compare");
    EXPECT_EQ(trace.works[1].name, "store");
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(trace.works[i].launch, &launch) << "two kernels of one launch";
      EXPECT_GE(trace.works[i].start, launch.begin);
      EXPECT_LE(trace.works[i].end, launch.end + kTolerance);
    }
    EXPECT_EQ(trace.works[2].launch, nullptr) << "of a launch that nobody made";
  });
}

TEST(DeviceTrace, a_plugin_that_cannot_record_is_timed_another_way_and_quoted) {
  for (const char* function : {"start", "clock"}) {
    alone([&] {
      ::setenv("RECORDER_FAILS", function, 1);
      activate(plugin_path("recorder"));
      const at::Tensor x = on_device(at::ones({4}));
      at::relu(x);  // the first call of a kind does more
      const FinishedTrace trace = trace_of([&] { at::relu(x); });
      ASSERT_EQ(trace.works.size(), 1u);
      EXPECT_EQ(trace.devices[0].second, Timing::kCalls);
      ASSERT_EQ(trace.errors.size(), 1u);
      expect_says(trace.errors[0], {"recorder", function, "the tracing unit is in use"});
      expect_one_sentence(trace.errors[0]);
    });
  }
}

TEST(DeviceTrace, records_dated_before_their_launch_are_told) {
  alone([] {
    ::setenv("RECORDER_MISDATES", "1", 1);
    activate(plugin_path("recorder"));
    const at::Tensor x = on_device(at::ones({4}));
    at::relu(x);
    const FinishedTrace trace = trace_of([&] { at::relu(x); });
    ASSERT_EQ(trace.errors.size(), 1u);
    expect_says(trace.errors[0], {"2 records of device 0", "before their launch"});
    expect_one_sentence(trace.errors[0]);
  });
}

TEST(DeviceTrace, records_that_the_plugin_lost_are_told) {
  alone([] {
    ::setenv("RECORDER_LOSES", "1", 1);
    activate(plugin_path("recorder"));
    const at::Tensor x = on_device(at::ones({4}));
    at::relu(x);  // the first call of a kind does more
    const FinishedTrace trace = trace_of([&] { at::relu(x); });
    ASSERT_EQ(trace.errors.size(), 1u);
    expect_says(trace.errors[0], {"dropped 3 records"});
  });
}

TEST(DeviceTrace, a_kernel_that_declines_leaves_no_work) {
  alone([] {
    ::setenv("RECORDER_FAILS", "start", 1);  // it records no copies
    activate(plugin_path("recorder"));
    const at::Tensor x = on_device(at::ones({4}, at::kDouble));
    at::relu(x);  // the first call of a kind does more
    const FinishedTrace trace = trace_of([&] { at::relu(x); });
    for (const DeviceWork& work : trace.works) EXPECT_EQ(work.kind, DeviceWork::Kind::kCopy) << work.name;
    EXPECT_FALSE(trace.works.empty()) << "the operator was staged";
  });
}

}  // namespace
}  // namespace torchplug::tests
