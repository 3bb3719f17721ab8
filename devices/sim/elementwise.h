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

// Operands that are not dense.
template <class Op, class R, class... Ins>
struct StridedElements {
  static constexpr std::size_t kInputs = sizeof...(Ins);
  static constexpr std::int64_t kBlock = 256;
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
      while (plug_runs_next(&runs) != 0) {
        for (std::int64_t i = 0; i < runs.n; i += kBlock) {
          run_block(runs, i, std::min(kBlock, runs.n - i), std::make_index_sequence<kInputs>());
        }
      }
    });
  }

 private:
  template <std::size_t... I>
  void run_block(const plug_runs& runs, std::int64_t at, std::int64_t count,
                 std::index_sequence<I...> /*inputs*/) const noexcept {
    alignas(64) std::byte room[kInputs + 1][kBlock * kWidest];
    const std::int64_t stride = runs.strides[0];
    char* const to = runs.data[0] + at * stride;
    const bool is_direct = operands.convert[0] == nullptr && stride == sizeof(R);
    R* const result = reinterpret_cast<R*>(is_direct ? to : reinterpret_cast<char*>(room[kInputs]));
    apply(op, count, result,
          take<Ins>(runs.data[I + 1] + at * runs.strides[I + 1], runs.strides[I + 1], count, operands.convert[I + 1],
                    room[I])...);
    if (is_direct) return;
    if (operands.convert[0] != nullptr) {
      operands.convert[0](reinterpret_cast<std::byte*>(to), stride, room[kInputs], sizeof(R), count);
    } else {
      for (std::int64_t i = 0; i < count; ++i) *reinterpret_cast<R*>(to + i * stride) = result[i];
    }
  }

  // The elements one behind the other: where they are, or in `room`.
  template <class In>
  static const In* take(const char* from, std::int64_t stride, std::int64_t count, ConvertRow load,
                        std::byte* room) noexcept {
    In* const taken = reinterpret_cast<In*>(room);
    if (load == nullptr && stride == sizeof(In)) return reinterpret_cast<const In*>(from);
    const std::int64_t distinct = stride == 0 ? 1 : count;
    if (load != nullptr) {
      load(room, sizeof(In), reinterpret_cast<const std::byte*>(from), stride, distinct);
    } else {
      for (std::int64_t i = 0; i < distinct; ++i) taken[i] = *reinterpret_cast<const In*>(from + i * stride);
    }
    if (stride == 0) std::fill(taken + 1, taken + count, taken[0]);
    return taken;
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
  launch_kept(call, name, std::make_unique<StridedElements<Op, R, Ins...>>(operands, op));
  return PLUG_OK;
}

}  // namespace torchplug::sim
