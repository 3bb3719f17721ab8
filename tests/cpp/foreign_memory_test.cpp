// Memory that the allocator did not make, as extensions bring it in: what tensors over it compute, and when
// it goes back to its owner.

#include "memory/foreign_memory.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <atomic>

#include "aten/tensor/backend_meta.h"
#include "capture/graph.h"
#include "memory/address_index.h"
#include "pytorch/active_module.h"
#include "shadow_device.h"
#include "sim_device.h"
#include "tensors.h"
#include "torchplug/torchplug.hpp"

namespace {

using namespace torchplug::tests;

// Memory that a vendor's library takes from the device by itself.
void* vendors_memory(size_t bytes) {
  void* base = nullptr;
  torchplug::check(torchplug::plugin_runtime().mem_alloc(0, bytes, &base), "mem_alloc", 0);
  return base;
}

void free_vendors_memory(void* base) {
  torchplug::check(torchplug::plugin_runtime().mem_free(0, base), "mem_free", 0);
}

TEST(ForeignMemory, operators_compute_on_it) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    int freed = 0;
    void* base = vendors_memory(24);
    {
      const at::Tensor tensor =
          torchplug::from_blob(base, {2, 3}, std::nullopt, at::kFloat, 0, [&](void* given) {
            EXPECT_EQ(given, base);
            free_vendors_memory(given);
            ++freed;
          });
      EXPECT_EQ(tensor.data_ptr(), base);
      EXPECT_EQ(torchplug::memory_of(tensor).flags, uint32_t{PLUG_MEM_FOREIGN});
      tensor.copy_(numbers({2, 3}));
      expect_same(tensor.relu(), numbers({2, 3}).relu());
      expect_same(tensor.cumsum(1), numbers({2, 3}).cumsum(1));
      expect_same(at::cat({tensor, tensor}), at::cat({numbers({2, 3}), numbers({2, 3})}));
      tensor.add_(1);
      expect_same(tensor, numbers({2, 3}).add(1));
      EXPECT_EQ(freed, 0);
    }
    torchplug::memory::finish_releases();
    EXPECT_EQ(freed, 1);
    EXPECT_EQ(torchplug::memory::find_block(base), nullptr);
  });
}

TEST(ForeignMemory, it_is_not_counted_as_the_allocators) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    void* base = vendors_memory(4096);
    const auto before = torchplug::memory::DeviceAllocator::instance().getDeviceStats(0);
    const at::Tensor tensor = torchplug::from_blob(base, {1024}, std::nullopt, at::kFloat, 0);
    const auto after = torchplug::memory::DeviceAllocator::instance().getDeviceStats(0);
    EXPECT_EQ(after.allocated_bytes[0].current, before.allocated_bytes[0].current);
    EXPECT_EQ(after.reserved_bytes[0].current, before.reserved_bytes[0].current);
  });
}

TEST(ForeignMemory, it_goes_back_when_the_streams_that_used_it_have_passed) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    const c10::Stream side = torchplug::stream_from_pool(0, 0);
    std::atomic<bool> freed{false};
    void* base = vendors_memory(16);
    at::Tensor tensor = torchplug::from_blob(base, {4}, std::nullopt, at::kFloat, 0, [&](void* given) {
      free_vendors_memory(given);
      freed = true;
    });
    tensor.fill_(3);
    torchplug::synchronize_device(0);
    {
      Gate gate{torchplug::runtime::Stream(side)};
      tensor.record_stream(side);
      tensor = at::Tensor();
      EXPECT_FALSE(freed);
      gate.open();
    }
    torchplug::memory::finish_releases();
    EXPECT_TRUE(freed);
  });
}

