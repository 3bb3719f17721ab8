// What it costs to allocate and free device memory, through DeviceAllocator::allocate_on.
//
//   allocator PLUGIN.so [--only NAME]... [--rounds N] [--calls N]
//
// Prints one JSON object: for each case the nanoseconds of allocating and freeing once, per thread: the
// median and the quartiles of the rounds.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "memory/device_allocator.h"
#include "pytorch/activate.h"

namespace {

using torchplug::memory::DeviceAllocator;
using torchplug::runtime::Stream;

struct Case {
  const char* name;
  std::size_t bytes;
  int threads;  // each with a stream of its own, if there are several
};

constexpr Case kCases[] = {
    {"512 B", 512, 1},
    {"64 KiB", 64 << 10, 1},
    {"512 B, 4 threads", 512, 4},
    {"64 KiB, 4 threads", 64 << 10, 4},
};

struct Options {
  std::string plugin;
  std::vector<std::string> only;
  int rounds = 31;
  int calls = 20000;
};

Options parse(int argc, char** argv) {
  Options options;
  options.plugin = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--only") options.only.emplace_back(argv[i + 1]);
    if (flag == "--rounds") options.rounds = std::max(1, std::atoi(argv[i + 1]));
    if (flag == "--calls") options.calls = std::max(1, std::atoi(argv[i + 1]));
  }
  return options;
}

double nanoseconds_of(const Stream& stream, std::size_t bytes, int calls) {
  DeviceAllocator& allocator = DeviceAllocator::instance();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) allocator.allocate_on(stream, bytes);
  const auto taken = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::nano>(taken).count() / calls;
}

// The mean over the threads, which begin each round together. With fewer processors than threads a thread
// also waits for its turn: that is taken out by timing the processor's time, not the clock's.
double processor_nanoseconds_of(const Stream& stream, std::size_t bytes, int calls) {
  DeviceAllocator& allocator = DeviceAllocator::instance();
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  for (int i = 0; i < calls; ++i) allocator.allocate_on(stream, bytes);
  return (now() - start) / calls;
}

std::vector<double> measure(const Case& measured, const Options& options) {
  std::vector<double> rounds(static_cast<std::size_t>(options.rounds) + 1);
  if (measured.threads == 1) {
    const Stream stream = Stream::default_of(0);
    for (double& round : rounds) round = nanoseconds_of(stream, measured.bytes, options.calls);
  } else {
    std::barrier<> together(measured.threads);
    std::vector<std::vector<double>> times(static_cast<std::size_t>(measured.threads), rounds);
    {
      std::vector<std::jthread> threads;
      for (std::vector<double>& mine : times) {
        threads.emplace_back([&] {
          const Stream stream = Stream::from_pool(0, 0);
          for (double& round : mine) {
            together.arrive_and_wait();
            round = processor_nanoseconds_of(stream, measured.bytes, options.calls);
          }
        });
      }
    }
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      for (const auto& mine : times) rounds[i] += mine[i] / measured.threads;
    }
  }
  rounds.erase(rounds.begin());  // memory is made in the first
  std::sort(rounds.begin(), rounds.end());
  return rounds;
}

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

bool wanted(const Case& measured, const Options& options) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), measured.name) != options.only.end();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: allocator PLUGIN.so [--only NAME]... [--rounds N] [--calls N]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  torchplug::pytorch::activate(options.plugin);
  torchplug::runtime::ensure_open(0);
  const char* separator = "{\n";
  for (const Case& measured : kCases) {
    if (!wanted(measured, options)) continue;
    const std::vector<double> rounds = measure(measured, options);
    const double median = quantile(rounds, 0.5);
    std::printf("%s  \"%s\": {\"device\": %.1f, \"reference\": null, \"figure\": %.1f, ", separator,
                measured.name, median, median);
    std::printf("\"low\": %.1f, \"high\": %.1f, \"rounds\": %zu}", quantile(rounds, 0.25),
                quantile(rounds, 0.75), rounds.size());
    separator = ",\n";
  }
  std::printf("\n}\n");
  return 0;
}
