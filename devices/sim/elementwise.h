#pragma once
// How a pointwise kernel goes over its operands: at once where all lie alike and without gaps, else in blocks
// that are brought into the types that it computes with. Made by the thread that enqueues the work, run by
// the stream's worker with PyTorch's threads.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "convert.h"
#include "launch.h"
#include "vectors.h"

namespace torchplug::sim {

template <class Op, class R, class... Ins>
void apply(const Op& op, std::int64_t count, R* result, const Ins*... inputs) noexcept {
  run_vectorised([&]() SIM_INLINE {
    for_each_independently(count, [&](std::int64_t i) SIM_INLINE { result[i] = op(inputs[i]...); });
  });
}

// Elements in the order of memory. The result may be an input.
template <class Op, class R, class... Ins>
struct DenseElements {
  R* result;
  std::tuple<const Ins*...> inputs;
  std::int64_t count;
  [[no_unique_address]] Op op;

  void operator()() const noexcept {
    share(count, kGrain, [this](std::int64_t begin, std::int64_t end) {
      std::apply([&](const Ins*... input) { apply(op, end - begin, result + begin, (input + begin)...); },
                 inputs);
    });
  }
};

// What a pointwise kernel was given: at most a result and three inputs, the result first, of any strides and
// types. An input may be a number of the host, which is read when this is made.
struct Operands {
  static constexpr std::size_t kMost = 4;

  plug_loop loop;
  std::array<ConvertRow, kMost> convert;  // to the type that is computed with, or from it; null: none
  std::array<std::uint64_t, kMost> numbers;
  std::array<bool, kMost> is_number;
  bool is_dense;  // all lie alike, without gaps, in the types that are computed with
};

// What a number of the host is rounded to before it is brought into the type that is computed with.
struct Rounding {
  plug_dtype number = 0;  // 0: to nothing else
};

// `dtypes`: that are computed with. PLUG_UNSUPPORTED, with the reason, if it cannot be done.
plug_status read_operands(const plug::Call& call, std::size_t count, const plug_tensor* const* tensors,
                          const plug_dtype* dtypes, Rounding rounding, Operands& operands);

// Whether PyTorch goes over such rows faster: short ones, those of one element each, and very many elements
// that do not lie one behind the other.
bool is_better_borrowed(const Operands& operands, std::size_t count, const plug_dtype* dtypes);

// Operands that are not dense.
template <class Op, class R, class... Ins>
struct StridedElements {
  static constexpr std::size_t kInputs = sizeof...(Ins);
  static constexpr std::int64_t kBlock = 1024;
  static constexpr std::size_t kWidest = std::max({sizeof(R), sizeof(Ins)...});

  StridedElements(const Operands& given, const Op& with) : operands(given), op(with) {
    for (std::size_t k = 1; k <= kInputs; ++k) {
      if (!operands.is_number[k]) continue;
      operands.loop.base[k] = reinterpret_cast<char*>(&operands.numbers[k]);
      for (std::int32_t d = 0; d < operands.loop.ndim; ++d) operands.loop.strides[d][k] = 0;
    }
  }

  Operands operands;
  Op op;

  void operator()() const noexcept {
    share(operands.loop.count, kGrain, [this](std::int64_t begin, std::int64_t end) {
      plug_runs runs;
      plug_runs_begin(&runs, &operands.loop, begin, end);
      while (plug_runs_next(&runs) != 0) run_row(runs, std::index_sequence_for<Ins...>());
    });
  }

 private:
  // Of one operand, in the type that is computed with.
  struct alignas(64) Room {
    std::byte bytes[kBlock * kWidest];
  };

  template <std::size_t... I>
  void run_row(const plug_runs& runs, std::index_sequence<I...> /*inputs*/) const noexcept {
    Room rooms[kInputs + 1];
    const std::int64_t most = std::min(kBlock, runs.n);
    (fill_alike<Ins>(I + 1, runs, most, rooms[I].bytes), ...);
    for (std::int64_t at = 0; at < runs.n; at += kBlock) {
      const std::int64_t count = std::min(kBlock, runs.n - at);
      char* const to = runs.data[0] + at * runs.strides[0];
      const bool is_direct = operands.convert[0] == nullptr && runs.strides[0] == sizeof(R);
      R* const result = reinterpret_cast<R*>(is_direct ? to : reinterpret_cast<char*>(rooms[kInputs].bytes));
      apply(op, count, result, take<Ins>(I + 1, runs, at, count, rooms[I].bytes)...);
      if (!is_direct) put(result, to, runs.strides[0], count);
    }
  }

