// Things that go wrong on purpose: what fails, when, and what the core makes of it.

#include "plugin/layers/fault.h"

#include <ATen/ops/add.h>

#include <cstdlib>

#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "plugin/layers/fault_list.h"
#include "pytorch/active_module.h"
#include "runtime/event.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

void on_faulty_sim(const std::function<void()>& body) {
  ::setenv("TORCHPLUG_LAYERS", "fault", 1);
  on_sim(body);
  ::unsetenv("TORCHPLUG_LAYERS");
}

// ---- the grammar ----

TEST(Faults, are_read_from_a_list) {
  const auto list =
      parse_faults("alloc:3,alloc>1048576@1,kernel:10:internal,slow:*:500us,later:7,lost:20@0,copy:5+");
  ASSERT_EQ(list->size(), 7u);
  const auto& faults = *list;
  EXPECT_EQ(faults[0]->function, "mem_alloc");
  EXPECT_EQ(faults[0]->nth, 3u);
  EXPECT_EQ(faults[0]->status, PLUG_NO_MEMORY);
  EXPECT_FALSE(faults[0]->and_later);
  EXPECT_EQ(faults[1]->above_bytes, 1048576u);
  EXPECT_EQ(faults[1]->device, 1);
  EXPECT_EQ(faults[2]->function, "kernel");
  EXPECT_EQ(faults[2]->status, PLUG_INTERNAL);
  EXPECT_EQ(faults[3]->kind, Fault::Kind::kSlow);
  EXPECT_EQ(faults[3]->delay, std::chrono::microseconds(500));
  EXPECT_FALSE(faults[3]->only_default);
  EXPECT_EQ(faults[4]->kind, Fault::Kind::kLater);
  EXPECT_EQ(faults[5]->kind, Fault::Kind::kLost);
  EXPECT_EQ(faults[5]->device, 0);
  EXPECT_TRUE(faults[6]->and_later);
  EXPECT_TRUE(parse_faults("")->empty());
}

TEST(Faults, that_cannot_be_read_are_one_sentence_with_the_place) {
  const std::pair<const char*, std::vector<std::string_view>> wrong[] = {
      {"aloc:3", {"character 1", "unknown fault"}},
      {"alloc:x", {"character 7", "a number is missing"}},
      {"alloc:0", {"counted from 1"}},
      {"alloc:3,copy", {"character 13", "':' is missing"}},
      {"copy>3", {"only an allocation has a size"}},
      {"kernel:1:bad", {"character 10", "unknown status"}},
      {"slow:all:2ms", {"character 6", "unknown stream"}},
      {"slow:*:2h", {"character 9", "unit of time"}},
      {"host_alloc:1@0", {"does not take a device"}},
      {"lost:1 ", {"character 7", "unexpected characters"}},
  };
  for (const auto& [text, words] : wrong) {
    const std::string said = error_of([text = text] { parse_faults(text); });
    expect_says(said, words);
    expect_says(said, {text});
    expect_one_sentence(said);
  }
}

TEST(Faults, need_the_layer) {
  on_sim([] {
    expect_says(error_of([] { set_faults(active_module(), "alloc:1"); }), {"TORCHPLUG_LAYERS=fault"});
  });
}

// ---- calls that fail ----

TEST(Faults, the_nth_allocation_fails_and_the_core_tries_again) {
  on_faulty_sim([] {
    const at::Tensor x = numbers({1 << 19});  // 2 MiB: none of the small blocks
    on_device(x);
    DeviceAllocator::instance().emptyCache();
    set_faults(active_module(), "alloc:1");
    expect_same(on_device(x), x);
    EXPECT_EQ(DeviceAllocator::instance().getDeviceStats(0).num_alloc_retries, 1);
    DeviceAllocator::instance().emptyCache();
    set_faults(active_module(), "alloc:1+");
    expect_says(error_of<c10::OutOfMemoryError>([&] { on_device(x); }), {"out of memory", "alloc:1+"});
    set_faults(active_module(), "");
    expect_same(on_device(x), x);
  });
}

TEST(Faults, allocations_above_a_size_fail_and_others_do_not) {
  on_faulty_sim([] {
    set_faults(active_module(), "alloc>1048576");
    expect_same(on_device(numbers({1000})), numbers({1000}));
    error_of<c10::OutOfMemoryError>([] { on_device(numbers({1 << 20})); });
  });
}

