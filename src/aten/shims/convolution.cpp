#include <ATen/ops/convolution.h>

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

}  // namespace

void add_convolution(torch::Library& library) {
  add_unless_served(library, "_convolution", TORCH_FN(convolution));
}

}  // namespace torchplug::aten