// Nobody told record_stream: the stream that is current when a tensor goes is the one that last used it.
TEST(ForeignMemory, it_goes_back_when_the_stream_that_was_current_when_it_was_dropped_has_passed) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    const torchplug::runtime::Stream side = new_stream();
    std::atomic<bool> freed{false};
    void* base = vendors_memory(16);
    at::Tensor tensor = torchplug::from_blob(base, {4}, std::nullopt, at::kFloat, 0, [&](void* given) {
      free_vendors_memory(given);
      freed = true;
    });
    torchplug::synchronize_device(0);
    Gate gate(side);
    {
      const CurrentStream current(side);
      tensor = at::Tensor();
    }
    EXPECT_FALSE(freed);
    gate.open();
    torchplug::memory::finish_releases();
    EXPECT_TRUE(freed);
  });
}

TEST(ForeignMemory, it_goes_back_when_the_stream_that_was_current_when_it_came_has_passed) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    const torchplug::runtime::Stream side = new_stream();
    std::atomic<bool> freed{false};
    void* base = vendors_memory(16);
    at::Tensor tensor;
    {
      const CurrentStream current(side);
      tensor = torchplug::from_blob(base, {4}, std::nullopt, at::kFloat, 0, [&](void* given) {
        free_vendors_memory(given);
        freed = true;
      });
    }
    torchplug::synchronize_device(0);
    Gate gate(side);
    tensor = at::Tensor();
    EXPECT_FALSE(freed);
    gate.open();
    torchplug::memory::finish_releases();
    EXPECT_TRUE(freed);
  });
}

TEST(ForeignMemory, it_goes_back_when_all_streams_have_passed_though_waiting_for_one_of_them_failed) {
  on_shadow([] {
    torchplug::runtime::ensure_open(0);
    const torchplug::runtime::Stream users[] = {new_stream(), new_stream()};
    std::atomic<bool> freed{false};
    void* base = vendors_memory(16);
    at::Tensor tensor = torchplug::from_blob(base, {4}, std::nullopt, at::kFloat, 0, [&](void* given) {
      free_vendors_memory(given);
      freed = true;
    });
    for (const auto& user : users) tensor.record_stream(user.unwrap());
    Gate gate(users[1]);
    const uint64_t waits = count_of("stream_sync");
    break_next("stream_sync", PLUG_TIMEOUT, "the cable was loose");
    tensor = at::Tensor();
    EXPECT_TRUE(eventually([&] { return freed || count_of("stream_sync") == waits + 2; }));
    EXPECT_FALSE(freed) << "the second stream is held";
    gate.open();
    torchplug::memory::finish_releases();
    EXPECT_TRUE(freed);
  });
}

TEST(ForeignMemory, what_is_dropped_in_a_capture_lives_as_long_as_the_graph) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    const CurrentStream current(new_stream());
    void* base = vendors_memory(16);
    int freed = 0;
    at::Tensor tensor = torchplug::from_blob(base, {4}, std::nullopt, at::kFloat, 0, [&](void* given) {
      free_vendors_memory(given);
      ++freed;
    });
    tensor.fill_(3);
    at::Tensor sum = at::zeros({4}, device());
    sum.add_(tensor);
    torchplug::capture::Graph graph(/*keep_graph=*/false);
    graph.capture_begin({0, 0}, torchplug::runtime::CaptureMode::kGlobal);
    sum.add_(tensor);
    tensor = at::Tensor();
    graph.capture_end();
    for (int i = 0; i < 3; ++i) graph.replay();
    EXPECT_TRUE(sum.cpu().eq(12).all().item<bool>());
    EXPECT_EQ(freed, 0);
    graph.reset();
    torchplug::memory::finish_releases();
    EXPECT_EQ(freed, 1);
  });
}

TEST(ForeignMemory, that_of_a_lost_device_goes_back_at_once) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    int freed = 0;
    at::Tensor tensor =
        torchplug::from_blob(vendors_memory(16), {4}, std::nullopt, at::kFloat, 0, [&](void*) { ++freed; });
    const plug_host& host = torchplug::pytorch::active_module().host;
    host.report(&host, 0, nullptr, 0, PLUG_LOST, "the board was unplugged");
    tensor = at::Tensor();
    EXPECT_EQ(freed, 1);
  });
}

