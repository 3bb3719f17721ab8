// The sim plugin's records: what ran, where, when, and under which label.

#include <chrono>
#include <optional>

#include "sim_plugin.h"

namespace sim_test {
namespace {

class SimProfiler : public testing::Test {
 protected:
  SimProfiler() {
    drain();
    EXPECT_EQ(profiler_.start(), PLUG_OK);
  }
  ~SimProfiler() override {
    profiler_.stop();
    set_label(0);
    plugin_->device_sync(0);
    drain();
    plugin_->stream_destroy(0, stream_);
  }

  struct Drained {
    std::vector<plug_record> records;
    std::uint64_t lost = 0;
  };
  Drained drain(std::int32_t device = 0) {
    Drained drained;
    const auto take = [](void* context, const plug_record* record) {
      static_cast<std::vector<plug_record>*>(context)->push_back(*record);
    };
    EXPECT_EQ(profiler_.drain(device, take, &drained.records, &drained.lost), PLUG_OK);
    return drained;
  }

  // What is recorded of the work on the stream, all of which is waited for.
  std::vector<plug_record> finish() {
    EXPECT_EQ(plugin_->stream_sync(0, stream_), PLUG_OK);
    return drain().records;
  }

  std::int64_t clock() {
    std::int64_t ns = 0;
    EXPECT_EQ(profiler_.clock(0, &ns), PLUG_OK);
    return ns;
  }

  void set_label(std::uint64_t label) { EXPECT_EQ(profiler_.label(0, stream_, label), PLUG_OK); }
  void enqueue(std::function<void()> work) { plugin_.enqueue(0, stream_, std::move(work)); }

