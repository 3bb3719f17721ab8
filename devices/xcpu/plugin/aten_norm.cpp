#include "aten_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arguments.h"
#include "aten_rows.h"

namespace xcpu::plugin {
namespace {

using OptionalTensor = std::optional<plug::Tensor>;
using OptionalOut = std::optional<plug::Out>;

// Every tensor comes contiguous: the last dims are one row.
struct Extent {
  std::int64_t rows;
  std::int64_t columns;
};

Extent extent_of(const plug::Tensor& input, plug::Ints normalized_shape) {
  std::int64_t columns = 1;
  for (const std::int64_t size : normalized_shape) columns *= size;
  if (input.numel() == 0) plug::decline("the CPU says what the norm of nothing is");
  return {input.numel() / columns, columns};
}

// A number of each row, in the dtype that PyTorch keeps it in. The kernels know float32.
class RowNumbers {
 public:
  RowNumbers(const plug::Call& call, const plug::Tensor& tensor)
      : tensor_(tensor), copy_(call, tensor.dtype() == PLUG_F32 ? 0 : tensor.numel()) {
    known_dtype(tensor);
  }

  float* data() const {
    return copy_.empty() ? static_cast<float*>(plug_address(&tensor_.raw().mem)) : copy_.data();
  }
  const float* read() const {
    convert(copy_.data(), PLUG_F32, plug_address(&tensor_.raw().mem), tensor_.dtype());
    return data();
  }
  void write() const { convert(plug_address(&tensor_.raw().mem), tensor_.dtype(), copy_.data(), PLUG_F32); }

 private:
  void convert(void* to, plug_dtype to_dtype, void* from, plug_dtype from_dtype) const {
    if (copy_.empty()) return;
    plug::check(plug_convert(static_cast<char*>(to), to_dtype, PLUG_DTYPE_BYTES(to_dtype),
                             static_cast<char*>(from), from_dtype, PLUG_DTYPE_BYTES(from_dtype),
                             copy_.size()));
  }

  const plug::Tensor& tensor_;
  plug::Scratch<float> copy_;
};

xcpu_norm_args forward_args(xcpu_norm_form form, const plug::Tensor& input, plug::Ints normalized_shape,
                            const OptionalTensor& weight, double eps, const plug::Out& out) {
  const Extent extent = extent_of(input, normalized_shape);
  xcpu_norm_args args{};
  args.form = form;
  args.epsilon = static_cast<float>(eps);
  args.rows = extent.rows;
  args.columns = extent.columns;
  args.x = contiguous_rows(input, extent.columns);
  args.weight = contiguous_rows(weight, extent.columns);
  args.out = contiguous_rows(out, extent.columns);
  return args;
}

xcpu_norm_backward_args backward_args(xcpu_norm_form form, const plug::Tensor& grad,
                                      const plug::Tensor& input, plug::Ints normalized_shape,
                                      const OptionalTensor& weight, const OptionalOut& grad_input,
                                      const OptionalOut& grad_weight) {
  const Extent extent = extent_of(input, normalized_shape);
  xcpu_norm_backward_args args{};
  args.form = form;
  args.rows = extent.rows;
  args.columns = extent.columns;
  args.grad = contiguous_rows(grad, extent.columns);
  args.x = contiguous_rows(input, extent.columns);
  args.weight = contiguous_rows(weight, extent.columns);
  args.grad_x = contiguous_rows(grad_input, extent.columns);
  args.grad_weight = contiguous_rows(grad_weight, extent.columns);
  return args;
}

// The CPU has no backward of the fused RMS norm: of what reaches the forward nothing may be declined. So
// float64, which no kernel is for, is computed here as it is written.

bool is_double(const plug::Tensor& tensor) { return tensor.dtype() == PLUG_F64; }

void fill(const plug::Out& tensor, double value) {
  const auto bytes = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(tensor.dtype()));
  auto* const begin = static_cast<char*>(plug_address(&tensor.raw().mem));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) plug_store(begin + i * bytes, tensor.dtype(), value);
}

double element(const OptionalTensor& tensor, std::int64_t i) {
  return tensor ? tensor->data<double>()[i] : 1;
}

void rms_norm_of_doubles(const plug::Call& call, const plug::Tensor& input, plug::Ints normalized_shape,
                         const OptionalTensor& weight, double eps, const plug::Out& out,
                         const plug::Out& rstd) {
  const Extent extent = extent_of(input, normalized_shape);
  call.team(extent.rows, 1 + (1 << 13) / extent.columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const double* x = input.data<double>() + row * extent.columns;
      double* y = out.data<double>() + row * extent.columns;
      double squares = 0;
      for (std::int64_t i = 0; i < extent.columns; ++i) squares += x[i] * x[i];
      const double scale = 1 / std::sqrt(squares / static_cast<double>(extent.columns) + eps);
      for (std::int64_t i = 0; i < extent.columns; ++i) y[i] = x[i] * scale * element(weight, i);
      rstd.data<double>()[row] = scale;
    }
  });
}