TEST(ForeignMemory, ranges_that_overlap_are_all_right) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    void* base = vendors_memory(64);
    char* bytes = static_cast<char*>(base);
    const at::Tensor whole = torchplug::from_blob(base, {16}, std::nullopt, at::kFloat, 0);
    at::Tensor part = torchplug::from_blob(bytes + 16, {4}, std::nullopt, at::kFloat, 0);
    whole.copy_(numbers({16}));
    expect_same(part, numbers({16}).narrow(0, 4, 4).contiguous());
    part = at::Tensor();
    expect_same(whole.sin(), numbers({16}).sin());
    EXPECT_NE(torchplug::memory::find_block(bytes + 60), nullptr);
  });
}

TEST(ForeignMemory, memory_without_a_host_view_is_staged) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    char* base = static_cast<char*>(vendors_memory(1024));
    {
      // Inside an allocation: the plugin gives views of whole ones.
      const at::Tensor tensor = torchplug::from_blob(base + 512, {4}, std::nullopt, at::kFloat, 0);
      EXPECT_TRUE(torchplug::memory::any_block_lacks_host_view());
      EXPECT_EQ(torchplug::host_view_of(tensor), nullptr);
      tensor.copy_(numbers({4}));
      expect_same(tensor.erf(), numbers({4}).erf());
      tensor.cumsum_(0);
      expect_same(tensor, numbers({4}).cumsum(0));
    }
    torchplug::memory::finish_releases();
    EXPECT_FALSE(torchplug::memory::any_block_lacks_host_view());
  });
}

TEST(ForeignMemory, a_device_without_addresses_takes_it_by_its_base) {
  alone([] {
    torchplug::activate(plugin_path("opaque"));
    torchplug::runtime::ensure_open(0);
    void* base = vendors_memory(64);
    const at::Tensor tensor = torchplug::from_blob(base, {4, 2}, at::IntArrayRef{1, 4}, at::kFloat, 0);
    EXPECT_NE(tensor.data_ptr(), base) << "no address";
    EXPECT_EQ(torchplug::memory_of(tensor).base, base);
    tensor.copy_(numbers({4, 2}));
    expect_same(tensor.t().contiguous(), numbers({4, 2}).t().contiguous());
    tensor[2].add_(1);
    EXPECT_TRUE(tensor.cpu().select(0, 2).equal(numbers({4, 2}).select(0, 2).add(1)));
  });
}

// As DLPack and at::from_blob make them: PyTorch's own DataPtr over the plugin's memory.
TEST(ForeignMemory, a_storage_that_pytorch_made_is_adopted) {
  on_sim([] {
    torchplug::runtime::ensure_open(0);
    void* base = vendors_memory(16);
    int freed = 0;
    {
      const at::Tensor tensor =
          at::from_blob(base, {4}, [&](void*) { ++freed; }, at::device(device()).dtype(at::kFloat), device());
      expect_says(error_of([&] { tensor.cpu(); }), {"does not belong to device 'sim'", "from_blob"});
      torchplug::memory::adopt_storage(tensor.storage());
      torchplug::memory::adopt_storage(tensor.storage());
      tensor.copy_(numbers({4}));
      expect_same(tensor.abs(), numbers({4}).abs());
      EXPECT_EQ(freed, 0);
    }
    torchplug::memory::finish_releases();
    EXPECT_EQ(freed, 1);
  });
}

TEST(ForeignMemory, notes_on_a_tensor_are_an_extensions_to_make) {
  on_sim([] {
    const at::Tensor tensor = on_device(numbers({4}));
    EXPECT_TRUE(torchplug::backend_notes(tensor).empty());
    torchplug::set_backend_notes(tensor, {{"format", "blocked"}});
    EXPECT_EQ(torchplug::backend_notes(tensor.detach()).at("format"), "blocked");
    EXPECT_EQ(torchplug::backend_notes(tensor).size(), 1u);
  });
}

}  // namespace
