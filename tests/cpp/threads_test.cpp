// Eight threads on two devices, each with streams of its own. Results are compared with the CPU's; what
// threads do to each other's memory of the process is for make sanitize to see.

#include <ATen/ops/cat.h>
#include <ATen/ops/softmax.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "memory/device_allocator.h"
#include "runtime/event.h"
#include "runtime/failure.h"
#include "runtime/gate.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

constexpr int kThreads = 8;

// Runs work(0), work(1), ... at the same time.
void in_threads(const std::function<void(int)>& work) {
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      start.arrive_and_wait();
      try {
        work(number);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << number << ": " << error.what();
      }
    });
  }
}

// A chain of kernels, borrowed operators, views and copies, on the CPU or the device.
at::Tensor compute(const at::Tensor& start, int number) {
  at::Tensor x = start;
  for (int i = 0; i < 30; ++i) {
    x = x.add(x).mul(0.25).relu().sub(number);
    x = at::softmax(x, 1).cumsum(0);
    x = at::cat({x.narrow(0, 0, 4), x.narrow(0, 4, 4).neg()}).t().contiguous();
    x.view(-1).slice(0, 0, 64, 2).mul_(2).sin_();
    if (i % 10 == number % 10) x = x.cpu().to(start.device());
  }
  return x;
}

TEST(Threads, each_on_a_stream_of_its_own_compute_what_the_cpu_computes) {
  on_sim([] {
    in_threads([](int number) {
      const int index = number % 2;
      const CurrentStream current(new_stream(index));
      const at::Tensor start = numbers({8, 8}).add(number);
      for (int i = 0; i < 3; ++i)
        expect_same(compute(on_device(start, index), number), compute(start, number));
    });
  });
}

TEST(Threads, hand_tensors_to_each_other_with_events) {
  on_sim([] {
    constexpr int kTurns = 20;
    const at::Tensor x = on_device(at::full({256}, 0.0));
    synchronize_device(0);
    std::vector<std::unique_ptr<Event>> events;
    for (int i = 0; i < kTurns * kThreads; ++i) {
      events.push_back(std::make_unique<Event>(0, /*with_timing=*/i % 2 == 0));
    }
    std::atomic<int> recorded{0};
    in_threads([&](int number) {
      const Stream stream = new_stream();
      const CurrentStream current(stream);
      for (int turn = 0; turn < kTurns; ++turn) {
        const int mine = turn * kThreads + number;
        ASSERT_TRUE(eventually([&] { return recorded.load() == mine; }));
        if (mine > 0) events[static_cast<size_t>(mine) - 1]->block(stream);
        x.mul_(1).add_(1);
        events[static_cast<size_t>(mine)]->record(stream);
        recorded.store(mine + 1);
      }
    });
    events.back()->synchronize();
    expect_same(x, at::full({256}, double{kTurns * kThreads}));
  });
}

TEST(Threads, allocate_on_one_use_on_another_and_free_on_a_third) {
  on_sim([] {
    std::vector<at::Tensor> given(kThreads);
    std::vector<std::unique_ptr<Event>> ready(kThreads);
    std::barrier turn(kThreads);
    in_threads([&](int number) {
      const int index = number % 2;
      const Stream stream = new_stream(index);
      const CurrentStream current(stream);
      const auto mine = static_cast<size_t>(number);
      const auto giver = static_cast<size_t>((number + 2) % kThreads);  // of the same device
      for (int i = 0; i < 20; ++i) {
        given[mine] = at::full({1 + (i * 977 + number * 131) % 30000}, i * 10 + number, device(index));
        ready[mine] = std::make_unique<Event>(static_cast<DeviceIndex>(index), /*with_timing=*/false);
        ready[mine]->record(stream);
        turn.arrive_and_wait();
        ready[giver]->block(stream);
        at::Tensor theirs = given[giver];
        const at::Tensor doubled = theirs.mul(2);
        theirs.record_stream(stream.unwrap());
        theirs.reset();
        turn.arrive_and_wait();
        given[static_cast<size_t>((number + 4) % kThreads)].reset();
        EXPECT_EQ(doubled.narrow(0, 0, 1).item<int64_t>(), 2 * (i * 10 + static_cast<int>(giver)));
        turn.arrive_and_wait();
      }
    });
    given.clear();
    for (DeviceIndex index : {DeviceIndex{0}, DeviceIndex{1}}) {
      EXPECT_EQ(DeviceAllocator::instance().getDeviceStats(index).allocated_bytes[0].current, 0);
    }
  });
}

