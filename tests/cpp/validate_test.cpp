// What the validate layer finds: misuse by the core, here done by hand, and faults of plugins, here those of
// tests/plugins and of a table of the test's own.

#include "plugin/validate.h"

#include <ATen/ops/add.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <set>

#include "plugin/validate_messages.h"
#include "runtime/device_allocator.h"
#include "runtime/event.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug {
namespace {

using namespace torchplug_test;

using Body = std::function<void(const plug_runtime&)>;

// A plugin's table under the layer, with its devices open, in a process of its own.
void validated(const std::string& path, const Body& body, const char* mode = "error") {
  alone([&] {
    ::setenv("TORCHPLUG_VALIDATE", mode, 1);
    ::setenv("TORCHPLUG_SIM_DEVICES", "2", 1);
    ::setenv("TORCHPLUG_LOG", "4", 1);
    Module& module = load_module(path);
    insert_validate(module);
    if (module.runtime.device_open != nullptr) {
      ASSERT_EQ(module.runtime.device_open(0), PLUG_OK);
      ASSERT_EQ(module.runtime.device_open(1), PLUG_OK);
    }
    body(module.runtime);
  });
}

void on_validated_sim(const Body& body) { validated(SIM_LIBRARY, body); }

// The call was refused for this reason.
void expect_refused(plug_status status, const std::string& id) {
  EXPECT_EQ(status, PLUG_INVALID);
  const std::string said = take_plugin_error();
  EXPECT_TRUE(said.starts_with("VALIDATE-" + id + ": ")) << said;
  expect_one_sentence(said);
}

uint64_t found(const std::string& id) {
  for (const ValidationMessage& message : validation_messages()) {
    if (message.id == "VALIDATE-" + id) return message.count;
  }
  return 0;
}

void* allocate(const plug_runtime& runtime, uint64_t bytes) {
  void* base = nullptr;
  EXPECT_EQ(runtime.mem_alloc(0, bytes, &base), PLUG_OK) << take_plugin_error();
  return base;
}

plug_status fill(const plug_runtime& runtime, const plug_mem& mem, uint64_t bytes,
                 plug_stream stream = nullptr) {
  return runtime.mem_fill(0, stream, &mem, 1, bytes);
}

// Holds a stream until it is opened.
class Held {
 public:
  Held(const plug_runtime& runtime, plug_stream stream) {
    const auto wait = [](void* latch, plug_status) { static_cast<std::latch*>(latch)->wait(); };
    EXPECT_EQ(runtime.host_func(0, stream, wait, [](void*) {}, &opened_), PLUG_OK);
  }
  void open() { opened_.count_down(); }

