#include "plugin/team.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <atomic>

namespace torchplug::plugin {
namespace {

std::atomic<bool> is_used{false};
std::atomic<int> noted{0};

int team_size() {
  if (at::in_parallel_region()) return 1;
  const int of_caller = noted.load(std::memory_order_relaxed);
  return of_caller != 0 ? of_caller : at::get_num_threads();
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
#pragma omp parallel num_threads(size)
  function(argument, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace torchplug::plugin
