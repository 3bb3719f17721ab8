#include <utility>

#include "aten/shims/shims.h"

namespace torchplug::aten {

void set_composed(OperatorKernel& kernel, c10::KernelFunction composed) {
  kernel.set_composed([handle = kernel.handle(), composed = std::move(composed)](torch::jit::Stack& stack) {
    composed.callBoxed(handle, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
  });
}

torch::CppFunction make_behind_any(const c10::OperatorHandle& handle, c10::KernelFunction composed) {
  auto kernel = std::make_unique<OperatorKernel>(handle);
  set_composed(*kernel, std::move(composed));
  return torch::CppFunction::makeFromBoxedFunctor(std::move(kernel));
}

}  // namespace torchplug::aten
