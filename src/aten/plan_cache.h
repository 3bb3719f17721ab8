#pragma once
// The plans of one operator, found by key. Bounded: an operator called with ever new shapes forgets
// its plans and learns again. Any thread may use it; a plan in use outlives its place in the cache.

#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "aten/plan_key.h"

namespace torchplug {

template <class Plan>
class PlanCache {
 public:
  std::shared_ptr<const Plan> find(const PlanKey& key) const {
    std::lock_guard lock(plans_lock_);
    const auto found = plans_.find(key.hash());
    if (found == plans_.end() || !(found->second.first == key)) return nullptr;
    return found->second.second;
  }

  void insert(PlanKey key, std::shared_ptr<const Plan> plan) {
    std::lock_guard lock(plans_lock_);
    if (plans_.size() >= kCapacity) plans_.clear();
    const uint64_t hash = key.hash();
    plans_.insert_or_assign(hash, std::make_pair(std::move(key), std::move(plan)));
  }

 private:
  static constexpr size_t kCapacity = 2048;

  mutable std::mutex plans_lock_;
  std::unordered_map<uint64_t, std::pair<PlanKey, std::shared_ptr<const Plan>>> plans_;
};

}  // namespace torchplug
