#include "aten/fallback/on_shell.h"

#include <c10/core/DeviceGuard.h>

#include <memory>

#include "aten/tensor/arguments.h"

namespace torchplug::aten {
namespace {

class OnShell final : public c10::OperatorKernel {
 public:
  explicit OnShell(c10::DispatchKey cpu_key) : keys_(cpu_key) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::OptionalDeviceGuard guard(
        device_of_call(torch::jit::last(*stack, handle.schema().arguments().size())));
    handle.redispatchBoxed(keys_, stack);
  }

 private:
  c10::DispatchKeySet keys_;
};

}  // namespace

torch::CppFunction run_on_shell(c10::DispatchKey cpu_key) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<OnShell>(cpu_key));
}

}  // namespace torchplug::aten
