#include "aten/op/extension_fallback.h"

#include <atomic>
#include <utility>

#include "base/immortal.h"

namespace torchplug::aten {
namespace {

constinit std::atomic<const ExtensionFallback*> extension_fallback{nullptr};

}  // namespace

void set_extension_fallback(ExtensionFallback fallback) {
  const bool is_any = fallback != nullptr;
  extension_fallback.store(is_any ? immortal<const ExtensionFallback>(std::move(fallback)) : nullptr,
                           std::memory_order_release);
}

bool has_extension_fallback() noexcept {
  return extension_fallback.load(std::memory_order_relaxed) != nullptr;
}

bool run_extension_fallback(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const ExtensionFallback* fallback = extension_fallback.load(std::memory_order_acquire);
  return fallback != nullptr && (*fallback)(op, &stack);
}

}  // namespace torchplug::aten
