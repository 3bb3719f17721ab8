// A plugin that asked for one call at a time gets one call at a time, whatever the threads do.

#include "serial.h"

#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "harness.h"
#include "memory/device_allocator.h"
#include "plugin/layers/serialize.h"
#include "pytorch/activate.h"
#include "shadow_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

// Runs `body` on so many threads, which begin together.
void on_threads(int count, const std::function<void(int)>& body) {
  std::latch start(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
}

uint64_t overlaps() { return exported<uint64_t()>(plugin_path("serial"), "serial_overlaps")(); }
uint64_t calls() { return exported<uint64_t()>(plugin_path("serial"), "serial_calls")(); }

TEST(Serialize, calls_of_many_threads_never_overlap) {
  alone([] {
    activate(plugin_path("serial"));
    on_threads(4, [](int thread) {
      const at::Tensor x = numbers({64 * (thread + 1)});
      for (int i = 0; i < 100; ++i) {
        expect_same(on_device(x).relu(), x.relu());
        if (i % 10 == 0) DeviceAllocator::instance().emptyCache();
      }
    });
    EXPECT_GT(calls(), 4u * 100 * 3) << "each turn is a copy, a kernel and a copy";
    EXPECT_EQ(overlaps(), 0u);
  });
}

TEST(Serialize, a_kernel_may_ask_for_scratch_memory) {
  alone([] {
    activate(plugin_path("serial"));
    const at::Tensor x = numbers({100});
    expect_same(on_device(x).neg(), x.neg());
    EXPECT_EQ(ledger_count("aten::neg", Way::kKernel, Reason::kNone), 1u);
    EXPECT_EQ(overlaps(), 0u);
  });
}

// Neither waits for ever for what the other holds.
TEST(Serialize, a_kernel_may_ask_for_scratch_memory_while_another_thread_allocates) {
  alone([] {
    activate(plugin_path("serial"));
    on_threads(2, [](int thread) {
      const at::Tensor x = on_device(numbers({100}));
      for (int i = 0; i < 2000; ++i) {
        if (thread == 0) {
          x.neg();
        } else {
          at::empty({1 << 12 << i % 4}, x.options());
          if (i % 4 == 3) DeviceAllocator::instance().emptyCache();
        }
      }
    });
    EXPECT_EQ(overlaps(), 0u);
  });
}

// A stream that stands still until it is opened.
class Held {
 public:
  Held(const plug_runtime& runtime, plug_stream stream) {
    EXPECT_EQ(runtime.host_func(0, stream, stand, [](void*) {}, this), PLUG_OK);
    entered_.wait();
  }
  void open() { opened_.count_down(); }

 private:
  static void stand(void* argument, plug_status /*status*/) {
    auto* held = static_cast<Held*>(argument);
    held->entered_.count_down();
    held->opened_.wait();
  }

  std::latch entered_{1};
  std::latch opened_{1};
};

struct Wait {
  const char* function;
  const char* question;  // what it may ask again and again instead
  std::function<plug_status()> call;

  uint64_t calls() const { return count_of(function) + count_of(question); }
};

void expect_others_may_call(const plug_runtime& runtime, plug_stream stream, plug_event event) {
  const Wait waits[] = {{"device_sync", "stream_query", [&] { return runtime.device_sync(0); }},
                        {"stream_sync", "stream_query", [&] { return runtime.stream_sync(0, stream); }},
                        {"event_sync", "event_query", [&] { return runtime.event_sync(0, event); }}};
  for (const Wait& wait : waits) {
    Held held(runtime, stream);
    ASSERT_EQ(runtime.event_record(0, event, stream), PLUG_OK);
    const uint64_t before = wait.calls();
    std::jthread waiting([&] { EXPECT_EQ(wait.call(), PLUG_OK); });
    EXPECT_TRUE(eventually([&] { return wait.calls() > before; }));
    std::atomic<bool> has_called{false};
    std::jthread calling([&] {
      void* base = nullptr;
      EXPECT_EQ(runtime.mem_alloc(0, 100, &base), PLUG_OK);
      EXPECT_EQ(runtime.mem_free(0, base), PLUG_OK);
      has_called = true;
    });
    EXPECT_TRUE(eventually([&] { return has_called.load(); })) << wait.function;
    held.open();
  }
}

// Under one lock, who waits must let others in: the work waited for may need them.
TEST(Serialize, others_may_call_while_a_thread_waits) {
  alone([] {
    ::setenv("TORCHPLUG_SHADOW_SIM", SIM_LIBRARY, 1);
    Module& module = load_module(plugin_path("shadow"));
    serialize(module);
    const plug_runtime& runtime = table_of(module);
    ASSERT_EQ(runtime.device_open(0), PLUG_OK);
    plug_stream stream = nullptr;
    plug_event event = nullptr;
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    ASSERT_EQ(runtime.event_create(0, 0, &event), PLUG_OK);
    expect_others_may_call(runtime, nullptr, event);
    expect_others_may_call(runtime, stream, event);
    EXPECT_EQ(runtime.event_destroy(0, event), PLUG_OK);
    EXPECT_EQ(runtime.stream_destroy(0, stream), PLUG_OK);
    EXPECT_EQ(runtime.device_sync(0), PLUG_OK) << "a stream that is gone is not asked";
  });
}

}  // namespace
}  // namespace torchplug::tests
