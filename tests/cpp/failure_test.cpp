// Work that fails after it was enqueued: kept with its type and words, thrown once, and then forgotten.

#include "runtime/failure.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "plugin/sequence.h"
#include "pytorch/active_module.h"
#include "runtime/event.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

// The sequence number of the job that fails.
uint64_t fail_on(const Stream& stream, const std::string& text) {
  const uint64_t sequence = next_sequence() + 1;
  enqueue(stream, [text] { throw std::out_of_range(text); });
  return sequence;
}

// What is thrown for such a job.
std::string told(const std::string& text, uint64_t sequence) {
  return text + " (sim:0, a host function, call " + std::to_string(sequence) + ")";
}

TEST(Failure, of_a_job_is_thrown_with_its_type_at_synchronisation_once_and_the_stream_goes_on) {
  on_sim([] {
    const Stream stream = new_stream();
    const uint64_t job = fail_on(stream, "the job fell over");
    EXPECT_EQ(error_of<std::out_of_range>([&] { stream.synchronize(); }), told("the job fell over", job));
    EXPECT_NO_THROW(stream.synchronize());
    bool ran = false;
    enqueue(stream, [&ran] { ran = true; });
    stream.synchronize();
    EXPECT_TRUE(ran);
  });
}

TEST(Failure, is_thrown_by_whichever_synchronisation_of_the_device_comes_first) {
  on_sim([] {
    const Stream stream = new_stream();
    uint64_t job = fail_on(stream, "first");
    EXPECT_EQ(error_of<std::out_of_range>([] { synchronize_device(0); }), told("first", job));
    job = fail_on(stream, "second");
    Event event(0, /*with_timing=*/false);
    event.record(stream);
    EXPECT_EQ(error_of<std::out_of_range>([&] { event.synchronize(); }), told("second", job));
    const at::Tensor there = on_device(numbers({2}));
    job = fail_on(stream, "third");
    const CurrentStream current(stream);
    EXPECT_EQ(error_of<std::out_of_range>([&] { there.cpu(); }), told("third", job));
    EXPECT_NO_THROW(synchronize_device(0));
  });
}

TEST(Failure, of_several_the_first_is_thrown) {
  on_sim([] {
    const Stream stream = new_stream();
    const uint64_t first = fail_on(stream, "the cause");
    fail_on(stream, "a consequence");
    EXPECT_EQ(error_of<std::out_of_range>([&] { stream.synchronize(); }), told("the cause", first));
    EXPECT_NO_THROW(stream.synchronize());
  });
}

TEST(Failure, stays_with_its_device) {
  on_sim([] {
    const uint64_t job = fail_on(new_stream(0), "of device 0");
    EXPECT_NO_THROW(synchronize_device(1));
    EXPECT_EQ(error_of<std::out_of_range>([] { synchronize_device(0); }), told("of device 0", job));
  });
}

template <class Type>
void expect_type_stays() {
  enqueue(Stream::default_of(0), [] { throw Type("seven"); });
  expect_says(error_of<Type>([] { synchronize_device(0); }), {"seven (sim:0, a host function, call "});
}

TEST(Failure, keeps_its_type_and_says_where_it_was) {
  on_sim([] {
    expect_type_stays<std::runtime_error>();
    expect_type_stays<std::invalid_argument>();
    expect_type_stays<std::length_error>();
    enqueue(Stream::default_of(0), [] { throw 7; });
    EXPECT_THROW(synchronize_device(0), int) << "a type that has no text";
    enqueue(Stream::default_of(0), [] { throw std::bad_alloc(); });
    EXPECT_THROW(synchronize_device(0), std::bad_alloc) << "a type whose text cannot be chosen";
  });
}

TEST(Failure, of_an_operator_on_its_data_has_the_type_the_cpu_gives_it) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4}));
    const auto pick = [&](int64_t index) {
      const at::Tensor place = on_device(at::full({1}, index, at::dtype(at::kLong)));
      return x.index_select(0, place);
    };
    const auto expected = error_of<c10::IndexError>(
        [] { numbers({4}).index_select(0, at::full({1}, 99, at::dtype(at::kLong))); });
    pick(1);                                  // plans the next
    const uint64_t before = next_sequence();  // then the copy of the index, then the operator
    const std::string text = error_of<c10::IndexError>([&] {
      pick(99);
      synchronize_device(0);
    });
    expect_one_sentence(text);
    expect_says(text, {expected + " (sim:0, aten::index_select, call " + std::to_string(before + 2) + ")"});
    expect_same(pick(2), numbers({4}).narrow(0, 2, 1));
  });
}

TEST(Failure, that_a_plugin_reports_names_the_call_and_is_thrown_once) {
  on_sim([] {
    const plug_host& host = active_module().host;
    on_device(numbers({1}));
    host.report(&host, 0, nullptr, 42, PLUG_TIMEOUT, "the fan stopped");
    EXPECT_EQ(error_of([] { synchronize_device(0); }),
              "sim:0: operator call 42 failed (timeout): the fan stopped");
    EXPECT_NO_THROW(synchronize_device(0));
    const uint64_t call = next_sequence("aten::add.Tensor");
    host.report(&host, 0, nullptr, call, PLUG_INTERNAL, "a fuse blew");
    EXPECT_EQ(
        error_of([] { synchronize_device(0); }),
        "sim:0: aten::add.Tensor (call " + std::to_string(call) + ") failed (internal error): a fuse blew");
    host.report(&host, 0, nullptr, 0, PLUG_INTERNAL, nullptr);
    EXPECT_EQ(error_of([] { synchronize_device(0); }),
              "sim:0: work failed (internal error): no reason given");
  });
}

