#include <ATen/TracerMode.h>
#include <ATen/ops/convolution.h>

#include <utility>

#include "aten/shims/shims.h"

namespace torchplug::aten {
namespace {

// The form that traced graphs hold: with wishes to one vendor's library, which do not concern this device.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                       at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding,
                       int64_t groups, bool /*benchmark*/, bool /*deterministic*/, bool /*use_library*/,
                       bool /*allow_fast*/) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

// torch.jit.trace does not record aten::convolution, but what PyTorch's own code for it calls: the form
// above.
class TraceableConvolution final : public c10::OperatorKernel {
 public:
  explicit TraceableConvolution(std::unique_ptr<aten::OperatorKernel> kernel) : kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    if (C10_UNLIKELY(at::tracer::impl::is_dispatch_enabled())) {
      // Of a backend that has no kernel of its own.
      handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse2), stack);
    } else {
      kernel_->run(*stack);
    }
  }

 private:
  std::unique_ptr<aten::OperatorKernel> kernel_;
};

}  // namespace

void add_convolution(OperatorLibrary& library) {
  add_unless_served(library, "_convolution", TORCH_FN(convolution));
}

torch::CppFunction make_traceable_convolution(std::unique_ptr<aten::OperatorKernel> kernel) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<TraceableConvolution>(std::move(kernel)));
}

}  // namespace torchplug::aten
