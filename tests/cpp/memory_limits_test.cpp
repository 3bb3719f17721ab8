// What happens when memory is short: what is given up first, what the error says, what may be set; and memory
// that comes from somewhere else.

#include "caching_allocator.h"
#include "memory/memory_history.h"
#include "memory/memory_snapshot.h"
#include "shadow_device.h"

namespace torchplug::tests {
namespace {

// Of the plugin `limited`: a device of 64 MiB.
uint64_t counted(const char* what) {
  return exported<uint64_t()>(plugin_path("limited"), (std::string("limited_") + what).c_str())();
}

void on_limited_device(const std::function<void()>& body, const char* settings = "") {
  alone([&] {
    ::setenv("TORCHPLUG_ALLOC_CONF", settings, 1);
    activate(plugin_path("limited"));
    body();
  });
}

TEST(MemoryLimits, a_cached_segment_goes_back_before_an_allocation_fails) {
  on_limited_device([] {
    allocate(40 * kMiB);
    EXPECT_EQ(counted("frees"), 0u);
    const c10::DataPtr data = allocate(50 * kMiB);
    EXPECT_EQ(counted("frees"), 1u);
    EXPECT_GE(counted("syncs"), 1u) << "the host has synced before it frees";
    EXPECT_EQ(stats().num_alloc_retries, 1);
    EXPECT_EQ(stats().num_ooms, 0);
  });
}

TEST(MemoryLimits, cached_small_blocks_are_returned_too) {
  on_limited_device([] {
    std::vector<c10::DataPtr> small;
    for (int i = 0; i < 20000; ++i) small.push_back(allocate(1024));
    EXPECT_EQ(reserved(), int64_t{20 * kMiB});
    small.clear();
    const c10::DataPtr data = allocate(60 * kMiB);
    EXPECT_EQ(reserved(), int64_t{60 * kMiB});
  });
}

TEST(MemoryLimits, what_is_left_is_used_though_it_is_less_than_a_segment) {
  on_limited_device([] {
    const c10::DataPtr most = allocate(56 * kMiB);
    const c10::DataPtr data = allocate(3 * kMiB);
    EXPECT_EQ(reserved(), int64_t{59 * kMiB}) << "20 MiB were not to be had";
    const c10::DataPtr small = allocate(512);
    EXPECT_EQ(reserved(), int64_t{61 * kMiB});
  });
}

TEST(MemoryLimits, the_error_says_what_there_is_and_proposes_nothing_that_the_plugin_cannot_do) {
  on_limited_device([] {
    const c10::DataPtr held = allocate(30 * kMiB);
    const c10::DataPtr part = allocate(3 * kMiB);
    const std::string text = error_of<c10::OutOfMemoryError>([] { allocate(40 * kMiB); });
    expect_says(text, {"limited:0", "Tried to allocate 40.0 MiB", "14.0 MiB free of 64.0 MiB",
                       "reserved 50.0 MiB", "33.0 MiB allocated", "17.0 MiB cached",
                       "largest cached block being 17.0 MiB", "the limit is reached. Free tensors"});
    EXPECT_EQ(text.find("expandable_segments"), std::string::npos) << "it cannot map memory: " << text;
    expect_one_sentence(text);
    EXPECT_EQ(stats().num_ooms, 1);
  });
}

// Only if it is not in use already, and there is cached memory that it could bring into use.
TEST(MemoryLimits, the_error_proposes_expandable_segments_where_they_may_help) {
  const auto error = [](size_t small, const char* settings) {
    ::setenv("TORCHPLUG_ALLOC_CONF", settings, 1);
    const c10::DataPtr held = allocate(40 * kMiB);
    const c10::DataPtr part = allocate(small);
    return error_of<c10::OutOfMemoryError>([] { allocate(30 * kMiB); });
  };
  const char* proposal = "TORCHPLUG_ALLOC_CONF=expandable_segments:True";
  on_sim([&] { expect_says(error(3 * kMiB, ""), {proposal}); });
  on_sim([&] { EXPECT_EQ(error(0, "").find(proposal), std::string::npos) << "nothing is cached"; });
  on_sim([&] { EXPECT_EQ(error(3 * kMiB, "expandable_segments:True").find(proposal), std::string::npos); });
}

TEST(MemoryLimits, a_fraction_limits_this_process_alone) {
  on_limited_device([] {
    EXPECT_EQ(allocator().memory_fraction(0), 1.0);
    allocator().set_memory_fraction(0, 0.5);
    EXPECT_EQ(allocator().memory_fraction(0), 0.5);
    const c10::DataPtr data = allocate(20 * kMiB);
    const std::string text = error_of<c10::OutOfMemoryError>([] { allocate(14 * kMiB); });
    expect_says(text, {"may allocate 32.0 MiB", "set_per_process_memory_fraction"});
    EXPECT_EQ(counted("used"), 20 * kMiB) << "the plugin was not asked";
    const c10::DataPtr rest = allocate(12 * kMiB);
    allocator().set_memory_fraction(0, 1.0);
    const c10::DataPtr more = allocate(14 * kMiB);
    for (double wrong : {-0.1, 1.1}) {
      expect_one_sentence(error_of<c10::ValueError>([&] { allocator().set_memory_fraction(0, wrong); }));
    }
  });
}

TEST(MemoryLimits, garbage_is_collected_beyond_the_threshold_and_the_oldest_goes_first) {
  on_limited_device(
      [] {
        allocate(12 * kMiB);
        for (int i = 0; i < 10; ++i) allocate(14 * kMiB);
        EXPECT_EQ(reserved(), int64_t{26 * kMiB});
        const c10::DataPtr more = allocate(30 * kMiB);
        EXPECT_EQ(counted("frees"), 1u) << "the 12 MiB that lay idle longest";
        EXPECT_EQ(reserved(), int64_t{44 * kMiB});
        EXPECT_EQ(stats().num_alloc_retries, 0) << "nothing had to fail first";
      },
      "garbage_collection_threshold:0.4");
}

// The average age of the segments that are left says each time which are old.
TEST(MemoryLimits, garbage_is_collected_again_and_again_until_enough_is_free) {
  on_limited_device(
      [] {
        allocate(12 * kMiB);
        for (int i = 0; i < 10; ++i) allocate(14 * kMiB);
        for (int i = 0; i < 3; ++i) allocate(16 * kMiB);
        EXPECT_EQ(reserved(), int64_t{42 * kMiB});
        const c10::DataPtr more = allocate(20 * kMiB);
        EXPECT_EQ(counted("frees"), 2u) << "12 MiB are too few: the next oldest goes too";
        EXPECT_EQ(reserved(), int64_t{36 * kMiB}) << "the youngest is kept";
      },
      "garbage_collection_threshold:0.45");
}

TEST(MemoryLimits, segments_of_which_one_cannot_be_freed_are_all_returned_to_the_plugin) {
  alone([] {
    ::setenv("TORCHPLUG_LAYERS", "fault", 1);
    ::setenv("TORCHPLUG_FAULT", "mem_free:1", 1);
    activate(plugin_path("limited"));
    allocate(512);
    allocate(12 * kMiB);
    allocate(20 * kMiB);
    expect_says(error_of([] { allocator().emptyCache(); }), {"mem_free"});
    EXPECT_EQ(counted("frees"), 2u);
    EXPECT_EQ(reserved(), 0);
    EXPECT_NE(allocate(20 * kMiB).get(), nullptr);
  });
}

TEST(MemoryLimits, segments_that_could_not_be_waited_for_stay_cached) {
  on_shadow([] {
    const void* small = allocate(512).get();
    const void* large = allocate(12 * kMiB).get();
    break_next("device_sync", PLUG_TIMEOUT, "the cable was loose");
    expect_says(error_of([] { allocator().emptyCache(); }), {"the cable was loose"});
    EXPECT_EQ(reserved(), int64_t{14 * kMiB});
    EXPECT_EQ(allocate(12 * kMiB).get(), large);
    EXPECT_EQ(allocate(512).get(), small);
    EXPECT_EQ(stats().inactive_split[0].current, 2) << "the small block and the rest of its segment";
    allocator().emptyCache();
    EXPECT_EQ(reserved(), 0);
  });
}

TEST(MemoryLimits, nothing_is_collected_below_the_threshold) {
  on_limited_device(
      [] {
        allocate(20 * kMiB);
        const c10::DataPtr more = allocate(24 * kMiB);
        EXPECT_EQ(counted("frees"), 0u);
      },
      "garbage_collection_threshold:0.9");
}

TEST(MemoryLimits, observers_are_told_before_the_error_is_thrown_and_may_ask_for_statistics) {
  on_limited_device([] {
    std::vector<size_t> told;
    int others_told = 0;
    allocator().add_out_of_memory_observer([&](auto...) { ++others_told; });
    allocator().add_out_of_memory_observer([&](DeviceIndex device, size_t asked, size_t most, size_t free) {
      told = {static_cast<size_t>(device), asked, most, free, static_cast<size_t>(reserved())};
      allocate(kMiB);
    });
    const c10::DataPtr held = allocate(40 * kMiB);
    error_of<c10::OutOfMemoryError>([] { allocate(30 * kMiB); });
    EXPECT_EQ(told, (std::vector<size_t>{0, 30 * kMiB, 64 * kMiB, 24 * kMiB, 40 * kMiB}));
    EXPECT_EQ(others_told, 1);
  });
}

TEST(MemoryLimits, a_pool_that_helps_gives_what_is_free_in_it_before_memory_runs_out) {
  on_limited_device([] {
    for (bool helps : {false, true}) {
      const auto id = DeviceAllocator::new_pool_id(true);
      allocator().make_pool(0, id, {nullptr, true, helps});
      allocator().begin_allocate_to_pool(0, id, [](const Stream&) { return true; });
      allocate(40 * kMiB);
      allocator().end_allocate_to_pool(0, id);
      if (helps) {
        EXPECT_NE(allocate(36 * kMiB).get(), nullptr);
      } else {
        error_of<c10::OutOfMemoryError>([] { allocate(36 * kMiB); });
      }
      allocator().release_pool(0, id);
      EXPECT_EQ(allocator().users_of_pool(0, id), 1);
      allocator().release_pool(0, id);
      EXPECT_EQ(counted("used"), 0u);
    }
  });
}

TEST(MemoryLimits, of_several_pools_that_help_each_is_looked_at) {
  on_limited_device([] {
    for (size_t size : {10 * kMiB, 40 * kMiB, 12 * kMiB}) {
      const auto id = DeviceAllocator::new_pool_id(true);
      allocator().make_pool(0, id, {nullptr, true, /*use_on_oom=*/true});
      allocator().begin_allocate_to_pool(0, id, [](const Stream&) { return true; });
      allocate(size);
      allocator().end_allocate_to_pool(0, id);
    }
    EXPECT_NE(allocate(36 * kMiB).get(), nullptr) << "in the second";
    EXPECT_EQ(counted("used"), 62 * kMiB);
  });
}

TEST(MemoryLimits, a_pool_that_does_not_split_gives_each_its_own_segment) {
  on_limited_device([] {
    const auto id = DeviceAllocator::new_pool_id(true);
    allocator().make_pool(0, id, {nullptr, /*may_split=*/false, false});
    allocator().begin_allocate_to_pool(0, id, [](const Stream&) { return true; });
    const c10::DataPtr a = allocate(512);
    const c10::DataPtr b = allocate(512);
    EXPECT_EQ(stats().segment[0].current, 2);
    allocator().end_allocate_to_pool(0, id);
  });
}

std::shared_ptr<MemorySource> limited_source() {
  return pluggable_memory(exported<void*(ssize_t, int, void*)>(plugin_path("limited"), "limited_take"),
                          exported<void(void*, ssize_t, int, void*)>(plugin_path("limited"), "limited_give"));
}

TEST(MemorySource, a_pluggable_allocator_is_asked_for_everything_and_keeps_nothing) {
  on_limited_device([] {
    device_info(0);
    allocator().replace_source(limited_source());
    {
      const c10::DataPtr data = allocate(1000);
      EXPECT_EQ(counted("taken"), 1024u);
      EXPECT_EQ(stats().allocated_bytes[0].current, 1024);
      EXPECT_EQ(reserved(), 1024);
    }
    EXPECT_EQ(counted("given"), 1024u);
    EXPECT_EQ(counted("used"), 0u);
    EXPECT_EQ(reserved(), 0);
    EXPECT_EQ(stats().allocation[0].allocated, 1);
    error_of<c10::OutOfMemoryError>([] { allocate(65 * kMiB); });
    expect_one_sentence(error_of([] { allocator().replace_source(plugin_memory()); }));
  });
}

TEST(MemorySource, a_pool_may_have_a_source_of_its_own) {
  on_limited_device([] {
    allocate(512);
    const auto id = DeviceAllocator::new_pool_id(true);
    allocator().make_pool(0, id, {limited_source(), true, false});
    allocator().begin_allocate_to_pool(0, id, [](const Stream&) { return true; });
    allocate(kMiB);
    EXPECT_EQ(counted("taken"), 2 * kMiB) << "a segment, which the pool keeps";
    EXPECT_EQ(counted("given"), 0u);
    allocator().end_allocate_to_pool(0, id);
    allocator().release_pool(0, id);
    allocator().release_pool(0, id);
    EXPECT_EQ(counted("given"), 2 * kMiB);
  });
}

TEST(MemorySource, without_caching_everything_is_asked_of_the_plugin_and_given_back) {
  on_limited_device([] {
    c10::DataPtr before = allocate(512);
    allocator().set_caching(false);
    EXPECT_FALSE(allocator().is_caching());
    for (int i = 0; i < 3; ++i) allocate(5000);
    EXPECT_EQ(counted("allocations"), 4u);
    EXPECT_EQ(counted("frees"), 3u);
    allocator().set_caching(true);
    before.clear();
    allocate(512);
    EXPECT_EQ(counted("allocations"), 4u);
    EXPECT_EQ(stats().allocation[0].current, 0);
    EXPECT_EQ(stats().allocation[0].allocated, 5);
  });
}

TEST(MemorySource, caching_is_switched_off_and_on_for_every_device) {
  on_sim([] {
    const Stream streams[] = {new_stream(0), new_stream(1)};
    for (const Stream& stream : streams) allocator().allocate_on(stream, 512);
    allocator().set_caching(false);
    for (const Stream& stream : streams) {
      const int64_t before = allocator().getDeviceStats(stream.device()).num_device_alloc;
      allocator().allocate_on(stream, 512);
      EXPECT_EQ(allocator().getDeviceStats(stream.device()).num_device_alloc, before + 1);
    }
    allocator().set_caching(true);
    for (const Stream& stream : streams) {
      const int64_t before = allocator().getDeviceStats(stream.device()).num_device_alloc;
      allocator().allocate_on(stream, 512);
      EXPECT_EQ(allocator().getDeviceStats(stream.device()).num_device_alloc, before);
    }
  });
}

TEST(MemorySource, without_caching_memory_waits_for_the_streams_that_use_it) {
  on_sim([] {
    allocator().set_caching(false);
    const Stream stream = new_stream();
    const Stream user = new_stream();
    std::atomic<int> done{0};
    c10::DataPtr data = allocator().allocate_on(stream, 4096);
    allocator().recordStream(data, user.unwrap());
    for (const Stream& each : {stream, user}) enqueue(each, [&done] { ++done; });
    data.clear();
    EXPECT_EQ(done, 2);
    EXPECT_EQ(allocator().getMemoryInfo(0).first, 64 * kMiB);
  });
}

// ---- history ----

std::vector<std::string> actions_of(const std::vector<TraceEntry>& trace) {
  std::vector<std::string> actions;
  for (const TraceEntry& entry : trace) actions.emplace_back(entry.action);
  return actions;
}

TEST(MemoryHistory, every_step_is_recorded_in_order_the_quick_ones_too) {
  on_limited_device([] {
    allocate(512);  // is in the cache of its stream
    HistoryOptions options;
    options.enabled = true;
    options.most_entries = 100;
    allocator().record_history(options);
    MemoryHistory::set_user_metadata("mine");
    allocate(512);
    allocate(20 * kMiB);
    allocator().emptyCache();
    error_of<c10::OutOfMemoryError>([] { allocate(65 * kMiB); });
    const MemorySnapshot snapshot = allocator().snapshot();
    EXPECT_EQ(actions_of(snapshot.traces.at(0)),
              (std::vector<std::string>{"alloc", "free_requested", "free_completed", "segment_alloc", "alloc",
                                        "free_requested", "free_completed", "segment_free", "segment_free",
                                        "oom", "snapshot"}));
    const TraceEntry& first = snapshot.traces[0][0];
    EXPECT_EQ(first.bytes, 512u);
    EXPECT_EQ(first.user_metadata, "mine");
    EXPECT_EQ(first.address, snapshot.traces[0][1].address);

    allocator().record_history({});
    allocate(512);
    EXPECT_TRUE(allocator().snapshot().traces.at(0).empty());
  });
}

TEST(MemoryHistory, only_the_latest_entries_are_kept_and_some_are_skipped) {
  on_limited_device([] {
    HistoryOptions options;
    options.enabled = true;
    options.most_entries = 3;
    options.skipped_actions = {"free_requested", "free_completed", "snapshot"};
    allocate(512);
    allocator().record_history(options);
    for (size_t i = 1; i <= 5; ++i) allocate(512 * i);
    const auto trace = allocator().snapshot().traces.at(0);
    ASSERT_EQ(trace.size(), 3u);
    EXPECT_EQ(trace[0].bytes, 1536u);
    EXPECT_EQ(trace[2].bytes, 2560u);
  });
}

TEST(MemoryHistory, a_snapshot_shows_every_block_of_every_segment) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream user = new_stream();
    Gate gate(user);
    const c10::DataPtr held = allocator().allocate_on(stream, 1000);
    c10::DataPtr waiting = allocator().allocate_on(stream, 2000);
    allocator().recordStream(waiting, user.unwrap());
    waiting.clear();
    allocator().allocate_on(stream, 3000);
    const auto segments = allocator().snapshot().segments;
    ASSERT_EQ(segments.size(), 1u);
    const SegmentInfo& segment = segments[0];
    EXPECT_EQ(segment.total_bytes, 2 * kMiB);
    EXPECT_EQ(segment.allocated_bytes, 1024u);
    EXPECT_EQ(segment.active_bytes, 1024u + 2048u);
    EXPECT_EQ(segment.requested_bytes, 3000u);
    EXPECT_EQ(segment.stream, stream.id());
    ASSERT_EQ(segment.blocks.size(), 3u) << "what was cached has been joined with the rest";
    const char* states[] = {"active_allocated", "active_pending_free", "inactive"};
    uint64_t address = segment.address;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_STREQ(segment.blocks[i].state, states[i]);
      EXPECT_EQ(segment.blocks[i].address, address);
      address += segment.blocks[i].bytes;
    }
    EXPECT_EQ(address, segment.address + segment.total_bytes);
  });
}

}  // namespace
}  // namespace torchplug::tests