TEST(Faults, stay_with_their_device) {
  on_faulty_sim([] {
    set_faults(active_module(), "copy:1+@1");
    expect_same(on_device(numbers({10}), 0), numbers({10}));
    expect_says(error_of([] { on_device(numbers({10}), 1); }), {"sim:1", "copy", "copy:1+@1"});
  });
}

TEST(Faults, count_the_calls_of_their_own_function_alone) {
  on_faulty_sim([] {
    on_device(numbers({10}));
    set_faults(active_module(), "copy:2:timeout,event_create:2,host_alloc:1");
    on_device(numbers({10}));
    expect_says(error_of([] { on_device(numbers({10})); }), {"timeout", "copy:2"});
    on_device(numbers({10}));
    const Event first(0, false);
    expect_says(error_of([] { const Event second(0, false); }), {"event_create:2"});
    error_of<c10::OutOfMemoryError>([] { host_allocator().allocate(100); });
    EXPECT_NE(host_allocator().allocate(100).get(), nullptr);
  });
}

TEST(Faults, a_kernel_that_fails_names_its_operator) {
  on_faulty_sim([] {
    const at::Tensor x = on_device(numbers({10}));
    x.add(x);
    set_faults(active_module(), "kernel:2:internal");
    expect_same(x.add(x), numbers({10}).mul(2));
    expect_says(error_of([&] { x.add(x); }), {"aten::add", "internal error", "kernel:2:internal"});
    set_faults(active_module(), "kernel:1:unsupported");
    expect_same(x.add(x), numbers({10}).mul(2));
    EXPECT_GE(ledger_count("aten::add.Tensor", Way::kBorrow, Reason::kDeclined), 1u);
  });
}

// ---- the rest ----

TEST(Faults, a_slow_stream_is_slow_and_its_caller_is_not) {
  on_faulty_sim([] {
    const Stream slow = Stream::default_of(0);
    const Stream other = new_stream();
    const at::Tensor x = on_device(numbers({10}));
    slow.synchronize();
    set_faults(active_module(), "slow:default:1s");
    enqueue(slow, [] {});
    EXPECT_FALSE(slow.is_idle());
    {
      const CurrentStream current(other);
      expect_same(x.add(x), numbers({10}).mul(2));
      other.synchronize();
    }
    EXPECT_FALSE(slow.is_idle());
    slow.synchronize();
  });
}

TEST(Faults, work_that_fails_later_is_thrown_at_the_next_synchronisation) {
  on_faulty_sim([] {
    const at::Tensor x = on_device(numbers({10}));
    x.add(x);
    const Stream stream = Stream::default_of(0);
    stream.synchronize();
    Gate gate(stream);
    set_faults(active_module(), "later:1");
    x.add(x);  // enqueued, as if all were well
    gate.open();
    const std::string text = error_of([&] { stream.synchronize(); });
    expect_says(text, {"sim:0", "aten::add.Tensor (call ", "internal error", "later:1"});
    EXPECT_NO_THROW(stream.synchronize());
    expect_same(x.add(x), numbers({10}).mul(2));
  });
}

TEST(Faults, a_lost_device_answers_nothing_else_and_the_others_go_on) {
  on_faulty_sim([] {
    const at::Tensor x = on_device(numbers({10}));
    const at::Tensor y = on_device(numbers({10}), 1);
    set_faults(active_module(), "lost:2@0");
    x.cpu();
    for (int i = 0; i < 2; ++i) {
      expect_says(error_of<c10::AcceleratorError>([&] { x.cpu(); }), {"sim:0", "device lost"});
      expect_says(error_of<c10::AcceleratorError>([&] { on_device(numbers({1 << 20})); }), {"device lost"});
      error_of<c10::AcceleratorError>([] { synchronize_device(0); });
      error_of<c10::AcceleratorError>([] { const Event event(0, false); });
    }
    expect_same(y.add(y), numbers({10}).mul(2));
    const plug_runtime& runtime = table_of(active_module());
    EXPECT_EQ(runtime.device_sync(0), PLUG_LOST) << "whoever asks, though the core does not";
    EXPECT_EQ(runtime.device_sync(1), PLUG_OK);
  });
}

}  // namespace
}  // namespace torchplug::tests
