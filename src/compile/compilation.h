#pragma once
// The compiles that are under way, each on a thread of its own: compilers take minutes, and whoever waits for
// one may be interrupted, or the process end, at any time. Any thread may use it.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::compile {

class Compilation {
 public:
  // Tells the compiler, the next time that it asks, that nobody wants the engine any more.
  void cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }
  bool is_wanted() const { return !is_cancelled_.load(std::memory_order_relaxed); }
  void set_done(double done) { done_.store(done, std::memory_order_relaxed); }
  double done() const { return done_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_cancelled_{false};
  std::atomic<double> done_{0};
};

// Runs work(compilation) on a thread of its own.
std::shared_ptr<Compilation> start_compilation(std::function<void(const std::shared_ptr<Compilation>&)> work);

// How much is done of each that is under way, 0 to 1.
std::vector<double> compilations_under_way();

// Somebody waits for an engine, on a thread that may still be there when the process ends.
class Waiter {
 public:
  Waiter();
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Called again and again, and before the thread goes on: once the process ends it does not, since what it
  // would go on with is being taken down. The thread that ends the process does.
  void stay_if_ending();
};

bool is_ending();

// Cancels all compiles, and waits for their threads and for those that wait for engines, but no longer than
// that. Before the process ends.
void end_compilations(std::chrono::milliseconds longest);

}  // namespace torchplug::compile
