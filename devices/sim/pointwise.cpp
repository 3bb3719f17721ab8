#include "pointwise.h"

#include <algorithm>
#include <cstring>

#include "location.h"
#include "strided_copy.h"

namespace torchplug::sim {
namespace {

bool has_gaps(const plug_tensor& tensor) {
  std::int64_t count = 1;
  std::int64_t last = 0;
  for (std::int32_t d = 0; d < tensor.ndim; ++d) {
    count *= tensor.sizes[d];
    last += (tensor.sizes[d] - 1) * tensor.strides[d];
  }
  return last + 1 != count;  // no two elements of a result share a place
}

bool lies_like(const plug_tensor& tensor, const plug_tensor& result) {
  if (tensor.mem.device == PLUG_HOST || tensor.ndim != result.ndim) return false;
  for (std::int32_t d = 0; d < result.ndim; ++d) {
    if (tensor.sizes[d] != result.sizes[d]) return false;
    if (tensor.strides[d] != result.strides[d] && result.sizes[d] != 1) return false;
  }
  return true;
}

std::uint64_t dense_bytes(const plug_tensor& tensor) {
  std::uint64_t bytes = PLUG_DTYPE_BYTES(tensor.dtype);
  for (std::int32_t d = 0; d < tensor.ndim; ++d) bytes *= static_cast<std::uint64_t>(tensor.sizes[d]);
  return bytes;
}

// The address of element [0, 0, ...].
template <class T>
T* address_of(const plug_tensor& tensor) {
  const Extent extent = extent_of(tensor);
  return reinterpret_cast<T*>(locate(tensor.mem, extent.bytes, extent.first).address - extent.first);
}

// Of a tensor that may need expanding along dimension `d` of `result`.
std::int64_t stride_of(const plug_tensor& tensor, const plug_tensor& result, std::int32_t d) {
  const std::int32_t own = d - (result.ndim - tensor.ndim);
  return own < 0 || tensor.sizes[own] == 1 ? 0 : tensor.strides[own];
}

template <class From, class To>
To read(const plug_tensor& number) {
  From value;
  std::memcpy(&value, static_cast<const std::byte*>(number.mem.base) + number.mem.offset, sizeof value);
  return static_cast<To>(value);
}

// As PyTorch converts it to the dtype in which it computes.
template <class T>
T read_number(const plug_tensor& number) {
  if (number.dtype == PLUG_F32) return read<float, T>(number);
  return number.dtype == PLUG_F64 ? read<double, T>(number) : read<std::int64_t, T>(number);
}

}  // namespace

bool is_number(const plug_tensor& tensor) {
  const bool is_known = tensor.dtype == PLUG_F32 || tensor.dtype == PLUG_F64 || tensor.dtype == PLUG_I64;
  return tensor.mem.device == PLUG_HOST && tensor.ndim == 0 && is_known;
}

bool lie_alike(const plug_tensor& result, const plug_tensor& a, const plug_tensor& b) {
  return lies_like(a, result) && (&a == &b || lies_like(b, result)) && !has_gaps(result);
}

template <class T>
DenseOperands<T> dense_operands(const plug_tensor& result, const plug_tensor& a, const plug_tensor& b) {
  const std::uint64_t bytes = dense_bytes(result);
  const auto address = [&](const plug_tensor& tensor) {
    return reinterpret_cast<T*>(locate(tensor.mem, bytes).address);
  };
  return {address(result), address(a), address(b), static_cast<std::int64_t>(bytes / sizeof(T))};
}

template <class T>
StridedOperands<T>::StridedOperands(const plug_tensor& result, const plug_tensor& a, const plug_tensor& b)
    : result_(address_of<T>(result)), inputs_{take_input(0, a), take_input(1, b)} {
  dimensions_.reserve(static_cast<std::size_t>(result.ndim) + 1);
  for (std::int32_t d = 0; d < result.ndim; ++d) {
    if (result.sizes[d] == 1) continue;
    dimensions_.push_back(
        {result.sizes[d], result.strides[d], stride_of(a, result, d), stride_of(b, result, d)});
  }
  join_dimensions();
}

template <class T>
const T* StridedOperands<T>::take_input(std::size_t index, const plug_tensor& input) {
  if (input.mem.device != PLUG_HOST) return address_of<T>(input);
  numbers_[index] = read_number<T>(input);
  return &numbers_[index];
}

template <class T>
void StridedOperands<T>::join_dimensions() {
  std::sort(dimensions_.begin(), dimensions_.end(),
            [](const Dimension& x, const Dimension& y) { return x.result > y.result; });
  const auto goes_on = [](const Dimension& outer, const Dimension& inner) {
    return outer.result == inner.size * inner.result && outer.a == inner.size * inner.a &&
           outer.b == inner.size * inner.b;
  };
  std::size_t kept = 0;
  for (std::size_t d = 1; d < dimensions_.size(); ++d) {
    Dimension& outer = dimensions_[kept];
    const Dimension inner = dimensions_[d];
    if (goes_on(outer, inner)) {
      outer = {outer.size * inner.size, inner.result, inner.a, inner.b};
    } else {
      dimensions_[++kept] = inner;
    }
  }
  dimensions_.resize(kept + 1, {1, 1, 1, 1});
}

template DenseOperands<float> dense_operands(const plug_tensor&, const plug_tensor&, const plug_tensor&);
template DenseOperands<double> dense_operands(const plug_tensor&, const plug_tensor&, const plug_tensor&);
template class StridedOperands<float>;
template class StridedOperands<double>;

}  // namespace torchplug::sim
