#include "aten/plan/plan_cache.h"

#include <atomic>

#include "base/immortal.h"

namespace torchplug::aten {
namespace {

constinit thread_local bool has_ended = false;

}  // namespace

constinit thread_local RecentPlans* RecentPlans::mine = nullptr;

uint64_t RecentPlans::next_cache() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// A thread that calls operators while it ends, from another destructor, begins anew.
RecentPlans* RecentPlans::make() {
  struct Owner {
    std::unique_ptr<RecentPlans> plans = std::make_unique<RecentPlans>();
    ~Owner() {
      mine = nullptr;
      has_ended = true;
    }
  };
  if (has_ended) {
    mine = immortal<RecentPlans>();
  } else {
    thread_local Owner owner;
    mine = owner.plans.get();
  }
  return mine;
}

}  // namespace torchplug::aten
