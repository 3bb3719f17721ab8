// Events of the sim plugin: a wait is for the record made before it.

#include <atomic>
#include <chrono>
#include <ctime>

#include "sim_plugin.h"

namespace sim_test {
namespace {

class SimEvent : public testing::Test {
 protected:
  bool finishes(std::int32_t device, plug_stream stream) {
    return eventually([&] { return plugin_->stream_query(device, stream) == PLUG_OK; });
  }

  const Plugin& plugin_ = Plugin::shared();
  const plug_stream one_ = plugin_.stream(0);
  const plug_stream two_ = plugin_.stream(0);
  const plug_stream three_ = plugin_.stream(0);

  ~SimEvent() override {
    for (const plug_stream stream : {one_, two_, three_}) plugin_->stream_destroy(0, stream);
  }
};

TEST_F(SimEvent, an_event_never_recorded_is_ready) {
  const plug_event event = plugin_.event(0);
  EXPECT_EQ(plugin_->event_query(0, event), PLUG_OK);
  EXPECT_EQ(plugin_->event_sync(0, event), PLUG_OK);
  EXPECT_EQ(plugin_->event_wait(0, event, 0, one_), PLUG_OK);
  EXPECT_EQ(plugin_->stream_sync(0, one_), PLUG_OK);
  EXPECT_EQ(plugin_->event_destroy(0, event), PLUG_OK);
}

// Without and with timing, and of several processes: not all of them are tasks on the stream.
class SimEventOfEachKind : public SimEvent, public testing::WithParamInterface<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Kinds, SimEventOfEachKind,
                         testing::Values(0u, PLUG_EVENT_TIMING, PLUG_EVENT_SHARED));

TEST_P(SimEventOfEachKind, an_event_is_ready_when_the_work_before_it_is_done) {
  const plug_event event = plugin_.event(0, GetParam());
  Gate before(plugin_, 0, one_);
  ASSERT_EQ(plugin_->event_record(0, event, one_), PLUG_OK);
  Gate after(plugin_, 0, one_);
  EXPECT_EQ(plugin_->event_query(0, event), PLUG_NOT_READY);
  before.open();
  EXPECT_EQ(plugin_->event_sync(0, event), PLUG_OK) << "though work after it is held";
  EXPECT_EQ(plugin_->event_query(0, event), PLUG_OK);
  EXPECT_EQ(plugin_->stream_query(0, one_), PLUG_NOT_READY);
  after.open();
  plugin_->event_destroy(0, event);
}

TEST_P(SimEventOfEachKind, a_wait_is_for_the_record_made_before_it) {
  const plug_event event = plugin_.event(0, GetParam());
  Gate first(plugin_, 0, one_);
  ASSERT_EQ(plugin_->event_record(0, event, one_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event, 0, two_), PLUG_OK);

  Gate second(plugin_, 0, one_);
  ASSERT_EQ(plugin_->event_record(0, event, one_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event, 0, three_), PLUG_OK);

  EXPECT_EQ(plugin_->stream_query(0, two_), PLUG_NOT_READY);
  first.open();
  EXPECT_TRUE(finishes(0, two_)) << "it waits for the first record";
  second.wait_until_entered();
  EXPECT_EQ(plugin_->stream_query(0, three_), PLUG_NOT_READY) << "it waits for the second record";
  EXPECT_EQ(plugin_->event_query(0, event), PLUG_NOT_READY);
  second.open();
  EXPECT_TRUE(finishes(0, three_));
  plugin_->event_destroy(0, event);
}

TEST_P(SimEventOfEachKind, recording_on_another_stream_leaves_the_earlier_one_behind) {
  const plug_event event = plugin_.event(0, GetParam());
  const Gate gate(plugin_, 0, one_);
  ASSERT_EQ(plugin_->event_record(0, event, one_), PLUG_OK);
  ASSERT_EQ(plugin_->event_record(0, event, two_), PLUG_OK);
  EXPECT_EQ(plugin_->event_sync(0, event), PLUG_OK) << "the first stream is still held";
  plugin_->event_destroy(0, event);
}

TEST_P(SimEventOfEachKind, work_after_a_wait_sees_the_work_before_the_record) {
  const plug_event event = plugin_.event(0, GetParam());
  int value = 0;  // not atomic: the order alone makes this right
  for (int round = 1; round <= 500; ++round) {
    plugin_.enqueue(0, one_, [&value] { ++value; });
    plugin_->event_record(0, event, one_);
    plugin_->event_wait(0, event, 0, two_);
    plugin_.enqueue(0, two_, [&value] { ++value; });
    plugin_->event_record(0, event, two_);
    plugin_->event_wait(0, event, 0, one_);
  }
  ASSERT_EQ(plugin_->stream_sync(0, one_), PLUG_OK);
  EXPECT_EQ(value, 1000);
  plugin_->event_destroy(0, event);
}

TEST_P(SimEventOfEachKind, a_stream_waits_for_an_event_of_another_device) {
  const plug_event event = plugin_.event(0, GetParam());
  std::atomic<bool> ran{false};
  Gate gate(plugin_, 0, one_);
  ASSERT_EQ(plugin_->event_record(0, event, one_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event, 1, nullptr), PLUG_OK);
  plugin_.enqueue(1, nullptr, [&] { ran = true; });
  gate.wait_until_entered();
  EXPECT_EQ(plugin_->stream_query(1, nullptr), PLUG_NOT_READY);
  EXPECT_FALSE(ran);
  gate.open();
  ASSERT_EQ(plugin_->device_sync(1), PLUG_OK);
  EXPECT_TRUE(ran);
  plugin_->event_destroy(0, event);
}

TEST_P(SimEventOfEachKind, an_event_and_its_stream_may_be_destroyed_while_others_wait) {
  const plug_event event = plugin_.event(0, GetParam());
  const plug_stream short_lived = plugin_.stream(0);
  std::atomic<bool> ran{false};
  Gate gate(plugin_, 0, short_lived);
  ASSERT_EQ(plugin_->event_record(0, event, short_lived), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event, 0, two_), PLUG_OK);
  plugin_.enqueue(0, two_, [&] { ran = true; });
  EXPECT_EQ(plugin_->event_destroy(0, event), PLUG_OK);
  EXPECT_EQ(plugin_->stream_destroy(0, short_lived), PLUG_OK);
  gate.wait_until_entered();
  EXPECT_FALSE(ran);
  gate.open();
  ASSERT_EQ(plugin_->stream_sync(0, two_), PLUG_OK);
  EXPECT_TRUE(ran);
}

