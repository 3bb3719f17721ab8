#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_native.h>

#include "aten/host/host_tensor.h"
#include "aten/kernel/served_operators.h"
#include "runtime/device.h"

namespace torchplug::aten {
namespace {

constexpr int64_t kMath = 0;
constexpr int64_t kOverrideable = 4;

// A CPU tensor with the looks of another and no memory. Of a fake tensor too, whose sizes may be symbols;
// without the lazy bits, which the dispatcher would resolve.
at::Tensor stand_in(const at::Tensor& tensor) {
  at::Tensor host = host_tensor_on(host_storage({nullptr, c10::kCPU}, 0), tensor.dtype());
  c10::TensorImpl& impl = *host.unsafeGetTensorImpl();
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    impl.set_sizes_and_strides(tensor.sym_sizes(), tensor.sym_strides(), tensor.sym_storage_offset());
  } else {
    impl.set_sizes_and_strides(tensor.sizes(), tensor.strides());
  }
  return host.set_requires_grad(tensor.requires_grad());
}

// The CPU's choice for tensors like these. Asked directly: what watches the dispatcher, such as the mode
// that fakes tensors, has nothing to do with it.
int64_t choose_like_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                        std::optional<double> scale, bool enable_gqa) {
  const bool has_mask = mask.has_value() && mask->defined();
  return at::native::_fused_sdp_choice_cpp(
      stand_in(query), stand_in(key), stand_in(value),
      has_mask ? std::optional<at::Tensor>(stand_in(*mask)) : std::nullopt, dropout, is_causal, scale,
      enable_gqa);
}

// How scaled_dot_product_attention is carried out: by the plugin's kernel for it if there is one;
// composed of matrix products if the device has kernels for those; and otherwise as on the CPU, whole.
int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
               std::optional<double> scale, bool enable_gqa) {
  device_count();  // a fake tensor may come before anything has loaded the plugin
  if (has_kernel("aten::_scaled_dot_product_fused_attention_overrideable")) return kOverrideable;
  if (has_kernel("aten::bmm") || has_kernel("aten::baddbmm")) return kMath;
  if (query.layout() != at::kStrided || query.is_nested()) return kMath;
  return choose_like_cpu(query, key, value, mask, dropout, is_causal, scale, enable_gqa);
}

}  // namespace
}  // namespace torchplug::aten

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torchplug::aten::choose)
}  // namespace at::native
