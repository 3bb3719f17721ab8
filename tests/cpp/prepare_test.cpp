// Kernels that prepare for calls that look alike: once a plan, before the first call; and their states, which
// live as long as anything uses them.

#include "prepare.h"

#include <ATen/ops/relu.h>
#include <ATen/ops/trace.h>

#include <future>
#include <thread>

#include "capture/graph.h"
#include "plugin/layers/emulated_capture.h"
#include "pytorch/activate.h"
#include "pytorch/active_module.h"
#include "runtime/stream.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

void on_prepare(const std::function<void()>& body) {
  alone([&] {
    activate(plugin_path("prepare"));
    body();
  });
}

const prepare_counts& counts() {
  static const auto seen = exported<const prepare_counts*()>(plugin_path("prepare"), "prepare_seen");
  return *seen();
}

// Makes as many plans as the cache holds and more, so that it drops those it has.
void make_many_plans() {
  for (int64_t i = 0; i < 2100; ++i) at::relu(at::empty({1, 100 + i}, at::device(device())));
}

// Keeps a stream from going on until it is let.
class Held {
 public:
  explicit Held(const Stream& stream) {
    class Wait final : public HostJob {
     public:
      explicit Wait(std::shared_future<void> until) : until_(std::move(until)) {}
      void run() override { until_.wait(); }

     private:
      std::shared_future<void> until_;
    };
    stream.enqueue(HostJobPtr(std::make_unique<Wait>(done_.get_future().share()).release()));
  }
  void let_go() { done_.set_value(); }

 private:
  std::promise<void> done_;
};

TEST(Prepare, is_asked_once_for_calls_that_look_alike_and_before_the_first) {
  on_prepare([] {
    const at::Tensor x = on_device(numbers({2, 3}));
    for (int i = 0; i < 3; ++i) expect_same(at::relu(x), numbers({2, 3}).relu());
    EXPECT_EQ(counts().prepared, 1);
    expect_same(at::relu(on_device(numbers({2, 4}))), numbers({2, 4}).relu());
    expect_same(at::relu(on_device(numbers({2, 4}))), numbers({2, 4}).relu());
    EXPECT_EQ(counts().prepared, 2);
    EXPECT_EQ(counts().called, 5);
    EXPECT_EQ(counts().wrong, 0);
  });
}

// Calls with ever new shapes otherwise need no plan.
TEST(Prepare, is_asked_for_every_shape) {
  on_prepare([] {
    for (int64_t i = 1; i <= 20; ++i) at::relu(at::empty({i, 3}, at::device(device())));
    EXPECT_EQ(counts().prepared, 20);
    EXPECT_EQ(counts().called, 20);
    EXPECT_EQ(counts().wrong, 0);
  });
}

TEST(Prepare, is_asked_for_other_forms_and_for_inputs_that_are_prepared) {
  on_prepare([] {
    const at::Tensor x = on_device(numbers({4, 6})).slice(1, 0, 6, 2);
    for (int i = 0; i < 2; ++i) expect_same(at::relu(x), numbers({4, 6}).slice(1, 0, 6, 2).relu());
    at::Tensor y = on_device(numbers({5}));
    y.relu_();
    expect_same(y, numbers({5}).relu());
    at::Tensor out = at::empty({0}, at::device(device()));
    at::relu_out(out, on_device(numbers({5})));
    expect_same(out, numbers({5}).relu());
    EXPECT_EQ(counts().prepared, 3);
    EXPECT_EQ(counts().wrong, 0);
  });
}

TEST(Prepare, that_declines_is_not_asked_again_and_says_why) {
  on_prepare([] {
    const at::Tensor x = on_device(numbers({7}));
    for (int i = 0; i < 3; ++i) expect_same(at::relu(x), numbers({7}).relu());
    EXPECT_EQ(counts().declined, 1);
    EXPECT_EQ(counts().called, 0);
    EXPECT_EQ(ledger_count("aten::relu", Way::kBorrow, Reason::kDeclined), 3u);
    for (const LedgerEntry& entry : ledger_entries()) {
      if (entry.op == "aten::relu")
        expect_says(entry.why, {"declined", "seven elements are too many or too few"});
    }
  });
}