  const Plugin& plugin_ = Plugin::shared();
  const plug_profiler& profiler_ = *plugin_.module().profiler;
  const plug_stream stream_ = plugin_.stream(0);
};

TEST_F(SimProfiler, the_times_of_a_record_hold_the_work_and_lie_within_what_the_clock_says_around_it) {
  std::int64_t begun = 0;
  std::int64_t ended = 0;
  const std::int64_t before = clock();
  enqueue([&] {
    begun = clock();
    while (clock() < begun + 1000) {
    }
    ended = clock();
  });
  const std::vector<plug_record> records = finish();
  const std::int64_t after = clock();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_LE(before, records[0].start);
  EXPECT_LE(records[0].start, begun);
  EXPECT_LE(ended, records[0].end);
  EXPECT_LE(records[0].end, after);
}

TEST_F(SimProfiler, work_that_waits_its_turn_is_not_taken_to_run) {
  Gate gate(plugin_, 0, stream_);
  enqueue([] {});
  gate.wait_until_entered();
  const std::int64_t opened = clock();
  gate.open();
  const std::vector<plug_record> records = finish();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_LE(records[0].start, opened);
  EXPECT_LE(opened, records[0].end);
  EXPECT_LE(records[0].end, records[1].start);
}

TEST_F(SimProfiler, events_around_work_hold_its_record) {
  const plug_event start = plugin_.event(0, PLUG_EVENT_TIMING);
  const plug_event end = plugin_.event(0, PLUG_EVENT_TIMING);
  plugin_->event_record(0, start, stream_);
  enqueue([this] {
    for (const std::int64_t begun = clock(); clock() < begun + 50'000;) {
    }
  });
  plugin_->event_record(0, end, stream_);
  const std::vector<plug_record> records = finish();
  std::int64_t elapsed = 0;
  ASSERT_EQ(plugin_->event_elapsed(0, start, end, &elapsed), PLUG_OK);
  ASSERT_EQ(records.size(), 1u) << "an event is no work";
  EXPECT_GE(records[0].end - records[0].start, 50'000);
  EXPECT_LE(records[0].end - records[0].start, elapsed);
  plugin_->event_destroy(0, start);
  plugin_->event_destroy(0, end);
}

TEST_F(SimProfiler, a_record_names_device_stream_and_kind) {
  enqueue([] {});
  plugin_.enqueue(0, nullptr, [] {});
  plugin_.enqueue(1, nullptr, [] {});
  plugin_->device_sync(0);
  plugin_->device_sync(1);
  const std::vector<plug_record> here = drain(0).records;
  const std::vector<plug_record> there = drain(1).records;
  ASSERT_EQ(here.size(), 2u);
  ASSERT_EQ(there.size(), 1u);
  const bool own_first = here[0].stream == stream_;
  EXPECT_EQ(here[own_first ? 0 : 1].stream, stream_);
  EXPECT_EQ(here[own_first ? 1 : 0].stream, nullptr);
  EXPECT_EQ(here[0].device, 0);
  EXPECT_EQ(there[0].device, 1);
  for (const plug_record& record : here) {
    EXPECT_EQ(record.kind, PLUG_RECORD_HOST);
    EXPECT_EQ(record.size, sizeof(plug_record));
    EXPECT_EQ(record.name, nullptr) << "the plugin cannot know it";
  }
}

TEST_F(SimProfiler, a_label_is_that_of_the_thread_when_it_enqueues) {
  Gate gate(plugin_, 0, stream_);  // under no label
  set_label(7);
  enqueue([] {});
  std::thread([this] { enqueue([] {}); }).join();
  set_label(8);
  enqueue([] {});
  set_label(0);
  gate.open();
  const std::vector<plug_record> records = finish();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].label, 0u);
  EXPECT_EQ(records[1].label, 7u);
  EXPECT_EQ(records[2].label, 0u) << "another thread has labels of its own";
  EXPECT_EQ(records[3].label, 8u);
}

TEST_F(SimProfiler, a_copy_says_how_many_bytes_went_where_whichever_way_it_was_done) {
  const Memory memory(plugin_, 0, 1 << 20);
  const Memory other(plugin_, 1, 1 << 20);
  std::vector<char> host(1 << 20);
  void* pinned = nullptr;
  ASSERT_EQ(plugin_->host_alloc(4096, &pinned), PLUG_OK);
  const auto copy = [&](const plug_mem& to, const plug_mem& from, std::uint64_t bytes) {
    ASSERT_EQ(plugin_->copy(0, stream_, &to, &from, bytes), PLUG_OK);
  };
  copy(memory.at(), on_host(host.data()), 1 << 20);
  copy(on_host(host.data()), memory.at(), 100);
  copy(memory.at(), on_host(pinned, PLUG_MEM_PINNED), 4096);
  copy(other.at(), memory.at(), 12);
  {
    const Gate gate(plugin_, 0, stream_);  // small and pageable behind work: the plugin keeps it meanwhile
    copy(memory.at(), on_host(host.data()), 64);
  }
  const std::vector<plug_record> all = finish();
  std::vector<plug_record> copies;
  for (const plug_record& record : all) {
    if (record.kind == PLUG_RECORD_COPY) copies.push_back(record);
  }
  ASSERT_EQ(copies.size(), 5u);
  const auto says = [&](std::size_t i, std::int32_t source, std::int32_t target, std::uint64_t bytes) {
    return copies[i].source == source && copies[i].target == target && copies[i].bytes == bytes;
  };
  EXPECT_TRUE(says(0, PLUG_HOST, 0, 1 << 20));
  EXPECT_TRUE(says(1, 0, PLUG_HOST, 100));
  EXPECT_TRUE(says(2, PLUG_HOST, 0, 4096));
  EXPECT_TRUE(says(3, 0, 1, 12));
  EXPECT_TRUE(says(4, PLUG_HOST, 0, 64));
  plugin_->host_free(pinned);
}

TEST_F(SimProfiler, a_strided_copy_and_a_fill_count_the_bytes_they_write) {
  const Memory memory(plugin_, 0, 4096);
  const std::int64_t sizes[] = {3, 5};
  const std::int64_t rows[] = {5, 1};
  const std::int64_t columns[] = {1, 3};
  plug_tensor to{};
  to.mem = memory.at(1024);
  to.dtype = PLUG_F32;
  to.ndim = 2;
  to.sizes = sizes;
  to.strides = rows;
  plug_tensor from = to;
  from.mem = memory.at();
  from.strides = columns;
  ASSERT_EQ(plugin_->copy_strided(0, stream_, &to, &from), PLUG_OK);
  const plug_mem filled = memory.at();
  ASSERT_EQ(plugin_->mem_fill(0, stream_, &filled, 1, 77), PLUG_OK);
  const std::vector<plug_record> records = finish();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, PLUG_RECORD_COPY);
  EXPECT_EQ(records[0].bytes, 60u);
  EXPECT_EQ(records[1].kind, PLUG_RECORD_FILL);
  EXPECT_EQ(records[1].bytes, 77u);
  EXPECT_EQ(records[1].target, 0);
}

