#include "operators.h"

#include <algorithm>
#include <cstdint>

#include "arithmetic.h"
#include "elementwise.h"

namespace torchplug::sim {
namespace {

template <class T>
struct ScaleAdd {
  T by;
  SIM_INLINE T operator()(T x, T y) const { return by * x + y; }
};

template <class T>
struct Scale {
  T by;
  SIM_INLINE T operator()(T x) const { return x * by; }
};

// PLUG_UNSUPPORTED from an operator that nobody else has is an error with the reason.
plug_status scale(const plug::Call& call, const char* name, const plug::Tensor& x, double by,
                  const plug::Out& result) {
  return plug::visit<float, double>(x.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    return elementwise<T, T>(call, name, Layouts::kAny, {}, Scale<T>{static_cast<T>(by)}, result, x);
  });
}

}  // namespace

plug_status axpy(plug::Call& call, plug::Tensor x, plug::Tensor y, plug::Scalar a, plug::Out result) {
  const bool fits = x.dtype() == y.dtype() &&
                    std::equal(x.sizes().begin(), x.sizes().end(), y.sizes().begin(), y.sizes().end());
  if (!fits) return declined("sim::axpy takes two tensors of one shape and dtype");
  return plug::visit<float, double>(x.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    return elementwise<T, T, T>(call, "sim::axpy", Layouts::kAny, {}, ScaleAdd<T>{a.to<T>()}, result, x, y);
  });
}

plug_status scale_(plug::Call& call, plug::Out x, double by) { return scale(call, "sim::scale_", x, by, x); }

plug_status ramp(plug::Call& call, plug::Tensors xs, plug::Outs results) {
  for (const plug::Tensor x : xs) {  // all, before any of them is enqueued
    const bool is_known = x.dtype() == PLUG_F32 || x.dtype() == PLUG_F64;
    if (!is_known || !is_plain(x.raw()))
      return declined("sim::ramp takes strided tensors of float32 and float64");
  }
  for (std::int64_t i = 0; i < xs.size(); ++i) {
    const plug_status status = scale(call, "sim::ramp", xs[i], static_cast<double>(i + 1), results[i]);
    if (status != PLUG_OK) return status;
  }
  return PLUG_OK;
}

}  // namespace torchplug::sim
