// What the validate layer finds of misuse by the core, here done by hand, and what then happens.

#include <ATen/ops/add.h>

#include <algorithm>
#include <cstring>
#include <set>

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

TEST(Validate, strided_copies_are_between_tensors_of_one_shape_that_lie_apart) {
  on_validated_sim([](const plug_runtime& runtime) {
    void* base = allocate(runtime, 24 * sizeof(float));
    void* other = allocate(runtime, 24 * sizeof(float));
    const int64_t sizes[] = {3, 2};
    const int64_t wider[] = {3, 3};
    const int64_t strides[] = {4, 1};
    const auto tensor = [&](void* at, uint64_t item, plug_dtype dtype = PLUG_F32, uint32_t flags = 0) {
      return plug_tensor{{at, item * sizeof(float), 0, 0}, dtype, 2, sizes, strides, flags, 0, nullptr};
    };
    const auto copy = [&](const plug_tensor& to, const plug_tensor& from) {
      return runtime.copy_strided(0, nullptr, &to, &from);
    };
    EXPECT_EQ(copy(tensor(base, 0), tensor(other, 0)), PLUG_OK);
    EXPECT_EQ(copy(tensor(base, 0), tensor(base, 10)), PLUG_OK) << "one ends where the other begins";
    EXPECT_EQ(copy(tensor(base, 10), tensor(base, 0)), PLUG_OK) << "the other way round";
    expect_refused(copy(tensor(base, 1), tensor(base, 0)), "copy-strided");
    expect_refused(copy(tensor(base, 0), tensor(base, 9)), "copy-strided");
    EXPECT_EQ(copy(tensor(base, 0), tensor(other, 0, PLUG_I32)), PLUG_OK) << "it converts";
    EXPECT_EQ(copy(tensor(base, 0, PLUG_F32, PLUG_TENSOR_NEG), tensor(other, 0)), PLUG_OK);
    plug_tensor wide = tensor(other, 0);
    wide.sizes = wider;
    expect_refused(copy(tensor(base, 0), wide), "copy-strided");
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

TEST(Validate, a_kernel_is_given_what_it_accepts) {
  alone([] {
    Module& module = load_module(SIM_LIBRARY);
    const auto kernel_of = [](const char* schema, uint64_t accepts) {
      plug_kernel kernel{};
      kernel.schema = schema;
      kernel.fn = [](const plug_call*) -> plug_status { return PLUG_OK; };
      kernel.accepts = accepts;
      return kernel;
    };
    module.kernels = {kernel_of("acme::plain(Tensor x) -> ()", 0),
                      kernel_of("acme::dense(Tensor x) -> ()", PLUG_ACCEPTS_DENSE),
                      kernel_of("acme::strided(Tensor x) -> ()",
                                PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_LAZY_BITS | PLUG_ACCEPTS_HOST_SCALAR)};
    insert_validate(module);
    const plug_runtime& runtime = table_of(module);
    ASSERT_EQ(runtime.device_open(0), PLUG_OK);
    void* base = allocate(runtime, 1000);
    const int64_t sizes[] = {2, 3};
    const int64_t rows[] = {3, 1};
    const int64_t columns[] = {1, 2};
    const int64_t gaps[] = {6, 1};
    float number = 1;
    const auto of = [&](const int64_t* strides, uint32_t flags = 0) {
      return plug_tensor{{base, 0, 0, 0}, PLUG_F32, 2, sizes, strides, flags, 0, nullptr};
    };
    const plug_tensor scalar{{&number, 0, PLUG_HOST, 0}, PLUG_F32, 0, nullptr, nullptr, 0, 0, nullptr};
    const auto call = [&](size_t kernel, const plug_tensor& tensor) {
      plug_value argument{PLUG_VALUE_TENSOR, 1, {}};
      argument.as.tensors = &tensor;
      plug_call made{};
      made.size = sizeof made;
      made.args = &argument;
      made.arg_count = 1;
      made.user = module.kernels[kernel].user;
      return module.kernels[kernel].fn(&made);
    };
    EXPECT_EQ(call(0, of(rows)), PLUG_OK);
    expect_refused(call(0, of(columns)), "kernel-tensor");
    EXPECT_EQ(call(1, of(columns)), PLUG_OK);
    expect_refused(call(1, of(gaps)), "kernel-tensor");
    EXPECT_EQ(call(2, of(gaps, PLUG_TENSOR_NEG)), PLUG_OK);
    expect_refused(call(0, of(rows, PLUG_TENSOR_NEG)), "kernel-tensor");
    EXPECT_EQ(call(2, scalar), PLUG_OK);
    expect_refused(call(0, scalar), "kernel-tensor");
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

// ---- a host view for a while, and what a device lacks ----

TEST(Validate, ranges_are_mapped_once_and_unmapped_as_they_were_mapped) {
  validated_one(plugin_path("handles"), [](const plug_runtime& runtime) {
    void* base = allocate(runtime, 4096);
    void* other = allocate(runtime, 4096);
    const plug_mem mem{base, 512, 0, 0};
    const plug_mem beside{base, 1024, 0, 0};
    void* view = nullptr;
    void* second = nullptr;
    expect_refused(runtime.host_map(0, &mem, 512, 0, &view), "flags");
    expect_refused(runtime.host_map(0, &mem, 512, 8, &view), "flags");
    expect_refused(runtime.host_map(0, &mem, 4096, PLUG_MAP_READ, &view), "memory-extent");
    ASSERT_EQ(runtime.host_map(0, &mem, 512, PLUG_MAP_READ | PLUG_MAP_WRITE, &view), PLUG_OK);
    expect_refused(runtime.host_map(0, &mem, 16, PLUG_MAP_READ, &second), "host-map");
    EXPECT_EQ(runtime.host_map(0, &beside, 16, PLUG_MAP_READ, &second), PLUG_OK)
        << "it ends where that begins";
    expect_refused(runtime.host_unmap(0, &mem, 512, second), "host-map");
    expect_refused(runtime.host_unmap(0, &mem, 256, view), "host-map");

    expect_refused(fill(runtime, mem, 1), "mapped-use");
    expect_refused(fill(runtime, {base, 500, 0, 0}, 13), "mapped-use");
    EXPECT_EQ(fill(runtime, {base, 500, 0, 0}, 12), PLUG_OK);
    const plug_mem from{base, 0, 0, 0};
    const plug_mem to{other, 0, 0, 0};
    expect_refused(runtime.copy(0, nullptr, &to, &from, 600), "mapped-use");
    expect_refused(runtime.mem_free(0, base), "mapped-use");

    EXPECT_EQ(runtime.host_unmap(0, &mem, 512, view), PLUG_OK);
    expect_refused(runtime.host_unmap(0, &mem, 512, view), "host-map");
    EXPECT_EQ(fill(runtime, mem, 1), PLUG_OK);
    EXPECT_EQ(runtime.shutdown(), PLUG_OK);
    EXPECT_EQ(found("leak"), 1u) << "the second range is still mapped";
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

TEST(Validate, no_allocation_is_larger_than_the_largest) {
  ::setenv("TORCHPLUG_HANDLES_LARGEST", "4096", 1);
  validated_one(plugin_path("handles"), [](const plug_runtime& runtime) {
    void* base = nullptr;
    EXPECT_EQ(runtime.mem_alloc(0, 4096, &base), PLUG_OK) << "and has no red zone then";
    expect_refused(runtime.mem_alloc(0, 4097, &base), "alloc-largest");
  });
  ::unsetenv("TORCHPLUG_HANDLES_LARGEST");
}

// ---- kernels, and the core itself ----

// A kernel of a module under the layer, with a call that has no tensors.
class LayeredKernel {
 public:
  explicit LayeredKernel(const plug_kernel& kernel) : module_(load_module(SIM_LIBRARY)) {
    module_.kernels = {kernel};
    insert_validate(module_);
    EXPECT_EQ(table_of(module_).device_open(0), PLUG_OK);
    call_.size = sizeof call_;
    call_.user = layered().user;
    call_.name = "acme::kernel";
  }
  const plug_kernel& layered() const { return module_.kernels[0]; }
  const plug_runtime& runtime() { return table_of(module_); }
  plug_status prepare(void** state) { return layered().prepare(&call_, state); }
  plug_status run(void* state) {
    call_.state = state;
    return layered().fn(&call_);
  }
  plug_status run_with(plug_value& result) {
    call_.results = &result;
    call_.result_count = 1;
    return layered().fn(&call_);
  }

 private:
  Module& module_;
  plug_call call_{};
};

plug_status keeps(const plug_call* /*call*/, void** state) {
  static int kept = 0;
  *state = &kept;
  return PLUG_OK;
}

plug_kernel kernel_with_state() {
  plug_kernel kernel{};
  kernel.schema = "acme::kernel() -> ()";
  kernel.fn = [](const plug_call* call) -> plug_status {
    return call->state != nullptr ? PLUG_OK : PLUG_UNSUPPORTED;
  };
  kernel.prepare = keeps;
  return kernel;
}

TEST(Validate, a_kernel_is_called_with_a_state_that_lives) {
  alone([] {
    LayeredKernel kernel(kernel_with_state());
    void* state = nullptr;
    ASSERT_EQ(kernel.prepare(&state), PLUG_OK);
    EXPECT_EQ(kernel.run(state), PLUG_OK);
    EXPECT_EQ(kernel.runtime().device_sync(0), PLUG_OK);
    void* again = nullptr;
    ASSERT_EQ(kernel.prepare(&again), PLUG_OK);
    kernel.layered().forget(state);
    EXPECT_EQ(found("kernel-state"), 0u);
    EXPECT_EQ(kernel.run(again), PLUG_OK) << "two plans may keep the same";
    kernel.runtime().device_sync(0);
    kernel.layered().forget(again);
    EXPECT_EQ(found("kernel-state"), 0u);
  });
}

TEST(Validate, a_state_is_forgotten_when_its_work_is_done) {
  alone([] {
    ::setenv("TORCHPLUG_LOG", "4", 1);
    LayeredKernel kernel(kernel_with_state());
    void* state = nullptr;
    ASSERT_EQ(kernel.prepare(&state), PLUG_OK);
    ASSERT_EQ(kernel.run(state), PLUG_OK);
    kernel.layered().forget(state);
    EXPECT_EQ(found("kernel-state"), 1u);
  });
}

TEST(Validate, a_kernel_leaves_the_tag_of_a_number_as_it_is) {
  alone([] {
    plug_kernel counts{};
    counts.schema = "acme::count() -> int";
    counts.fn = [](const plug_call* call) -> plug_status {
      call->results[0].tag = call->results[0].as.i == 7 ? PLUG_VALUE_FLOAT : PLUG_VALUE_INT;
      return PLUG_OK;
    };
    LayeredKernel kernel(counts);
    plug_value result{};
    result.tag = PLUG_VALUE_INT;
    EXPECT_EQ(kernel.run_with(result), PLUG_OK);
    result.as.i = 7;
    expect_refused(kernel.run_with(result), "kernel-result");
  });
}

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
}  // namespace torchplug::tests
