#include "aten/plan_cache.h"

#include <atomic>

namespace torchplug {

constinit thread_local RecentPlans* RecentPlans::mine = nullptr;

uint64_t RecentPlans::next_cache() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

RecentPlans* RecentPlans::make() {
  thread_local const auto owned = std::make_unique<RecentPlans>();
  mine = owned.get();
  return mine;
}

}  // namespace torchplug
