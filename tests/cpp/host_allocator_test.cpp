// Pinned host memory: what is given out again, when, and what the statistics say.

#include "memory/host_allocator.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/empty.h>

#include <cstring>

#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

TEST(HostAllocator, a_freed_block_is_given_out_again_to_what_has_the_same_power_of_two) {
  on_sim([] {
    const void* first = host_allocator().allocate(5000).get();
    EXPECT_EQ(host_allocator().allocate(8192).get(), first);
    EXPECT_NE(host_allocator().allocate(9000).get(), first);
    EXPECT_EQ(host_allocator().get_stats().num_host_alloc, 2);
  });
}

TEST(HostAllocator, a_block_in_use_on_a_stream_is_kept_back_until_that_has_passed) {
  on_sim([] {
    const Stream stream = new_stream();
    Gate gate(stream);
    c10::DataPtr data = host_allocator().allocate(4096);
    const void* first = data.get();
    EXPECT_TRUE(
        host_allocator().record_event(static_cast<char*>(data.get()) + 100, nullptr, stream.unwrap()));
    data.clear();
    const c10::DataPtr second = host_allocator().allocate(4096);
    EXPECT_NE(second.get(), first);
    gate.open();
    stream.synchronize();
    EXPECT_EQ(host_allocator().allocate(4096).get(), first);
  });
}

TEST(HostAllocator, a_block_in_use_on_two_streams_is_kept_back_until_both_have_passed) {
  on_sim([] {
    const Stream users[] = {new_stream(), new_stream()};
    for (const size_t held : {size_t{0}, size_t{1}}) {
      Gate gate(users[held]);
      c10::DataPtr data = host_allocator().allocate(4096);
      const void* first = data.get();
      for (const Stream& user : users) record_pinned_use(first, user);
      data.clear();
      users[1 - held].synchronize();
      const c10::DataPtr second = host_allocator().allocate(4096);
      EXPECT_NE(second.get(), first) << "stream " << held << " has not passed";
      gate.open();
      users[held].synchronize();
      host_allocator().empty_cache();
      EXPECT_EQ(host_allocator().get_stats().allocations.current, 1) << "only the second is left";
    }
  });
}

TEST(HostAllocator, a_stream_that_is_behind_does_not_keep_back_the_blocks_of_another) {
  on_sim([] {
    const Stream slow = new_stream();
    const Stream fast = new_stream();
    Gate gate(slow);
    std::vector<c10::DataPtr> held;
    for (int i = 0; i < 100; ++i) {
      held.push_back(host_allocator().allocate(4096));
      record_pinned_use(held.back().get(), slow);
    }
    held.clear();
    const void* used_on_fast = nullptr;
    {
      const c10::DataPtr data = host_allocator().allocate(4096);
      used_on_fast = data.get();
      record_pinned_use(data.get(), fast);
    }
    fast.synchronize();
    EXPECT_EQ(host_allocator().allocate(4096).get(), used_on_fast);
    EXPECT_EQ(host_allocator().get_stats().num_host_alloc, 101);
  });
}

TEST(HostAllocator, while_a_stream_is_captured_no_event_is_recorded_for_a_freed_block) {
  on_sim([] {
    const Stream stream = new_stream();
    Capturing capture(stream);
    c10::DataPtr data = host_allocator().allocate(4096);
    const void* first = data.get();
    record_pinned_use(first, stream);
    data.clear();
    const c10::DataPtr second = host_allocator().allocate(4096);
    EXPECT_NE(second.get(), first) << "it waits for the end of the capture";
    capture.end();
    Gate gate(stream);
    const c10::DataPtr third = host_allocator().allocate(4096);
    EXPECT_NE(third.get(), first) << "the event is recorded after the capture, behind the gate";
    gate.open();
    stream.synchronize();
    EXPECT_EQ(host_allocator().allocate(4096).get(), first);
  });
}

TEST(HostAllocator, statistics_are_exact) {
  on_sim([] {
    {
      const c10::DataPtr a = host_allocator().allocate(5000);
      const c10::DataPtr b = host_allocator().allocate(100000);
      const auto held = host_allocator().get_stats();
      EXPECT_EQ(held.active_requests.current, 2);
      EXPECT_EQ(held.active_bytes.current, 8192 + 131072);
      EXPECT_EQ(held.allocations.current, 2);
      EXPECT_EQ(held.allocated_bytes.current, 8192 + 131072);
      EXPECT_EQ(held.host_alloc_time.count, 2);
      EXPECT_EQ(held.bucket_allocation.at(13), 1);
      EXPECT_EQ(held.bucket_allocation.at(17), 1);
    }
    const auto freed = host_allocator().get_stats();
    EXPECT_EQ(freed.active_requests.current, 0);
    EXPECT_EQ(freed.active_bytes.current, 0);
    EXPECT_EQ(freed.active_bytes.peak, 8192 + 131072);
    EXPECT_EQ(freed.allocated_bytes.current, 8192 + 131072) << "cached";
    EXPECT_EQ(freed.num_host_free, 0);
    host_allocator().empty_cache();
    const auto emptied = host_allocator().get_stats();
    EXPECT_EQ(emptied.allocated_bytes.current, 0);
    EXPECT_EQ(emptied.num_host_free, 2);
    EXPECT_EQ(emptied.host_free_time.count, 2);
    host_allocator().reset_peak_stats();
    host_allocator().reset_accumulated_stats();
    const auto reset = host_allocator().get_stats();
    EXPECT_EQ(reset.active_bytes.peak, 0);
    EXPECT_EQ(reset.active_bytes.allocated, 0);
    EXPECT_EQ(reset.num_host_alloc, 0);
  });
}

