// Streams and events of the core: what runs after what, on a device with real streams and on one
// without.

#include "runtime/stream.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <set>

#include "pytorch/guard.h"
#include "runtime/event.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

TEST(Stream, work_runs_in_the_order_given) {
  on_sim([] {
    const Stream stream = new_stream();
    std::vector<int> order;
    for (int i = 0; i < 100; ++i) enqueue(stream, [&order, i] { order.push_back(i); });
    stream.synchronize();
    ASSERT_EQ(order.size(), 100u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  });
}

TEST(Stream, a_stream_is_busy_until_its_last_work_is_done) {
  on_sim([] {
    const Stream stream = new_stream();
    EXPECT_TRUE(stream.is_idle());
    Gate gate(stream);
    EXPECT_FALSE(stream.is_idle());
    gate.open();
    stream.synchronize();
    EXPECT_TRUE(stream.is_idle());
  });
}

TEST(Stream, streams_do_not_wait_for_each_other) {
  on_sim([] {
    const Stream held = new_stream();
    Gate gate(held);
    std::atomic<int> done{0};
    for (const Stream& stream : {new_stream(), Stream::default_of(0), new_stream(1)}) {
      enqueue(stream, [&done] { ++done; });
      stream.synchronize();
    }
    EXPECT_EQ(done, 3);
    EXPECT_FALSE(held.is_idle());
  });
}

TEST(Stream, a_job_that_waits_for_what_may_be_itself_is_refused_and_the_stream_goes_on) {
  on_sim([] {
    const Stream stream = new_stream();
    const Event event(0, /*with_timing=*/false);
    const std::vector<std::function<void()>> waits = {
        [=] { stream.synchronize(); }, [] { synchronize_device(0); },
        [] { Stream::default_of(0).synchronize(); }, [&] { event.synchronize(); },
        [x = on_device(numbers({1}))] { static_cast<void>(x.item()); }};
    for (const auto& wait : waits) {
      enqueue(stream, wait);
      expect_says(error_of([&] { stream.synchronize(); }), {"would have waited for itself"});
      int done = 0;
      enqueue(stream, [&done] { ++done; });
      stream.synchronize();
      EXPECT_EQ(done, 1);
    }
  });
}

TEST(Stream, operators_run_in_the_order_of_the_current_stream) {
  on_sim([] {
    const at::Tensor x = numbers({32});
    at::Tensor there = on_device(x);
    there.add_(1).sin_();  // plans what follows
    there.copy_(x);
    const Stream stream = new_stream();
    const CurrentStream current(stream);
    Gate gate(stream);
    at::Tensor sum = there.add(there).mul(3);
    at::Tensor sine = there.sin_();
    EXPECT_FALSE(stream.is_idle()) << "nothing waited for the gate";
    gate.open();
    expect_same(sum, x.add(x).mul(3));
    expect_same(sine, x.sin());
  });
}

TEST(Stream, the_current_stream_belongs_to_a_thread_and_a_device) {
  on_sim([] {
    const Stream stream = new_stream();
    const CurrentStream current(stream);
    EXPECT_EQ(Stream::current(0), stream);
    EXPECT_EQ(Stream::current(1), Stream::default_of(1));
    {
      const Stream of_second = new_stream(1);
      const CurrentStream current_of_second(of_second);
      EXPECT_EQ(Stream::current(1), of_second);
      EXPECT_EQ(Stream::current(0), stream);
    }
    std::jthread([] { EXPECT_EQ(Stream::current(0), Stream::default_of(0)); }).join();
    EXPECT_EQ(Stream(stream.unwrap()), stream);
  });
}

TEST(Stream, the_pool_gives_distinct_streams_that_are_not_the_default_one_and_then_repeats) {
  on_sim([] {
    std::set<c10::StreamId> ids;
    std::set<plug_stream> handles;
    const Stream first = new_stream();
    ids.insert(first.id());
    for (int i = 1; i < kPoolSize; ++i) {
      const Stream stream = new_stream();
      ids.insert(stream.id());
      handles.insert(stream.handle());
    }
    EXPECT_EQ(ids.size(), size_t{kPoolSize});
    EXPECT_EQ(ids.count(Stream::default_of(0).id()), 0u);
    EXPECT_EQ(handles.count(nullptr), 0u);
    EXPECT_EQ(new_stream(), first);
  });
}

TEST(Stream, a_private_stream_is_given_to_nobody_else_while_it_is_held) {
  on_sim([] {
    c10::StreamId held = 0;
    {
      const PrivateStream mine(0);
      held = mine.get().id();
      const PrivateStream other(0);
      EXPECT_NE(other.get().id(), held);
      for (int i = 0; i < 2 * kPoolSize; ++i) EXPECT_NE(Stream::from_pool(0, 0).id(), held);
    }
    const PrivateStream first(0);
    const PrivateStream second(0);
    EXPECT_TRUE(first.get().id() == held || second.get().id() == held) << "it was not used again";
  });
}

TEST(Stream, a_priority_has_streams_of_its_own) {
  on_sim([] {
    const DeviceInfo& info = device_info(0);
    ASSERT_LT(info.priority_high, info.priority_low) << "sim has priorities";
    const Stream high = Stream::from_pool(0, info.priority_high);
    const Stream low = Stream::from_pool(0, info.priority_low);
    EXPECT_NE(high, low);
    for (int i = 1; i < kPoolSize; ++i) EXPECT_NE(Stream::from_pool(0, info.priority_high), low);
    EXPECT_EQ(Stream::from_pool(0, info.priority_high - 100), high) << "beyond the highest is the highest";
    const c10::impl::VirtualGuardImpl guard(kDeviceType);
    EXPECT_EQ(Stream(guard.getStreamFromGlobalPool(device(0), true)).priority(), info.priority_high);
    EXPECT_EQ(Stream(guard.getStreamFromGlobalPool(device(0), false)).priority(), 0);
  });
}

TEST(Stream, synchronizing_a_device_waits_for_all_of_its_streams_and_for_no_other_device) {
  on_sim([] {
    const Stream elsewhere = new_stream(1);
    Gate gate(elsewhere);
    std::atomic<int> done{0};
    for (int i = 0; i < 4; ++i) enqueue(new_stream(), [&done] { ++done; });
    synchronize_device(0);
    EXPECT_EQ(done, 4);
    EXPECT_FALSE(elsewhere.is_idle());
  });
}

TEST(Event, is_ready_when_the_work_before_its_record_is_done) {
  on_sim([] {
    const Stream stream = new_stream();
    Event event(0, /*with_timing=*/false);
    EXPECT_TRUE(event.is_ready()) << "never recorded";
    Gate gate(stream);
    event.record(stream);
    EXPECT_FALSE(event.is_ready());
    gate.open();
    event.synchronize();
    EXPECT_TRUE(event.is_ready());
  });
}

TEST(Event, makes_a_stream_wait_for_another_even_of_another_device) {
  on_sim([] {
    for (int device : {0, 1}) {
      const Stream first = new_stream();
      const Stream second = new_stream(device);
      std::vector<int> order;
      Event event(0, /*with_timing=*/false);
      Gate gate(first);
      enqueue(first, [&order] { order.push_back(1); });
      event.record(first);
      event.block(second);
      enqueue(second, [&order] { order.push_back(2); });
      EXPECT_FALSE(second.is_idle());
      gate.open();
      second.synchronize();
      EXPECT_EQ(order, (std::vector<int>{1, 2}));
    }
  });
}

TEST(Event, a_wait_is_for_the_record_made_before_it) {
  on_sim([] {
    const Stream first = new_stream();
    const Stream second = new_stream();
    Event event(0, /*with_timing=*/false);
    event.record(first);
    event.block(second);
    Gate gate(first);
    event.record(first);
    second.synchronize();
    EXPECT_FALSE(event.is_ready()) << "its latest record stands behind the gate";
  });
}

TEST(Event, cannot_be_recorded_on_a_stream_of_another_device) {
  on_sim([] {
    Event event(0, /*with_timing=*/false);
    expect_says(error_of([&] { event.record(Stream::default_of(1)); }), {"device 0", "device 1"});
  });
}

TEST(Event, time_passes_between_two_records_and_only_with_timing) {
  on_sim([] {
    const Stream stream = new_stream();
    Event start(0, /*with_timing=*/true);
    Event end(0, /*with_timing=*/true);
    start.record(stream);
    enqueue(stream, [] {});
    end.record(stream);
    end.synchronize();
    EXPECT_GE(start.milliseconds_until(end), 0.0);
    const Event untimed(0, /*with_timing=*/false);
    expect_says(error_of([&] { start.milliseconds_until(untimed); }), {"enable_timing"});
  });
}

TEST(Event, of_pytorchs_has_a_time_only_if_it_was_asked_for) {
  on_sim([] {
    const c10::Stream stream = new_stream().unwrap();
    c10::Event timed(kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
    c10::Event untimed(kDeviceType, c10::EventFlag::PYTORCH_DEFAULT);
    timed.record(stream);
    untimed.record(stream);
    untimed.synchronize();
    const Event& start = *event_behind(timed);
    EXPECT_EQ(start.milliseconds_until(start), 0.0);
    expect_says(error_of([&] { start.milliseconds_until(*event_behind(untimed)); }), {"enable_timing"});
  });
}

TEST(SynchronousDevice, has_the_default_stream_alone_and_events_that_are_ready) {
  alone([] {
    activate(HELLO_LIBRARY);
    expect_says(error_of([] { Stream::from_pool(0, 0); }), {"hello", "synchronous"});
    EXPECT_TRUE(Stream::current(0).is_idle());
    Event event(0, /*with_timing=*/true);
    event.record(Stream::current(0));
    EXPECT_TRUE(event.is_ready());
    event.synchronize();
    EXPECT_GE(event.milliseconds_until(event), 0.0);
  });
}

}  // namespace
}  // namespace torchplug::tests
