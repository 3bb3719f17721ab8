#include "aten_softmax.h"

#include "arguments.h"
#include "aten_rows.h"

namespace xcpu::plugin {
namespace {

enum class Form { kProbability, kLogarithm };

// `grad` NULL: forward, of x; otherwise x is what the forward gave.
void run(Form form, const plug::Tensor& x, const plug::Tensor* grad, std::int64_t dim, const plug::Out& out) {
  if (x.ndim() > 0 && x.wrap(dim) != x.ndim() - 1) plug::decline("the kernel goes along the last dimension");
  const std::int64_t count = x.numel();
  if (count == 0) return;
  xcpu_softmax_args args{};
  args.logarithm = form == Form::kLogarithm ? 1 : 0;
  args.columns = x.ndim() == 0 ? 1 : x.size(-1);
  args.rows = count / args.columns;
  args.x = contiguous_rows(x, args.columns);
  if (grad != nullptr) args.grad = contiguous_rows(*grad, args.columns);
  args.out = contiguous_rows(out, args.columns);
  check(xcpu_softmax(&args, team()));
}

void forward(Form form, const plug::Tensor& self, std::int64_t dim, bool half_to_float,
             const plug::Out& result) {
  if (half_to_float) plug::decline("the CPU refuses half_to_float");
  run(form, self, nullptr, dim, result);
}

void backward(Form form, const plug::Tensor& grad, const plug::Tensor& output, std::int64_t dim,
              plug::Dtype input_dtype, const plug::Out& result) {
  constexpr std::int64_t kShort = 128;
  const bool is_short = output.ndim() == 0 || output.size(-1) < kShort;
  if (form == Form::kProbability && (is_short || output.dtype() == PLUG_F16)) {
    plug::decline("the CPU is faster with gradients of short rows, and of float16");
  }
  if (input_dtype.value != grad.dtype()) plug::decline("the CPU refuses an input of another dtype");
  run(form, output, &grad, dim, result);
}

}  // namespace

void softmax(plug::Call& /*call*/, plug::Tensor self, std::int64_t dim, bool half_to_float,
             plug::Out result) {
  forward(Form::kProbability, self, dim, half_to_float, result);
}

void log_softmax(plug::Call& /*call*/, plug::Tensor self, std::int64_t dim, bool half_to_float,
                 plug::Out result) {
  forward(Form::kLogarithm, self, dim, half_to_float, result);
}

void softmax_backward(plug::Call& /*call*/, plug::Tensor grad, plug::Tensor output, std::int64_t dim,
                      plug::Dtype input_dtype, plug::Out result) {
  backward(Form::kProbability, grad, output, dim, input_dtype, result);
}

void log_softmax_backward(plug::Call& /*call*/, plug::Tensor grad, plug::Tensor output, std::int64_t dim,
                          plug::Dtype input_dtype, plug::Out result) {
  backward(Form::kLogarithm, grad, output, dim, input_dtype, result);
}

}  // namespace xcpu::plugin
