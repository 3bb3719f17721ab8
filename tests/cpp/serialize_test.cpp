// A plugin that asked for one call at a time gets one call at a time, whatever the threads do.

#include "serial.h"

#include <latch>
#include <thread>
#include <vector>

#include "harness.h"
#include "memory/device_allocator.h"
#include "plugin/layers/serialize.h"
#include "pytorch/activate.h"
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

// Under one lock, who waits must let others in: the work waited for may need them.
TEST(Serialize, others_may_call_while_a_thread_waits_for_a_device) {
  alone([] {
    Module& module = load_module(SIM_LIBRARY);
    serialize(module);
    const plug_runtime& runtime = module.runtime;
    ASSERT_EQ(runtime.device_open(0), PLUG_OK);
    plug_stream stream = nullptr;
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    for (plug_stream held : {plug_stream{nullptr}, stream}) {
      std::latch opened(1);
      std::latch entered(1);
      struct Latches {
        std::latch& entered;
        std::latch& opened;
      } latches{entered, opened};
      const auto stand = [](void* argument, plug_status) {
        auto* both = static_cast<Latches*>(argument);
        both->entered.count_down();
        both->opened.wait();
      };
      ASSERT_EQ(runtime.host_func(0, held, stand, [](void*) {}, &latches), PLUG_OK);
      entered.wait();
      std::jthread waiting([&] { EXPECT_EQ(runtime.device_sync(0), PLUG_OK); });
      void* base = nullptr;
      for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(runtime.mem_alloc(0, 100, &base), PLUG_OK);
        EXPECT_EQ(runtime.mem_free(0, base), PLUG_OK);
        std::this_thread::yield();
      }
      opened.count_down();
    }
    EXPECT_EQ(runtime.stream_destroy(0, stream), PLUG_OK);
    EXPECT_EQ(runtime.device_sync(0), PLUG_OK);
  });
}

}  // namespace
}  // namespace torchplug::tests
