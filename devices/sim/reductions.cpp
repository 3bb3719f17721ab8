#include "reductions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "arithmetic.h"
#include "launch.h"
#include "vectors.h"

namespace torchplug::sim {
namespace {

// A sum, divided at the end by the count for a mean.
template <class A>
struct Total {
  using Accumulator = A;
  double divisor = 1;

  static constexpr A start() { return 0; }
  template <class T>
  static T neutral() {
    return T();
  }
  template <class T>
  static SIM_INLINE A step(A sum, T x) {
    return static_cast<A>(wrapping(sum) + wrapping(static_cast<A>(x)));
  }
  static SIM_INLINE A join(A a, A b) { return step(a, b); }
  A finish(A sum) const {
    if constexpr (std::is_integral_v<A>) return sum;
    return static_cast<A>(static_cast<double>(sum) / divisor);
  }
};

template <class A>
struct Most {
  using Accumulator = A;

  static constexpr A start() {
    return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity()
                                                : std::numeric_limits<A>::lowest();
  }
  template <class T>
  static T neutral() {
    return start();
  }
  static SIM_INLINE A step(A most, A x) { return Maximum()(most, x); }
  static SIM_INLINE A join(A a, A b) { return Maximum()(a, b); }
  A finish(A most) const { return most; }
};

// Of elements in a row.
template <class Fold, class T>
typename Fold::Accumulator fold_run(const T* elements, std::int64_t count) noexcept {
  using A = typename Fold::Accumulator;
  constexpr std::int64_t kLanes = 32;  // accumulators, so that additions overlap
  A value = Fold::start();
  run_vectorised([&]() SIM_INLINE {
    A lanes[kLanes];
    for (A& lane : lanes) lane = Fold::start();
    std::int64_t i = 0;
    // Sixteen float32 are added up before they are widened, which costs more than the sum.
    if constexpr (std::is_same_v<T, float> && std::is_same_v<Fold, Total<double>>) {
      constexpr std::int64_t kSteps = 16;
      for (; i + kSteps * kLanes <= count; i += kSteps * kLanes) {
        float narrow[kLanes] = {};
        for (std::int64_t step = 0; step < kSteps; ++step) {
          for (std::int64_t lane = 0; lane < kLanes; ++lane)
            narrow[lane] += elements[i + step * kLanes + lane];
        }
        for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(narrow[lane]);
      }
    }
    for (; i + kLanes <= count; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = Fold::step(lanes[lane], elements[i + lane]);
    }
    if (i < count) {  // the rest, filled up with what changes nothing
      T rest[kLanes];
      for (T& element : rest) element = Fold::template neutral<T>();
      std::copy(elements + i, elements + count, rest);
      for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = Fold::step(lanes[lane], rest[lane]);
    }
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t lane = 0; lane < half; ++lane)
        lanes[lane] = Fold::join(lanes[lane], lanes[lane + half]);
    }
    value = lanes[0];
  });
  return value;
}

// Rows of elements that lie one behind the other, each of which becomes one of the results, which do too.
template <class Fold, class T, class R>
struct DenseRows {
  const T* elements;
  R* results;
  std::int64_t rows;
  std::int64_t length;
  Fold fold;

  void operator()() const noexcept {
    share(rows, std::max<std::int64_t>(kGrain / length, 1), [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        results[row] = static_cast<R>(fold.finish(fold_run<Fold>(elements + row * length, length)));
    });
  }
};

template <class T, class R>
bool has_dense_rows(const plug_reduction& loops) {
  const plug_loop &kept = loops.kept, &reduced = loops.reduced;
  if (kept.ndim != 1 || reduced.ndim != 1 || reduced.count < 2 || reduced.strides[0][0] != sizeof(T))
    return false;
  return kept.count == 1 || (kept.strides[0][0] == sizeof(R) &&
                             kept.strides[0][1] == reduced.count * static_cast<std::int64_t>(sizeof(T)));
}

// A reduction in two steps where there are few results of many elements each: parts of each first, then all
// parts of one.
template <class Fold, class T, class R>
class Reduction {
  using A = typename Fold::Accumulator;
  static constexpr std::int64_t kColumns = 1024;  // accumulators of neighbours
  static constexpr std::int64_t kPart = kGrain;

 public:
  Reduction(const plug_reduction& loops, const Fold& fold) : loops_(loops), fold_(fold) {
    parts_ = is_split(loops) ? (reduced().count + kPart - 1) / kPart : 1;
    if (parts_ > 1) partial_.resize(static_cast<std::size_t>(parts_ * kept().count));
  }

  static bool is_split(const plug_reduction& loops) {
    return loops.kept.count < 64 && loops.reduced.count >= 4 * kPart;
  }

