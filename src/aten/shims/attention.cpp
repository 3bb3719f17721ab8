#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_native.h>
#include <ATen/ops/empty_like.h>

#include <atomic>
#include <utility>

#include "aten/host/host_tensor.h"
#include "aten/kernel/served_operators.h"
#include "aten/shims/shims.h"
#include "aten/tensor/arguments.h"
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

std::atomic<OperatorKernel*> fused{nullptr};

// Nothing is asked for tensors without memory, which a trace has.
bool is_traced(const at::Tensor& tensor) {
  return !is_on_device(tensor) || tensor.key_set().has(c10::DispatchKey::Python) ||
         tensor.key_set().has(c10::DispatchKey::Meta) ||
         tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

// Whether the plugin's kernel takes the call. It will be given a mask of numbers in place of one of booleans.
bool is_taken(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
              const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
              std::optional<double> scale) {
  OperatorKernel* kernel = fused;
  if (kernel == nullptr || is_traced(query)) return true;
  // Only the forward knows what it dropped.
  if (dropout > 0 && !has_kernel(kFusedAttentionBackward)) return false;
  if (!kernel->prepares()) return true;
  at::Tensor bias = mask.value_or(at::Tensor());
  if (bias.defined() && bias.scalar_type() == at::kBool) bias = at::empty_like(bias, query.options());
  const auto given = bias.defined() ? c10::IValue(bias) : c10::IValue();
  const torch::jit::Stack arguments{query, key, value, given, dropout, is_causal, false, scale};
  return kernel->takes(arguments);
}

// How scaled_dot_product_attention is carried out: by the plugin's kernel for it if there is one that takes
// the call; composed of matrix products if the device has kernels for those; and otherwise as on the CPU,
// whole. What the plugin's kernel declines is composed too, but on memory that the CPU works on in place:
// there its own fused kernel is faster than any composition.
int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
               std::optional<double> scale, bool enable_gqa) {
  device_count();  // a fake tensor may come before anything has loaded the plugin
  if (has_kernel(kFusedAttention)) {
    if (is_taken(query, key, value, mask, dropout, is_causal, scale)) return kOverrideable;
    if (!OperatorKernel::borrows_always(query.device().index())) return kMath;
  } else if (has_kernel("aten::bmm") || has_kernel("aten::baddbmm")) {
    return kMath;
  }
  if (query.layout() != at::kStrided || query.is_nested()) return kMath;
  return choose_like_cpu(query, key, value, mask, dropout, is_causal, scale, enable_gqa);
}

// What was composed forward is composed backward.
class AttentionBackward final : public c10::OperatorKernel {
 public:
  explicit AttentionBackward(std::unique_ptr<aten::OperatorKernel> kernel) : kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    if (is_composed_attention(torch::jit::last(*stack, handle.schema().arguments().size()))) {
      compose_attention_backward(*stack);
    } else {
      kernel_->run(*stack);
    }
  }

 private:
  std::unique_ptr<aten::OperatorKernel> kernel_;
};

}  // namespace

void offer_attention_to(OperatorKernel& kernel) { fused = &kernel; }

torch::CppFunction make_attention_backward(std::unique_ptr<OperatorKernel> kernel) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<AttentionBackward>(std::move(kernel)));
}

}  // namespace torchplug::aten

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torchplug::aten::choose)
}  // namespace at::native
