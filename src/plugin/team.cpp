#include "plugin/team.h"

#include <ATen/Parallel.h>
#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

namespace torchplug::plugin {
namespace {

std::atomic<bool> is_used{false};
std::atomic<int> noted{0};

// OpenMP's threads are gone in a process that was forked off, and it would wait for them.
constinit std::atomic<bool> is_forked_off{false};
const int registered =
    ::pthread_atfork(nullptr, nullptr, [] { is_forked_off.store(true, std::memory_order_relaxed); });

constinit thread_local bool is_in_new_team = false;  // one that OpenMP knows nothing of

int team_size() {
  if (is_in_new_team || at::in_parallel_region()) return 1;
  const int of_caller = noted.load(std::memory_order_relaxed);
  return of_caller != 0 ? of_caller : at::get_num_threads();
}

void run_on_new_threads(void (*function)(void* argument, int32_t index, int32_t count), void* argument,
                        int size) {
  const auto run = [=](int index) {
    is_in_new_team = true;
    function(argument, index, size);
    is_in_new_team = false;
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(size) - 1);
  for (int i = 1; i < size; ++i) others.emplace_back(run, i);
  run(0);
  for (std::thread& other : others) other.join();
}

}  // namespace

bool is_team_used() noexcept { return is_used.load(std::memory_order_relaxed); }

void note_threads() noexcept { noted.store(at::get_num_threads(), std::memory_order_relaxed); }

void run_team(void (*function)(void* argument, int32_t index, int32_t count), void* argument) {
  is_used.store(true, std::memory_order_relaxed);
  const int size = team_size();
  if (size == 1) {
    function(argument, 0, 1);
    return;
  }
  if (is_forked_off.load(std::memory_order_relaxed)) return run_on_new_threads(function, argument, size);
#pragma omp parallel num_threads(size)
  function(argument, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace torchplug::plugin
