// The caching allocator: what is given out again, when, and what the statistics say. Each test begins
// with a fresh pool.

#include <cstring>
#include <latch>

#include "caching_allocator.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

c10::CachingAllocator::Stat total(const c10::CachingAllocator::StatArray& stats) { return stats[0]; }

TEST(DeviceAllocator, a_freed_block_is_given_out_again_on_its_stream_without_waiting) {
  on_sim([] {
    const Stream stream = new_stream();
    Gate gate(stream);
    const void* first = touch(stream, kBytes);
    EXPECT_EQ(touch(stream, kBytes), first);
    EXPECT_FALSE(stream.is_idle());
    EXPECT_EQ(stats().num_device_alloc, 1);
  });
}

TEST(DeviceAllocator, a_freed_block_is_not_given_to_another_stream_whose_work_may_overtake) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream other = new_stream();
    Gate gate(stream);
    const void* first = touch(stream, kBytes);
    EXPECT_NE(touch(other, kBytes), first);
  });
}

TEST(DeviceAllocator, what_is_left_of_a_segment_is_for_its_stream_alone) {
  on_sim([] {
    const Stream earlier = new_stream();
    const Stream later = new_stream();
    for (const auto& [owner, other] : {std::pair(earlier, later), std::pair(later, earlier)}) {
      allocator().emptyCache();
      const c10::DataPtr first = allocator().allocate_on(owner, kBytes);
      const int64_t reserved = allocator().getDeviceStats(0).reserved_bytes[0].current;
      const c10::DataPtr second = allocator().allocate_on(other, kBytes);
      EXPECT_EQ(allocator().getDeviceStats(0).reserved_bytes[0].current, 2 * reserved);
    }
  });
}

TEST(DeviceAllocator, a_block_used_on_another_stream_is_kept_back_until_that_stream_has_passed) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream user = new_stream();
    Gate gate(user);
    c10::DataPtr data = allocator().allocate_on(stream, kBytes);
    const void* first = data.get();
    allocator().recordStream(data, user.unwrap());
    data.clear();
    const c10::DataPtr second = allocator().allocate_on(stream, kBytes);
    EXPECT_NE(second.get(), first);
    gate.open();
    user.synchronize();
    EXPECT_EQ(touch(stream, kBytes), first);
  });
}

TEST(DeviceAllocator, a_block_used_on_two_other_streams_is_kept_back_until_both_have_passed) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream users[] = {new_stream(), new_stream()};
    for (const size_t held : {size_t{0}, size_t{1}}) {
      Gate gate(users[held]);
      c10::DataPtr data = allocator().allocate_on(stream, kBytes);
      const void* first = data.get();
      for (const Stream& user : users) allocator().recordStream(data, user.unwrap());
      data.clear();
      users[1 - held].synchronize();
      const c10::DataPtr second = allocator().allocate_on(stream, kBytes);
      EXPECT_NE(second.get(), first) << "stream " << held << " has not passed";
      gate.open();
      users[held].synchronize();
      const c10::DataPtr third = allocator().allocate_on(stream, kBytes);
      EXPECT_EQ(third.get(), first);
    }
  });
}

TEST(DeviceAllocator, a_use_can_be_recorded_by_whoever_knows_only_the_address) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream user = new_stream();
    Gate gate(user);
    const c10::DataPtr before = allocator().allocate_on(stream, kBytes);
    c10::DataPtr data = allocator().allocate_on(stream, kBytes);
    const void* first = data.get();
    const c10::DataPtr alias(static_cast<char*>(data.get()) + 100, device());
    allocator().recordStream(alias, user.unwrap());
    data.clear();
    EXPECT_NE(touch(stream, kBytes), first);
  });
}

TEST(DeviceAllocator, work_enqueued_after_the_free_does_not_keep_a_block_back) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream user = new_stream();
    c10::DataPtr data = allocator().allocate_on(stream, kBytes);
    const void* first = data.get();
    allocator().recordStream(data, user.unwrap());
    data.clear();
    user.synchronize();
    Gate gate(user);
    EXPECT_EQ(touch(stream, kBytes), first);
  });
}

