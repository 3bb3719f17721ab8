// What kernels give that is not one tensor of a known shape: numbers, lists, what they shape themselves.

#include <ATen/ops/equal.h>
#include <ATen/ops/frac.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/split_copy.h>
#include <ATen/ops/unbind_copy.h>

#include "capture/graph.h"
#include "kernels_device.h"

namespace torchplug::tests {
namespace {

using Tensors = std::vector<at::Tensor>;

TEST(KernelResults, numbers_come_with_the_tag_of_their_type) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4}));
    EXPECT_TRUE(at::equal(x, x.clone()));
    EXPECT_EQ(seen("equal(").results[0].tag, PLUG_VALUE_BOOL);
    EXPECT_FALSE(at::equal(x, x.add(1)));
  });
}

TEST(KernelResults, lists_of_tensors_are_there_for_the_kernel_to_write) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({5, 3}));
    for (int i = 0; i < 2; ++i) {
      const Tensors parts = at::split_copy(x, 2, 0);
      const Tensors expected = at::split_copy(numbers({5, 3}), 2, 0);
      ASSERT_EQ(parts.size(), expected.size());
      for (size_t p = 0; p < parts.size(); ++p) expect_same(parts[p], expected[p]);
    }
    EXPECT_EQ(seen("split_copy.Tensor(").count, 2u);
    EXPECT_EQ(seen("split_copy.Tensor(").results[0].tag, PLUG_VALUE_TENSORS);
    EXPECT_EQ(seen("split_copy.Tensor(").results[0].count, 3u);
    EXPECT_EQ(seen("split_copy.Tensor(").results[0].tensors[2].flags, uint32_t{PLUG_TENSOR_WRITTEN});
  });
}

TEST(KernelResults, a_list_that_a_kernel_declines_is_the_cpus_and_the_ledger_says_why) {
  on_kernels([] {
    const Tensors parts = at::split_copy(on_device(numbers({2, 4})), 2, 1);
    expect_same(parts[1], at::split_copy(numbers({2, 4}), 2, 1)[1]);
    for (const LedgerEntry& entry : ledger_entries()) {
      if (entry.op == "aten::split_copy.Tensor")
        expect_says(entry.why, {"declined", "only the first dimension is split"});
    }
  });
}

TEST(KernelResults, a_kernel_may_shape_the_tensors_of_a_list_one_by_one_with_strides_of_its_own) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({3, 4}));
    const Tensors rows = at::unbind_copy(x, 0);
    ASSERT_EQ(rows.size(), 3u);
    for (int64_t r = 0; r < 3; ++r) {
      EXPECT_EQ(rows[static_cast<size_t>(r)].strides(), at::IntArrayRef({2}));
      EXPECT_TRUE(rows[static_cast<size_t>(r)].cpu().equal(numbers({3, 4}).select(0, r)));
    }
    EXPECT_TRUE(at::unbind_copy(on_device(numbers({0, 4})), 0).empty());
  });
}

TEST(KernelResults, a_list_is_captured) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({4, 2}));
    Tensors parts = at::split_copy(x, 2, 0);
    Graph graph(false);
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    parts = at::split_copy(x, 2, 0);
    graph.capture_end();
    x.add_(1);
    graph.replay();
    expect_same(parts[1], numbers({4, 2}).add(1).narrow(0, 2, 2));
  });
}

TEST(KernelResults, a_result_is_shaped_once_and_by_sizes_that_there_are) {
  on_kernels([] {
    const std::string said = error_of([] { at::frac(on_device(numbers({4}))); });
    expect_says(said, {"aten::frac", "has its shape already"});
  });
}

}  // namespace
}  // namespace torchplug::tests
