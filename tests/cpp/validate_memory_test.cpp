// What the validate layer finds of misuse of memory by the core, here done by hand.

#include <functional>

#include "tensors.h"
#include "validated.h"

namespace torchplug::tests {
namespace {

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
                {"2 allocations (150 bytes)", "0 pinned blocks", "1 event, 0 captures and 0 engines"});
  });
}

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

TEST(Validate, no_allocation_is_larger_than_the_largest) {
  ::setenv("TORCHPLUG_HANDLES_LARGEST", "4096", 1);
  validated_one(plugin_path("handles"), [](const plug_runtime& runtime) {
    void* base = nullptr;
    EXPECT_EQ(runtime.mem_alloc(0, 4096, &base), PLUG_OK) << "and has no red zone then";
    expect_refused(runtime.mem_alloc(0, 4097, &base), "alloc-largest");
  });
  ::unsetenv("TORCHPLUG_HANDLES_LARGEST");
}

}  // namespace
}  // namespace torchplug::tests
