// PLUG_LOST from any function of the plugin's is for ever: the same sentence at every use, silence where
// something is given back, and nothing kept of what the device still had to do.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory/device_allocator.h"
#include "pytorch/active_module.h"
#include "runtime/event.h"
#include "runtime/failure.h"
#include "shadow_device.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

struct Loss {
  const char* function;
  std::function<void()> use;
};

// What makes the host call each function.
std::vector<Loss> losses(const at::Tensor& x, const Stream& stream, Event& event) {
  return {
      {"device_sync", [] { synchronize_device(0); }},
      {"mem_alloc", [] { at::empty({1 << 20}, device(0)); }},
      {"copy", [=] { x.copy_(numbers({64})); }},
      {"copy_strided", [=] { x.view({8, 8}).t().copy_(x.view({8, 8}).clone()); }},
      {"stream_create", [] { new_stream(); }},
      {"stream_query", [=] { stream.is_idle(); }},
      {"stream_sync", [=] { stream.synchronize(); }},
      {"event_create", [] { const Event made(0, /*with_timing=*/false); }},
      {"event_record", [&event, stream] { event.record(stream); }},
      {"event_wait", [&event, stream] { event.block(stream); }},
      {"event_query", [&event] { event.is_ready(); }},
      {"event_sync", [&event] { event.synchronize(); }},
      {"host_func", [=] { enqueue(stream, [] {}); }},
      {"kernel", [=] { x.neg(); }},
  };
}

void lose_by(size_t which) {
  const Stream stream = new_stream();
  at::Tensor x = on_device(numbers({64}));
  x.neg();
  Event event(0, /*with_timing=*/false);
  event.record(stream);
  at::Tensor other = on_device(numbers({64}), 1);
  const Loss loss = losses(x, stream, event)[which];
  SCOPED_TRACE(loss.function);

  break_next(loss.function, PLUG_LOST, "the board was unplugged");
  const std::string sentence = error_of<c10::AcceleratorError>(loss.use);
  expect_one_sentence(sentence);
  expect_says(sentence, {"shadow:0", "device lost", "the board was unplugged"});
  const uint64_t syncs = count_of("device_sync");
  for (const Loss& use : losses(x, stream, event)) {
    EXPECT_EQ(error_of<c10::AcceleratorError>(use.use), sentence) << use.function;
  }
  EXPECT_EQ(count_of("device_sync"), syncs) << "the plugin was asked once more";
  expect_same(other.mul(2), numbers({64}).mul(2));
  synchronize_device(1);
}

TEST(Loss, by_any_function_is_for_ever_and_of_one_device) {
  constexpr size_t kFunctions = 14;
  for (size_t which = 0; which < kFunctions; ++which) {
    on_shadow([which] { lose_by(which); });
  }
}

TEST(Loss, of_a_device_with_work_queued_lets_go_of_all_of_it) {
  on_shadow([] {
    const auto token = std::make_shared<int>(7);
    const Stream stream = new_stream();
    const plug_host& host = active_module().host;
    {
      Gate gate(stream);
      for (int i = 0; i < 100; ++i) enqueue(stream, [token] {});
      host.report(&host, 0, nullptr, 0, PLUG_LOST, "the board was unplugged");
      EXPECT_THROW(enqueue(stream, [token] {}), c10::AcceleratorError);
    }
    EXPECT_TRUE(eventually([&] { return token.use_count() == 1; })) << token.use_count();
  });
}

// The memory that it would use may be gone.
TEST(Loss, that_a_job_is_told_of_keeps_it_from_running) {
  alone([] {
    activate(plugin_path("lost_jobs"));
    bool has_run = false;
    enqueue(Stream::current(0), [&] { has_run = true; });
    EXPECT_FALSE(has_run);
    expect_says(error_of<c10::AcceleratorError>([] { synchronize_device(0); }),
                {"lost_jobs:0", "device lost"});
  });
}

TEST(Loss, destroys_events_with_the_plugin_and_frees_memory_in_silence) {
  on_shadow([] {
    const plug_host& host = active_module().host;
    auto event = std::make_unique<Event>(0, /*with_timing=*/false);
    at::Tensor used_elsewhere = on_device(numbers({1 << 16}));
    used_elsewhere.record_stream(new_stream().unwrap());
    host.report(&host, 0, nullptr, 0, PLUG_LOST, "the board was unplugged");
    const uint64_t destroyed = count_of("event_destroy");
    event.reset();
    EXPECT_EQ(count_of("event_destroy"), destroyed + 1) << "the plugin's own memory for it would leak";
    used_elsewhere.reset();
    EXPECT_EQ(DeviceAllocator::instance().getDeviceStats(0).allocated_bytes[0].current, 0);
    ::testing::internal::CaptureStderr();
    EXPECT_THROW(synchronize_device(0), c10::AcceleratorError);
    print_recorded_failures();
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "everybody knows by now";
  });
}

TEST(Failure, of_a_function_that_is_no_loss_is_thrown_at_the_call_and_the_device_goes_on) {
  on_shadow([] {
    const Stream stream = new_stream();
    at::Tensor x = on_device(numbers({64}));
    x.neg();
    Event event(0, /*with_timing=*/false);
    for (const Loss& use : losses(x, stream, event)) {
      SCOPED_TRACE(use.function);
      break_next(use.function, PLUG_TIMEOUT, "the cable was loose");
      const std::string sentence = error_of(use.use);
      expect_says(sentence, {"shadow:0", "timeout", "the cable was loose"});
      expect_one_sentence(sentence);
      EXPECT_NO_THROW(use.use());
    }
    expect_same(on_device(numbers({4})).mul(2), numbers({4}).mul(2));
  });
}

}  // namespace
}  // namespace torchplug::tests
