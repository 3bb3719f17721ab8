#include "worker.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "error.h"

namespace torchplug::sim {
namespace {

constexpr int kLowPriorityNice = 5;

std::atomic<bool> g_high_priority_in_use{false};

// The workers that run. Never destroyed: one may outlive the destructors of the process.
struct WorkerRegistry {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;

  void add(int change) {
    const std::lock_guard lock(mutex);
    running += change;
    changed.notify_all();
  }
};

WorkerRegistry& worker_registry() {
  static WorkerRegistry& instance = *std::make_unique<WorkerRegistry>().release();
  return instance;
}

// A new thread inherits the mask of the one that starts it.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    // A fault belongs to the thread that made it, and its handler prints the traceback.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&blocked, fault);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &previous_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t previous_;
};

}  // namespace

void start_worker(std::string name, std::function<void()> body) {
  WorkerRegistry& workers = worker_registry();
  workers.add(1);
  try {
    const SignalsBlocked blocked;
    std::thread([&workers, name = std::move(name), body = std::move(body)]() mutable {
      pthread_setname_np(pthread_self(), name.c_str());
      body();
      body = nullptr;  // what it holds must be gone before the worker counts as gone
      workers.add(-1);
    }).detach();
  } catch (const std::system_error& error) {
    workers.add(-1);
    fail(PLUG_INTERNAL, "No thread could be started for stream ", name, ": ", error.what(), ".");
  }
}

int wait_for_workers(std::chrono::milliseconds limit) {
  WorkerRegistry& workers = worker_registry();
  std::unique_lock lock(workers.mutex);
  workers.changed.wait_for(lock, limit, [&] { return workers.running == 0; });
  return workers.running;
}

void Rank::take() noexcept {
  if (taken_) return;
  if (high_) {
    g_high_priority_in_use.store(true, std::memory_order_relaxed);
    taken_ = true;
  } else if (g_high_priority_in_use.load(std::memory_order_relaxed)) {
    // On Linux this names one thread, not the process.
    const auto self = static_cast<id_t>(gettid());
    setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + kLowPriorityNice);
    taken_ = true;
  }
}

}  // namespace torchplug::sim
