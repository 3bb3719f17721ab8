#pragma once
// The thread-local state under which a CPU kernel runs for the device, on the caller or on a worker:
// below autograd and autocast, without recording gradients.

#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace torchplug {

class HostScope {
 public:
  HostScope() : before_(c10::impl::tls_local_dispatch_key_set()) {
    c10::impl::LocalDispatchKeySet inside = before_;
    inside.excluded_ =
        inside.excluded_ | c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;
    c10::impl::_force_tls_local_dispatch_key_set(inside);
  }
  ~HostScope() { c10::impl::_force_tls_local_dispatch_key_set(before_); }
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  c10::impl::LocalDispatchKeySet before_;
  at::NoGradGuard no_grad_;
};

}  // namespace torchplug