TEST_F(SimProfiler, a_wait_lasts_until_what_is_awaited) {
  const plug_stream other = plugin_.stream(0);
  const plug_event event = plugin_.event(0);
  Gate gate(plugin_, 0, other);
  plugin_->event_record(0, event, other);
  plugin_->event_wait(0, event, 0, stream_);
  gate.wait_until_entered();
  const std::int64_t opened = clock();
  gate.open();
  std::optional<plug_record> wait;
  for (const plug_record& record : finish()) {
    if (record.kind == PLUG_RECORD_WAIT) wait = record;
  }
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->stream, stream_);
  EXPECT_LE(opened, wait->end);
  plugin_->event_destroy(0, event);
  plugin_->stream_destroy(0, other);
}

TEST_F(SimProfiler, a_record_is_given_once_and_only_of_work_that_has_ended) {
  enqueue([] {});
  EXPECT_EQ(finish().size(), 1u);
  EXPECT_EQ(drain().records.size(), 0u);
  Gate gate(plugin_, 0, stream_);
  gate.wait_until_entered();
  EXPECT_EQ(drain().records.size(), 0u);
  gate.open();
  EXPECT_EQ(finish().size(), 1u);
}

TEST_F(SimProfiler, work_enqueued_between_start_and_stop_is_recorded_and_no_other) {
  Gate gate(plugin_, 0, stream_);
  ASSERT_EQ(profiler_.stop(), PLUG_OK);
  enqueue([] {});
  gate.open();
  EXPECT_EQ(finish().size(), 1u) << "the gate, which ended after stop";
}

TEST_F(SimProfiler, records_beyond_its_room_are_counted) {
  const Memory memory(plugin_, 0, 64);
  const plug_mem place = memory.at();
  constexpr std::uint64_t kRoom = 1 << 18;
  for (std::uint64_t i = 0; i < kRoom + 11; ++i) plugin_->mem_fill(0, stream_, &place, 0, 1);
  plugin_->stream_sync(0, stream_);
  const Drained drained = drain();
  EXPECT_EQ(drained.records.size(), kRoom);
  EXPECT_EQ(drained.lost, 11u);
  EXPECT_EQ(drain().lost, 0u);
}

TEST_F(SimProfiler, a_device_that_is_not_there_is_refused) {
  std::int64_t ns = 0;
  EXPECT_EQ(profiler_.clock(Plugin::kDevices, &ns), PLUG_INVALID);
  EXPECT_EQ(profiler_.label(-1, nullptr, 1), PLUG_INVALID);
}

TEST(SimProfilerSetting, the_table_can_be_left_out) {
  EXPECT_EQ(Plugin(Settings{{"sim.profiler", "off"}}).module().profiler, nullptr);
  EXPECT_THROW(Plugin(Settings{{"sim.profiler", "maybe"}}), std::runtime_error);
  EXPECT_NE(last_error.find("TORCHPLUG_SIM_PROFILER"), std::string::npos);
}

}  // namespace
}  // namespace sim_test