 private:
  std::latch opened_{1};
};

// ---- what the core may do wrong ----

TEST(Validate, a_device_must_exist_and_be_open) {
  alone([] {
    Module& module = load_module(SIM_LIBRARY);
    insert_validate(module);
    const plug_runtime& runtime = module.runtime;
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

TEST(Validate, an_operation_stays_inside_of_a_live_allocation) {
  on_validated_sim([](const plug_runtime& runtime) {
    void* base = allocate(runtime, 100);
    EXPECT_EQ(fill(runtime, {base, 40, 0, 0}, 60), PLUG_OK);
    expect_refused(fill(runtime, {base, 40, 0, 0}, 61), "memory-extent");
    expect_refused(fill(runtime, {base, UINT64_MAX - 3, 0, 0}, 4), "memory-extent");
    expect_refused(fill(runtime, {static_cast<char*>(base) + 64, 0, 0, 0}, 4), "memory-dead");
    expect_refused(fill(runtime, {base, 0, 1, 0}, 4), "memory-dead");
    expect_refused(fill(runtime, {base, 0, 0, 64}, 4), "flags");
    char here[200] = {};
    const plug_mem host{here, 0, PLUG_HOST, 0};
    const plug_mem there{base, 1, 0, 0};
    expect_refused(runtime.copy(0, nullptr, &there, &host, 100), "memory-extent");
    expect_refused(runtime.copy(0, nullptr, &host, &there, 100), "memory-extent");
    EXPECT_EQ(runtime.copy(0, nullptr, &host, &there, 99), PLUG_OK);
    EXPECT_EQ(runtime.device_sync(0), PLUG_OK);
    EXPECT_EQ(runtime.mem_free(0, base), PLUG_OK);
    expect_refused(fill(runtime, {base, 0, 0, 0}, 4), "memory-dead");
    expect_refused(runtime.mem_free(0, base), "memory-dead");
    void* view = nullptr;
    expect_refused(runtime.host_view(0, base, &view), "memory-dead");
  });
}

TEST(Validate, the_elements_of_a_strided_tensor_stay_inside) {
  on_validated_sim([](const plug_runtime& runtime) {
    void* base = allocate(runtime, 24 * sizeof(float));
    void* other = allocate(runtime, 24 * sizeof(float));
    const int64_t sizes[] = {3, 2};
    const auto copy = [&](int64_t first, int64_t second, uint64_t offset) {
      const int64_t strides[] = {first, second};
      const int64_t plain[] = {2, 1};
      const plug_tensor to{{other, 0, 0, 0}, PLUG_F32, 2, sizes, plain, 0, 0, nullptr};
      const plug_tensor from{{base, offset, 0, 0}, PLUG_F32, 2, sizes, strides, 0, 0, nullptr};
      return runtime.copy_strided(0, nullptr, &to, &from);
    };
    EXPECT_EQ(copy(11, 1, 0), PLUG_OK) << "the last element is number 23";
    expect_refused(copy(11, 2, 0), "memory-extent");
    EXPECT_EQ(copy(-11, -1, 23 * sizeof(float)), PLUG_OK);
    expect_refused(copy(-11, -1, 22 * sizeof(float)), "memory-extent");
    EXPECT_EQ(copy(0, 0, 23 * sizeof(float)), PLUG_OK);
    const plug_tensor nowhere{{nullptr, 0, 0, 0}, PLUG_F32, 2, sizes, sizes, 0, 0, nullptr};
    expect_refused(runtime.copy_strided(0, nullptr, &nowhere, &nowhere), "tensor");
  });
}

TEST(Validate, pinned_is_what_host_alloc_gave) {
  on_validated_sim([](const plug_runtime& runtime) {
    void* base = allocate(runtime, 100);
    void* pinned = nullptr;
    char ordinary[100] = {};
    ASSERT_EQ(runtime.host_alloc(100, &pinned), PLUG_OK);
    const plug_mem there{base, 0, 0, 0};
    const auto copy = [&](void* from, uint64_t offset, uint64_t bytes) {
      const plug_mem host{from, offset, PLUG_HOST, PLUG_MEM_PINNED};
      return runtime.copy(0, nullptr, &there, &host, bytes);
    };
    EXPECT_EQ(copy(pinned, 50, 50), PLUG_OK);
    expect_refused(copy(pinned, 50, 51), "memory-pinned");
    expect_refused(copy(ordinary, 0, 10), "memory-pinned");
    EXPECT_EQ(runtime.device_sync(0), PLUG_OK);
    EXPECT_EQ(runtime.host_free(pinned), PLUG_OK);
    expect_refused(copy(pinned, 0, 10), "memory-pinned");
    expect_refused(runtime.host_free(pinned), "memory-dead");
  });
}

TEST(Validate, memory_is_freed_when_the_streams_that_use_it_have_passed) {
  on_validated_sim([](const plug_runtime& runtime) {
    plug_stream stream = nullptr;
    plug_stream other = nullptr;
    plug_event event = nullptr;
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    ASSERT_EQ(runtime.stream_create(0, 0, &other), PLUG_OK);
    ASSERT_EQ(runtime.event_create(0, 0, &event), PLUG_OK);
    // A stream, an event and a query that says yes each prove it.
    const std::function<void()> proofs[] = {
        [&] { EXPECT_EQ(runtime.stream_sync(0, stream), PLUG_OK); },
        [&] { EXPECT_EQ(runtime.device_sync(0), PLUG_OK); },
        [&] { EXPECT_TRUE(eventually([&] { return runtime.stream_query(0, stream) == PLUG_OK; })); },
        [&] {
          EXPECT_EQ(runtime.event_record(0, event, stream), PLUG_OK);
          EXPECT_EQ(runtime.event_sync(0, event), PLUG_OK);
        },
        // By way of another stream that waited for this one.
        [&] {
          EXPECT_EQ(runtime.event_record(0, event, stream), PLUG_OK);
          EXPECT_EQ(runtime.event_wait(0, event, 0, other), PLUG_OK);
          EXPECT_EQ(runtime.stream_sync(0, other), PLUG_OK);
        },
    };
    for (const auto& prove : proofs) {
      void* base = allocate(runtime, 100);
      EXPECT_EQ(fill(runtime, {base, 0, 0, 0}, 100, stream), PLUG_OK);
      EXPECT_EQ(runtime.stream_sync(0, other), PLUG_OK) << "proves nothing";
      expect_refused(runtime.mem_free(0, base), "free-in-use");
      prove();
      EXPECT_EQ(runtime.mem_free(0, base), PLUG_OK);
    }
    // A record made before the work proves nothing.
    void* base = allocate(runtime, 100);
    EXPECT_EQ(runtime.event_record(0, event, stream), PLUG_OK);
    EXPECT_EQ(fill(runtime, {base, 0, 0, 0}, 100, stream), PLUG_OK);
    EXPECT_EQ(runtime.event_sync(0, event), PLUG_OK);
    expect_refused(runtime.mem_free(0, base), "free-in-use");
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

// ---- memory ----

TEST(Validate, fresh_memory_shows_that_nobody_wrote_it) {
  on_validated_sim([](const plug_runtime& runtime) {
    void* base = allocate(runtime, 1000);
    unsigned char bytes[1000];
    const plug_mem host{bytes, 0, PLUG_HOST, 0};
    const plug_mem there{base, 0, 0, 0};
    ASSERT_EQ(runtime.copy(0, nullptr, &host, &there, 1000), PLUG_OK);
    for (unsigned char byte : bytes) ASSERT_EQ(byte, 0xFF);
  });
}

TEST(Validate, what_is_written_behind_an_allocation_is_found_at_a_sync_and_when_it_is_freed) {
  on_validated_sim([](const plug_runtime& runtime) {
    void* base = allocate(runtime, 1000);
    void* view = nullptr;
    ASSERT_EQ(runtime.host_view(0, base, &view), PLUG_OK);
    static_cast<char*>(view)[1007] = 5;
    EXPECT_EQ(runtime.device_sync(0), PLUG_INVALID);
    expect_says(take_plugin_error(), {"VALIDATE-red-zone", "7 bytes behind", "1000 bytes at"});
    EXPECT_EQ(runtime.device_sync(0), PLUG_OK) << "it is told once";
    static_cast<char*>(view)[1000] = 5;
    EXPECT_EQ(runtime.mem_free(0, base), PLUG_INVALID);
    expect_says(take_plugin_error(), {"VALIDATE-red-zone", "0 bytes behind"});
    expect_refused(runtime.mem_free(0, base), "memory-dead");
  });
}

TEST(Validate, what_is_left_at_the_end_is_counted) {
  on_validated_sim([](const plug_runtime& runtime) {
    allocate(runtime, 100);
    allocate(runtime, 50);
    plug_event event = nullptr;
    ASSERT_EQ(runtime.event_create(0, 0, &event), PLUG_OK);
    EXPECT_EQ(runtime.shutdown(), PLUG_OK);
    ASSERT_EQ(found("leak"), 1u);
    expect_says(validation_messages().at(0).last,
                {"2 allocations (150 bytes)", "0 pinned blocks", "1 event and 0 captures"});
  });
}

// ---- what a plugin may do wrong ----

struct Broken {
  const char* plugin;
  const char* id;
  plug_status (*provoke)(const plug_runtime&);
};

plug_status allocate_twice(const plug_runtime& runtime) {
  void* base = nullptr;
  const plug_status first = runtime.mem_alloc(0, 1000, &base);
  return first == PLUG_OK ? runtime.mem_alloc(0, 1000, &base) : first;
}

plug_status allocate_too_much(const plug_runtime& runtime) {
  void* base = nullptr;
  return runtime.mem_alloc(0, uint64_t{1} << 62, &base);
}

plug_status copy_all(const plug_runtime& runtime) {
  char bytes[100] = {};
  void* base = nullptr;
  EXPECT_EQ(runtime.mem_alloc(0, sizeof bytes, &base), PLUG_OK);
  const plug_mem to{base, 0, 0, 0};
  const plug_mem from{bytes, 0, PLUG_HOST, 0};
  EXPECT_EQ(runtime.copy(0, nullptr, &to, &from, sizeof bytes), PLUG_OK);
  return runtime.device_sync(0);
}

plug_status run_and_wait(const plug_runtime& runtime) {
  static std::atomic<int> ran{0};
  EXPECT_EQ(runtime.host_func(0, nullptr, [](void*, plug_status) { ++ran; }, [](void*) {}, nullptr), PLUG_OK);
  const plug_status status = runtime.stream_sync(0, nullptr);
  EXPECT_EQ(ran, 1) << "a second run is kept from the core";
  return found("host-func-twice") == 0 ? status : PLUG_INVALID;
}

// Asks while the work is held, so that an answer can only be wrong.
template <class Ask>
plug_status ask_of_held(const plug_runtime& runtime, Ask ask) {
  static Held held(runtime, nullptr);
  const plug_status status = ask();
  const std::string said = take_plugin_error();
  held.open();
  runtime.device_sync(0);
  make_host_table().set_error(nullptr, said.c_str());
  return status;
}

plug_status query_held(const plug_runtime& runtime) {
  return ask_of_held(runtime, [&] { return runtime.stream_query(0, nullptr); });
}

plug_status sync_held(const plug_runtime& runtime) {
  return ask_of_held(runtime, [&] { return runtime.stream_sync(0, nullptr); });
}

plug_status view_twice(const plug_runtime& runtime) {
  void* view = nullptr;
  EXPECT_EQ(runtime.host_view(0, allocate(runtime, 100), &view), PLUG_OK);
  return runtime.host_view(0, allocate(runtime, 100), &view);
}

plug_status query_new_event(const plug_runtime& runtime) {
  plug_event event = nullptr;
  EXPECT_EQ(runtime.event_create(0, 0, &event), PLUG_OK);
  return runtime.event_query(0, event);
}

plug_status synchronize(const plug_runtime& runtime) { return runtime.device_sync(0); }

class ValidateBroken : public ::testing::TestWithParam<Broken> {};

TEST_P(ValidateBroken, plugin_is_found_out) {
  validated(plugin_path(GetParam().plugin), [](const plug_runtime& runtime) {
    const plug_status status = GetParam().provoke(runtime);
    EXPECT_GE(status, PLUG_INVALID);
    EXPECT_EQ(found(GetParam().id), 1u) << take_plugin_error();
  });
}

INSTANTIATE_TEST_SUITE_P(Each, ValidateBroken,
                         ::testing::Values(Broken{"misaligned", "alloc-alignment", allocate_twice},
                                           Broken{"overlapping", "alloc-overlap", allocate_twice},
                                           Broken{"silent", "error-silent", allocate_too_much},
                                           Broken{"writes_on_error", "output-on-error", allocate_too_much},
                                           Broken{"odd_status", "status-unknown", synchronize},
                                           Broken{"overruns", "red-zone", copy_all},
                                           Broken{"runs_twice", "host-func-twice", run_and_wait},
                                           Broken{"never_releases", "release-late", run_and_wait},
                                           Broken{"early_query", "sync-early", query_held},
                                           Broken{"early_sync", "sync-early", sync_held},
                                           Broken{"never_ready", "event-never-recorded", query_new_event},
                                           Broken{"same_view", "view-overlap", view_twice}),
                         [](const auto& test) { return std::string(test.param.plugin); });

// A table of the test's own, for what no plugin of tests/plugins does.
struct Job {
  void (*fn)(void*, plug_status);
  void (*release)(void*);
  void* argument;
};
std::vector<Job> jobs;  // what host_func was given

constexpr plug_status kFine = PLUG_OK;

Module& made_up_module() {
  static Module module;
  plug_runtime& runtime = module.runtime;
  runtime.size = sizeof runtime;
  runtime.device_count = [](int32_t* count) { return *count = 1, kFine; };
  runtime.device_info = [](int32_t, plug_device_info* info) {
    info->map_bytes = 4096;
    return kFine;
  };
  runtime.device_sync = [](int32_t) { return kFine; };
  runtime.mem_alloc = [](int32_t, uint64_t, void**) { return kFine; };  // gives nothing
  runtime.mem_free = [](int32_t, void*) { return kFine; };
  runtime.copy = [](int32_t, plug_stream, const plug_mem*, const plug_mem*, uint64_t) { return kFine; };
  runtime.stream_create = [](int32_t, int32_t, plug_stream* stream) {
    *stream = reinterpret_cast<plug_stream>(&jobs);
    return kFine;
  };
  runtime.stream_sync = [](int32_t, plug_stream) { return kFine; };
  runtime.host_func = [](int32_t, plug_stream, void (*fn)(void*, plug_status), void (*release)(void*),
                         void* argument) {
    jobs.push_back({fn, release, argument});
    return kFine;
  };
  runtime.capture_begin = [](int32_t, plug_stream, int32_t) { return kFine; };
  runtime.capture_end = [](int32_t, plug_stream, plug_capture* capture) {
    *capture = reinterpret_cast<plug_capture>(&jobs);
    return kFine;
  };
  runtime.capture_replay = [](int32_t, plug_capture, plug_stream) { return kFine; };
  runtime.capture_destroy = [](int32_t, plug_capture) { return kFine; };
  runtime.mem_reserve = [](int32_t, uint64_t, void** base) { return *base = &jobs, kFine; };
  runtime.mem_unreserve = [](int32_t, void*) { return kFine; };
  runtime.mem_map = [](int32_t, void*, uint64_t, uint64_t) { return kFine; };
  runtime.mem_unmap = [](int32_t, void*, uint64_t, uint64_t) { return kFine; };
  module.host = make_host_table();
  return module;
}

void on_made_up_device(const Body& body) {
  alone([&] {
    ::setenv("TORCHPLUG_LOG", "4", 1);
    Module& module = made_up_module();
    insert_validate(module);
    body(module.runtime);
  });
}

TEST(Validate, an_output_must_be_given) {
  on_made_up_device([](const plug_runtime& runtime) {
    void* base = nullptr;
    expect_refused(runtime.mem_alloc(0, 100, &base), "output-missing");
  });
}

TEST(Validate, a_handle_is_given_once) {
  on_made_up_device([](const plug_runtime& runtime) {
    plug_stream stream = nullptr;
    EXPECT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    expect_refused(runtime.stream_create(0, 0, &stream), "handle-twice");
  });
}

TEST(Validate, host_functions_run_in_order_and_are_released_once_after_they_ran) {
  on_made_up_device([](const plug_runtime& runtime) {
    static int ran = 0;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(
          runtime.host_func(0, nullptr, [](void*, plug_status) { ++ran; }, [](void*) {}, nullptr), PLUG_OK);
    }
    jobs[1].fn(jobs[1].argument, PLUG_OK);
    EXPECT_EQ(found("host-func-order"), 1u);
    expect_refused(runtime.stream_sync(0, nullptr), "sync-early");
    jobs[0].release(jobs[0].argument);
    EXPECT_EQ(found("release-twice"), 1u);
    jobs[0].release(jobs[0].argument);
    EXPECT_EQ(found("release-twice"), 2u);
    jobs[0].fn(jobs[0].argument, PLUG_OK);
    EXPECT_EQ(found("host-func-twice"), 1u);
    EXPECT_EQ(ran, 1) << "what may be gone is left alone";
    expect_refused(runtime.stream_sync(0, nullptr), "release-late");
    jobs[1].release(jobs[1].argument);
    EXPECT_EQ(runtime.stream_sync(0, nullptr), PLUG_OK);
  });
}

TEST(Validate, a_capture_begins_and_then_ends_and_lives_until_it_is_destroyed) {
  on_made_up_device([](const plug_runtime& runtime) {
    plug_capture capture = nullptr;
    expect_refused(runtime.capture_end(0, nullptr, &capture), "capture-order");
    expect_refused(runtime.capture_begin(0, nullptr, 9), "flags");
    EXPECT_EQ(runtime.capture_begin(0, nullptr, PLUG_CAPTURE_GLOBAL), PLUG_OK);
    expect_refused(runtime.capture_begin(0, nullptr, PLUG_CAPTURE_GLOBAL), "capture-order");
    EXPECT_EQ(runtime.capture_end(0, nullptr, &capture), PLUG_OK);
    EXPECT_EQ(runtime.capture_replay(0, capture, nullptr), PLUG_OK);
    EXPECT_EQ(runtime.capture_destroy(0, capture), PLUG_OK);
    expect_refused(runtime.capture_replay(0, capture, nullptr), "capture-handle");
  });
}

TEST(Validate, captured_host_functions_may_run_often_and_wait_for_no_sync) {
  on_made_up_device([](const plug_runtime& runtime) {
    plug_capture capture = nullptr;
    EXPECT_EQ(runtime.capture_begin(0, nullptr, PLUG_CAPTURE_GLOBAL), PLUG_OK);
    EXPECT_EQ(runtime.host_func(0, nullptr, [](void*, plug_status) {}, [](void*) {}, nullptr), PLUG_OK);
    EXPECT_EQ(runtime.capture_end(0, nullptr, &capture), PLUG_OK);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(runtime.stream_sync(0, nullptr), PLUG_OK);
      jobs[0].fn(jobs[0].argument, PLUG_OK);
    }
    jobs[0].release(jobs[0].argument);
    EXPECT_TRUE(validation_messages().empty());
  });
}

TEST(Validate, a_reservation_is_mapped_in_whole_units_once_and_unmapped_before_it_goes) {
  on_made_up_device([](const plug_runtime& runtime) {
    constexpr uint64_t kUnit = 4096;
    void* base = nullptr;
    ASSERT_EQ(runtime.mem_reserve(0, 8 * kUnit, &base), PLUG_OK);
    const auto use = [&](uint64_t offset, uint64_t bytes) {
      char here[2 * kUnit];
      const plug_mem to{here, 0, PLUG_HOST, 0};
      const plug_mem from{base, offset, 0, 0};
      return runtime.copy(0, nullptr, &to, &from, bytes);
    };
    expect_refused(use(0, 8), "memory-extent");
    EXPECT_EQ(runtime.mem_map(0, base, 0, kUnit), PLUG_OK);
    EXPECT_EQ(runtime.mem_map(0, base, kUnit, kUnit), PLUG_OK);
    EXPECT_EQ(use(kUnit - 8, 16), PLUG_OK) << "across the border";
    expect_refused(use(2 * kUnit - 8, 16), "memory-extent");
    expect_refused(runtime.mem_map(0, base, kUnit, kUnit), "map-range");
    expect_refused(runtime.mem_map(0, base, 3 * kUnit + 1, kUnit), "map-range");
    expect_refused(runtime.mem_map(0, base, 7 * kUnit, 2 * kUnit), "map-range");
    expect_refused(runtime.mem_unmap(0, base, 2 * kUnit, kUnit), "map-range");
    EXPECT_EQ(runtime.device_sync(0), PLUG_OK);
    expect_refused(runtime.mem_unreserve(0, base), "map-range");
    EXPECT_EQ(runtime.mem_unmap(0, base, 0, 2 * kUnit), PLUG_OK);
    EXPECT_EQ(runtime.mem_unreserve(0, base), PLUG_OK);
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
        module.runtime.device_sync(0);
      },
      "VALIDATE-device-closed");
}

TEST(Validate, a_mode_that_does_not_exist_is_one_sentence) {
  alone([] {
    ::setenv("TORCHPLUG_VALIDATE", "maybe", 1);
    expect_says(error_of([] { insert_validate(load_module(SIM_LIBRARY)); }),
                {"'maybe'", "error, log and abort"});
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

// ---- kernels, and the core itself ----

TEST(Validate, a_kernel_is_given_memory_that_lives) {
  on_validated_sim([](const plug_runtime& runtime) {
    const Module& module = load_module(SIM_LIBRARY);
    const auto is_relu = [](const plug_kernel& kernel) {
      return std::string(kernel.schema).starts_with("aten::relu(");
    };
    const auto relu = std::find_if(module.kernels.begin(), module.kernels.end(), is_relu);
    ASSERT_NE(relu, module.kernels.end());
    void* base = allocate(runtime, 40);
    void* other = allocate(runtime, 40);
    const int64_t strides[] = {1};
    const auto call = [&](int64_t size) {
      const int64_t sizes[] = {size};
      const plug_tensor in{{base, 0, 0, 0}, PLUG_F32, 1, sizes, strides, 0, 0, nullptr};
      const plug_tensor out{{other, 0, 0, 0}, PLUG_F32, 1, sizes, strides, PLUG_TENSOR_WRITTEN, 0, nullptr};
      plug_value argument{PLUG_VALUE_TENSOR, 0, {}};
      plug_value result{PLUG_VALUE_TENSOR, 0, {}};
      argument.as.tensors = &in;
      result.as.tensors = &out;
      plug_call made{};
      made.size = sizeof made;
      made.user = relu->user;
      made.args = &argument;
      made.results = &result;
      made.arg_count = made.result_count = 1;
      return relu->fn(&made);
    };
    EXPECT_EQ(call(10), PLUG_OK);
    expect_refused(runtime.mem_free(0, base), "free-in-use");
    expect_refused(runtime.mem_free(0, other), "free-in-use");
    expect_refused(call(11), "memory-extent");
  });
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
}  // namespace torchplug
