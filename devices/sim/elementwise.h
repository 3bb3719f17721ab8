#pragma once
// How a pointwise kernel goes over its operands: at once where all lie alike and without gaps, else in blocks
// that are brought into the types that it computes with. Made by the thread that enqueues the work, run by
// the stream's worker with PyTorch's threads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
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

// The operation on rows of elements that lie one behind the other, in the types that are computed with.
struct RowOperation {
  static constexpr std::size_t kOpBytes = 16;

  void (*apply)(const std::byte* op, std::int64_t count, void* result, const void* const* inputs) noexcept;
  std::array<std::byte, kOpBytes> op;  // what `apply` is given
};

template <class Op, class R, class... Ins>
RowOperation row_operation(const Op& op) {
  static_assert(sizeof(Op) <= RowOperation::kOpBytes && std::is_trivially_copyable_v<Op>);
  const auto apply_row = [](const std::byte* kept, std::int64_t count, void* result,
                            const void* const* inputs) noexcept {
    Op with;
    std::memcpy(&with, kept, sizeof with);
    const auto apply_to = [&]<std::size_t... I>(std::index_sequence<I...>) {
      apply(with, count, static_cast<R*>(result), static_cast<const Ins*>(inputs[I])...);
    };
    apply_to(std::index_sequence_for<Ins...>());
  };
  RowOperation operation{apply_row, {}};
  std::memcpy(operation.op.data(), &op, sizeof op);
  return operation;
}

// Operands that are not dense.
class StridedElements {
 public:
  // `dtypes`: that are computed with.
  StridedElements(const Operands& operands, const RowOperation& operation, const plug_dtype* dtypes,
                  std::size_t count);

  void operator()() const noexcept;

 private:
  struct Rooms;

  void run_row(const plug_runs& runs, Rooms& rooms) const noexcept;
  void fill_alike(std::size_t k, const plug_runs& runs, std::int64_t count, std::byte* room) const noexcept;
  const void* take(std::size_t k, const plug_runs& runs, std::int64_t at, std::int64_t count,
                   std::byte* room) const noexcept;

  Operands operands_;
  RowOperation operation_;
  std::size_t count_;                                // of operands
  std::array<std::int64_t, Operands::kMost> bytes_;  // of an element
  std::array<ConvertRow, Operands::kMost> convert_;  // where they do not lie as they are computed with
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
  launch_kept(call, name,
              std::make_unique<StridedElements>(operands, row_operation<Op, R, Ins...>(op), kDtypes,
                                                std::size(tensors)));
  return PLUG_OK;
}

}  // namespace torchplug::sim
