#pragma once
// Tensors of any shape and strides in memory of a test's own, for the tests of plug_util.h and plug.hpp, and
// the plainest possible way to count through them.

#include <torchplug/plug_util.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace util_test {

using Index = std::vector<std::int64_t>;

inline std::int64_t product(const Index& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

// All indices of a shape, row by row.
inline std::vector<Index> indices(const Index& sizes) {
  std::vector<Index> made;
  const std::int64_t count = product(sizes);
  for (std::int64_t i = 0; i < count; ++i) {
    Index index(sizes.size());
    std::int64_t rest = i;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
    }
    made.push_back(index);
  }
  return made;
}

// A tensor, its sizes, strides and elements; `raw` refers to the object, which stays where it is.
template <class T>
class Strided {
 public:
  Strided(plug_dtype dtype, Index sizes, Index strides)
      : sizes_(std::move(sizes)), strides_(std::move(strides)) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const std::int64_t reach = (sizes_[d] - 1) * strides_[d];
      (reach < 0 ? low : high) += reach;
    }
    if (product(sizes_) != 0) memory_.resize(static_cast<std::size_t>(high - low + 1));
    raw_.mem.base = memory_.empty() ? nullptr : memory_.data();
    raw_.mem.offset = memory_.empty() ? 0 : static_cast<std::uint64_t>(-low) * sizeof(T);
    raw_.dtype = dtype;
    raw_.ndim = static_cast<std::int32_t>(sizes_.size());
    raw_.sizes = sizes_.data();
    raw_.strides = strides_.data();
  }
  Strided(const Strided&) = delete;
  Strided& operator=(const Strided&) = delete;

  const plug_tensor* raw() const { return &raw_; }
  plug_tensor& changed() { return raw_; }
  const Index& sizes() const { return sizes_; }
  std::vector<T>& memory() { return memory_; }

  // Of a tensor that may have to be expanded: dimensions of one element, and those it lacks in front.
  T& at(const Index& index) {
    std::int64_t element = static_cast<std::int64_t>(raw_.mem.offset / sizeof(T));
    const std::size_t lacks = index.size() - sizes_.size();
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (sizes_[d] != 1) element += index[d + lacks] * strides_[d];
    return memory_[static_cast<std::size_t>(element)];
  }

 private:
  Index sizes_;
  Index strides_;
  std::vector<T> memory_;
  plug_tensor raw_{};
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(engine_);
  }
  bool one_in(std::int64_t n) { return up_to(n - 1) == 0; }

  Index shape(std::int64_t most_dims, std::int64_t most) {
    Index sizes(static_cast<std::size_t>(up_to(most_dims)));
    for (auto& size : sizes) size = one_in(12) ? 0 : 1 + up_to(most - 1);
    return sizes;
  }

  // Without overlap: the dimensions in a random order, with gaps, each forwards or backwards.
  Index strides(const Index& sizes) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!one_in(3)) std::shuffle(order.begin(), order.end(), engine_);
    Index made(sizes.size());
    std::int64_t next = one_in(3) ? 2 : 1;
    for (const std::size_t d : order) {
      made[d] = one_in(5) ? -next : next;
      next *= std::max<std::int64_t>(sizes[d], 1) + (one_in(4) ? up_to(2) : 0);
    }
    return made;
  }

  // A shape that expands to `sizes`: some dimensions of one element, some in front left out.
  Index expandable(const Index& sizes) {
    Index made(sizes.begin() + up_to(static_cast<std::int64_t>(sizes.size())) * (one_in(2) ? 1 : 0),
               sizes.end());
    for (auto& size : made)
      if (one_in(3)) size = 1;
    return made;
  }

  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

}  // namespace util_test