  // One element that stands for all of the row.
  template <class In>
  void fill_alike(std::size_t k, const plug_runs& runs, std::int64_t count, std::byte* room) const noexcept {
    if (runs.strides[k] != 0) return;
    In* const taken = reinterpret_cast<In*>(room);
    load<In>(k, runs.data[k], 0, 1, room);
    std::fill(taken + 1, taken + count, taken[0]);
  }

  // The elements one behind the other: where they are, or in `room`.
  template <class In>
  const In* take(std::size_t k, const plug_runs& runs, std::int64_t at, std::int64_t count,
                 std::byte* room) const noexcept {
    const std::int64_t stride = runs.strides[k];
    const char* const from = runs.data[k] + at * stride;
    if (stride == sizeof(In) && operands.convert[k] == nullptr) return reinterpret_cast<const In*>(from);
    if (stride != 0) load<In>(k, from, stride, count, room);
    return reinterpret_cast<const In*>(room);
  }

  template <class In>
  void load(std::size_t k, const char* from, std::int64_t stride, std::int64_t count,
            std::byte* room) const noexcept {
    if (operands.convert[k] != nullptr) {
      return operands.convert[k](room, sizeof(In), reinterpret_cast<const std::byte*>(from), stride, count);
    }
    In* const taken = reinterpret_cast<In*>(room);
    for (std::int64_t i = 0; i < count; ++i) taken[i] = *reinterpret_cast<const In*>(from + i * stride);
  }

  void put(const R* result, char* to, std::int64_t stride, std::int64_t count) const noexcept {
    if (operands.convert[0] != nullptr) {
      return operands.convert[0](reinterpret_cast<std::byte*>(to), stride,
                                 reinterpret_cast<const std::byte*>(result), sizeof(R), count);
    }
    for (std::int64_t i = 0; i < count; ++i) *reinterpret_cast<R*>(to + i * stride) = result[i];
  }
};

enum class Layouts { kAny, kDense };

// Enqueues result = op(inputs...) with op in the types R and Ins, whatever the tensors' are.
template <class R, class... Ins, class Op, class... Tensors>
plug_status elementwise(const plug::Call& call, const char* name, Layouts layouts, Rounding rounding,
                        const Op& op, const plug::Out& result, const Tensors&... inputs) {
  static_assert(sizeof...(Tensors) == sizeof...(Ins) && sizeof...(Ins) < Operands::kMost);
  const plug_tensor* const tensors[] = {&result.raw(), &inputs.raw()...};
  constexpr plug_dtype kDtypes[] = {plug::dtype_of<R>(), plug::dtype_of<Ins>()...};
  Operands operands;
  const plug_status status = read_operands(call, std::size(tensors), tensors, kDtypes, rounding, operands);
  if (status != PLUG_OK) return status;
  if (operands.is_dense) {
    const auto launch_dense = [&]<std::size_t... I>(std::index_sequence<I...>) {
      char* const* base = operands.loop.base;
      launch(call, name,
             DenseElements<Op, R, Ins...>{reinterpret_cast<R*>(base[0]),
                                          {reinterpret_cast<const Ins*>(base[I + 1])...},
                                          operands.loop.count,
                                          op});
    };
    launch_dense(std::index_sequence_for<Ins...>());
    return PLUG_OK;
  }
  if (layouts == Layouts::kDense) {
    return declined("with this alpha PyTorch rounds otherwise where elements do not lie in a row");
  }
  if (is_better_borrowed(operands, std::size(tensors), kDtypes)) {
    return declined("PyTorch is faster where rows are short, have gaps, or repeat an element");
  }
  launch_kept(call, name, std::make_unique<StridedElements<Op, R, Ins...>>(operands, op));
  return PLUG_OK;
}

}  // namespace torchplug::sim
