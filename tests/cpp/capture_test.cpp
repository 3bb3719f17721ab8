// Graphs without Python: capture, replay, what a capture forbids, and random numbers of a plugin that
// captures.

#include "runtime/capture.h"

#include <ATen/ops/exp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include "capture/graph.h"
#include "pytorch/active_module.h"
#include "runtime/generator.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

// Captures `work` on a stream of its own, after having run it there once.
void capture_into(Graph& graph, const std::function<void()>& work, CaptureMode mode = CaptureMode::kGlobal) {
  const Stream stream = has_streams(0) ? new_stream() : Stream::default_of(0);
  const CurrentStream current(stream);
  work();
  stream.synchronize();
  graph.capture_begin({0, 0}, mode);
  work();
  graph.capture_end();
}

TEST(Capture, nothing_runs_before_the_replay) {
  on_sim([] {
    at::Tensor x = at::zeros({4}, at::device(device()));
    synchronize_device(0);
    Graph graph(/*keep_graph=*/false);
    capture_into(graph, [&] { x.add_(1); });
    expect_same(x, at::full({4}, 1.0f));
    for (const float expected : {2.0f, 3.0f}) {
      graph.replay();
      expect_same(x, at::full({4}, expected));
    }
  });
}

TEST(Capture, jobs_run_again_with_what_memory_holds_then) {
  on_sim([] {
    at::Tensor x = on_device(at::tensor({1.0f, 2.0f}));
    at::Tensor y;
    synchronize_device(0);
    Graph graph(false);
    capture_into(graph, [&] { y = at::exp(x).mul(2); });
    x.copy_(at::tensor({3.0f, 4.0f}));
    graph.replay();
    expect_close(y, at::tensor({3.0f, 4.0f}).exp().mul(2));
  });
}

TEST(Capture, a_stream_is_found_while_it_captures) {
  on_sim([] {
    EXPECT_FALSE(any_capture());
    const Stream stream = new_stream();
    const CurrentStream current(stream);
    Graph graph(false);
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    EXPECT_TRUE(any_capture());
    EXPECT_TRUE(is_capturing(stream));
    EXPECT_FALSE(is_capturing(new_stream()));
    EXPECT_TRUE(is_current_stream_capturing());
    graph.capture_end();
    EXPECT_FALSE(any_capture());
    EXPECT_FALSE(is_capturing(stream));
  });
}

TEST(Capture, what_is_refused_spoils_the_capture_and_leaves_the_device_usable) {
  on_sim([] {
    const Stream stream = new_stream();
    const CurrentStream current(stream);
    Graph graph(false);
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    const std::string refused = error_of([&] { stream.synchronize(); });
    expect_one_sentence(refused);
    expect_says(refused, {"Waiting for a stream", "Wait before the capture"});
    expect_says(error_of([&] { graph.capture_end(); }), {"The capture of the graph failed", refused});
    stream.synchronize();
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    expect_says(error_of([] { synchronize_device(0); }), {"cannot be synchronised"});
    EXPECT_NE(error_of([&] { graph.capture_end(); }), "");
    synchronize_device(0);
    EXPECT_FALSE(any_capture());
  });
}

TEST(Capture, events_carry_streams_into_it) {
  on_sim([] {
    const Stream side = new_stream();
    const Stream origin = new_stream();
    const CurrentStream current(origin);
    Event fork(0, false);
    Event join(0, false);
    Graph graph(false);
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    fork.record(origin);
    fork.block(side);
    EXPECT_TRUE(is_capturing(side));
    int runs = 0;
    enqueue(side, [&] { ++runs; });
    join.record(side);
    join.block(origin);
    graph.capture_end();
    EXPECT_FALSE(is_capturing(side));
    side.synchronize();
    EXPECT_EQ(runs, 0);
    graph.replay();
    origin.synchronize();
    EXPECT_EQ(runs, 1);
    expect_says(error_of([&] { join.synchronize(); }), {"not valid outside of it"});
  });
}

TEST(Capture, a_job_is_released_when_the_graph_is_reset) {
  on_sim([] {
    auto held = std::make_shared<int>(0);
    Graph graph(false);
    capture_into(graph, [held] { enqueue(Stream::current(0), [held] { ++*held; }); });
    graph.replay();
    graph.replay();
    synchronize_device(0);
    EXPECT_EQ(*held, 3);
    EXPECT_EQ(held.use_count(), 2);
    graph.reset();
    EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
  });
}

TEST(Capture, a_failure_in_a_replay_is_thrown_at_the_next_wait) {
  on_sim([] {
    bool fails = false;
    Graph graph(false);
    capture_into(graph, [&] { enqueue(Stream::current(0), [&] { TORCH_CHECK(!fails, "the job failed"); }); });
    fails = true;
    graph.replay();
    expect_says(error_of([] { synchronize_device(0); }), {"the job failed"});
    fails = false;
    graph.replay();
    synchronize_device(0);
  });
}

// The device's kernel reads its seed and its offset from device memory in a capture.
TEST(Capture, a_kernel_finds_where_each_replay_begins_to_draw) {
  alone([] {
    activate(plugin_path("captures"));
    ASSERT_FALSE(emulates_capture(0));
    const at::TensorOptions there = at::device(device()).dtype(at::kFloat);
    at::Generator generator = default_generator(0);
    at::Tensor x;
    at::Tensor y;
    Graph graph(false);
    capture_into(graph, [&] {
      x = at::rand({5}, there);
      y = at::rand({6}, there);
    });
    generator.set_current_seed(7);
    std::vector<at::Tensor> expected;
    for (int i = 0; i < 4; ++i) expected.push_back(at::rand({5 + i % 2}, there).cpu());
    const uint64_t offset = generator.get_offset();
    generator.set_current_seed(7);
    graph.replay();
    expect_same(x, expected[0]);
    expect_same(y, expected[1]);
    graph.replay();
    expect_same(x, expected[2]);
    expect_same(y, expected[3]);
    EXPECT_EQ(generator.get_offset(), offset);
    EXPECT_FALSE(expected[0].equal(expected[2]));
  });
}

TEST(Capture, what_the_cpu_does_is_refused_where_the_plugin_captures_without_host_functions) {
  alone([] {
    activate(plugin_path("captures"));
    at::Tensor x = at::zeros({5}, at::device(device()));
    at::exp(x);  // staged
    Graph graph(false);
    graph.capture_begin({0, 0}, CaptureMode::kGlobal);
    expect_says(error_of([&] { at::exp(x); }), {"aten::exp", "has no host_func"});
    graph.reset();
    EXPECT_FALSE(any_capture());
    expect_same(at::exp(x), at::full({5}, 1.0f));
  });
}

}  // namespace
}  // namespace torchplug::tests
