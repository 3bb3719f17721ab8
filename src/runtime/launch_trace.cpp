#include "runtime/launch_trace.h"

namespace torchplug::runtime {

constinit std::atomic<LaunchListener*> detail::launch_listener{nullptr};

void listen_to_launches(LaunchListener* listener) noexcept {
  detail::launch_listener.store(listener, std::memory_order_release);
}

}  // namespace torchplug::runtime