  void operator()() noexcept {
    if (parts_ > 1) return run_in_parts();
    const std::int64_t each = std::max<std::int64_t>(reduced().count, 1);
    share(kept().count, std::max<std::int64_t>(kGrain / each, 1),
          [this](std::int64_t begin, std::int64_t end) {
            visit(begin, end, 0, reduced().count, [this](char* result, std::int64_t /*place*/, A value) {
              *reinterpret_cast<R*>(result) = static_cast<R>(fold_.finish(value));
            });
          });
  }

 private:
  const plug_loop& kept() const { return loops_.kept; }
  const plug_loop& reduced() const { return loops_.reduced; }

  void run_in_parts() noexcept {
    share(parts_, 1, [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        const std::int64_t from = part * kPart, to = std::min(from + kPart, reduced().count);
        visit(0, kept().count, from, to, [this, part](char* /*result*/, std::int64_t place, A value) {
          partial_[static_cast<std::size_t>(part * kept().count + place)] = value;
        });
      }
    });
    plug_runs rows;
    plug_runs_begin(&rows, &kept(), 0, kept().count);
    while (plug_runs_next(&rows) != 0) {
      for (std::int64_t i = 0; i < rows.n; ++i) {
        A value = fold_.start();
        for (std::int64_t part = 0; part < parts_; ++part) {
          value =
              Fold::join(value, partial_[static_cast<std::size_t>(part * kept().count + rows.position + i)]);
        }
        *reinterpret_cast<R*>(rows.data[0] + i * rows.strides[0]) = static_cast<R>(fold_.finish(value));
      }
    }
  }

  // NOLINTBEGIN(clang-analyzer-core.*): the analyser does not know that these loops have the operands that
  // they were made with, and takes the places of their elements for unset.

  // put(result, place, value) for results [begin, end), each of its elements [from, to).
  template <class Put>
  void visit(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t to,
             const Put& put) const noexcept {
    const bool has_dense_runs = has_elements_in_a_row();
    plug_runs rows;
    plug_runs_begin(&rows, &kept(), begin, end);
    while (plug_runs_next(&rows) != 0) {
      const bool are_neighbours = rows.strides[1] == sizeof(T) && rows.n > 1;
      const std::int64_t step = are_neighbours && !has_dense_runs ? kColumns : 1;
      for (std::int64_t i = 0; i < rows.n; i += step) {
        char* const result = rows.data[0] + i * rows.strides[0];
        char* const input = rows.data[1] + i * rows.strides[1];
        if (step == 1) {
          put(result, rows.position + i, fold_one(input, from, to));
          continue;
        }
        std::array<A, kColumns> values;
        const std::int64_t count = std::min(step, rows.n - i);
        fold_columns(input, count, from, to, values.data());
        for (std::int64_t j = 0; j < count; ++j) {
          put(result + j * rows.strides[0], rows.position + i + j, values[static_cast<std::size_t>(j)]);
        }
      }
    }
  }

  bool has_elements_in_a_row() const {
    const std::int32_t last = reduced().ndim - 1;
    return reduced().sizes[last] > 1 && reduced().strides[last][0] == sizeof(T);
  }

  A fold_one(char* input, std::int64_t from, std::int64_t to) const noexcept {
    if (reduced().ndim == 1 && has_elements_in_a_row())
      return fold_run<Fold>(reinterpret_cast<const T*>(input) + from, to - from);
    A value = Fold::start();
    char* const base[] = {input};
    plug_runs runs;
    plug_runs_from(&runs, &reduced(), base, from, to);
    while (plug_runs_next(&runs) != 0) {
      if (runs.strides[0] == sizeof(T)) {
        value = Fold::join(value, fold_run<Fold>(reinterpret_cast<const T*>(runs.data[0]), runs.n));
        continue;
      }
      for (std::int64_t i = 0; i < runs.n; ++i) {
        value = Fold::step(value, *reinterpret_cast<const T*>(runs.data[0] + i * runs.strides[0]));
      }
    }
    return value;
  }
  // NOLINTEND(clang-analyzer-core.*)

  // Results that are neighbours, as their elements are: added up side by side.
  void fold_columns(char* input, std::int64_t count, std::int64_t from, std::int64_t to,
                    A* values) const noexcept {
    std::fill(values, values + count, Fold::start());
    char* const base[] = {input};
    plug_runs runs;
    plug_runs_from(&runs, &reduced(), base, from, to);
    while (plug_runs_next(&runs) != 0) {
      run_vectorised([&]() SIM_INLINE {
        for (std::int64_t row = 0; row < runs.n; ++row) {
          const T* const elements = reinterpret_cast<const T*>(runs.data[0] + row * runs.strides[0]);
          for_each_independently(
              count, [&](std::int64_t j) SIM_INLINE { values[j] = Fold::step(values[j], elements[j]); });
        }
      });
    }
  }

  plug_reduction loops_;
  Fold fold_;
  std::int64_t parts_;
  std::vector<A> partial_;  // of part p and result i at p * results + i
};

