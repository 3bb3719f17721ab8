// A device whose memory has no addresses: everything goes by base and offset.

#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>

#include "harness.h"
#include "memory/device_allocator.h"
#include "pytorch/activate.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

// A test of the opaque device, in a process of its own.
void on_opaque_device(const std::function<void()>& body) {
  alone([&] {
    activate(plugin_path("opaque"));
    body();
  });
}

TEST(Opaque, values_survive_the_way_there_and_back) {
  on_opaque_device([] {
    for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong, at::kByte, at::kComplexFloat}) {
      const at::Tensor x = numbers({3, 5}, dtype);
      expect_same(on_device(x), x);
    }
  });
}

TEST(Opaque, views_with_offsets_and_strides_are_read_where_they_lie) {
  on_opaque_device([] {
    const at::Tensor x = numbers({6, 8});
    const at::Tensor there = on_device(x);
    EXPECT_TRUE(there.narrow(0, 2, 3).cpu().equal(x.narrow(0, 2, 3)));
    EXPECT_TRUE(there.select(1, 5).cpu().equal(x.select(1, 5)));
    EXPECT_TRUE(there.slice(1, 1, 8, 3).cpu().equal(x.slice(1, 1, 8, 3)));
    EXPECT_TRUE(there.t().narrow(0, 7, 1).cpu().equal(x.t().narrow(0, 7, 1)));
    EXPECT_EQ(there.select(0, 5).select(0, 7).item<float>(), x[5][7].item<float>());
  });
}

TEST(Opaque, views_are_written_where_they_lie_and_nowhere_else) {
  on_opaque_device([] {
    at::Tensor x = numbers({6, 8});
    at::Tensor there = on_device(x);
    const at::Tensor row = numbers({8}).mul(100);
    x.select(0, 3).copy_(row);
    there.select(0, 3).copy_(row);
    x.slice(1, 2, 8, 4).fill_(-1);
    there.slice(1, 2, 8, 4).fill_(-1);
    x.narrow(0, 4, 2).mul_(3);
    there.narrow(0, 4, 2).mul_(3);
    expect_same(there, x);
  });
}

TEST(Opaque, a_kernel_gets_the_offset_of_a_view) {
  on_opaque_device([] {
    const at::Tensor x = numbers({6, 8});
    const at::Tensor there = on_device(x);
    expect_same(there.narrow(0, 4, 2).relu(), x.narrow(0, 4, 2).relu());
    expect_same(there.narrow(0, 1, 1).relu(), x.narrow(0, 1, 1).relu());
    at::Tensor out = on_device(x);
    at::Tensor expected = x.clone();
    at::Tensor part = out.narrow(0, 2, 2);
    at::relu_out(part, there.narrow(0, 0, 2));
    expected.narrow(0, 2, 2).copy_(x.narrow(0, 0, 2).relu());
    expect_same(out, expected);
    EXPECT_EQ(ledger_count("aten::relu", Way::kKernel, Reason::kNone), 2u);
    EXPECT_EQ(ledger_count("aten::relu.out", Way::kKernel, Reason::kNone), 1u);
  });
}

TEST(Opaque, operators_without_a_kernel_compute_on_copies) {
  on_opaque_device([] {
    const at::Tensor a = numbers({4, 6});
    const at::Tensor b = numbers({6, 3});
    const at::Tensor product = at::matmul(on_device(a), on_device(b));
    expect_same(product, at::matmul(a, b));
    EXPECT_EQ(ledger_count("aten::mm", Way::kStage, Reason::kNoKernel), 1u);
  });
}

TEST(Opaque, a_growing_resize_keeps_what_was_there) {
  on_opaque_device([] {
    at::Tensor there = on_device(numbers({4}));
    there.resize_({4096});
    EXPECT_TRUE(there.narrow(0, 0, 4).cpu().equal(numbers({4})));
  });
}

TEST(Opaque, pytorch_holds_addresses_of_which_each_leads_to_its_tensor) {
  on_opaque_device([] {
    const at::Tensor a = on_device(numbers({16}));
    const at::Tensor b = on_device(numbers({16}));
    const auto& allocator = DeviceAllocator::instance();
    const auto place = [&](const at::Tensor& t) {
      const plug_mem mem = allocator.locate(t.const_data_ptr()).memory();
      EXPECT_LT(reinterpret_cast<uintptr_t>(mem.base), 4096u) << "what the plugin gave";
      return std::pair(mem.base, mem.offset);
    };
    const auto [base, offset] = place(a);
    EXPECT_EQ(place(a.narrow(0, 3, 1)), std::pair(base, offset + 3 * sizeof(float)));
    EXPECT_NE(place(b), place(a));
    const plug_mem by_storage = allocator.locate(*b.storage().unsafeGetStorageImpl()).memory();
    EXPECT_EQ(place(b), std::pair(by_storage.base, by_storage.offset));
  });
}

TEST(Opaque, freed_memory_goes_back_to_the_plugin_and_comes_again) {
  on_opaque_device([] {
    for (int i = 0; i < 3; ++i) {
      expect_same(on_device(numbers({1000})), numbers({1000}));
      DeviceAllocator::instance().emptyCache();
      EXPECT_EQ(DeviceAllocator::instance().getDeviceStats(0).reserved_bytes[0].current, 0);
    }
  });
}

}  // namespace
}  // namespace torchplug::tests