TEST_P(SimEventOfEachKind, an_event_outlives_the_stream_it_was_recorded_on) {
  const plug_event event = plugin_.event(0, GetParam());
  const plug_stream short_lived = plugin_.stream(0);
  plugin_.enqueue(0, short_lived, [] {});
  ASSERT_EQ(plugin_->event_record(0, event, short_lived), PLUG_OK);
  ASSERT_EQ(plugin_->stream_destroy(0, short_lived), PLUG_OK);
  EXPECT_EQ(plugin_->event_sync(0, event), PLUG_OK);
  EXPECT_EQ(plugin_->event_query(0, event), PLUG_OK);
  plugin_->event_destroy(0, event);
}

TEST_P(SimEventOfEachKind, a_stream_that_waits_leaves_the_processor_to_others) {
  const auto processor_time = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  constexpr auto kWait = std::chrono::milliseconds(100);
  const plug_event event = plugin_.event(0, GetParam());
  std::chrono::nanoseconds before{};
  std::chrono::nanoseconds after{};
  Gate gate(plugin_, 0, one_);
  ASSERT_EQ(plugin_->event_record(0, event, one_), PLUG_OK);
  plugin_.enqueue(0, two_, [&] { before = processor_time(); });
  ASSERT_EQ(plugin_->event_wait(0, event, 0, two_), PLUG_OK);
  plugin_.enqueue(0, two_, [&] { after = processor_time(); });
  std::this_thread::sleep_for(kWait);
  gate.open();
  ASSERT_EQ(plugin_->stream_sync(0, two_), PLUG_OK);
  EXPECT_LT(after - before, kWait / 10);
  plugin_->event_destroy(0, event);
}

