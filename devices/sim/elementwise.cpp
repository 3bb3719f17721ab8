#include "elementwise.h"

#include <algorithm>

#include "location.h"

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

// The elements of a contiguous tensor; -1 for one that is not.
std::int64_t count_contiguous(const plug_tensor& tensor) {
  std::int64_t count = 1;
  for (std::int32_t d = tensor.ndim - 1; d >= 0; --d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != count) return -1;
    count *= tensor.sizes[d];
  }
  return count;
}

bool have_equal_sizes(const plug_tensor& a, const plug_tensor& b) {
  return a.ndim == b.ndim && std::equal(a.sizes, a.sizes + a.ndim, b.sizes);
}

// The usual call, for which no loop needs to be worked out: contiguous tensors of one shape, in the types
// that are computed with.
bool read_contiguous(std::size_t count, const plug_tensor* const* tensors, const plug_dtype* dtypes,
                     Operands& operands) {
  const plug_tensor& result = *tensors[0];
  for (std::size_t k = 0; k < count; ++k) {
    const plug_tensor& tensor = *tensors[k];
    const bool is_alike = is_plain(tensor) && tensor.dtype == dtypes[k] &&
                          tensor.mem.device == result.mem.device && have_equal_sizes(tensor, result);
    if (!is_alike || count_contiguous(tensor) < 0) return false;
  }
  operands.is_dense = true;
  operands.loop.count = count_contiguous(result);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(operands.loop.count) * PLUG_DTYPE_BYTES(dtypes[k]);
    std::byte* const address = bytes == 0 ? nullptr : locate(tensors[k]->mem, bytes).address;
    operands.loop.base[k] = reinterpret_cast<char*>(address);
  }
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
  constexpr std::int64_t kShort = 32, kFew = 256, kMostUneven = 8192, kMost = 1 << 19;
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
  if (read_contiguous(count, tensors, dtypes, operands)) return PLUG_OK;
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

// ---- operands that are not dense ----

namespace {

constexpr std::int64_t kBlock = 1024, kWidest = 8;

template <class T>
void repeat(std::byte* room, std::int64_t count) {
  T* const elements = reinterpret_cast<T*>(room);
  std::fill(elements + 1, elements + count, elements[0]);
}

// The first element, again and again.
void repeat(std::byte* room, std::int64_t bytes, std::int64_t count) {
  switch (bytes) {
    case 1: return repeat<std::uint8_t>(room, count);
    case 2: return repeat<std::uint16_t>(room, count);
    case 4: return repeat<std::uint32_t>(room, count);
    default: return repeat<std::uint64_t>(room, count);
  }
}

}  // namespace

// A block of each operand, in the type that is computed with.
struct StridedElements::Rooms {
  alignas(64) std::byte bytes[Operands::kMost][kBlock * kWidest];
};

StridedElements::StridedElements(const Operands& operands, const RowOperation& operation,
                                 const plug_dtype* dtypes, std::size_t count)
    : operands_(operands), operation_(operation), count_(count) {
  for (std::size_t k = 0; k < count; ++k) {
    bytes_[k] = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(dtypes[k]));
    convert_[k] =
        operands.convert[k] != nullptr ? operands.convert[k] : find_conversion(dtypes[k], dtypes[k]);
    if (!operands.is_number[k]) continue;
    operands_.loop.base[k] = reinterpret_cast<char*>(&operands_.numbers[k]);
    for (std::int32_t d = 0; d < operands_.loop.ndim; ++d) operands_.loop.strides[d][k] = 0;
  }
}

void StridedElements::operator()() const noexcept {
  share(operands_.loop.count, kGrain, [this](std::int64_t begin, std::int64_t end) {
    Rooms rooms;
    plug_runs runs;
    plug_runs_begin(&runs, &operands_.loop, begin, end);
    while (plug_runs_next(&runs) != 0) run_row(runs, rooms);
  });
}

void StridedElements::run_row(const plug_runs& runs, Rooms& rooms) const noexcept {
  const std::int64_t most = std::min(kBlock, runs.n);
  for (std::size_t k = 1; k < count_; ++k) fill_alike(k, runs, most, rooms.bytes[k]);
  const bool is_direct = operands_.convert[0] == nullptr && runs.strides[0] == bytes_[0];
  for (std::int64_t at = 0; at < runs.n; at += kBlock) {
    const std::int64_t count = std::min(kBlock, runs.n - at);
    auto* const to = reinterpret_cast<std::byte*>(runs.data[0] + at * runs.strides[0]);
    std::byte* const result = is_direct ? to : rooms.bytes[0];
    const void* inputs[Operands::kMost];
    for (std::size_t k = 1; k < count_; ++k) inputs[k - 1] = take(k, runs, at, count, rooms.bytes[k]);
    operation_.apply(operation_.op.data(), count, result, inputs);
    if (!is_direct) convert_[0](to, runs.strides[0], result, bytes_[0], count);
  }
}

// One element that stands for all of the row.
void StridedElements::fill_alike(std::size_t k, const plug_runs& runs, std::int64_t count,
                                 std::byte* room) const noexcept {
  if (runs.strides[k] != 0) return;
  convert_[k](room, bytes_[k], reinterpret_cast<const std::byte*>(runs.data[k]), 0, 1);
  repeat(room, bytes_[k], count);
}

// The elements one behind the other: where they are, or in `room`.
const void* StridedElements::take(std::size_t k, const plug_runs& runs, std::int64_t at, std::int64_t count,
                                  std::byte* room) const noexcept {
  const std::int64_t stride = runs.strides[k];
  const auto* const from = reinterpret_cast<const std::byte*>(runs.data[k] + at * stride);
  if (stride == bytes_[k] && operands_.convert[k] == nullptr) return from;
  if (stride != 0) convert_[k](room, bytes_[k], from, stride, count);
  return room;
}

}  // namespace torchplug::sim
