#pragma once
// The thread-local state under which a CPU kernel runs for the device, on the caller or on a worker:
// below autograd and autocast, without recording gradients, with the caller's number of threads.

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

namespace torchplug {

class HostScope {
 public:
  explicit HostScope(int thread_count) {
    if (at::get_num_threads() != thread_count) at::set_num_threads(thread_count);
  }

 private:
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  at::NoGradGuard no_grad_;
  c10::impl::ExcludeDispatchKeyGuard no_autocast_{c10::autocast_dispatch_keyset};
};

}  // namespace torchplug
