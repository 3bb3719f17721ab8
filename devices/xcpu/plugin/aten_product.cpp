#include "aten_product.h"

#include <algorithm>

#include "arguments.h"
#include "aten_rows.h"
#include "heads.h"
#include "torchplug/schemas.h"

namespace xcpu::plugin {
namespace {

// A product as the call gives it, but for the result: why the kernels do not take it, or NULL and what they
// are given.
struct Product {
  const char* obstacle = nullptr;
  xcpu_product_args args{};
};

bool is_along_rows(const xcpu_matrix& matrix, std::int64_t columns) {
  return matrix.column_stride == 1 || columns == 1;
}
bool is_along_columns(const xcpu_matrix& matrix, std::int64_t rows) {
  return matrix.row_stride == 1 || rows == 1;
}

const char* obstacle_of_layout(const xcpu_product_args& args) {
  const bool x_along_rows = is_along_rows(args.x, args.k);
  const bool is_x_contiguous = x_along_rows || is_along_columns(args.x, args.rows);
  const bool is_weight_contiguous =
      is_along_rows(args.weight, args.k) || is_along_columns(args.weight, args.n);
  if (!is_x_contiguous || !is_weight_contiguous) return "a matrix has gaps between its elements";
  if (x_along_rows && args.rows > 1 && args.x.row_stride < args.k) return "rows lie one in another";
  return nullptr;
}

// Where the CPU is faster: docs/xcpu.md has the numbers. Of float16 it nowhere is.
const char* obstacle_of_sizes(const xcpu_product_args& args) {
  constexpr std::int64_t kNear = 2 << 20;  // elements of a weight that stays in a cache while it is packed
  const bool is_far = args.n * args.k > kNear;
  const bool is_read_as_it_lies = is_along_rows(args.x, args.k) && is_along_rows(args.weight, args.k);
  switch (args.x.dtype) {
    case XCPU_F32:
      if (is_read_as_it_lies || args.rows >= (is_far ? 32 : 4)) return nullptr;
      return "the CPU is faster with so few rows, where the kernel has to pack the other matrix";
    case XCPU_BF16:
      if (args.rows <= (is_read_as_it_lies ? 16 : is_far ? 0 : 32)) return nullptr;
      return "the CPU is faster with so many rows, or so large a matrix to pack, of bfloat16";
    default: return nullptr;
  }
}

Product judged(Product product) {
  product.obstacle = obstacle_of_layout(product.args);
  if (product.obstacle == nullptr) product.obstacle = obstacle_of_sizes(product.args);
  return product;
}

Product declined(const char* why) {
  Product product;
  product.obstacle = why;
  return product;
}

constexpr const char* kNothing = "the CPU says what a product of nothing is";
constexpr const char* kDtypes = "the kernel is for matrices of one dtype";

// input weight', of rows of the input.
Product linear_of(const plug::Tensor& input, const plug::Tensor& weight) {
  if (input.numel() == 0 || weight.numel() == 0) return declined(kNothing);
  if (weight.ndim() != 2 || input.ndim() < 1) return declined("the kernel is for a weight of two dimensions");
  if (input.size(-1) != weight.size(1)) return declined("the CPU says which sizes do not match");
  if (input.dtype() != weight.dtype()) return declined(kDtypes);
  const auto stride = common_stride(input, input.ndim() - 1);
  if (!stride) return declined("rows of the input lie at different distances");
  Product product;
  xcpu_product_args& args = product.args;
  args.batches = 1;
  args.k = weight.size(1);
  args.n = weight.size(0);
  args.rows = input.numel() / args.k;
  args.x = {plug_address(&input.raw().mem), known_dtype(input), *stride, input.stride(-1)};
  args.weight = {plug_address(&weight.raw().mem), known_dtype(weight), weight.stride(0), weight.stride(1)};
  return judged(product);
}

// a b, of matrices or of batches of them.
Product product_of(const plug::Tensor& a, const plug::Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return declined(kNothing);
  if (a.dtype() != b.dtype()) return declined(kDtypes);
  Product product;
  xcpu_product_args& args = product.args;
  const bool has_batches = a.ndim() == 3;
  args.batches = has_batches ? a.size(0) : 1;
  args.rows = a.size(-2);
  args.k = a.size(-1);
  args.n = b.size(-1);
  args.x = {plug_address(&a.raw().mem), known_dtype(a), a.stride(-2), a.stride(-1)};
  args.weight = {plug_address(&b.raw().mem), known_dtype(b), b.stride(-1), b.stride(-2)};
  if (has_batches) {
    args.x_batch_stride = a.stride(0);
    args.weight_batch_stride = b.stride(0);
  }
  return judged(product);
}

bool is_row(const plug::Tensor& bias, const plug::Tensor& of, std::int64_t n) {
  return bias.ndim() == 1 && bias.size(0) == n && (n == 1 || bias.stride(0) == 1) &&
         bias.dtype() == of.dtype();
}

void run(const plug::Call& call, Product product, const plug::Tensor* bias, const plug::Out& out) {
  xcpu_product_args& args = product.args;
  if (product.obstacle != nullptr) plug::decline(product.obstacle);
  if (bias != nullptr && !is_row(*bias, out, args.n))
    plug::decline("the kernel adds a row of the same dtype");
  const auto stride = args.batches == 1 ? common_stride(out, out.ndim() - 1) : out.stride(-2);
  if (!stride || (args.n > 1 && out.stride(-1) != 1) || (args.rows > 1 && *stride < args.n)) {
    plug::decline("the result has its rows one after the other");
  }
  args.threads = most_threads();
  if (bias != nullptr) args.bias = contiguous_rows(*bias, args.n);
  args.out = contiguous_rows(out, args.rows > 1 ? *stride : args.n);
  if (args.batches > 1) args.out_batch_stride = out.stride(0);
  const plug::Scratch<char> scratch(call, xcpu_product_scratch(&args));
  check(xcpu_product(&args, scratch.data(), team()));
}

plug_status prepared(const plug_call* call, Product (*make)(const plug::Tensor&, const plug::Tensor&),
                     int first, int second) {
  return plug::guarded([&] {
    const Product product =
        make(plug::Tensor(call->args[first].as.tensors[0]), plug::Tensor(call->args[second].as.tensors[0]));
    if (product.obstacle != nullptr) plug::decline(product.obstacle);
  });
}

}  // namespace

plug_status prepare_linear(const plug_call* call, void** /*state*/) {
  return prepared(call, linear_of, PLUG_ARG_LINEAR_INPUT, PLUG_ARG_LINEAR_WEIGHT);
}

plug_status prepare_mm(const plug_call* call, void** /*state*/) {
  return prepared(call, product_of, PLUG_ARG_MM_SELF, PLUG_ARG_MM_MAT2);
}

plug_status prepare_addmm(const plug_call* call, void** /*state*/) {
  return prepared(call, product_of, PLUG_ARG_ADDMM_MAT1, PLUG_ARG_ADDMM_MAT2);
}

void aten_linear(plug::Call& call, plug::Tensor input, plug::Tensor weight, std::optional<plug::Tensor> bias,
                 plug::Out out) {
  run(call, linear_of(input, weight), bias ? &*bias : nullptr, out);
}

void mm(plug::Call& call, plug::Tensor self, plug::Tensor mat2, plug::Out out) {
  run(call, product_of(self, mat2), nullptr, out);
}

void addmm(plug::Call& call, plug::Tensor self, plug::Tensor mat1, plug::Tensor mat2, plug::Scalar beta,
           plug::Scalar alpha, plug::Out out) {
  if (beta.is_complex() || alpha.is_complex() || beta.to<double>() != 1 || alpha.to<double>() != 1) {
    plug::decline("the kernel multiplies by no number");
  }
  run(call, product_of(mat1, mat2), &self, out);
}

}  // namespace xcpu::plugin
