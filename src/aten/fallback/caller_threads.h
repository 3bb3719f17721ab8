#pragma once
// PyTorch's number of threads, carried from the thread that calls an operator to the one that runs it.

#include <ATen/Parallel.h>

#include "base/namespaces.h"

namespace torchplug::aten {

class CallerThreads {
 public:
  // `later`: the job runs on another thread.
  void take(bool later) { count_ = later ? at::get_num_threads() : 0; }
  void apply() const {
    if (count_ != 0 && at::get_num_threads() != count_) at::set_num_threads(count_);
  }

 private:
  int count_ = 0;  // 0: the running thread's own
};

}  // namespace torchplug::aten
