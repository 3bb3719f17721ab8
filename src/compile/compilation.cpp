#include "compile/compilation.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/immortal.h"

namespace torchplug::compile {
namespace {

struct UnderWay {
  std::mutex lock;
  std::condition_variable changed;
  std::set<std::shared_ptr<Compilation>> all;
  size_t waiters = 0;
  std::atomic<bool> is_ending{false};
  std::thread::id ends;  // the thread that ends the process, if one does
};

UnderWay& under_way() {
  static auto& instance = *immortal<UnderWay>();
  return instance;
}

void remove_waiter() {
  const std::lock_guard lock(under_way().lock);
  under_way().waiters -= 1;
  under_way().changed.notify_all();
}

}  // namespace

std::shared_ptr<Compilation> start_compilation(
    std::function<void(const std::shared_ptr<Compilation>&)> work) {
  auto compilation = std::make_shared<Compilation>();
  {
    const std::lock_guard lock(under_way().lock);
    under_way().all.insert(compilation);
  }
  std::thread([compilation, work = std::move(work)]() mutable {
    work(compilation);
    work = nullptr;  // what it holds goes before the others are told
    const std::lock_guard lock(under_way().lock);
    under_way().all.erase(compilation);
    under_way().changed.notify_all();
  }).detach();
  return compilation;
}

std::vector<double> compilations_under_way() {
  const std::lock_guard lock(under_way().lock);
  std::vector<double> done;
  for (const auto& compilation : under_way().all) done.push_back(compilation->done());
  return done;
}

bool is_ending() { return under_way().is_ending.load(std::memory_order_relaxed); }

Waiter::Waiter() {
  const std::lock_guard lock(under_way().lock);
  under_way().waiters += 1;
}

Waiter::~Waiter() { remove_waiter(); }

void Waiter::stay_if_ending() {
  {
    const std::lock_guard lock(under_way().lock);
    if (!under_way().is_ending || under_way().ends == std::this_thread::get_id()) return;
  }
  remove_waiter();
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void end_compilations(std::chrono::milliseconds longest) {
  std::unique_lock lock(under_way().lock);
  under_way().ends = std::this_thread::get_id();
  under_way().is_ending = true;
  for (const auto& compilation : under_way().all) compilation->cancel();
  under_way().changed.wait_for(lock, longest,
                               [] { return under_way().all.empty() && under_way().waiters == 0; });
}

}  // namespace torchplug::compile
