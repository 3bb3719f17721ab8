#include <ATen/ops/histc.h>

#include "aten/op/operator_kernel.h"
#include "aten/shims/shims.h"
#include "base/immortal.h"

namespace torchplug::aten {
namespace {

// Accelerators count integers too, and code written for them relies on it; the CPU's kernel takes
// floating point only. Every int32 and every count below 2^53 is exact as float64.
at::Tensor histogram(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max) {
  static auto& kernel =
      *immortal<OperatorKernel>(c10::Dispatcher::singleton().findSchemaOrThrow("aten::histc", ""));
  if (c10::isIntegralType(self.scalar_type(), /*includeBool=*/false)) {
    return at::histc(self.to(at::kDouble), bins, min, max).to(self.scalar_type());
  }
  torch::jit::Stack stack{self, bins, min, max};
  kernel.run(stack);
  return std::move(stack[0]).toTensor();
}

at::Tensor& histogram_out(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max,
                          at::Tensor& out) {
  TORCH_CHECK(self.dtype() == out.dtype(),
              "torch.histogram: input tensor and hist tensor should have the same dtype");
  out.resize_({bins});
  return out.copy_(histogram(self, bins, min, max));
}

}  // namespace

void add_histogram(OperatorLibrary& library) {
  add_behind_any(library, "histc", TORCH_FN(histogram));
  add_behind_any(library, "histc.out", TORCH_FN(histogram_out));
}

}  // namespace torchplug::aten
