// What the validate layer finds of misuse of devices, streams and events by the core, here done by hand, and
// what then happens.

#include <ATen/ops/add.h>

#include <cstring>
#include <set>
#include <string>

#include "memory/device_allocator.h"
#include "runtime/event.h"
#include "tensors.h"
#include "validated.h"

namespace torchplug::tests {
namespace {

// ---- what the core may do wrong ----

TEST(Validate, a_device_must_exist_and_be_open) {
  alone([] {
    Module& module = load_module(SIM_LIBRARY);
    insert_validate(module);
    const plug_runtime& runtime = table_of(module);
    expect_refused(runtime.device_sync(0), "device-closed");
    expect_refused(runtime.device_sync(2), "device-index");
    expect_refused(runtime.device_open(-1), "device-index");
    plug_device_info info{};
    info.size = sizeof info;
    EXPECT_EQ(runtime.device_info(1, &info), PLUG_OK) << "before it is opened";
    EXPECT_EQ(runtime.device_open(0), PLUG_OK);
    EXPECT_EQ(runtime.device_sync(0), PLUG_OK);
  });
}

TEST(Validate, nothing_is_called_after_shutdown) {
  on_validated_sim([](const plug_runtime& runtime) {
    EXPECT_EQ(runtime.shutdown(), PLUG_OK);
    expect_refused(runtime.device_sync(0), "after-shutdown");
  });
}

TEST(Validate, a_stream_must_live_and_be_of_its_device) {
  on_validated_sim([](const plug_runtime& runtime) {
    plug_stream stream = nullptr;
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    EXPECT_EQ(runtime.stream_sync(0, stream), PLUG_OK);
    expect_refused(runtime.stream_sync(1, stream), "stream-handle");
    expect_refused(runtime.stream_destroy(0, nullptr), "stream-handle");
    EXPECT_EQ(runtime.stream_destroy(0, stream), PLUG_OK);
    expect_refused(runtime.stream_query(0, stream), "stream-handle");
    expect_refused(runtime.stream_destroy(0, stream), "stream-handle");
  });
}

TEST(Validate, an_event_must_live_and_be_of_its_device) {
  on_validated_sim([](const plug_runtime& runtime) {
    plug_event event = nullptr;
    ASSERT_EQ(runtime.event_create(0, 0, &event), PLUG_OK);
    EXPECT_EQ(runtime.event_record(0, event, nullptr), PLUG_OK);
    EXPECT_EQ(runtime.event_wait(0, event, 1, nullptr), PLUG_OK) << "the stream may be of another";
    expect_refused(runtime.event_record(1, event, nullptr), "event-handle");
    EXPECT_EQ(runtime.event_destroy(0, event), PLUG_OK);
    expect_refused(runtime.event_sync(0, event), "event-handle");
    expect_refused(runtime.event_destroy(0, event), "event-handle");
    expect_refused(runtime.event_create(0, 64, &event), "flags");
  });
}

TEST(Validate, elapsed_is_of_timed_events) {
  on_validated_sim([](const plug_runtime& runtime) {
    plug_event plain = nullptr;
    plug_event timed = nullptr;
    int64_t ns = 0;
    ASSERT_EQ(runtime.event_create(0, 0, &plain), PLUG_OK);
    ASSERT_EQ(runtime.event_create(0, PLUG_EVENT_TIMING, &timed), PLUG_OK);
    expect_refused(runtime.event_elapsed(0, timed, plain, &ns), "elapsed-untimed");
    EXPECT_EQ(runtime.event_record(0, timed, nullptr), PLUG_OK);
    EXPECT_EQ(runtime.event_sync(0, timed), PLUG_OK);
    EXPECT_EQ(runtime.event_elapsed(0, timed, timed, &ns), PLUG_OK);
    EXPECT_EQ(ns, 0);
  });
}

TEST(Validate, a_stream_may_be_imported_any_number_of_times_and_is_its_makers_to_destroy) {
  on_validated_sim([](const plug_runtime& runtime) {
    plug_stream stream = nullptr;
    plug_stream again = nullptr;
    void* native = nullptr;
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    ASSERT_EQ(runtime.stream_native(0, stream, &native), PLUG_OK);
    EXPECT_EQ(runtime.stream_import(0, native, &again), PLUG_OK);
    EXPECT_EQ(runtime.stream_import(0, native, &again), PLUG_OK);
    EXPECT_EQ(again, stream);
    EXPECT_EQ(runtime.stream_destroy(0, stream), PLUG_OK);
  });
}

TEST(Validate, replays_of_a_capture_follow_each_other_and_are_over_when_it_is_destroyed) {
  on_validated_sim([](const plug_runtime& runtime) {
    void* base = allocate(runtime, 100);
    plug_stream stream = nullptr;
    plug_stream other = nullptr;
    plug_event event = nullptr;
    plug_capture capture = nullptr;
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    ASSERT_EQ(runtime.stream_create(0, 0, &other), PLUG_OK);
    ASSERT_EQ(runtime.event_create(0, 0, &event), PLUG_OK);
    ASSERT_EQ(runtime.capture_begin(0, stream, PLUG_CAPTURE_GLOBAL), PLUG_OK);
    EXPECT_EQ(fill(runtime, {base, 0, 0, 0}, 100, stream), PLUG_OK);
    ASSERT_EQ(runtime.capture_end(0, stream, &capture), PLUG_OK);
    EXPECT_EQ(runtime.capture_replay(0, capture, stream), PLUG_OK);
    EXPECT_EQ(runtime.capture_replay(0, capture, stream), PLUG_OK) << "a stream is an order";
    expect_refused(runtime.capture_replay(0, capture, other), "capture-in-use");
    expect_refused(runtime.capture_destroy(0, capture), "capture-in-use");
    EXPECT_EQ(runtime.event_record(0, event, stream), PLUG_OK);
    EXPECT_EQ(runtime.event_wait(0, event, 0, other), PLUG_OK);
    EXPECT_EQ(runtime.capture_replay(0, capture, other), PLUG_OK) << "the event orders the streams";
    EXPECT_EQ(runtime.stream_sync(0, stream), PLUG_OK);
    expect_refused(runtime.capture_destroy(0, capture), "capture-in-use");
    EXPECT_EQ(runtime.stream_sync(0, other), PLUG_OK);
    EXPECT_EQ(runtime.capture_destroy(0, capture), PLUG_OK);
  });
}

TEST(Validate, a_host_function_calls_no_plugin_function) {
  on_validated_sim([](const plug_runtime& runtime) {
    struct Answers {
      const plug_runtime& runtime;
      plug_status inside = PLUG_OK;
      plug_status in_release = PLUG_OK;
    } answers{runtime};
    const auto run = [](void* argument, plug_status) {
      auto* kept = static_cast<Answers*>(argument);
      kept->inside = kept->runtime.stream_query(0, nullptr);
    };
    const auto release = [](void* argument) {
      auto* kept = static_cast<Answers*>(argument);
      kept->in_release = kept->runtime.stream_query(0, nullptr);
    };
    EXPECT_EQ(runtime.host_func(0, nullptr, run, release, &answers), PLUG_OK);
    EXPECT_EQ(runtime.stream_sync(0, nullptr), PLUG_OK);
    EXPECT_EQ(answers.inside, PLUG_INVALID);
    EXPECT_EQ(answers.in_release, PLUG_INVALID);
    EXPECT_EQ(found("call-in-host-func"), 2u);
  });
}

TEST(Validate, a_device_is_not_asked_for_what_it_lacks) {
  validated(plugin_path("lacks"), [](const plug_runtime& runtime) {
    void* base = nullptr;
    void* view = nullptr;
    ASSERT_EQ(runtime.mem_alloc(1, 64, &base), PLUG_OK);
    expect_refused(runtime.host_view(1, base, &view), "device-lacks");
    const auto nothing = [](void*, plug_status) {};
    expect_refused(runtime.host_func(1, nullptr, nothing, [](void*) {}, nullptr), "device-lacks");
    plug_stream stream = nullptr;
    ASSERT_EQ(runtime.stream_create(1, 0, &stream), PLUG_OK);
    expect_refused(runtime.capture_begin(1, stream, PLUG_CAPTURE_THREAD), "device-lacks");
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    EXPECT_EQ(runtime.capture_begin(0, stream, PLUG_CAPTURE_THREAD), PLUG_OK) << "the other has it";
  });
}

// ---- what then happens ----

TEST(Validate, logging_goes_on_and_counts) {
  validated(
      SIM_LIBRARY,
      [](const plug_runtime& runtime) {
        void* base = allocate(runtime, 64);
        EXPECT_EQ(fill(runtime, {base, 0, 0, 0}, 65), PLUG_OK) << "sim looks at whole lines only";
        EXPECT_EQ(found("memory-extent"), 1u);
        forget_validation_messages();
        EXPECT_TRUE(validation_messages().empty());
      },
      "log");
}

TEST(Validate, aborting_ends_the_process) {
  EXPECT_DEATH(
      {
        ::setenv("TORCHPLUG_VALIDATE", "abort", 1);
        Module& module = load_module(SIM_LIBRARY);
        insert_validate(module);
        table_of(module).device_sync(0);
      },
      "VALIDATE-device-closed");
}

TEST(Validate, a_mode_that_does_not_exist_is_one_sentence) {
  alone([] {
    ::setenv("TORCHPLUG_VALIDATE", "maybe", 1);
    expect_says(error_of([] { load_module(SIM_LIBRARY); }), {"'maybe'", "error, log or abort"});
  });
}

TEST(Validate, every_rule_has_an_id_of_its_own_and_a_meaning) {
  std::set<std::string> ids;
  for (const RuleText& rule : validation_rules()) {
    EXPECT_TRUE(std::string(rule.id).starts_with("VALIDATE-")) << rule.id;
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_GT(std::strlen(rule.meaning), 10u);
  }
}

TEST(Validate, finds_nothing_in_a_little_of_everything) {
  ::setenv("TORCHPLUG_LAYERS", "validate", 1);
  ::setenv("TORCHPLUG_VALIDATE", "error", 1);
  on_sim([] {
    const Stream other = new_stream();
    const at::Tensor x = on_device(numbers({100, 30}));
    const at::Tensor y = x.t().add(1).contiguous();
    Event made(0, /*with_timing=*/false);
    made.record(Stream::default_of(0));
    made.block(other);
    at::Tensor z;
    {
      const CurrentStream current(other);
      z = y.mul(2);
      expect_same(on_device(numbers({50}), 1).to(device(0)), numbers({50}));
    }
    other.synchronize();
    expect_same(z, numbers({100, 30}).t().add(1).mul(2).contiguous());
    z = at::Tensor();
    DeviceAllocator::instance().emptyCache();
    synchronize_device(0);
    EXPECT_TRUE(validation_messages().empty());
  });
  ::unsetenv("TORCHPLUG_LAYERS");
}

}  // namespace
}  // namespace torchplug::tests
