#pragma once
// The plans of one operator, found by key. Bounded: an operator that has too many forgets them and learns
// again. Any thread may use it; a plan in use outlives its place in the cache. Every thread remembers the
// plan it asked for last, of each operator: to find that one again takes a comparison, no lock and no
// reference.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/plan/plan_key.h"
#include "base/spin_lock.h"

namespace torchplug::aten {

// What each thread remembers, of all caches together.
class RecentPlans {
 public:
  struct Slot {
    uint64_t cache = 0;  // whose it is
    const void* plan = nullptr;
    const std::vector<uint64_t>* words = nullptr;
    std::shared_ptr<const void> entry;  // keeps both alive
  };

  // A number for a cache, never given twice.
  static uint64_t next_cache();

  static Slot& slot_of(uint64_t cache) {
    RecentPlans* recent = mine;
    if (C10_UNLIKELY(recent == nullptr)) recent = make();
    return recent->slots_[cache % recent->slots_.size()];
  }

 private:
  static RecentPlans* make();

  static constinit thread_local RecentPlans* mine;

  std::array<Slot, 1024> slots_;
};

template <class Plan>
class PlanCache {
 public:
  // The plan belongs to the calling thread until it calls an operator.
  const Plan* peek(const PlanKey& key) const {
    RecentPlans::Slot& slot = RecentPlans::slot_of(id_);
    if (C10_LIKELY(slot.cache == id_ && key.is(*slot.words))) return static_cast<const Plan*>(slot.plan);
    return find_and_remember(key, slot);
  }

  // The plan that peek() has just given, for good.
  std::shared_ptr<const Plan> own(const Plan& peeked) const {
    const RecentPlans::Slot& slot = RecentPlans::slot_of(id_);
    TORCH_INTERNAL_ASSERT_DEBUG_ONLY(slot.plan == &peeked);
    return {slot.entry, &peeked};
  }

  void insert(const PlanKey& key, std::shared_ptr<const Plan> plan) {
    place(key, std::move(plan), /*replaces=*/true);
  }

  // Inserts the plan unless one is there already. Gives the one that is there then.
  std::shared_ptr<const Plan> insert_first(const PlanKey& key, std::shared_ptr<const Plan> plan) {
    return place(key, std::move(plan), /*replaces=*/false);
  }

 private:
  static constexpr size_t kCapacity = 2048;

  struct Entry {
    std::vector<uint64_t> words;
    std::shared_ptr<const Plan> plan;
  };

  C10_NOINLINE const Plan* find_and_remember(const PlanKey& key, RecentPlans::Slot& slot) const {
    std::shared_ptr<const Entry> entry = find_entry(key);
    if (entry == nullptr) return nullptr;
    const Plan* plan = entry->plan.get();
    const auto* words = &entry->words;
    slot = {id_, plan, words, std::move(entry)};
    return plan;
  }

  std::shared_ptr<const Plan> place(const PlanKey& key, std::shared_ptr<const Plan> plan, bool replaces) {
    auto entry = std::make_shared<const Entry>(Entry{key.words().vec(), plan});
    std::unordered_map<uint64_t, std::shared_ptr<const Entry>> forgotten;  // destroyed outside the lock
    std::shared_ptr<const Entry> replaced;
    const uint64_t hash = key.hash();
    std::lock_guard lock(plans_lock_);
    if (plans_.size() >= kCapacity) plans_.swap(forgotten);
    std::shared_ptr<const Entry>& there = plans_[hash];
    if (!replaces && there != nullptr && key.is(there->words)) return there->plan;
    replaced = std::exchange(there, std::move(entry));
    return plan;
  }

  std::shared_ptr<const Entry> find_entry(const PlanKey& key) const {
    const uint64_t hash = key.hash();
    std::lock_guard lock(plans_lock_);
    const auto found = plans_.find(hash);
    return found != plans_.end() && key.is(found->second->words) ? found->second : nullptr;
  }

  const uint64_t id_ = RecentPlans::next_cache();
  mutable SpinLock plans_lock_;
  std::unordered_map<uint64_t, std::shared_ptr<const Entry>> plans_;
};

// Calls that were carried out without a plan. Of one that comes again a plan is made; those that are never
// repeated, with ever new shapes, cost none.
class UnplannedCalls {
 public:
  // Whether such a call was here before, as far as is remembered.
  bool has_met(const PlanKey& key) {
    const uint64_t hash = key.hash();
    return hashes_[hash % hashes_.size()].exchange(hash, std::memory_order_relaxed) == hash;
  }

 private:
  std::array<std::atomic<uint64_t>, 32> hashes_{};
};

}  // namespace torchplug::aten