TEST(HostAllocator, a_block_that_a_stream_still_uses_counts_as_active) {
  on_sim([] {
    const Stream stream = new_stream();
    Gate gate(stream);
    c10::DataPtr data = host_allocator().allocate(4096);
    record_pinned_use(data.get(), stream);
    data.clear();
    EXPECT_EQ(host_allocator().get_stats().active_requests.current, 1);
    gate.open();
    stream.synchronize();
    host_allocator().empty_cache();
    EXPECT_EQ(host_allocator().get_stats().active_requests.current, 0);
    EXPECT_EQ(host_allocator().get_stats().allocations.current, 0);
  });
}

TEST(HostAllocator, a_plugin_that_fails_to_free_one_block_is_asked_to_free_the_others) {
  alone([] {
    ::setenv("TORCHPLUG_LAYERS", "fault", 1);
    ::setenv("TORCHPLUG_FAULT", "host_free:1", 1);
    activate(SIM_LIBRARY);
    ensure_open(0);
    for (size_t bytes : {size_t{4096}, size_t{8192}, size_t{16384}}) host_allocator().allocate(bytes);
    expect_says(error_of([] { host_allocator().empty_cache(); }), {"host_free"});
    EXPECT_EQ(host_allocator().get_stats().num_host_free, 3);
    EXPECT_EQ(host_allocator().get_stats().allocated_bytes.current, 0);
  });
}

TEST(HostAllocator, only_its_own_memory_is_pinned) {
  on_sim([] {
    const int mine = 0;
    EXPECT_FALSE(is_pinned(&mine));
    const c10::DataPtr data = host_allocator().allocate(5000);
    const char* begin = static_cast<const char*>(data.get());
    EXPECT_TRUE(is_pinned(begin) && is_pinned(begin + 8191));
    EXPECT_FALSE(is_pinned(&mine));
    EXPECT_FALSE(host_allocator().record_event(const_cast<int*>(&mine), nullptr, new_stream().unwrap()));
  });
}

// The pinned memory of another library, in the same process: the driver knows it, torchplug does not.
class OthersAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    exported<void(const void*, uint64_t)>(plugin_path("pinned_by_others"), "pin_for_others")(memory, bytes);
    latest = memory;
    return {memory, memory, &std::free, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  const void* latest = nullptr;
};

OthersAllocator& others_allocator() {
  static OthersAllocator others;
  return others;
}

at::Tensor pinned_by_others(const at::Tensor& like) {
  at::Tensor made =
      at::detail::empty_generic(like.sizes(), &others_allocator(), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                like.scalar_type(), std::nullopt);
  return made.copy_(like);
}

TEST(HostAllocator, a_blocking_copy_has_read_memory_that_somebody_else_pinned) {
  alone([] {
    activate(plugin_path("pinned_by_others"));
    const CurrentStream current(new_stream());
    const at::Tensor expected = numbers({1000});
    const at::Tensor target = at::empty({1000}, device());
    at::Tensor source = pinned_by_others(expected);
    EXPECT_FALSE(is_pinned(source.const_data_ptr()));
    target.copy_(source);
    source.fill_(7);
    expect_same(target, expected);

    // Parts of it, and what has to be converted or spread out.
    for (const at::Tensor& part : {expected.narrow(0, 10, 30), expected.slice(0, 0, 1000, 3)}) {
      source = pinned_by_others(expected);
      const at::Tensor same = source.as_strided(part.sizes(), part.strides(), part.storage_offset());
      const at::Tensor there = at::empty(part.sizes(), device());
      there.copy_(same);
      const at::Tensor as_double = same.to(device(), at::kDouble);
      source.fill_(7);
      EXPECT_TRUE(there.cpu().equal(part));
      EXPECT_TRUE(as_double.cpu().equal(part.to(at::kDouble)));
    }
  });
}