TEST(Sequence, numbers_are_never_the_same_and_keep_their_names_for_thousands_of_calls) {
  alone([] {
    const uint64_t first = next_sequence("aten::first");
    EXPECT_NE(first, 0u);
    for (int i = 0; i < 4000; ++i) next_sequence("aten::other");
    EXPECT_STREQ(name_of_sequence(first), "aten::first");
    EXPECT_EQ(name_of_sequence(next_sequence()), nullptr) << "it was told no name";
    EXPECT_EQ(name_of_sequence(0), nullptr);
    for (int i = 0; i < 20000; ++i) next_sequence("aten::other");
    EXPECT_EQ(name_of_sequence(first), nullptr) << "too long ago, and not another's name";

    std::vector<std::vector<uint64_t>> taken(4);
    {
      std::vector<std::jthread> threads;
      for (auto& mine : taken) {
        threads.emplace_back([&mine] {
          for (int i = 0; i < 1000; ++i) mine.push_back(next_sequence("aten::thread"));
        });
      }
    }
    std::set<uint64_t> all;
    for (const auto& mine : taken) {
      EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
      all.insert(mine.begin(), mine.end());
    }
    EXPECT_EQ(all.size(), 4000u);
  });
}

// Every use of device 0 of which the device must say that it is lost.
void expect_lost(const std::string& sentence, const at::Tensor& there, const Stream& stream) {
  const auto says_so = [&](const char* what, const std::function<void()>& use) {
    EXPECT_EQ(error_of<c10::AcceleratorError>(use), sentence) << what;
  };
  says_so("a wait for the device", [] { synchronize_device(0); });
  says_so("a wait for a stream", [&] { stream.synchronize(); });
  says_so("a query", [&] { stream.is_idle(); });
  says_so("an event", [&] { Event(0, /*with_timing=*/false); });
  says_so("a job", [&] { enqueue(stream, [] {}); });
  says_so("memory", [] { at::empty({4}, device(0)); });
  says_so("memory that was cached",
          [] { DeviceAllocator::instance().allocate_on(Stream::default_of(0), 4); });
  says_so("an operator", [&] { there.add(there); });
  says_so("an operator in place", [&] { there.sin_(); });
  says_so("a copy to the host", [&] { there.cpu(); });
  says_so("a copy to the device", [&] { there.copy_(numbers({4})); });
  says_so("a copy between devices", [&] { there.to(device(1)); });
  says_so("a new stream", [] { new_stream(0); });
  says_so("how much memory is free", [] { DeviceAllocator::instance().getMemoryInfo(0); });
}

TEST(Failure, a_lost_device_stays_lost_and_the_process_and_the_other_device_live) {
  on_sim([] {
    const plug_host& host = active_module().host;
    const Stream stream = new_stream(0);
    at::Tensor there = on_device(numbers({4}), 0);
    auto event = std::make_unique<Event>(0, /*with_timing=*/false);
    event->record(stream);
    at::Tensor used_elsewhere = on_device(numbers({1 << 16}), 0);
    used_elsewhere.record_stream(stream.unwrap());
    at::Tensor pinned = numbers({4}).pin_memory();
    there.copy_(pinned, /*non_blocking=*/true);
    synchronize_device(0);  // a device that is lost uses no memory any more
    host.report(&host, 0, nullptr, 7, PLUG_LOST, "the board was unplugged");
    host.report(&host, 0, nullptr, 8, PLUG_INTERNAL, "nothing answers");
    host.report(&host, 0, nullptr, 9, PLUG_LOST, "again");
    const std::string sentence = "sim:0: operator call 7 failed (device lost): the board was unplugged";
    for (int i = 0; i < 2; ++i) expect_lost(sentence, there, stream);

    // What it gave is given back in silence.
    event.reset();
    there.reset();
    used_elsewhere.reset();
    pinned.reset();
    EXPECT_EQ(DeviceAllocator::instance().getDeviceStats(0).allocated_bytes[0].current, 0);
    EXPECT_NO_THROW(DeviceAllocator::instance().emptyCache());
    EXPECT_NO_THROW(host_allocator().empty_cache());

    const Stream other = new_stream(1);
    const CurrentStream current(other);
    expect_same(on_device(numbers({4}), 1).mul(2), numbers({4}).mul(2));
    expect_same(numbers({4}).pin_memory().to(device(1), /*non_blocking=*/true), numbers({4}));
    EXPECT_NO_THROW(synchronize_device(1));
  });
}

TEST(Failure, that_came_before_the_loss_of_its_device_gives_way_to_it) {
  on_sim([] {
    const plug_host& host = active_module().host;
    const Stream stream = new_stream();
    Gate gate(stream);
    fail_on(stream, "a job");
    gate.open();
    ASSERT_TRUE(eventually([&] { return stream.is_idle(); }));
    host.report(&host, 0, nullptr, 0, PLUG_LOST, "the board was unplugged");
    EXPECT_EQ(error_of<c10::AcceleratorError>([] { synchronize_device(0); }),
              "sim:0: work failed (device lost): the board was unplugged");
  });
}

TEST(Failure, is_thrown_at_the_call_itself_when_launches_block) {
  alone([] {
    ::setenv("TORCHPLUG_LAUNCH_BLOCKING", "1", 1);
    activate(SIM_LIBRARY);
    const Stream stream = new_stream();
    expect_says(error_of<std::out_of_range>([&] { fail_on(stream, "now"); }), {"now (sim:0, "});
    EXPECT_NO_THROW(stream.synchronize());
  });
}

}  // namespace
}  // namespace torchplug::tests
