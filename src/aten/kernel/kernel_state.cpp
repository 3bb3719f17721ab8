#include "aten/kernel/kernel_state.h"

#include <algorithm>
#include <mutex>

#include "base/immortal.h"
#include "memory/pending_uses.h"
#include "plugin/layers/serialize.h"

namespace torchplug::aten {
namespace {

// A state that nobody has any more, while streams may still execute calls that came with it.
struct LeftState {
  std::function<void()> forget;
  DeviceIndex device;
  std::vector<Stream> used_on;
  uint32_t awaited = 0;
};

PendingUses<LeftState>& left_states() {
  static auto& states = *immortal<PendingUses<LeftState>>();
  return states;
}

void forget_now(const Module& module, const LeftState& left) {
  const bool may_call = left.device < 0 ? !is_forked() : may_give_back(left.device);
  if (!may_call) return;
  const auto lock = lock_calls(module);
  left.forget();
}

void forget_passed(const Module& module) {
  for (LeftState* passed : left_states().take_passed(module)) {
    const std::unique_ptr<LeftState> left(passed);
    forget_now(module, *left);
  }
}

}  // namespace

KernelState::KernelState(const Module& module, const plug_kernel& kernel, void* state, DeviceIndex device)
    : module_(module), state_(state), device_(device) {
  if (kernel.forget != nullptr) forget_ = [forget = kernel.forget, state] { forget(state); };
  if (device >= 0) forget_passed(module);
}

KernelState::KernelState(const Module& module, std::function<void()> forget, DeviceIndex device)
    : module_(module), forget_(std::move(forget)), state_(nullptr), device_(device) {
  forget_passed(module);
}

void KernelState::add_stream(const Stream& stream) const {
  const std::lock_guard lock(used_lock_);
  if (std::find(used_on_.begin(), used_on_.end(), stream) == used_on_.end()) used_on_.push_back(stream);
  last_used_.store(stream.id(), std::memory_order_relaxed);
}

// Failures of the device are for those to see who wait for it.
KernelState::~KernelState() {
  if (forget_ == nullptr) return;
  try {
    auto left = std::make_unique<LeftState>(LeftState{std::move(forget_), device_, std::move(used_on_), 0});
    const bool is_over = left->used_on.empty() || !has_streams(device_) || !is_open(device_);
    if (is_over) {
      forget_now(module_, *left);
    } else {
      left_states().add(left.release());
    }
    if (device_ >= 0 && is_open(device_)) forget_passed(module_);
  } catch (const std::exception& error) {
    log_message(2, error.what());
  }
}

}  // namespace torchplug::aten