TEST_F(SimEvent, elapsed_time_is_that_of_the_work_between) {
  const plug_event start = plugin_.event(0, PLUG_EVENT_TIMING);
  const plug_event end = plugin_.event(0, PLUG_EVENT_TIMING);
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kWork = std::chrono::milliseconds(3);
  const auto before = Clock::now();
  plugin_->event_record(0, start, one_);
  plugin_.enqueue(0, one_, [&] {
    for (const auto until = Clock::now() + kWork; Clock::now() < until;) {
    }
  });
  plugin_->event_record(0, end, one_);
  plugin_->event_sync(0, end);
  const std::chrono::nanoseconds around = Clock::now() - before;
  std::int64_t ns = 0;
  ASSERT_EQ(plugin_->event_elapsed(0, start, end, &ns), PLUG_OK);
  EXPECT_GE(ns, kWork.count());
  EXPECT_LE(ns, around.count());
  std::int64_t backwards = 0;
  ASSERT_EQ(plugin_->event_elapsed(0, end, start, &backwards), PLUG_OK);
  EXPECT_EQ(backwards, -ns);
  plugin_->event_destroy(0, start);
  plugin_->event_destroy(0, end);
}

TEST_F(SimEvent, an_earlier_record_that_runs_late_does_not_change_the_time) {
  const plug_event start = plugin_.event(0, PLUG_EVENT_TIMING);
  const plug_event end = plugin_.event(0, PLUG_EVENT_TIMING);
  plugin_->event_record(0, start, two_);
  Gate gate(plugin_, 0, one_);
  plugin_->event_record(0, end, one_);
  plugin_->event_record(0, end, two_);
  ASSERT_EQ(plugin_->event_sync(0, end), PLUG_OK);
  std::int64_t ns = 0;
  ASSERT_EQ(plugin_->event_elapsed(0, start, end, &ns), PLUG_OK);
  gate.open();
  ASSERT_EQ(plugin_->stream_sync(0, one_), PLUG_OK);
  std::int64_t later = 0;
  ASSERT_EQ(plugin_->event_elapsed(0, start, end, &later), PLUG_OK);
  EXPECT_EQ(later, ns);
  plugin_->event_destroy(0, start);
  plugin_->event_destroy(0, end);
}

TEST_F(SimEvent, an_event_without_a_time_has_no_elapsed_time) {
  const plug_event untimed = plugin_.event(0);
  const plug_event timed = plugin_.event(0, PLUG_EVENT_TIMING);
  plugin_->event_record(0, untimed, one_);
  std::int64_t ns = -7;
  EXPECT_EQ(plugin_->event_elapsed(0, untimed, untimed, &ns), PLUG_INVALID);
  EXPECT_EQ(plugin_->event_elapsed(0, timed, timed, &ns), PLUG_INVALID) << "never recorded";
  EXPECT_EQ(ns, -7);
  plugin_->event_destroy(0, untimed);
  plugin_->event_destroy(0, timed);
}

TEST_F(SimEvent, flags_that_are_not_known_are_unsupported) {
  plug_event event = nullptr;
  EXPECT_EQ(plugin_->event_create(0, PLUG_EVENT_SHARED | PLUG_EVENT_TIMING, &event), PLUG_UNSUPPORTED);
  EXPECT_EQ(plugin_->event_create(0, 1u << 31, &event), PLUG_UNSUPPORTED);
  EXPECT_EQ(event, nullptr);
}

}  // namespace
}  // namespace sim_test
