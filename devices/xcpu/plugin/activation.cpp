#include "activation.h"

#include <cmath>

#include "arguments.h"

namespace xcpu::plugin {
namespace {

constexpr plug_dtype kDtypes[] = {PLUG_F32, PLUG_BF16, PLUG_F16};  // by xcpu_dtype

float element(const xcpu_rows& rows, std::int64_t row, std::int64_t column) {
  const plug_dtype dtype = kDtypes[rows.dtype];
  const char* begin = static_cast<const char*>(rows.data);
  return static_cast<float>(plug_load(
      begin + (row * rows.stride + column) * static_cast<std::int64_t>(PLUG_DTYPE_BYTES(dtype)), dtype));
}

void set_element(const xcpu_rows& rows, std::int64_t row, std::int64_t column, float value) {
  const plug_dtype dtype = kDtypes[rows.dtype];
  char* begin = static_cast<char*>(rows.data);
  plug_store(begin + (row * rows.stride + column) * static_cast<std::int64_t>(PLUG_DTYPE_BYTES(dtype)), dtype,
             value);
}

float gelu_slope(float x) {
  constexpr float kRootHalf = 0.70710678F, kDensity = 0.39894228F;
  return 0.5F * std::erfc(-x * kRootHalf) + x * kDensity * std::exp(-0.5F * x * x);
}

float gelu_tanh_slope(float x) {
  constexpr float kBeta = 0.79788456F, kKappa = 0.044715F;
  const float t = std::tanh(kBeta * (x + kKappa * x * x * x));
  return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * kBeta * (1 + 3 * kKappa * x * x);
}

float silu_slope(float x) {
  const float s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

float slope(xcpu_activation activation, float x) {
  switch (activation) {
    case XCPU_RELU: return x > 0 ? 1 : 0;
    case XCPU_GELU: return gelu_slope(x);
    case XCPU_GELU_TANH: return gelu_tanh_slope(x);
    case XCPU_SILU: return silu_slope(x);
    default: return 1;
  }
}

}  // namespace

xcpu_activation activation_of(std::string_view word) {
  return word_of(word, "activation", {"none", "relu", "gelu", "gelu_tanh", "silu"});
}

void slope_of_row(xcpu_activation activation, const float* sums, const xcpu_rows& grad, const xcpu_rows& mul,
                  const xcpu_rows& out, std::int64_t row, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float value = element(grad, row, i);
    if (mul.data != nullptr) value *= element(mul, row, i);
    if (activation != XCPU_IDENTITY) value *= slope(activation, sums[i]);
    set_element(out, row, i, value);
  }
}

}  // namespace xcpu::plugin
