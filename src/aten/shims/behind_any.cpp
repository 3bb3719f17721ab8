#include <utility>

#include "aten/shims/shims.h"

namespace torchplug::aten {

torch::CppFunction make_behind_any(const c10::OperatorHandle& handle, c10::KernelFunction composed) {
  auto kernel = std::make_unique<OperatorKernel>(handle);
  kernel->set_composed([handle, composed = std::move(composed)](torch::jit::Stack& stack) {
    composed.callBoxed(handle, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
  });
  return torch::CppFunction::makeFromBoxedFunctor(std::move(kernel));
}

}  // namespace torchplug::aten
