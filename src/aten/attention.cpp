#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>

#include "aten/loan.h"
#include "aten/register.h"

namespace torchplug {
namespace {

constexpr int64_t kMath = 0;
constexpr int64_t kOverrideable = 4;

// The CPU's choice for tensors like these. It looks at metadata only.
int64_t choose_like_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                        std::optional<double> scale, bool enable_gqa) {
  Loan loan(LoanKind::kMetadata, Stream::current(query.device().index()));
  const bool has_mask = mask.has_value() && mask->defined();
  for (const at::Tensor* tensor : {&query, &key, &value}) loan.add(*tensor, /*written=*/false);
  if (has_mask) loan.add(*mask, /*written=*/false);
  loan.open();
  const auto host = [&](const at::Tensor& tensor) {
    // Without the lazy bits: the dispatcher would resolve them, in memory that is not there.
    at::Tensor lent = loan.host_tensor(tensor);
    lent._set_conj(false);
    lent._set_neg(false);
    return lent.set_requires_grad(tensor.requires_grad());
  };
  return at::_fused_sdp_choice(host(query), host(key), host(value),
                               has_mask ? std::optional<at::Tensor>(host(*mask)) : std::nullopt, dropout,
                               is_causal, scale, enable_gqa);
}

// How scaled_dot_product_attention is carried out: by the plugin's kernel for it if there is one;
// composed of matrix products if the device has kernels for those; and otherwise as on the CPU, whole.
int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
               std::optional<double> scale, bool enable_gqa) {
  if (has_kernel("aten::_scaled_dot_product_fused_attention_overrideable")) return kOverrideable;
  if (has_kernel("aten::bmm") || has_kernel("aten::baddbmm") || query.layout() != at::kStrided) return kMath;
  return choose_like_cpu(query, key, value, mask, dropout, is_causal, scale, enable_gqa);
}

}  // namespace
}  // namespace torchplug

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torchplug::choose)
}  // namespace at::native
