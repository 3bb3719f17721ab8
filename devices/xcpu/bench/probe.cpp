#include "probe.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace xcpu_bench {

namespace {
constexpr std::int64_t kHuge = 2 << 20;
}

Memory::Memory(std::int64_t bytes) : bytes_((bytes + kHuge - 1) / kHuge * kHuge) {
  const auto size = static_cast<std::size_t>(bytes_ + kHuge);
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("there is not enough memory");
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = (address + kHuge - 1) / kHuge * kHuge;
  if (aligned != address) ::munmap(mapped, aligned - address);
  ::munmap(reinterpret_cast<void*>(aligned + static_cast<std::uintptr_t>(bytes_)),
           kHuge - (aligned - address));
  data_ = reinterpret_cast<std::uint8_t*>(aligned);
  ::madvise(data_, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
  std::memset(data_, 1, static_cast<std::size_t>(bytes_));
}

Memory::~Memory() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes_));
}

Memory::Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

struct Threads::State {
  using Function = void (*)(void* argument, std::int32_t index, std::int32_t count);

  int count;
  std::atomic<std::uint32_t> round{0};
  std::atomic<int> busy{0};
  std::atomic<bool> is_over{false};
  Function function = nullptr;
  void* argument = nullptr;
  xcpu_team team{};
  std::vector<std::thread> others;

  void work(int index) {
    std::uint32_t seen = 0;
    while (true) {
      while (round.load(std::memory_order_acquire) == seen) _mm_pause();
      ++seen;
      if (is_over.load(std::memory_order_relaxed)) return;
      function(argument, index, count);
      busy.fetch_sub(1, std::memory_order_release);
    }
  }

  void run(Function called, void* with) {
    function = called;
    argument = with;
    busy.store(count - 1, std::memory_order_relaxed);
    round.fetch_add(1, std::memory_order_release);
    called(with, 0, count);
    while (busy.load(std::memory_order_acquire) != 0) _mm_pause();
  }
};

Threads::Threads(int count) : state_(std::make_unique<State>()) {
  state_->count = count;
  state_->team = {state_.get(), [](void* context, State::Function function, void* argument) {
                    static_cast<State*>(context)->run(function, argument);
                  }};
  for (int i = 1; i < count; ++i) state_->others.emplace_back(&State::work, state_.get(), i);
}

Threads::~Threads() {
  state_->is_over.store(true, std::memory_order_relaxed);
  state_->round.fetch_add(1, std::memory_order_release);
  for (std::thread& other : state_->others) other.join();
}

const xcpu_team* Threads::team() const { return &state_->team; }
int Threads::count() const { return state_->count; }

double Threads::seconds() const {
  std::timespec now{};
  ::clock_gettime(count() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

namespace {

// Calls function(index, count) on every thread and gives the seconds it took.
template <class Function>
double timed(const Threads& threads, Function function) {
  const double begin = threads.seconds();
  threads.team()->run(
      threads.team()->context,
      [](void* argument, std::int32_t index, std::int32_t count) {
        (*static_cast<Function*>(argument))(index, count);
      },
      &function);
  return threads.seconds() - begin;
}

#define XCPU_BENCH_TARGET __attribute__((target("avx512f,avx512bf16,avx512vnni")))

XCPU_BENCH_TARGET std::uint32_t read_all(const std::uint8_t* from, std::int64_t bytes) {
  __m512i sums[4] = {};
  for (std::int64_t at = 0; at < bytes; at += 256) {
    for (int i = 0; i < 4; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(from + at + i * 64 + 4096), _MM_HINT_T0);
      sums[i] = _mm512_or_si512(sums[i], _mm512_load_si512(from + at + i * 64));
    }
  }
  const __m512i all = _mm512_or_si512(_mm512_or_si512(sums[0], sums[1]), _mm512_or_si512(sums[2], sums[3]));
  return static_cast<std::uint32_t>(_mm512_reduce_or_epi32(all));
}

std::uint32_t read_all_plainly(const std::uint8_t* from, std::int64_t bytes) {
  std::uint64_t sums[32] = {};
  for (std::int64_t at = 0; at < bytes; at += 256) {
    __builtin_prefetch(from + at + 4096);
    std::uint64_t words[32];
    std::memcpy(words, from + at, sizeof words);
    for (int i = 0; i < 32; ++i) sums[i] |= words[i];
  }
  return static_cast<std::uint32_t>(std::accumulate(sums, sums + 32, std::uint64_t{0}));
}

constexpr std::int64_t kSteps = 20000;
constexpr int kChains = 24;

XCPU_BENCH_TARGET float many_bf16() {
  __m512 sums[kChains];
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512i factor = _mm512_set1_epi32(0x3C003C00);
  for (std::int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 24  // of which each has a register, as a compiler might not see
    for (int i = 0; i < kChains; ++i) asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sums[i]) : "v"(factor));
  }
  float total = 0;
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) total += _mm512_reduce_add_ps(sums[i]);
  return total;
}

XCPU_BENCH_TARGET std::int32_t many_int8() {
  __m512i sums[kChains];
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_epi32(i);
  const __m512i factor = _mm512_set1_epi32(0x01020301);
  for (std::int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) asm volatile("vpdpbusd %1, %1, %0" : "+v"(sums[i]) : "v"(factor));
  }
  std::int32_t total = 0;
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) total += _mm512_reduce_add_epi32(sums[i]);
  return total;
}

std::atomic<std::uint32_t> sink{0};  // so that nothing is left out

}  // namespace

double read_bandwidth(const Threads& threads, const Memory& memory, std::int64_t part) {
  double fastest = HUGE_VAL;
  const auto read = __builtin_cpu_supports("avx512f") != 0 ? read_all : read_all_plainly;
  for (std::int64_t from = 0; from + part <= memory.bytes(); from += part) {
    const double time = timed(threads, [&](std::int32_t index, std::int32_t count) {
      const std::int64_t lines = part / 256;
      const std::int64_t begin = lines * index / count * 256;
      const std::int64_t end = lines * (index + 1) / count * 256;
      sink.fetch_add(read(memory.data() + from / 64 * 64 + begin, end - begin), std::memory_order_relaxed);
    });
    fastest = std::min(fastest, time);
  }
  return static_cast<double>(part / 256 * 256) / fastest;
}

Peak peak_products(const Threads& threads) {
  if (__builtin_cpu_supports("avx512bf16") == 0 || __builtin_cpu_supports("avx512vnni") == 0) return {0, 0};
  const double products = static_cast<double>(kSteps) * kChains * 2 * 16 * threads.count();
  Peak peak{0, 0};
  for (int i = 0; i < 10; ++i) {
    const double bf16 = timed(threads, [](std::int32_t, std::int32_t) {
      sink.fetch_add(static_cast<std::uint32_t>(many_bf16()), std::memory_order_relaxed);
    });
    const double int8 = timed(threads, [](std::int32_t, std::int32_t) {
      sink.fetch_add(static_cast<std::uint32_t>(many_int8()), std::memory_order_relaxed);
    });
    peak = {std::max(peak.bf16, products * 2 / bf16), std::max(peak.int8, products * 4 / int8)};
  }
  return peak;
}

}  // namespace xcpu_bench
