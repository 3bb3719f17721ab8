// Capture by the sim plugin: nothing runs before the replay, and then everything, in the order of its
// streams.

#include <array>
#include <atomic>
#include <thread>

#include "sim_plugin.h"

namespace sim_test {
namespace {

class SimCapture : public testing::Test {
 protected:
  const Plugin& plugin_ = Plugin::shared();
  const plug_stream one_ = plugin_.stream(0);
  const plug_stream two_ = plugin_.stream(0);
  const plug_event event_ = plugin_.event(0);

  ~SimCapture() override {
    plugin_->event_destroy(0, event_);
    for (const plug_stream stream : {one_, two_}) plugin_->stream_destroy(0, stream);
  }

  void begin(plug_stream stream, std::int32_t mode = PLUG_CAPTURE_GLOBAL) {
    ASSERT_EQ(plugin_->capture_begin(0, stream, mode), PLUG_OK) << last_error;
  }
  plug_capture end(plug_stream stream) {
    plug_capture capture = nullptr;
    EXPECT_EQ(plugin_->capture_end(0, stream, &capture), PLUG_OK) << last_error;
    return capture;
  }
  void expect_spoilt(plug_stream stream, const std::string& part) {
    plug_capture capture = nullptr;
    EXPECT_EQ(plugin_->capture_end(0, stream, &capture), PLUG_INVALID);
    EXPECT_NE(last_error.find(part), std::string::npos) << last_error;
    // The stream works on.
    std::atomic<bool> ran{false};
    plugin_.enqueue(0, stream, [&] { ran = true; });
    EXPECT_EQ(plugin_->stream_sync(0, stream), PLUG_OK);
    EXPECT_TRUE(ran);
  }
  void replay(plug_capture capture, plug_stream stream) {
    ASSERT_EQ(plugin_->capture_replay(0, capture, stream), PLUG_OK) << last_error;
  }
};

TEST_F(SimCapture, work_runs_at_each_replay_and_not_before) {
  std::atomic<int> runs{0};
  begin(one_);
  plugin_.enqueue(0, one_, [&] { ++runs; });
  plugin_.enqueue(0, one_, [&] { runs = runs * 10; });
  const plug_capture capture = end(one_);
  ASSERT_EQ(plugin_->stream_sync(0, one_), PLUG_OK);
  EXPECT_EQ(runs, 0);
  for (const int expected : {10, 110, 1110}) {
    replay(capture, one_);
    ASSERT_EQ(plugin_->stream_sync(0, one_), PLUG_OK);
    EXPECT_EQ(runs, expected);
  }
  plugin_->capture_destroy(0, capture);
}

TEST_F(SimCapture, a_host_function_is_released_once_when_the_capture_is_destroyed) {
  struct Seen {
    int runs = 0;
    int releases = 0;
  } seen;
  begin(one_);
  ASSERT_EQ(plugin_->host_func(
                0, one_, [](void* arg, plug_status) { ++static_cast<Seen*>(arg)->runs; },
                [](void* arg) { ++static_cast<Seen*>(arg)->releases; }, &seen),
            PLUG_OK);
  const plug_capture capture = end(one_);
  replay(capture, one_);
  replay(capture, two_);
  plugin_->stream_sync(0, one_);
  plugin_->stream_sync(0, two_);
  EXPECT_EQ(seen.runs, 2);
  EXPECT_EQ(seen.releases, 0);
  plugin_->capture_destroy(0, capture);
  EXPECT_TRUE(eventually([&] { return seen.releases == 1; }));
}

TEST_F(SimCapture, copies_and_fills_are_made_at_each_replay) {
  Memory memory(plugin_, 0, 64);
  memory.view()[8] = 0;
  std::array<unsigned char, 4> given = {1, 2, 3, 4};
  begin(one_);
  plug_mem at = memory.at();
  plug_mem from = on_host(given.data());
  ASSERT_EQ(plugin_->copy(0, one_, &at, &from, 4), PLUG_OK) << last_error;
  given.fill(99);  // it was read at the capture: it is not pinned
  plug_mem to = memory.at(8);
  ASSERT_EQ(plugin_->copy(0, one_, &to, &at, 4), PLUG_OK);
  plug_mem filled = memory.at(16);
  ASSERT_EQ(plugin_->mem_fill(0, one_, &filled, 7, 4), PLUG_OK);
  const plug_capture capture = end(one_);
  EXPECT_EQ(memory.view()[8], 0);
  replay(capture, one_);
  plugin_->stream_sync(0, one_);
  EXPECT_EQ(memory.view()[8], 1);
  EXPECT_EQ(memory.view()[11], 4);
  EXPECT_EQ(memory.view()[19], 7);
  plugin_->capture_destroy(0, capture);
}

TEST_F(SimCapture, pinned_memory_is_read_at_the_replay) {
  Memory memory(plugin_, 0, 64);
  void* pinned = nullptr;
  ASSERT_EQ(plugin_->host_alloc(4, &pinned), PLUG_OK);
  auto* bytes = static_cast<unsigned char*>(pinned);
  bytes[0] = 1;
  begin(one_);
  const plug_mem to = memory.at();
  const plug_mem from = on_host(pinned, PLUG_MEM_PINNED);
  ASSERT_EQ(plugin_->copy(0, one_, &to, &from, 1), PLUG_OK);
  const plug_capture capture = end(one_);
  bytes[0] = 2;
  replay(capture, one_);
  plugin_->stream_sync(0, one_);
  EXPECT_EQ(memory.view()[0], 2);
  plugin_->capture_destroy(0, capture);
  plugin_->host_free(pinned);
}

TEST_F(SimCapture, a_stream_joins_by_an_event_and_is_joined_by_one) {
  std::vector<int> order;  // each entry after the one before, by the events
  begin(one_);
  plugin_.enqueue(0, one_, [&] { order.push_back(1); });
  ASSERT_EQ(plugin_->event_record(0, event_, one_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event_, 0, two_), PLUG_OK) << last_error;
  plugin_.enqueue(0, two_, [&] { order.push_back(2); });
  ASSERT_EQ(plugin_->event_record(0, event_, two_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event_, 0, one_), PLUG_OK);
  plugin_.enqueue(0, one_, [&] { order.push_back(3); });
  const plug_capture capture = end(one_);
  ASSERT_EQ(plugin_->device_sync(0), PLUG_OK);
  EXPECT_TRUE(order.empty());
  for (int i = 0; i < 200; ++i) replay(capture, i % 2 == 0 ? one_ : two_);
  plugin_->stream_sync(0, one_);
  plugin_->stream_sync(0, two_);
  ASSERT_EQ(order.size(), 600u);
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<int>(i % 3) + 1) << i;
  plugin_->capture_destroy(0, capture);
}

TEST_F(SimCapture, branches_of_a_capture_run_at_the_same_time) {
  std::latch both(2);
  begin(one_);
  ASSERT_EQ(plugin_->event_record(0, event_, one_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event_, 0, two_), PLUG_OK);
  plugin_.enqueue(0, two_, [&] { both.arrive_and_wait(); });
  plugin_.enqueue(0, one_, [&] { both.arrive_and_wait(); });
  ASSERT_EQ(plugin_->event_record(0, event_, two_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event_, 0, one_), PLUG_OK);
  const plug_capture capture = end(one_);
  replay(capture, one_);
  EXPECT_TRUE(eventually([&] { return plugin_->stream_query(0, one_) == PLUG_OK; }));
  plugin_->capture_destroy(0, capture);
}

TEST_F(SimCapture, a_replay_waits_for_the_stream_it_is_given_and_for_no_other) {
  std::atomic<int> runs{0};
  begin(one_);
  plugin_.enqueue(0, one_, [&] { ++runs; });
  const plug_capture capture = end(one_);
  Gate gate(plugin_, 0, one_);
  replay(capture, two_);
  EXPECT_TRUE(eventually([&] { return runs == 1; }));
  replay(capture, one_);
  EXPECT_EQ(plugin_->stream_query(0, one_), PLUG_NOT_READY);
  EXPECT_EQ(runs, 1);
  gate.open();
  plugin_->stream_sync(0, one_);
  EXPECT_EQ(runs, 2);
  plugin_->capture_destroy(0, capture);
}

TEST_F(SimCapture, a_stream_that_was_not_joined_spoils_the_capture) {
  begin(one_);
  ASSERT_EQ(plugin_->event_record(0, event_, one_), PLUG_OK);
  ASSERT_EQ(plugin_->event_wait(0, event_, 0, two_), PLUG_OK);
  plugin_.enqueue(0, two_, [] {});
  expect_spoilt(one_, "which had joined it");
  EXPECT_EQ(plugin_->stream_sync(0, two_), PLUG_OK) << "it captures no longer";
}

TEST_F(SimCapture, waiting_for_a_capturing_stream_is_refused_and_spoils_the_capture) {
  begin(one_);
  EXPECT_EQ(plugin_->stream_sync(0, one_), PLUG_INVALID);
  EXPECT_NE(last_error.find("while a stream is capturing"), std::string::npos) << last_error;
  expect_spoilt(one_, "waiting for its stream");
  begin(one_);
  EXPECT_EQ(plugin_->stream_query(0, one_), PLUG_INVALID);
  expect_spoilt(one_, "querying its stream");
  begin(one_);
  ASSERT_EQ(plugin_->event_record(0, event_, one_), PLUG_OK);
  EXPECT_EQ(plugin_->event_sync(0, event_), PLUG_INVALID);
  expect_spoilt(one_, "querying an event");
  begin(one_);
  unsigned char byte = 0;
  Memory memory(plugin_, 0, 8);
  const plug_mem to = on_host(&byte);
  const plug_mem from = memory.at();
  EXPECT_EQ(plugin_->copy(0, one_, &to, &from, 1), PLUG_INVALID);
  expect_spoilt(one_, "not pinned");
}

TEST_F(SimCapture, events_from_outside_and_of_ended_captures_are_refused) {
  ASSERT_EQ(plugin_->event_record(0, event_, two_), PLUG_OK);
  begin(one_);
  EXPECT_EQ(plugin_->event_wait(0, event_, 0, one_), PLUG_INVALID);
  expect_spoilt(one_, "outside of the capture");
  begin(one_);
  ASSERT_EQ(plugin_->event_record(0, event_, one_), PLUG_OK);
  const plug_capture capture = end(one_);
  EXPECT_EQ(plugin_->event_wait(0, event_, 0, two_), PLUG_INVALID);
  EXPECT_EQ(plugin_->event_query(0, event_), PLUG_INVALID);
  ASSERT_EQ(plugin_->event_record(0, event_, two_), PLUG_OK);
  EXPECT_EQ(plugin_->event_sync(0, event_), PLUG_OK);
  plugin_->capture_destroy(0, capture);
}

TEST_F(SimCapture, the_mode_says_who_may_wait_for_the_device) {
  const auto elsewhere = [&] {
    plug_status status = PLUG_OK;
    std::thread([&] { status = plugin_->device_sync(0); }).join();
    return status;
  };
  begin(one_, PLUG_CAPTURE_RELAXED);
  EXPECT_EQ(plugin_->device_sync(0), PLUG_OK);
  EXPECT_EQ(elsewhere(), PLUG_OK);
  plugin_->capture_destroy(0, end(one_));
  begin(one_, PLUG_CAPTURE_THREAD);
  EXPECT_EQ(elsewhere(), PLUG_OK);
  EXPECT_EQ(plugin_->device_sync(0), PLUG_INVALID);
  EXPECT_EQ(plugin_->device_sync(1), PLUG_OK) << "another device";
  expect_spoilt(one_, "waiting for the device");
  begin(one_, PLUG_CAPTURE_GLOBAL);
  EXPECT_EQ(elsewhere(), PLUG_INVALID);
  expect_spoilt(one_, "waiting for the device");
  EXPECT_EQ(plugin_->capture_begin(0, one_, 7), PLUG_UNSUPPORTED);
}

TEST_F(SimCapture, misuse_is_refused) {
  plug_capture capture = nullptr;
  EXPECT_EQ(plugin_->capture_end(0, one_, &capture), PLUG_INVALID);
  begin(one_);
  EXPECT_EQ(plugin_->capture_begin(0, one_, PLUG_CAPTURE_GLOBAL), PLUG_INVALID);
  capture = end(one_);
  begin(one_);
  EXPECT_EQ(plugin_->capture_replay(0, capture, one_), PLUG_INVALID);
  expect_spoilt(one_, "replaying a capture");
  begin(one_);
  EXPECT_EQ(plugin_->stream_destroy(0, one_), PLUG_INVALID);
  expect_spoilt(one_, "destroying its stream");
  plugin_->capture_destroy(0, capture);
}

TEST_F(SimCapture, threads_of_a_capture_end_with_it) {
  constexpr std::int32_t kDevice = 39;  // so that no other test's threads are called so
  Plugin plugin({{"sim.devices", "40"}, {"sim.memory", "1MiB"}});
  ASSERT_EQ(plugin->device_open(kDevice), PLUG_OK);
  const plug_stream origin = plugin.stream(kDevice);
  const plug_stream side = plugin.stream(kDevice);
  const plug_event event = plugin.event(kDevice);
  ASSERT_EQ(plugin->capture_begin(kDevice, origin, PLUG_CAPTURE_GLOBAL), PLUG_OK);
  ASSERT_EQ(plugin->event_record(kDevice, event, origin), PLUG_OK);
  ASSERT_EQ(plugin->event_wait(kDevice, event, kDevice, side), PLUG_OK);
  plugin.enqueue(kDevice, side, [] {});
  ASSERT_EQ(plugin->event_record(kDevice, event, side), PLUG_OK);
  ASSERT_EQ(plugin->event_wait(kDevice, event, kDevice, origin), PLUG_OK);
  EXPECT_EQ(count_threads("sim39:"), 0);
  plug_capture capture = nullptr;
  ASSERT_EQ(plugin->capture_end(kDevice, origin, &capture), PLUG_OK) << last_error;
  EXPECT_TRUE(eventually([&] { return count_threads("sim39:") == 1; }));
  plugin->capture_destroy(kDevice, capture);
  EXPECT_TRUE(eventually([&] { return count_threads("sim39:") == 0; }));
  plugin->event_destroy(kDevice, event);
}

TEST(SimCaptureOption, the_plugin_can_hide_that_it_captures) {
  Plugin plugin(Settings{{"sim.capture", "off"}});
  EXPECT_EQ(plugin->capture_begin, nullptr);
  EXPECT_EQ(plugin->capture_destroy, nullptr);
  EXPECT_THROW(Plugin(Settings{{"sim.capture", "maybe"}}), std::runtime_error);
  EXPECT_NE(last_error.find("TORCHPLUG_SIM_CAPTURE"), std::string::npos) << last_error;
}

}  // namespace
}  // namespace sim_test
