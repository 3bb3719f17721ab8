// Captures that torchplug records for a plugin that has none: a list that replays carry out through the
// plugin.

#include "plugin/layers/emulated_capture.h"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sum.h>

#include <array>

#include "capture/graph.h"
#include "kernels_device.h"
#include "plugin/call_copy.h"
#include "pytorch/active_module.h"
#include "runtime/generator.h"

namespace torchplug::tests {
namespace {

void capture_into(Graph& graph, const std::function<void()>& work) {
  work();
  graph.capture_begin({0, 0}, CaptureMode::kGlobal);
  work();
  graph.capture_end();
}

TEST(Record, a_plugin_without_capture_gets_it) {
  on_kernels([] {
    active_module();
    EXPECT_TRUE(emulates_capture(0));
  });
}

TEST(Record, kernels_are_called_at_each_replay_and_not_before) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({6}));
    at::Tensor y;
    Graph graph(false);
    at::relu(x);
    const uint64_t calls = seen("relu(").count;
    capture_into(graph, [&] { y = at::relu(x); });
    EXPECT_EQ(seen("relu(").count, calls + 1) << "by the call before the capture";
    x.copy_(numbers({6}).add(1));
    graph.replay();
    EXPECT_EQ(seen("relu(").count, calls + 2);
    expect_same(y, numbers({6}).add(1).relu());
  });
}

TEST(Record, a_kernel_finds_its_arguments_as_they_were) {
  on_kernels([] {
    at::Tensor a = on_device(numbers({2, 3}));
    at::Tensor b = on_device(numbers({4, 3}));
    at::Tensor joined;
    at::Tensor total;
    Graph graph(false);
    capture_into(graph, [&] {
      joined = at::cat({a, b}, 0);
      total = at::sum(joined, {0}, /*keepdim=*/true);
    });
    for (int i = 0; i < 3; ++i) {
      a.add_(1);
      graph.replay();
      const at::Tensor here = at::cat({a.cpu(), b.cpu()}, 0);
      expect_same(joined, here);
      expect_same(total, at::sum(here, {0}, true));
    }
  });
}

TEST(Record, scratch_memory_is_there_at_each_replay) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({3, 4}));
    at::Tensor y;
    Graph graph(false);
    capture_into(graph, [&] { y = at::cumsum(x, 0); });
    for (int i = 0; i < 3; ++i) {
      x.add_(1);
      graph.replay();
      expect_same(y, at::cumsum(x.cpu(), 0));
    }
  });
}

TEST(Record, a_kernel_draws_on_at_each_replay) {
  on_kernels([] {
    const at::TensorOptions there = at::device(device()).dtype(at::kFloat);
    at::Generator generator = default_generator(0);
    at::Tensor x;
    Graph graph(false);
    capture_into(graph, [&] { x = at::rand({5}, there); });
    generator.set_current_seed(3);
    const at::Tensor first = at::rand({5}, there).cpu();
    const at::Tensor second = at::rand({5}, there).cpu();
    generator.set_current_seed(3);
    graph.replay();
    expect_same(x, first);
    graph.replay();
    expect_same(x, second);
  });
}

TEST(Record, a_kernel_that_shapes_its_results_is_refused) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({6}));
    at::nonzero(x);
    Graph graph(false);
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    const std::string refused = error_of([&] { at::nonzero(x); });
    expect_one_sentence(refused);
    expect_says(refused, {"aten::nonzero", "outside of the capture"});
    expect_says(error_of([&] { graph.capture_end(); }), {refused});
    expect_same(at::relu(x), numbers({6}).relu());
  });
}

TEST(Record, what_a_kernel_has_declined_goes_to_the_cpu_at_once) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({6}));
    at::Tensor y;
    Graph graph(false);
    capture_into(graph, [&] { y = at::gelu(x); });  // whose kernel declines every call
    x.add_(1);
    graph.replay();
    expect_close(y, at::gelu(x.cpu()));
  });
}

TEST(Record, staged_operators_are_captured) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({6}));
    at::Tensor y;
    Graph graph(false);
    capture_into(graph, [&] {
      y = at::exp(x);
      x.clamp_(-1, 1);
    });
    x.copy_(numbers({6}));
    graph.replay();
    expect_same(y, numbers({6}).exp());
    expect_same(x, numbers({6}).clamp(-1, 1));
    graph.replay();
    expect_same(y, numbers({6}).clamp(-1, 1).exp());
  });
}

TEST(Record, a_plugin_that_is_serialized_captures_too) {
  alone([] {
    activate(plugin_path("serial"));
    at::Tensor x = on_device(numbers({6}));
    at::Tensor y;
    synchronize_device(0);
    const Stream stream = has_streams(0) ? Stream::from_pool(0, 0) : Stream::default_of(0);
    stream.exchange_current();
    Graph graph(false);
    y = at::exp(x);
    stream.synchronize();
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    y = at::exp(x);
    graph.capture_end();
    graph.replay();
    stream.synchronize();
    expect_same(y, numbers({6}).exp());
  });
}

TEST(Record, memory_without_addresses_is_captured_too) {
  alone([] {
    activate(plugin_path("opaque"));
    at::Tensor x = on_device(numbers({6}));
    at::Tensor y;
    Graph graph(false);
    capture_into(graph, [&] { y = at::exp(at::relu(x)); });
    x.copy_(numbers({6}).add(2));
    graph.replay();
    expect_same(y, numbers({6}).add(2).relu().exp());
  });
}

TEST(CallCopy, keeps_all_that_a_call_points_at) {
  std::vector<int64_t> sizes = {2, 3};
  std::vector<int64_t> strides = {3, 1};
  std::array<float, 2> row = {-1, 2.5f};
  plug_tensor tensor{{row.data(), 0, 0, 0}, PLUG_F32, 2, sizes.data(), strides.data(), 0, 0, nullptr};
  plug_tensor scalar{{row.data(), sizeof(float), PLUG_HOST, 0}, PLUG_F32, 0, nullptr, nullptr, 0, 0, nullptr};
  std::string text = "tanh";
  std::vector<plug_value> items(2);
  items[0].tag = PLUG_VALUE_TENSOR;
  items[0].as.tensors = &tensor;
  items[1].tag = PLUG_VALUE_STR;
  items[1].count = 4;
  items[1].as.str = text.data();
  std::vector<plug_value> args(2);
  args[0].tag = PLUG_VALUE_LIST;
  args[0].count = 2;
  args[0].as.values = items.data();
  args[1].tag = PLUG_VALUE_TENSOR;
  args[1].as.tensors = &scalar;
  plug_call call{};
  call.size = sizeof call;
  call.args = args.data();
  call.arg_count = 2;
  CallCopy copy(call);
  sizes = {9, 9};
  text = "xxxx";
  row = {7, 8};
  items.clear();
  items.shrink_to_fit();
  args[0].tag = PLUG_NONE;
  const plug_call kept = copy.call();
  ASSERT_EQ(kept.args[0].tag, PLUG_VALUE_LIST);
  EXPECT_EQ(kept.args[0].as.values[0].as.tensors->sizes[1], 3);
  EXPECT_EQ(kept.args[0].as.values[0].as.tensors->mem.base, row.data()) << "device memory is only named";
  EXPECT_EQ(std::string(kept.args[0].as.values[1].as.str, 4), "tanh");
  const plug_mem& host = kept.args[1].as.tensors->mem;
  EXPECT_EQ(*reinterpret_cast<const float*>(static_cast<const char*>(host.base) + host.offset), 2.5f);
}

}  // namespace
}  // namespace torchplug::tests
