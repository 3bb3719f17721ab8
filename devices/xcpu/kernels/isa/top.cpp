// The largest of many values, one instruction set.

#include "top.h"

#include "rows.h"

namespace xcpu::XCPU_ISA {
namespace {

bool is_above(float a, float b) { return a > b || (a != a && b == b); }

void insert(TopRow& top, float value, std::int64_t index) {
  if (top.found == top.k && !is_above(value, top.values[top.k - 1])) return;
  std::int32_t at = top.found < top.k ? top.found++ : top.k - 1;
  for (; at > 0 && is_above(value, top.values[at - 1]); --at) {
    top.values[at] = top.values[at - 1];
    top.indices[at] = top.indices[at - 1];
  }
  top.values[at] = value;
  top.indices[at] = index;
}

// Most values are below the least of the largest so far: many are looked at together.
constexpr std::int64_t kTogether = 128;

bool has_any_above(const float* values, float least) {
  const Mask all = first_lanes(kLanes);
  FourSums nothing;
  Floats top[2] = {load(values, all), load(values, all)};
  for (std::int64_t i = 0; i < kTogether; i += kLanes) {
    const Floats value = load(values + i, all);
    const auto turn = static_cast<std::size_t>(i / kLanes % 2);
    top[turn] = larger(top[turn], value);
    nothing.of[turn] = multiply_add(value, fill(0.0F), nothing.of[turn]);
  }
  // Where there is infinity or NaN, this is NaN.
  const float none = nothing.total();
  return none != 0.0F || largest(larger(top[0], top[1])) > least;
}

void scan(const float* values, std::int64_t count, std::int64_t first_index, TopRow& top) {
  for (std::int64_t begin = 0; begin < count; begin += kTogether) {
    const std::int64_t end = smaller_of(begin + kTogether, count);
    const bool is_whole = end - begin == kTogether;
    if (is_whole && top.found == top.k && !has_any_above(values + begin, top.values[top.k - 1])) continue;
    for (std::int64_t i = begin; i < end; ++i) insert(top, values[i], first_index + i);
  }
}

}  // namespace

const TopKernels kTopKernels = {scan};

}  // namespace xcpu::XCPU_ISA