TEST(Threads, open_devices_make_streams_pin_memory_and_empty_caches_at_once) {
  on_sim([] {
    in_threads([](int number) {
      const int index = number % 2;
      for (int i = 0; i < 20; ++i) {
        const Stream stream = Stream::from_pool(static_cast<DeviceIndex>(index), -(i % 2));
        const CurrentStream current(stream);
        EXPECT_EQ(Stream::from_native(stream.device(), stream.native_handle()), stream);
        const at::Tensor x = numbers({1000}).add(number).pin_memory();
        expect_same(x.to(device(index), /*non_blocking=*/true), numbers({1000}).add(number));
        if (i % 5 == number % 5) DeviceAllocator::instance().emptyCache();
        synchronize_device(static_cast<DeviceIndex>(index));
      }
    });
  });
}

TEST(Threads, failures_of_one_reach_whoever_waits_and_spoil_no_result) {
  on_sim([] {
    std::atomic<int> heard{0};
    in_threads([&](int number) {
      const int index = number % 2;
      const Stream stream = new_stream(index);
      const CurrentStream current(stream);
      for (int i = 0; i < 50; ++i) {
        if (number == 0) enqueue(stream, [] { throw std::out_of_range("seven"); });
        try {
          EXPECT_TRUE(at::full({100}, i * 3, device(index)).cpu().equal(at::full({100}, i * 3)));
        } catch (const std::out_of_range& error) {
          EXPECT_EQ(index, 0) << error.what();
          ++heard;
        }
      }
    });
    try {
      synchronize_device(0);
    } catch (const std::out_of_range&) {
      ++heard;
    }
    EXPECT_GE(heard, 1);
    EXPECT_NO_THROW(synchronize_device(1));
  });
}

TEST(Threads, a_device_lost_under_all_of_them_tells_each_and_the_other_device_goes_on) {
  on_sim([] {
    const plug_host& host = active_module().host;
    on_device(numbers({4}), 0);
    in_threads([&](int number) {
      const int index = number % 2;
      bool lost = false;
      for (int i = 0; index == 0 ? !lost : i < 100; ++i) {
        if (number == 0 && i == 20) host.report(&host, 0, nullptr, 0, PLUG_LOST, "unplugged");
        try {
          const CurrentStream current(Stream::default_of(static_cast<DeviceIndex>(index)));
          expect_same(on_device(numbers({16}), index).mul(number), numbers({16}).mul(number));
        } catch (const c10::AcceleratorError& error) {
          EXPECT_EQ(index, 0);
          expect_says(error.what_without_backtrace(), {"sim:0", "device lost", "unplugged"});
          lost = true;
        }
      }
      EXPECT_EQ(lost, index == 0);
    });
  });
}

TEST(Gate, holds_a_stream_until_it_is_opened_from_whatever_thread) {
  on_sim([] {
    const Stream stream = new_stream();
    const auto gate = std::make_unique<Gate>(stream, std::chrono::seconds(60));
    EXPECT_TRUE(gate->wait_until_reached());
    EXPECT_FALSE(stream.is_idle());
    std::jthread([&] { gate->open(); }).join();
    stream.synchronize();
    EXPECT_FALSE(gate->wait_until_reached());
  });
}

}  // namespace
}  // namespace torchplug::tests