TEST(Prepare, shapes_results_that_pytorch_cannot_for_all_calls) {
  on_prepare([] {
    const at::Tensor x = on_device(numbers({3, 4}));
    for (int i = 0; i < 3; ++i) expect_same(at::trace(x), numbers({3, 4}).trace());
    EXPECT_EQ(counts().prepared, 1);
    EXPECT_EQ(ledger_count("aten::trace", Way::kKernel, Reason::kNone), 3u);
  });
}

TEST(Prepare, a_state_is_forgotten_when_its_plan_is_dropped) {
  on_prepare([] {
    at::relu(on_device(numbers({3})));
    synchronize_device(0);
    make_many_plans();
    synchronize_device(0);
    at::relu(on_device(numbers({5})));  // looks for what is over
    EXPECT_GE(counts().forgotten, 1);
    EXPECT_LT(counts().forgotten, counts().prepared);
    at::relu(on_device(numbers({3})));
    synchronize_device(0);
    EXPECT_EQ(counts().wrong, 0);
    EXPECT_EQ(counts().done, counts().called);
  });
}

TEST(Prepare, a_state_is_not_forgotten_while_a_stream_has_work_with_it) {
  on_prepare([] {
    const Stream held = Stream::from_pool(0, 0);
    const at::Tensor x = on_device(numbers({3}));
    at::Tensor y;
    Held holds(held);
    {
      const Stream before = held.exchange_current();
      y = at::relu(x);
      before.exchange_current();
    }
    make_many_plans();
    at::relu(x);
    make_many_plans();
    Stream::default_of(0).synchronize();
    at::relu(on_device(numbers({5})));  // looks for what is over
    EXPECT_GT(counts().forgotten, 0) << "those that only the other stream used";
    holds.let_go();
    held.synchronize();
    EXPECT_EQ(counts().wrong, 0);
    make_many_plans();
    synchronize_device(0);
    EXPECT_EQ(counts().wrong, 0);
    expect_same(y, numbers({3}).relu());
  });
}

TEST(Prepare, threads_that_come_at_once_leave_one_state) {
  on_prepare([] {
    const at::Tensor x = on_device(numbers({6}));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 50; ++n) at::relu(x);
      });
    }
    for (std::thread& thread : threads) thread.join();
    synchronize_device(0);
    EXPECT_EQ(counts().wrong, 0);
    EXPECT_EQ(counts().done, 200);
    EXPECT_EQ(counts().prepared - counts().forgotten, 1);
  });
}

void capture_relu(Graph& graph, const at::Tensor& x, at::Tensor& y) {
  graph.capture_begin({0, 0}, CaptureMode::kGlobal);
  y = at::relu(x);
  graph.capture_end();
}

void expect_kept_by_graph() {
  const at::Tensor x = on_device(numbers({3}));
  at::Tensor y;
  {
    const Stream side = Stream::from_pool(0, 0);
    const Stream before = side.exchange_current();
    Graph graph(false);
    capture_relu(graph, x, y);
    EXPECT_NE(counts().flags & PLUG_CALL_CAPTURED, 0u);
    make_many_plans();
    make_many_plans();
    graph.replay();
    synchronize_device(0);
    expect_same(y, numbers({3}).relu());
    EXPECT_EQ(counts().wrong, 0);
    before.exchange_current();
  }
  make_many_plans();
  synchronize_device(0);
  at::relu(on_device(numbers({2})));
  EXPECT_EQ(counts().called_flags & PLUG_CALL_CAPTURED, 0u);
  EXPECT_EQ(counts().wrong, 0);
}

TEST(Prepare, a_graph_keeps_the_state) {
  on_prepare([] { expect_kept_by_graph(); });
}

TEST(Prepare, a_graph_that_torchplug_records_keeps_the_state) {
  ::setenv("TORCHPLUG_SIM_CAPTURE", "off", 1);
  on_prepare([] {
    active_module();
    ASSERT_NE(active_module().emulated_capture, nullptr);
    expect_kept_by_graph();
  });
  ::unsetenv("TORCHPLUG_SIM_CAPTURE");
}

}  // namespace
}  // namespace torchplug::tests
