#include "pointwise.h"

#include <cstdint>
#include <optional>
#include <type_traits>

#include "arithmetic.h"
#include "elementwise.h"
#include "scalar.h"

namespace torchplug::sim {
namespace {

constexpr const char* kNoType = "the kernel does not compute in this dtype";

constexpr std::int64_t kMostHalves = 8192;

bool is_half(plug_dtype dtype) { return dtype == PLUG_F16 || dtype == PLUG_BF16; }

template <class... Tensors>
bool are_all(plug_dtype dtype, const Tensors&... tensors) {
  return ((tensors.is_on_host() || tensors.dtype() == dtype) && ...);
}

// What the C++ type is that the elements are computed in, and what becomes of numbers.
template <class T>
struct Types {
  using type = T;
  Rounding rounding;
};

// Calls body(Types<T>) for call.compute(): itself, or float32 for floats of 16 bits.
template <class Body, class... Tensors>
plug_status in_compute_type(const plug::Call& call, const Body& body, const plug::Out& result,
                            const Tensors&... inputs) {
  switch (call.compute()) {
    case PLUG_F32: return body(Types<float>{});
    case PLUG_F64: return body(Types<double>{});
    case PLUG_I64: return body(Types<std::int64_t>{});
    case PLUG_I32: return body(Types<std::int32_t>{});
    case PLUG_I16: return body(Types<std::int16_t>{});
    case PLUG_I8: return body(Types<std::int8_t>{});
    case PLUG_U8: return body(Types<std::uint8_t>{});
    case PLUG_F16:
    case PLUG_BF16:
      // PyTorch rounds to 16 bits in between, unless that is what all of them have.
      if (!are_all(call.compute(), result, inputs...)) {
        return declined("of floats with 16 bits the kernel takes those of one dtype");
      }
      if (result.numel() > kMostHalves) return declined("PyTorch is faster with this many floats of 16 bits");
      return body(Types<float>{{call.compute()}});
    default: return declined(kNoType);
  }
}

template <class Op, class... Tensors>
plug_status pointwise(const plug::Call& call, const char* name, const Op& op, const plug::Out& result,
                      const Tensors&... inputs) {
  const auto body = [&](auto types) -> plug_status {
    using T = typename decltype(types)::type;
    const auto launch_in = [&]<class... Ts>(plug::Type<Ts>... /*one for each input*/) {
      return elementwise<T, Ts...>(call, name, Layouts::kAny, types.rounding, op, result, inputs...);
    };
    return launch_in(std::conditional_t<true, plug::Type<T>, Tensors>()...);
  };
  return in_compute_type(call, body, result, inputs...);
}

// self + sign * alpha * other.
plug_status add_scaled(const plug::Call& call, const char* name, const plug::Tensor& self,
                       const plug::Tensor& other, const plug::Scalar& alpha, int sign,
                       const plug::Out& result) {
  const auto body = [&](auto types) -> plug_status {
    using T = typename decltype(types)::type;
    const std::optional<T> factor = exact<T>(alpha.raw());
    if (!factor) return declined("PyTorch does not convert this alpha to the dtype of the elements");
    const auto launch_with = [&](const auto& op, Layouts layouts) {
      return elementwise<T, T, T>(call, name, layouts, types.rounding, op, result, self, other);
    };
    if (*factor == T{1}) {
      return sign > 0 ? launch_with(Add(), Layouts::kAny) : launch_with(Sub(), Layouts::kAny);
    }
    if (is_half(call.compute())) return declined("of floats with 16 bits the kernel takes no alpha");
    const T by = sign > 0 ? *factor : Neg()(*factor);
    const Layouts layouts = std::is_integral_v<T> ? Layouts::kAny : Layouts::kDense;
    return launch_with(AddScaled<T>{by}, layouts);
  };
  return in_compute_type(call, body, result, self, other);
}

// PyTorch multiplies and divides floats of 16 bits by a number that it does not round first.
plug_status scale_half(const plug::Call& call, const char* name, const auto& op, const plug::Tensor& self,
                       const plug::Tensor& number, const plug::Out& result) {
  if (!are_all(call.compute(), self, result)) {
    return declined("of floats with 16 bits the kernel takes those of one dtype");
  }
  if (result.numel() > kMostHalves) return declined("PyTorch is faster with this many floats of 16 bits");
  return elementwise<float, float, float>(call, name, Layouts::kAny, {}, op, result, self, number);
}

bool is_half_by_number(const plug::Call& call, const plug::Tensor& self, const plug::Tensor& other) {
  return is_half(call.compute()) && other.is_on_host() && !self.is_on_host();
}

}  // namespace

plug_status add(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Scalar alpha,
                plug::Out result) {
  return add_scaled(call, "sim::add", self, other, alpha, 1, result);
}

plug_status sub(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Scalar alpha,
                plug::Out result) {
  return add_scaled(call, "sim::sub", self, other, alpha, -1, result);
}

plug_status mul(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result) {
  if (is_half_by_number(call, self, other)) return scale_half(call, "sim::mul", Mul(), self, other, result);
  return pointwise(call, "sim::mul", Mul(), result, self, other);
}

plug_status div(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result) {
  if (is_half_by_number(call, self, other)) return scale_half(call, "sim::div", Div(), self, other, result);
  switch (call.compute()) {
    case PLUG_F32:
    case PLUG_F64:
    case PLUG_F16:
    case PLUG_BF16: return pointwise(call, "sim::div", Div(), result, self, other);
    default: return declined(kNoType);
  }
}

plug_status maximum(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result) {
  return pointwise(call, "sim::maximum", Maximum(), result, self, other);
}

plug_status minimum(plug::Call& call, plug::Tensor self, plug::Tensor other, plug::Out result) {
  return pointwise(call, "sim::minimum", Minimum(), result, self, other);
}

plug_status relu(plug::Call& call, plug::Tensor self, plug::Out result) {
  return pointwise(call, "sim::relu", Relu(), result, self);
}

plug_status neg(plug::Call& call, plug::Tensor self, plug::Out result) {
  return pointwise(call, "sim::neg", Neg(), result, self);
}

plug_status where(plug::Call& call, plug::Tensor condition, plug::Tensor self, plug::Tensor other,
                  plug::Out result) {
  if (condition.dtype() != PLUG_BOOL) return declined("the kernel takes a condition of bool");
  const auto body = [&](auto type) {
    using T = typename decltype(type)::type;
    return elementwise<T, bool, T, T>(call, "sim::where", Layouts::kAny, {}, Where(), result, condition, self,
                                      other);
  };
  return plug::visit<float, double, std::int64_t, std::int32_t, std::int16_t, std::int8_t, std::uint8_t, bool,
                     plug::Half, plug::BFloat16>(result.dtype(), body);
}

}  // namespace torchplug::sim