TEST(DeviceAllocator, recording_the_blocks_own_stream_keeps_nothing_back) {
  on_sim([] {
    const Stream stream = new_stream();
    Gate gate(stream);
    c10::DataPtr data = allocator().allocate_on(stream, kBytes);
    const void* first = data.get();
    allocator().recordStream(data, stream.unwrap());
    data.clear();
    EXPECT_EQ(touch(stream, kBytes), first);
  });
}

TEST(DeviceAllocator, a_block_used_on_a_stream_of_another_device_is_kept_back_until_that_has_passed) {
  on_sim([] {
    const Stream stream = new_stream(0);
    const Stream user = new_stream(1);
    Gate gate(user);
    c10::DataPtr data = allocator().allocate_on(stream, kBytes);
    const void* first = data.get();
    allocator().recordStream(data, user.unwrap());
    data.clear();
    const c10::DataPtr second = allocator().allocate_on(stream, kBytes);
    EXPECT_NE(second.get(), first);
    gate.open();
    user.synchronize();
    EXPECT_EQ(touch(stream, kBytes), first);
  });
}

// On a stream of the block's own device, or of another.
TEST(DeviceAllocator, while_a_stream_is_captured_no_event_is_recorded_on_it_for_a_freed_block) {
  for (int device : {0, 1}) {
    on_sim([device] {
      const Stream stream = new_stream(0);
      const Stream user = new_stream(device);
      c10::DataPtr data = allocator().allocate_on(stream, kBytes);
      c10::DataPtr large = allocator().allocate_on(stream, 3 * kMiB);
      const void* first = data.get();
      allocator().recordStream(data, user.unwrap());
      allocator().recordStream(large, user.unwrap());
      Capturing capture(user);
      data.clear();
      large.clear();
      const c10::DataPtr second = allocator().allocate_on(stream, kBytes);
      EXPECT_NE(second.get(), first) << "it waits for the end of the capture";
      capture.end();
      Gate gate(user);
      const c10::DataPtr third = allocator().allocate_on(stream, kBytes);
      EXPECT_NE(third.get(), first) << "the event is recorded after the capture, behind the gate";
      EXPECT_EQ(total(stats().active).current, 4);
      gate.open();
      user.synchronize();
      EXPECT_EQ(touch(stream, kBytes), first);
      EXPECT_EQ(total(stats().active).current, 2) << "all that was freed meanwhile has come back";
    });
  }
}

TEST(DeviceAllocator, the_cache_of_a_device_is_not_emptied_while_a_graph_is_captured_there) {
  on_sim([] {
    touch(new_stream(0), kMiB);
    touch(new_stream(1), kMiB);
    const Capturing capture(new_stream(0));
    allocator().emptyCache();
    EXPECT_EQ(total(stats(0).reserved_bytes).current, int64_t{2 * kMiB});
    EXPECT_EQ(total(stats(1).reserved_bytes).current, 0) << "of another device it is";
  });
}

TEST(DeviceAllocator, statistics_are_exact) {
  on_sim([] {
    const Stream stream = new_stream();
    c10::DataPtr small = allocator().allocate_on(stream, 1000);
    c10::DataPtr large = allocator().allocate_on(stream, 3 * kMiB);
    const auto held = stats();
    EXPECT_EQ(total(held.allocation).current, 2);
    EXPECT_EQ(total(held.requested_bytes).current, int64_t{1000 + 3 * kMiB});
    EXPECT_EQ(total(held.allocated_bytes).current, int64_t{1024 + 3 * kMiB});
    EXPECT_EQ(total(held.active_bytes).current, int64_t{1024 + 3 * kMiB});
    EXPECT_EQ(total(held.reserved_bytes).current, int64_t{22 * kMiB}) << "2 MiB and 20 MiB to cut from";
    EXPECT_EQ(total(held.segment).current, 2);
    EXPECT_EQ(total(held.inactive_split).current, 2) << "the rest of each";
    EXPECT_EQ(total(held.inactive_split_bytes).current, int64_t{19 * kMiB - 1024});
    EXPECT_EQ(held.allocated_bytes[1].current, 1024) << "of the small pool";
    EXPECT_EQ(held.allocated_bytes[2].current, int64_t{3 * kMiB}) << "of the large pool";
    EXPECT_EQ(held.num_device_alloc, 2);

    large.clear();
    const auto freed = stats();
    EXPECT_EQ(total(freed.allocation).current, 1);
    EXPECT_EQ(total(freed.allocated_bytes).current, 1024);
    EXPECT_EQ(total(freed.allocated_bytes).peak, int64_t{1024 + 3 * kMiB});
    EXPECT_EQ(total(freed.allocated_bytes).freed, int64_t{3 * kMiB});
    EXPECT_EQ(total(freed.requested_bytes).current, 1000);
    EXPECT_EQ(total(freed.inactive_split).current, 1) << "the large segment is whole again";
    EXPECT_EQ(total(freed.reserved_bytes).current, int64_t{22 * kMiB}) << "cached";
    EXPECT_EQ(freed.num_device_free, 0);
    EXPECT_EQ(total(stats(1).reserved_bytes).current, 0) << "of the other device";
  });
}

