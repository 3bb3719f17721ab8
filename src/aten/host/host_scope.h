#pragma once
// The thread-local state under which a CPU kernel runs for the device, on the caller or on a worker:
// below autograd and autocast, without recording gradients. Changes only what is not so already.

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "base/namespaces.h"

namespace torchplug::aten {

class HostScope {
 public:
  HostScope() : before_(c10::impl::tls_local_dispatch_key_set()), records_(c10::GradMode::is_enabled()) {
    c10::impl::LocalDispatchKeySet inside = before_;
    inside.excluded_ = inside.excluded_ | kAbove;
    changes_keys_ = inside.excluded_ != before_.excluded_;
    if (changes_keys_) c10::impl::_force_tls_local_dispatch_key_set(inside);
    if (records_) c10::GradMode::set_enabled(false);
  }
  ~HostScope() {
    if (records_) c10::GradMode::set_enabled(true);
    if (changes_keys_) c10::impl::_force_tls_local_dispatch_key_set(before_);
  }
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  static constexpr c10::DispatchKeySet kAbove =
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;

  c10::impl::LocalDispatchKeySet before_;
  bool records_;
  bool changes_keys_;
};

}  // namespace torchplug::aten
