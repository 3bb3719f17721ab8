#include "elementwise.h"

namespace torchplug::sim {
namespace {

// As PyTorch converts it, by way of the dtype that it is rounded to.
bool read_number(std::uint64_t* to, plug_dtype to_dtype, const plug_tensor& number, Rounding rounding) {
  const plug_dtype between = rounding.number != 0 ? rounding.number : to_dtype;
  const ConvertRow round = find_conversion(between, number.dtype);
  const ConvertRow widen = find_conversion(to_dtype, between);
  if (number.ndim != 0 || round == nullptr || widen == nullptr) return false;
  std::uint64_t rounded = 0;
  round(reinterpret_cast<std::byte*>(&rounded), 0, static_cast<const std::byte*>(plug_address(&number.mem)),
        0, 1);
  widen(reinterpret_cast<std::byte*>(to), 0, reinterpret_cast<const std::byte*>(&rounded), 0, 1);
  return true;
}

bool are_dense(const Operands& operands, std::size_t count, const plug_dtype* dtypes) {
  bool are = operands.loop.ndim == 1;
  for (std::size_t k = 0; k < count; ++k) {
    are = are && operands.convert[k] == nullptr && !operands.is_number[k] &&
          operands.loop.strides[0][k] == static_cast<std::int64_t>(PLUG_DTYPE_BYTES(dtypes[k]));
  }
  return are;
}

}  // namespace

bool is_better_borrowed(const Operands& operands, std::size_t count, const plug_dtype* dtypes) {
  constexpr std::int64_t kShort = 32, kFew = 256, kMostUneven = 8192, kMost = 1 << 22;
  const plug_loop& loop = operands.loop;
  const std::int64_t* const strides = loop.strides[loop.ndim - 1];
  bool is_even = true;
  for (std::size_t k = 0; k < count; ++k) {
    if (operands.convert[k] != nullptr) return false;  // PyTorch would convert all of it first
    if (operands.is_number[k]) continue;
    const auto bytes = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(dtypes[k]));
    is_even = is_even && strides[k] == bytes;
  }
  const bool has_short_rows = loop.sizes[loop.ndim - 1] < kShort;
  return (loop.count > kFew && has_short_rows) || (loop.count > kMostUneven && !is_even) ||
         loop.count > kMost;
}

plug_status read_operands(const plug::Call& call, std::size_t count, const plug_tensor* const* tensors,
                          const plug_dtype* dtypes, Rounding rounding, Operands& operands) {
  plug_tensor there[Operands::kMost];
  const plug_tensor* looped[Operands::kMost] = {};
  for (std::size_t k = 0; k < count; ++k) {
    const plug_tensor& tensor = *tensors[k];
    if (!is_plain(tensor)) return declined("the kernel takes strided tensors without a lazy bit");
    looped[k] = &there[k];
    operands.convert[k] = nullptr;
    operands.is_number[k] = k > 0 && tensor.mem.device == PLUG_HOST && call.device() != PLUG_HOST;
    if (operands.is_number[k]) {
      there[k] = tensor;
      if (read_number(&operands.numbers[k], dtypes[k], tensor, rounding)) continue;
      return declined("the kernel cannot read a number of this dtype");
    }
    there[k] = usable(tensor);
    if (tensor.dtype == dtypes[k]) continue;
    operands.convert[k] =
        k == 0 ? find_conversion(tensor.dtype, dtypes[k]) : find_conversion(dtypes[k], tensor.dtype);
    if (operands.convert[k] == nullptr) return declined("the kernel cannot convert this dtype");
  }
  if (plug_loop_make(&operands.loop, static_cast<std::int32_t>(count), looped, 0) != PLUG_OK) {
    return declined("the kernel cannot expand the inputs to the result");
  }
  operands.is_dense = are_dense(operands, count, dtypes);
  return PLUG_OK;
}

}  // namespace torchplug::sim