TEST(DeviceAllocator, a_block_that_waits_for_another_stream_is_active_but_not_allocated) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream user = new_stream();
    Gate gate(user);
    for (size_t bytes : {size_t{1000}, 3 * kMiB}) {
      c10::DataPtr data = allocator().allocate_on(stream, bytes);
      allocator().recordStream(data, user.unwrap());
    }
    const auto waiting = stats();
    EXPECT_EQ(total(waiting.allocation).current, 0);
    EXPECT_EQ(total(waiting.allocated_bytes).current, 0);
    EXPECT_EQ(total(waiting.allocated_bytes).freed, int64_t{1024 + 3 * kMiB});
    EXPECT_EQ(total(waiting.active).current, 2);
    EXPECT_EQ(total(waiting.active_bytes).current, int64_t{1024 + 3 * kMiB});
    EXPECT_EQ(total(waiting.active_bytes).freed, 0);
    EXPECT_EQ(total(waiting.requested_bytes).current, int64_t{1000 + 3 * kMiB});
    gate.open();
    user.synchronize();
    allocator().emptyCache();
    const auto passed = stats();
    EXPECT_EQ(total(passed.active).current, 0);
    EXPECT_EQ(total(passed.active_bytes).current, 0);
    EXPECT_EQ(total(passed.active_bytes).freed, int64_t{1024 + 3 * kMiB});
    EXPECT_EQ(total(passed.requested_bytes).current, 0);
    EXPECT_EQ(total(passed.reserved_bytes).current, 0);
  });
}

TEST(DeviceAllocator, peaks_and_accumulated_statistics_are_reset_to_what_is_held) {
  on_sim([] {
    const Stream stream = new_stream();
    touch(stream, 2 * kMiB);
    const c10::DataPtr held = allocator().allocate_on(stream, 1024);
    allocator().resetPeakStats(0);
    EXPECT_EQ(total(stats().allocated_bytes).peak, 1024);
    allocator().resetAccumulatedStats(0);
    EXPECT_EQ(total(stats().allocated_bytes).allocated, 0);
    EXPECT_EQ(total(stats().allocated_bytes).current, 1024);
    EXPECT_EQ(stats().num_device_alloc, 0);
  });
}

TEST(DeviceAllocator, emptying_the_cache_gives_the_plugin_its_memory_back) {
  on_sim([] {
    const Stream stream = new_stream();
    const auto [free_before, all] = allocator().getMemoryInfo(0);
    const c10::DataPtr held = allocator().allocate_on(stream, kMiB);
    touch(stream, 8 * kMiB);
    EXPECT_EQ(allocator().getMemoryInfo(0).first, free_before - 22 * kMiB);
    allocator().emptyCache();
    EXPECT_EQ(allocator().getMemoryInfo(0).first, free_before - 2 * kMiB);
    EXPECT_EQ(total(stats().reserved_bytes).current, int64_t{2 * kMiB});
    EXPECT_EQ(stats().num_device_free, 1);
    EXPECT_EQ(all, 64 * kMiB);
  });
}