// Whether PyTorch is faster: with very many elements, or where neither what becomes one result nor what
// becomes neighbours lies in a row that is worth finding.
bool is_better_borrowed(const plug_reduction& loops) {
  constexpr std::int64_t kShortRun = 512, kShortRow = 32, kFew = 1024, kMany = 64, kMost = 1 << 20;
  const plug_loop &kept = loops.kept, &reduced = loops.reduced;
  const std::int64_t count = kept.count * reduced.count;
  const bool lies_in_runs =
      std::abs(reduced.strides[reduced.ndim - 1][0]) <= std::abs(kept.strides[kept.ndim - 1][1]);
  const bool is_short =
      lies_in_runs ? reduced.sizes[reduced.ndim - 1] < kShortRun : kept.sizes[kept.ndim - 1] < kShortRow;
  const std::int64_t most = kept.count < kMany ? kMost : kMost / 2;
  return count > most || (count > kFew && is_short);
}

template <class T, class R, class Fold>
plug_status reduce(const plug::Call& call, const char* name, const plug::Tensor& self, const plug_value& dims,
                   const Fold& fold, const plug::Out& result) {
  const plug_tensor to = usable(result.raw()), from = usable(self.raw());
  const plug_tensor* const tensors[] = {&to, &from};
  plug_reduction loops;
  if (plug_reduction_make(&loops, 1, 1, tensors, &dims, 0) != PLUG_OK) {
    return declined("the kernel cannot reduce these dims");
  }
  if (is_better_borrowed(loops))
    return declined("PyTorch is faster with this many elements, or so few in a row");
  using Work = Reduction<Fold, T, R>;
  if (has_dense_rows<T, R>(loops) && !Work::is_split(loops)) {
    launch(call, name,
           DenseRows<Fold, T, R>{reinterpret_cast<const T*>(loops.kept.base[1]),
                                 reinterpret_cast<R*>(loops.kept.base[0]), loops.kept.count,
                                 loops.reduced.count, fold});
  } else {
    launch_kept(call, name, std::make_unique<Work>(loops, fold));
  }
  return PLUG_OK;
}

plug_value value_of(const std::optional<plug::Ints>& dims) {
  plug_value value{};
  if (!dims) return value;
  value.tag = PLUG_VALUE_INTS;
  value.count = static_cast<std::uint32_t>(dims->size());
  value.as.ints = dims->data();
  return value;
}

plug_status total(const plug::Call& call, const char* name, const plug::Tensor& self,
                  const std::optional<plug::Ints>& dim, double divisor, const plug::Out& result) {
  if (!is_plain(self.raw()) || !is_plain(result.raw())) return declined("the kernel takes strided tensors");
  const plug_value dims = value_of(dim);
  const auto reduced = [&]<class T, class R, class A>() {
    return reduce<T, R>(call, name, self, dims, Total<A>{divisor}, result);
  };
  const plug_dtype from = self.dtype(), to = result.dtype();
  if (from == PLUG_F32 && to == PLUG_F32) return reduced.template operator()<float, float, double>();
  if (from == PLUG_F64 && to == PLUG_F64) return reduced.template operator()<double, double, double>();
  if (from == PLUG_BF16 && to == PLUG_BF16) {
    return reduced.template operator()<plug::BFloat16, plug::BFloat16, float>();
  }
  if (from == PLUG_I64 && to == PLUG_I64)
    return reduced.template operator()<std::int64_t, std::int64_t, std::int64_t>();
  if (from == PLUG_I32 && to == PLUG_I64)
    return reduced.template operator()<std::int32_t, std::int64_t, std::int64_t>();
  return declined("the kernel adds up float32, float64, bfloat16, int32 and int64");
}

// How many elements become one.
std::int64_t length_of(const plug::Tensor& self, const plug::Out& result) {
  return result.numel() == 0 ? 1 : self.numel() / result.numel();
}

}  // namespace

plug_status sum(plug::Call& call, plug::Tensor self, std::optional<plug::Ints> dim, bool /*keepdim*/,
                std::optional<plug::Dtype> /*dtype*/, plug::Out result) {
  return total(call, "sim::sum", self, dim, 1, result);
}

plug_status mean(plug::Call& call, plug::Tensor self, std::optional<plug::Ints> dim, bool /*keepdim*/,
                 std::optional<plug::Dtype> /*dtype*/, plug::Out result) {
  return total(call, "sim::mean", self, dim, static_cast<double>(length_of(self, result)), result);
}

plug_status amax(plug::Call& call, plug::Tensor self, plug::Ints dim, bool /*keepdim*/, plug::Out result) {
  if (!is_plain(self.raw()) || !is_plain(result.raw())) return declined("the kernel takes strided tensors");
  const plug_value dims = value_of(dim);
  return plug::visit<float, double, std::int64_t, std::int32_t>(self.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    return reduce<T, T>(call, "sim::amax", self, dims, Most<T>(), result);
  });
}

}  // namespace torchplug::sim
