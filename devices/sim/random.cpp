#include "random.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "launch.h"
#include "location.h"
#include "philox.h"

namespace torchplug::sim {
namespace {

// A float32 is made of one number of 32 bits, a float64 of two.
template <class T>
constexpr std::int64_t kElements = sizeof(T) == 4 ? 64 : 32;  // of one group of numbers

// In [0, 1), with as many bits as T has.
template <class T>
SIM_INLINE inline void to_unit(const PhiloxNumbers& numbers, T* unit) {
  for (int word = 0; word < 4; word += sizeof(T) == 4 ? 1 : 2) {
    for (int i = 0; i < kPhiloxBlocks; ++i) {
      if constexpr (sizeof(T) == 4) {
        *unit++ = static_cast<float>(static_cast<std::int32_t>(numbers.words[word][i] >> 8)) * 0x1p-24F;
      } else {
        const std::uint64_t bits =
            std::uint64_t{numbers.words[word][i]} << 21 | numbers.words[word + 1][i] >> 11;
        *unit++ = static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-53;
      }
    }
  }
}

// In [from, to): what rounding makes `to` of is `from`, as in PyTorch.
template <class T>
struct Uniform {
  T from, to, width;
  SIM_INLINE T operator()(T unit) const {
    const T value = unit * width + from;
    return value >= to ? from : value;
  }
};

template <class T>
struct Bernoulli {
  T p;
  SIM_INLINE T operator()(T unit) const { return unit < p ? T{1} : T{0}; }
};

template <class T, class Distribution>
struct Fill {
  T* result;
  std::int64_t count;
  Draws draws;
  const std::uint64_t* moved;  // of a captured call: the seed, and what to add to the offset
  Distribution distribution;

  void operator()() const noexcept {
    Draws at = draws;
    if (moved != nullptr) at = {moved[0], draws.offset + moved[1]};
    const std::int64_t groups = (count + kElements<T> - 1) / kElements<T>;
    share(groups, kGrain / 8 / kElements<T>, [&](std::int64_t begin, std::int64_t end) {
      run_vectorised([&]() SIM_INLINE {
        for (std::int64_t group = begin; group < end; ++group) {
          fill_group(at, group, std::min(kElements<T>, count - group * kElements<T>));
        }
      });
    });
  }

 private:
  SIM_INLINE void fill_group(const Draws& at, std::int64_t group, std::int64_t n) const {
    PhiloxNumbers numbers;
    alignas(64) T drawn[kElements<T>];
    draw(at, static_cast<std::uint64_t>(group), numbers);
    to_unit(numbers, drawn);
    T* const to = result + group * kElements<T>;
    if (n == kElements<T>) {
      for (std::int64_t i = 0; i < kElements<T>; ++i) to[i] = distribution(drawn[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i] = distribution(drawn[i]);
    }
  }
};

// Fills the result's memory, whose elements lie without gaps in whatever order.
template <class T, class Distribution>
plug_status fill(const plug::Call& call, const char* name, const plug::Out& result,
                 const Distribution& distribution) {
  const std::int64_t count = result.numel();
  if (count == 0) return PLUG_OK;
  const std::int64_t groups = (count + kElements<T> - 1) / kElements<T>;
  const plug_tensor to = usable(result.raw());
  const plug_rng rng = call.rng(static_cast<std::uint64_t>(groups) * 64);
  const std::uint64_t* moved = nullptr;
  if (rng.location.base != nullptr) {
    moved = reinterpret_cast<const std::uint64_t*>(locate(rng.location, 2 * sizeof *moved).address);
  }
  launch_kept(
      call, name,
      std::make_unique<Fill<T, Distribution>>(Fill<T, Distribution>{
          static_cast<T*>(plug_address(&to.mem)), count, {rng.seed, rng.offset}, moved, distribution}));
  return PLUG_OK;
}

}  // namespace

plug_status uniform(plug::Call& call, plug::Tensor /*self*/, double from, double to,
                    std::optional<plug::Generator> /*generator*/, plug::Out result) {
  return plug::visit<float, double>(result.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr double kMost = std::numeric_limits<T>::max();
    const bool is_range = from <= to && from >= -kMost && to <= kMost && to - from <= kMost;
    if (!is_range) return declined("PyTorch does not draw from this range");
    return fill<T>(call, "sim::uniform", result,
                   Uniform<T>{static_cast<T>(from), static_cast<T>(to), static_cast<T>(to - from)});
  });
}

plug_status bernoulli(plug::Call& call, plug::Out /*self*/, double p,
                      std::optional<plug::Generator> /*generator*/, plug::Out result) {
  const bool is_probability = p >= 0 && p <= 1;  // false for NaN
  if (!is_probability) return declined("PyTorch does not draw with this probability");
  // A float32 has 24 bits to compare with.
  constexpr double kLeast = 0x1p-10;
  const bool is_coarse = (p != 0 && p < kLeast) || (p != 1 && 1 - p < kLeast);
  if (is_coarse) return declined("PyTorch draws more exactly where a result is this rare");
  return plug::visit<float, double>(result.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    return fill<T>(call, "sim::bernoulli", result, Bernoulli<T>{static_cast<T>(p)});
  });
}

}  // namespace torchplug::sim
