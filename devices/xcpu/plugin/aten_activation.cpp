#include "aten_activation.h"

#include "arguments.h"
#include "aten_rows.h"

namespace xcpu::plugin {
namespace {

xcpu_activation gelu_of(std::string_view approximate, const plug::Tensor& x) {
  constexpr std::int64_t kFew = 16384;
  if (approximate == "none") {
    if (x.dtype() == PLUG_F16 || (x.dtype() == PLUG_BF16 && x.numel() > kFew)) {
      plug::decline("the CPU is faster with the error function of float16, and of much bfloat16");
    }
    return XCPU_GELU;
  }
  if (approximate == "tanh") return XCPU_GELU_TANH;
  plug::decline("the CPU says what is wrong with approximate");
}

// Tensors have no gaps and all the same order of dimensions: they are one row. `grad` NULL: forward.
void activate(xcpu_activation activation, const plug::Tensor& x, const plug::Tensor* grad,
              const plug::Out& out) {
  const std::int64_t count = out.numel();
  if (count == 0) return;
  xcpu_activation_args args{};
  args.activation = activation;
  args.rows = 1;
  args.columns = count;
  args.x = contiguous_rows(x, count);
  if (grad != nullptr) args.grad = contiguous_rows(*grad, count);
  args.out = contiguous_rows(out, count);
  check(xcpu_activate(&args, team()));
}

}  // namespace

void gelu(plug::Call& /*call*/, plug::Tensor self, std::string_view approximate, plug::Out result) {
  activate(gelu_of(approximate, self), self, nullptr, result);
}

void gelu_backward(plug::Call& /*call*/, plug::Tensor grad, plug::Tensor self, std::string_view approximate,
                   plug::Out result) {
  activate(gelu_of(approximate, self), self, &grad, result);
}

void silu(plug::Call& /*call*/, plug::Tensor self, plug::Out result) {
  activate(XCPU_SILU, self, nullptr, result);
}

void silu_backward(plug::Call& /*call*/, plug::Tensor grad, plug::Tensor self, plug::Out result) {
  activate(XCPU_SILU, self, &grad, result);
}

}  // namespace xcpu::plugin