TEST(DeviceAllocator, emptying_the_cache_waits_for_work_that_still_uses_it) {
  on_sim([] {
    const Stream stream = new_stream();
    std::atomic<bool> done{false};
    touch(stream, kMiB);
    enqueue(stream, [&done] { done = true; });
    allocator().emptyCache();
    EXPECT_TRUE(done);
  });
}

TEST(DeviceAllocator, a_full_device_gives_up_its_cache_before_it_fails) {
  on_sim([] {
    touch(new_stream(), 40 * kMiB);
    const c10::DataPtr data = allocator().allocate_on(new_stream(), 40 * kMiB);
    EXPECT_NE(data.get(), nullptr);
    EXPECT_EQ(stats().num_alloc_retries, 1);
    EXPECT_EQ(stats().num_ooms, 0);
  });
}

TEST(DeviceAllocator, an_out_of_memory_error_says_how_much_of_what_there_is) {
  on_sim([] {
    const c10::DataPtr held = allocator().allocate_on(new_stream(), 40 * kMiB);
    const std::string text = error_of<c10::OutOfMemoryError>([] { touch(new_stream(), 30 * kMiB); });
    expect_says(text,
                {"sim:0", "Tried to allocate 30.0 MiB", "24.0 MiB free of 64.0 MiB", "reserved 40.0 MiB",
                 "40.0 MiB allocated", "0 bytes cached", "largest cached block being 0 bytes"});
    expect_one_sentence(text);
    EXPECT_EQ(stats().num_ooms, 1);
    EXPECT_NE(touch(new_stream(), 20 * kMiB), nullptr);
  });
}

TEST(DeviceAllocator, nothing_takes_no_memory) {
  on_sim([] {
    const c10::DataPtr data = allocator().allocate_on(new_stream(), 0);
    EXPECT_EQ(data.get(), nullptr);
    EXPECT_EQ(data.device(), device());
    EXPECT_EQ(total(stats().allocation).current, 0);
  });
}

TEST(DeviceAllocator, an_address_that_is_not_the_devices_is_refused) {
  on_sim([] {
    const int mine = 0;
    expect_says(error_of([&] { allocator().locate(&mine); }), {"does not belong to device 'sim'"});
    const at::Tensor there = on_device(numbers({8}));
    EXPECT_EQ(allocator().locate(there.narrow(0, 2, 1).const_data_ptr()).offset, 2 * sizeof(float));
  });
}

// Every thread writes its own number into its blocks, on its own stream, and finds it again.
TEST(DeviceAllocator, many_threads_never_hold_the_same_memory) {
  on_sim([] {
    constexpr int kThreads = 4;
    std::latch start(kThreads);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&start, t] {
        const CurrentStream current(new_stream());
        start.arrive_and_wait();
        for (int i = 0; i < 100; ++i) {
          const at::Tensor mine = at::full({100 * (1 + i % 7)}, t, at::device(device()).dtype(at::kInt));
          EXPECT_TRUE(mine.cpu().eq(t).all().item<bool>());
        }
      });
    }
    threads.clear();
    EXPECT_EQ(total(stats().allocation).current, 0);
    EXPECT_EQ(total(stats().allocated_bytes).current, 0);
    EXPECT_EQ(total(stats().requested_bytes).current, 0);
    allocator().emptyCache();
    EXPECT_EQ(total(stats().reserved_bytes).current, 0);
    EXPECT_EQ(allocator().getMemoryInfo(0).first, 64 * kMiB);
  });
}

TEST(DeviceAllocator, what_one_thread_allocated_another_may_free) {
  on_sim([] {
    const Stream stream = new_stream();
    for (int i = 0; i < 50; ++i) {
      c10::DataPtr data = allocator().allocate_on(stream, kBytes);
      std::jthread([moved = std::move(data)]() mutable { moved.clear(); }).join();
    }
    EXPECT_EQ(total(stats().allocation).current, 0);
    EXPECT_EQ(stats().num_device_alloc, 1);
  });
}

}  // namespace
}  // namespace torchplug::tests
