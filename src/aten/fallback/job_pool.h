#pragma once
// Jobs that are not in use: as many as there ever were at once, up to a bound. Any thread may take and
// give.

#include <memory>
#include <mutex>
#include <vector>

#include "base/spin_lock.h"

namespace torchplug::aten {

template <class Job>
class JobPool {
 public:
  std::unique_ptr<Job> take() {
    {
      std::lock_guard lock(jobs_lock_);
      if (!jobs_.empty()) {
        std::unique_ptr<Job> job = std::move(jobs_.back());
        jobs_.pop_back();
        return job;
      }
    }
    return std::make_unique<Job>();
  }

  void give(std::unique_ptr<Job> job) {
    std::lock_guard lock(jobs_lock_);
    if (jobs_.size() < kMost) jobs_.push_back(std::move(job));
  }

 private:
  static constexpr size_t kMost = 256;

  SpinLock jobs_lock_;
  std::vector<std::unique_ptr<Job>> jobs_;
};

}  // namespace torchplug::aten