void rms_norm_backward_of_doubles(const plug::Call& call, const plug::Tensor& grad, const plug::Tensor& input,
                                  plug::Ints normalized_shape, const plug::Tensor& rstd,
                                  const OptionalTensor& weight, const OptionalOut& grad_input,
                                  const OptionalOut& grad_weight) {
  const Extent extent = extent_of(input, normalized_shape);
  const plug::Scratch<double> sums(call, extent.columns);
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const double* x = input.data<double>() + row * extent.columns;
    const double* g = grad.data<double>() + row * extent.columns;
    const double scale = rstd.data<double>()[row];
    double dot = 0;
    for (std::int64_t i = 0; i < extent.columns; ++i) {
      dot += g[i] * element(weight, i) * x[i];
      sums[i] += g[i] * x[i] * scale;
    }
    dot *= scale * scale / static_cast<double>(extent.columns);
    for (std::int64_t i = 0; grad_input && i < extent.columns; ++i) {
      grad_input->data<double>()[row * extent.columns + i] = scale * (g[i] * element(weight, i) - x[i] * dot);
    }
  }
  if (grad_weight) std::copy(sums.begin(), sums.end(), grad_weight->data<double>());
}

void run(const plug::Call& call, const xcpu_norm_backward_args& args) {
  const plug::Scratch<char> scratch(call, xcpu_norm_backward_scratch(&args));
  check(xcpu_norm_backward(&args, scratch.data(), team()));
}

}  // namespace

void native_layer_norm(plug::Call& call, plug::Tensor input, plug::Ints normalized_shape,
                       OptionalTensor weight, OptionalTensor bias, double eps, plug::Out out, plug::Out mean,
                       plug::Out rstd) {
  xcpu_norm_args args = forward_args(XCPU_LAYER_NORM, input, normalized_shape, weight, eps, out);
  args.bias = contiguous_rows(bias, args.columns);
  const RowNumbers means(call, mean), scales(call, rstd);
  args.mean = means.data();
  args.scale = scales.data();
  check(xcpu_norm(&args, team()));
  means.write();
  scales.write();
}

void native_layer_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor input,
                                plug::Ints normalized_shape, plug::Tensor mean, plug::Tensor rstd,
                                OptionalTensor weight, OptionalTensor /*bias*/, plug::Bools /*mask*/,
                                OptionalOut grad_input, OptionalOut grad_weight, OptionalOut grad_bias) {
  xcpu_norm_backward_args args =
      backward_args(XCPU_LAYER_NORM, grad, input, normalized_shape, weight, grad_input, grad_weight);
  args.grad_bias = contiguous_rows(grad_bias, args.columns);
  const RowNumbers means(call, mean), scales(call, rstd);
  args.mean = means.read();
  args.scale = scales.read();
  run(call, args);
}

void fused_rms_norm(plug::Call& call, plug::Tensor input, plug::Ints normalized_shape, OptionalTensor weight,
                    std::optional<double> eps, plug::Out out, plug::Out rstd) {
  const double epsilon = eps.value_or(is_double(input) ? std::numeric_limits<double>::epsilon()
                                                       : std::numeric_limits<float>::epsilon());
  if (input.numel() == 0) return fill(rstd, std::numeric_limits<double>::quiet_NaN());
  if (is_double(input)) return rms_norm_of_doubles(call, input, normalized_shape, weight, epsilon, out, rstd);
  xcpu_norm_args args = forward_args(XCPU_RMS_NORM, input, normalized_shape, weight, epsilon, out);
  const RowNumbers scales(call, rstd);
  args.scale = scales.data();
  check(xcpu_norm(&args, team()));
  scales.write();
}

void fused_rms_norm_backward(plug::Call& call, plug::Tensor grad, plug::Tensor input,
                             plug::Ints normalized_shape, plug::Tensor rstd, OptionalTensor weight,
                             plug::Bools /*mask*/, OptionalOut grad_input, OptionalOut grad_weight) {
  if (input.numel() == 0) {
    if (grad_weight) fill(*grad_weight, 0);
    return;
  }
  if (is_double(input)) {
    return rms_norm_backward_of_doubles(call, grad, input, normalized_shape, rstd, weight, grad_input,
                                        grad_weight);
  }
  xcpu_norm_backward_args args =
      backward_args(XCPU_RMS_NORM, grad, input, normalized_shape, weight, grad_input, grad_weight);
  const RowNumbers scales(call, rstd);
  args.scale = scales.read();
  run(call, args);
}

}  // namespace xcpu::plugin
