// Faults of plugins that the validate layer finds: those of tests/plugins, and of a table of the test's own.

#include <atomic>
#include <vector>

#include "validated.h"

namespace torchplug::tests {
namespace {

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
  plug_runtime& runtime = module.table;
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
  module.runtime = Runtime(runtime);
  module.host = make_host_table();
  return module;
}

void on_made_up_device(const Body& body) {
  alone([&] {
    ::setenv("TORCHPLUG_LOG", "4", 1);
    Module& module = made_up_module();
    insert_validate(module);
    body(table_of(module));
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
    EXPECT_EQ(runtime.stream_sync(0, nullptr), PLUG_OK);
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

}  // namespace
}  // namespace torchplug::tests