TEST(HostAllocator, memory_that_the_plugin_knows_others_have_pinned_is_copied_without_waiting) {
  alone([] {
    ::setenv("TORCHPLUG_PINNED_BY_OTHERS_TELLS", "1", 1);
    activate(plugin_path("pinned_by_others"));
    const auto late_copies = exported<uint64_t()>(plugin_path("pinned_by_others"), "late_copies");
    at::globalContext().lazyInitDevice(kDeviceType);
    const CurrentStream current(new_stream());
    const at::Tensor expected = numbers({1000});
    const at::Tensor target = at::empty({1000}, device());
    at::Tensor source = pinned_by_others(expected);
    EXPECT_TRUE(source.is_pinned());
    EXPECT_TRUE(source.narrow(0, 10, 5).is_pinned());
    EXPECT_FALSE(expected.is_pinned());

    target.copy_(source, /*non_blocking=*/true);
    EXPECT_EQ(late_copies(), 1u) << "nobody has waited";
    const auto weak = c10::weak_intrusive_ptr<c10::StorageImpl>(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(source.storage().unsafeGetStorageImpl()));
    source = at::Tensor();
    EXPECT_FALSE(weak.expired()) << "the copy has not been made yet";
    Stream::current(0).synchronize();
    EXPECT_EQ(late_copies(), 0u);
    expect_same(target, expected);
    host_allocator().empty_cache();
    EXPECT_TRUE(weak.expired());

    source = pinned_by_others(expected);
    target.copy_(source);
    EXPECT_EQ(late_copies(), 0u) << "a blocking copy waits";
    source.fill_(7);
    expect_same(target, expected);
  });
}

// As in a build of PyTorch for CUDA, whose allocator serves torch.empty(pin_memory=True), whatever else there
// is.
struct OtherAccelerator final : at::CUDAHooksInterface {
  explicit OtherAccelerator(at::CUDAHooksArgs /*none*/) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool hasPrimaryContext(DeviceIndex /*device*/) const override { return true; }
  at::Allocator* getPinnedMemoryAllocator() const override { return &others_allocator(); }
  bool isPinnedPtr(const void* address) const override { return address == others_allocator().latest; }
};

TEST(HostAllocator, memory_that_pytorch_pinned_with_another_accelerator_is_pinned) {
  if (at::CUDAHooksRegistry()->Has("CUDAHooks")) GTEST_SKIP() << "PyTorch was built for such an accelerator";
  alone([] {
    at::CUDAHooksRegistry()->Register("CUDAHooks", [](at::CUDAHooksArgs args) {
      return std::unique_ptr<at::CUDAHooksInterface>(std::make_unique<OtherAccelerator>(args));
    });
    activate(plugin_path("pinned_by_others"));
    at::globalContext().lazyInitDevice(kDeviceType);  // before that PyTorch takes nothing for pinned
    const CurrentStream current(new_stream());
    at::Tensor source = at::empty({1000}, at::TensorOptions().pinned_memory(true));
    EXPECT_EQ(source.const_data_ptr(), others_allocator().latest);
    EXPECT_TRUE(source.is_pinned());
    EXPECT_FALSE(numbers({1000}).is_pinned());
    source.copy_(numbers({1000}));
    const at::Tensor target = at::empty({1000}, device());
    target.copy_(source);
    source.fill_(7);
    expect_same(target, numbers({1000}));
  });
}

TEST(HostAllocator, a_copy_from_ordinary_memory_does_not_wait_for_the_stream) {
  on_sim([] {
    const CurrentStream current(new_stream());
    const at::Tensor target = at::empty({100}, device());
    at::Tensor source = numbers({100});
    Gate gate(Stream::current(0));
    target.copy_(source);
    source.fill_(7);
    EXPECT_FALSE(Stream::current(0).is_idle());
    gate.open();
    expect_same(target, numbers({100}));
  });
}

// Each thread writes its number, has a stream read it, and frees the block at once.
TEST(HostAllocator, many_threads_never_hold_the_same_memory) {
  on_sim([] {
    std::atomic<int> wrong{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 1; t <= 4; ++t) {
        threads.emplace_back([&wrong, t] {
          const Stream stream = new_stream();
          for (int i = 0; i < 2000; ++i) {
            const c10::DataPtr data = host_allocator().allocate(4096 << (i % 3));
            auto* bytes = static_cast<unsigned char*>(data.get());
            std::memset(bytes, t, 4096);
            enqueue(stream, [&wrong, bytes, t] {
              if (bytes[0] != t || bytes[4095] != t) ++wrong;
            });
            record_pinned_use(bytes, stream);
          }
          stream.synchronize();
        });
      }
    }
    EXPECT_EQ(wrong, 0);
    host_allocator().empty_cache();
    EXPECT_EQ(host_allocator().get_stats().allocated_bytes.current, 0);
    EXPECT_EQ(host_allocator().get_stats().active_requests.allocated, 8000);
  });
}

}  // namespace
}  // namespace torchplug::tests
