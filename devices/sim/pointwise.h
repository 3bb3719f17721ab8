#pragma once
// How a pointwise kernel goes over its operands, a result and two inputs: at once where all three lie alike
// and without gaps, else row by row. Made by the thread that enqueues the work, run by the stream's worker.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "torchplug/plug.h"

namespace torchplug::sim {

#if defined(__x86_64__)
template <class Loop>
[[gnu::target("avx2,fma")]] void run_with_wide_vectors(const Loop& loop) noexcept {
  loop();
}
#endif

// Calls `loop`, whose operator() is always inlined, compiled for the vectors that the processor has.
template <class Loop>
void run_vectorised(const Loop& loop) noexcept {
#if defined(__x86_64__)
  static const bool has_wide_vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_wide_vectors) return run_with_wide_vectors(loop);
#endif
  loop();
}

// Calls body(i) for every i below count. What one call writes no other reads, so that several may be one
// instruction.
template <class Body>
inline __attribute__((always_inline)) void for_each_independently(std::int64_t count, const Body& body) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

// Elements in the order of memory. The result may be an input.
template <class T>
struct DenseOperands {
  T* result;
  const T* a;
  const T* b;
  std::int64_t count;

  template <class Function>
  void apply(const Function& function) const noexcept {
    run_vectorised([&]() __attribute__((always_inline)) {
      for_each_independently(
          count, [&](std::int64_t i) __attribute__((always_inline)) { result[i] = function(a[i], b[i]); });
    });
  }
};

// Whether StridedOperands can read it as a single number of the host.
bool is_number(const plug_tensor& tensor);

// Whether all have the result's sizes and strides, and it has no gaps.
bool lie_alike(const plug_tensor& result, const plug_tensor& a, const plug_tensor& b);

// Of lie_alike() tensors. Fails for memory that is not where it says.
template <class T>
DenseOperands<T> dense_operands(const plug_tensor& result, const plug_tensor& a, const plug_tensor& b);

// Operands of any strides, reduced to as few dimensions as describe them. The inputs may need expanding to
// the result's sizes, and may be single numbers of the host, which are read when this is made.
template <class T>
class StridedOperands {
 public:
  StridedOperands(const plug_tensor& result, const plug_tensor& a, const plug_tensor& b);
  StridedOperands(const StridedOperands&) = delete;
  StridedOperands& operator=(const StridedOperands&) = delete;

  template <class Function>
  void apply(const Function& function) const noexcept {
    walk(0, result_, inputs_[0], inputs_[1], function);
  }

 private:
  struct Dimension {
    std::int64_t size;
    std::int64_t result;  // strides in elements
    std::int64_t a;
    std::int64_t b;
  };

  const T* take_input(std::size_t index, const plug_tensor& input);
  void join_dimensions();

  template <class Function>
  void walk(std::size_t depth, T* result, const T* a, const T* b, const Function& function) const noexcept {
    const Dimension& dimension = dimensions_[depth];
    if (depth + 1 == dimensions_.size()) return apply_to_row(dimension, result, a, b, function);
    for (std::int64_t i = 0; i < dimension.size; ++i) {
      walk(depth + 1, result + i * dimension.result, a + i * dimension.a, b + i * dimension.b, function);
    }
  }

  template <class Function>
  static void apply_to_row(const Dimension& row, T* result, const T* a, const T* b,
                           const Function& function) noexcept {
    const bool dense = row.result == 1;
    if (dense && row.a == 1 && row.b == 1) return DenseOperands<T>{result, a, b, row.size}.apply(function);
    run_vectorised([&]() __attribute__((always_inline)) {
      if (dense && row.a == 1 && row.b == 0) {
        const T number = *b;
        for_each_independently(
            row.size, [&](std::int64_t i)
                          __attribute__((always_inline)) { result[i] = function(a[i], number); });
      } else if (dense && row.a == 0 && row.b == 1) {
        const T number = *a;
        for_each_independently(
            row.size, [&](std::int64_t i)
                          __attribute__((always_inline)) { result[i] = function(number, b[i]); });
      } else {
        for (std::int64_t i = 0; i < row.size; ++i) {
          result[i * row.result] = function(a[i * row.a], b[i * row.b]);
        }
      }
    });
  }

  std::array<T, 2> numbers_{};  // what inputs_ of the host point at
  T* result_;
  std::array<const T*, 2> inputs_;
  std::vector<Dimension> dimensions_;  // outermost first, at least one
};

}  // namespace torchplug::sim
