#pragma once
// A second opinion on graphs: tensors of float64 and the operators that random graphs are made of, written
// as plainly as possible.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sim_graph.h"

namespace sim_test {

struct Array {
  Dims sizes;
  Content data;

  std::int64_t count() const {
    std::int64_t made = 1;
    for (const std::int64_t size : sizes) made *= size;
    return made;
  }
};

// Calls body(index) for each index of a shape, in order.
inline void each_index(const Dims& sizes, const std::function<void(const Dims&)>& body) {
  Dims index(sizes.size());
  for (const std::int64_t size : sizes) {
    if (size == 0) return;
  }
  for (;;) {
    body(index);
    std::size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// The element, where dims of size 1 and missing ones stand for all.
inline double element(const Array& array, const Dims& index) {
  std::int64_t at = 0;
  const std::size_t skipped = index.size() - array.sizes.size();
  for (std::size_t d = 0; d < array.sizes.size(); ++d)
    at = at * array.sizes[d] + (array.sizes[d] == 1 ? 0 : index[d + skipped]);
  return array.data[static_cast<std::size_t>(at)];
}

inline Dims common_sizes(const Dims& a, const Dims& b) {
  Dims made(std::max(a.size(), b.size()), 1);
  for (const Dims* sizes : {&a, &b}) {
    for (std::size_t d = 0; d < sizes->size(); ++d) {
      std::int64_t& size = made[made.size() - sizes->size() + d];
      if (size == 1) size = (*sizes)[d];
    }
  }
  return made;
}

inline Array combined(const Array& a, const Array& b, const std::function<double(double, double)>& f) {
  Array made{common_sizes(a.sizes, b.sizes), {}};
  each_index(made.sizes, [&](const Dims& i) { made.data.push_back(f(element(a, i), element(b, i))); });
  return made;
}

inline Array mapped(Array a, const std::function<double(double)>& f) {
  for (double& value : a.data) value = f(value);
  return a;
}

inline Array reduced(const Array& a, std::size_t dim, bool keep, double start,
                     const std::function<double(double, double)>& f) {
  Dims kept = a.sizes;
  kept[dim] = 1;
  Array made{kept, {}};
  each_index(kept, [&](Dims i) {
    double value = start;
    for (i[dim] = 0; i[dim] < a.sizes[dim]; ++i[dim]) value = f(value, element(a, i));
    made.data.push_back(value);
  });
  if (!keep) made.sizes.erase(made.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return made;
}

inline Array sum_of(const Array& a, std::size_t dim, bool keep) {
  return reduced(a, dim, keep, 0, [](double x, double y) { return x + y; });
}
inline Array most_of(const Array& a, std::size_t dim, bool keep) {
  return reduced(a, dim, keep, -std::numeric_limits<double>::infinity(),
                 [](double x, double y) { return std::max(x, y); });
}

inline Array softmax_of(const Array& a, std::size_t dim) {
  const Array most = most_of(a, dim, true);
  const Array powers = combined(a, most, [](double x, double m) { return std::exp(x - m); });
  return combined(powers, sum_of(powers, dim, true), [](double x, double s) { return x / s; });
}

inline Array transposed(const Array& a) {
  Array made{{a.sizes[1], a.sizes[0]}, {}};
  each_index(made.sizes, [&](const Dims& i) { made.data.push_back(element(a, {i[1], i[0]})); });
  return made;
}

inline Array joined(const Array& a, const Array& b, std::size_t dim) {
  Array made{a.sizes, {}};
  made.sizes[dim] += b.sizes[dim];
  each_index(made.sizes, [&](Dims i) {
    const bool is_first = i[dim] < a.sizes[dim];
    if (!is_first) i[dim] -= a.sizes[dim];
    // A dim of size 1 does not stand for all here.
    const Array& from = is_first ? a : b;
    std::int64_t at = 0;
    for (std::size_t d = 0; d < from.sizes.size(); ++d) at = at * from.sizes[d] + i[d];
    made.data.push_back(from.data[static_cast<std::size_t>(at)]);
  });
  return made;
}

}  // namespace sim_test
