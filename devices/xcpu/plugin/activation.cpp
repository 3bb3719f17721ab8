#include "activation.h"

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

}  // namespace

xcpu_activation activation_of(std::string_view word) {
  return word_of(word, "activation", {"none", "relu", "gelu", "gelu_tanh", "silu"});
}

void multiply_row(const xcpu_rows& grad, const xcpu_rows& mul, const xcpu_rows& out, std::int64_t row,
                  std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float by = mul.data != nullptr ? element(mul, row, i) : 1;
    set_element(out, row, i, element(grad, row, i) * by);
  }
}

}  // namespace xcpu::plugin
