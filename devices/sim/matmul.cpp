#include "matmul.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "launch.h"
#include "scalar.h"
#include "vectors.h"

namespace torchplug::sim {
namespace {

// Up to here it is not slower than PyTorch's.
constexpr std::int64_t kMostOperations = std::int64_t{16} * 16 * 16;
constexpr std::int64_t kMostColumns = 64;  // of the result, that are computed side by side
constexpr std::int64_t kMostDepth = 256;
constexpr std::int64_t kVector = 16;  // columns of the result in registers
using HalfVector = float __attribute__((vector_size(sizeof(float) * kVector / 2), may_alias));

struct Matrix {
  float* data = nullptr;
  std::int64_t row = 0;  // strides in elements
  std::int64_t column = 0;

  float& at(std::int64_t i, std::int64_t j) const { return data[i * row + j * column]; }
};

// result = alpha a b + beta bias
struct Product {
  Matrix result, a, b, bias;
  std::int64_t rows, columns, depth;
  float alpha = 1, beta = 0;

  void operator()() const noexcept {
    run_vectorised([&]() SIM_INLINE {
      for (std::int64_t from = 0; from < columns; from += kMostColumns) {
        multiply_columns(from, std::min(kMostColumns, columns - from));
      }
    });
  }

 private:
  // Rows of b are brought together first, filled up to whole vectors: they are read once for each row of a.
  SIM_INLINE void multiply_columns(std::int64_t from, std::int64_t count) const noexcept {
    alignas(64) float packed[kMostDepth * kMostColumns];
    const std::int64_t width = (count + kVector - 1) / kVector * kVector;
    for (std::int64_t k = 0; k < depth; ++k) {
      float* const row = packed + k * width;
      for (std::int64_t j = 0; j < count; ++j) row[j] = b.at(k, from + j);
      for (std::int64_t j = count; j < width; ++j) row[j] = 0;
    }
    for (std::int64_t j = 0; j < width; j += kVector) {
      const std::int64_t stored = std::min(kVector, count - j);
      std::int64_t i = 0;
      for (; i + 4 <= rows; i += 4) multiply_rows<4>(packed + j, width, i, from + j, stored);
      for (; i < rows; ++i) multiply_rows<1>(packed + j, width, i, from + j, stored);
    }
  }

  // Several rows at once, so that additions overlap.
  template <int kRows>
  SIM_INLINE void multiply_rows(const float* packed, std::int64_t width, std::int64_t i, std::int64_t j,
                                std::int64_t count) const noexcept {
    HalfVector lower[kRows] = {}, upper[kRows] = {};
    for (std::int64_t k = 0; k < depth; ++k) {
      const auto* const row = reinterpret_cast<const HalfVector*>(packed + k * width);
      for (int r = 0; r < kRows; ++r) {
        const float x = a.at(i + r, k);
        lower[r] += x * row[0];
        upper[r] += x * row[1];
      }
    }
    for (int r = 0; r < kRows; ++r) {
      alignas(64) float sums[kVector];
      reinterpret_cast<HalfVector*>(sums)[0] = lower[r];
      reinterpret_cast<HalfVector*>(sums)[1] = upper[r];
      store(i + r, j, sums, count);
    }
  }

  SIM_INLINE void store(std::int64_t i, std::int64_t from, const float* sums,
                        std::int64_t count) const noexcept {
    for (std::int64_t j = 0; j < count; ++j) {
      const float added =
          beta != 0 ? beta * bias.at(i, from + j) : 0;  // what it is not multiplied by may be NaN
      result.at(i, from + j) = alpha * sums[j] + added;
    }
  }
};

// The last two dims of a tensor, or fewer of one that is expanded to them.
Matrix matrix_of(const plug_tensor& tensor, const plug_tensor& result) {
  Matrix matrix{static_cast<float*>(plug_address(&tensor.mem))};
  int fits = 1;
  matrix.row = plug_expanded_stride(&tensor, &result, result.ndim - 2, &fits) / std::int64_t{sizeof(float)};
  matrix.column =
      plug_expanded_stride(&tensor, &result, result.ndim - 1, &fits) / std::int64_t{sizeof(float)};
  return matrix;
}

Matrix matrix_of(const plug_tensor& tensor) { return matrix_of(tensor, tensor); }

std::unique_ptr<Product> product_of(const plug::Tensor& a, const plug::Tensor& b, const plug::Out& result) {
  auto product = std::make_unique<Product>();
  product->result = matrix_of(usable(result.raw()));
  product->a = matrix_of(usable(a.raw()));
  product->b = matrix_of(usable(b.raw()));
  product->rows = result.size(-2);
  product->columns = result.size(-1);
  product->depth = a.size(-1);
  return product;
}

}  // namespace

plug_status mm(plug::Call& call, plug::Tensor self, plug::Tensor mat2, plug::Out result) {
  launch_kept(call, "sim::mm", product_of(self, mat2, result));
  return PLUG_OK;
}

plug_status addmm(plug::Call& call, plug::Tensor self, plug::Tensor mat1, plug::Tensor mat2,
                  plug::Scalar beta, plug::Scalar alpha, plug::Out result) {
  const auto by = exact<float>(alpha.raw());
  if (!by || *by == 0) return declined("PyTorch knows what to do with this alpha");
  auto product = product_of(mat1, mat2, result);
  product->bias = matrix_of(usable(self.raw()), result.raw());
  product->alpha = *by;
  product->beta = beta.to<float>();
  launch_kept(call, "sim::addmm", std::move(product));
  return PLUG_OK;
}

plug_status prepare_matmul(const plug_call* call, void** state) {
  *state = nullptr;
  const plug_tensor& result = *call->results[0].as.tensors;
  // mat1 is the first of two tensors, or the second of three.
  const plug_tensor& left = *call->args[call->arg_count == 2 ? 0 : 1].as.tensors;
  for (std::uint32_t i = 0; i < call->arg_count; ++i) {
    if (call->args[i].tag == PLUG_VALUE_TENSOR && !is_plain(*call->args[i].as.tensors)) {
      return declined("the kernel takes strided tensors without a lazy bit");
    }
  }
  if (result.dtype != PLUG_F32) return declined("the kernel multiplies matrices of float32");
  const std::int64_t depth = left.sizes[left.ndim - 1];
  if (plug_numel(&result) * depth > kMostOperations || depth > kMostDepth) {
    return declined("PyTorch multiplies matrices of this size faster");
  }
  return PLUG_OK;
}

}  // namespace torchplug::sim
