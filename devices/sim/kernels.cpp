#include "kernels.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "device.h"
#include "error.h"
#include "pointwise.h"
#include "profiler.h"

namespace torchplug::sim {
namespace {

std::int64_t element_count(const plug_tensor& tensor) {
  std::int64_t count = 1;
  for (std::int32_t d = 0; d < tensor.ndim; ++d) count *= tensor.sizes[d];
  return count;
}

// PyTorch divides the work of a larger call among its threads when it is borrowed; a stream's worker is one
// thread.
bool is_better_borrowed(const plug_call& call) {
  constexpr std::int64_t kGrainSize = 32768;
  return element_count(*call.results[0].as.tensors) > kGrainSize;
}

bool is_strided(const plug_value& value) {
  if (value.tag != PLUG_VALUE_TENSOR) return false;
  const plug_tensor& tensor = *value.as.tensors;
  constexpr std::uint32_t kKnownFlags = PLUG_TENSOR_WRITTEN;
  return tensor.ndim >= 0 && tensor.layout == 0 && (tensor.flags & ~kKnownFlags) == 0;
}

bool is_supported(const plug_call& call, std::uint32_t inputs) {
  if (!is_strided(call.results[0])) return false;
  const plug_tensor& result = *call.results[0].as.tensors;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    if (!is_strided(call.args[i])) return false;
    const plug_tensor& input = *call.args[i].as.tensors;
    const bool fits = input.mem.device != PLUG_HOST ? input.dtype == result.dtype : is_number(input);
    if (!fits) return false;
  }
  return result.mem.device != PLUG_HOST;
}

enum class Layouts { kAny, kDense };

// Enqueues result = function(a, b) for the tensors of a call that is_supported(); a kernel of one input has
// it as both.
template <class T, class Function>
plug_status launch(const plug_call& call, std::uint32_t inputs, const char* name, Layouts layouts,
                   const Function& function) {
  const plug_tensor& result = *call.results[0].as.tensors;
  const plug_tensor& a = *call.args[0].as.tensors;
  const plug_tensor& b = *call.args[inputs - 1].as.tensors;
  const Activity activity{.kind = PLUG_RECORD_KERNEL, .name = name};
  Stream& stream = open_device(call.device).stream(call.stream);
  if (lie_alike(result, a, b)) {
    const auto operands = dense_operands<T>(result, a, b);
    enqueue(stream, activity, [operands, function]() noexcept { operands.apply(function); });
    return PLUG_OK;
  }
  if (layouts == Layouts::kDense) return PLUG_UNSUPPORTED;
  auto operands = std::make_unique<StridedOperands<T>>(result, a, b);
  enqueue(stream, activity,
          [operands = std::move(operands), function]() noexcept { operands->apply(function); });
  return PLUG_OK;
}

// Calls body.operator()<T>() for the type of the result, float32 or float64.
template <class Body>
plug_status pointwise(const plug_call* call, std::uint32_t inputs, const Body& body) noexcept {
  return guarded([&]() -> plug_status {
    if (!is_supported(*call, inputs)) return PLUG_UNSUPPORTED;
    switch (call->results[0].as.tensors->dtype) {
      case PLUG_F32: return body.template operator()<float>();
      case PLUG_F64: return body.template operator()<double>();
      default: return PLUG_UNSUPPORTED;
    }
  });
}

// A Scalar as PyTorch converts it; nothing where PyTorch refuses it, so that PyTorch says why.
template <class T>
std::optional<T> to_real(const plug_value& value) {
  switch (value.tag) {
    case PLUG_VALUE_INT: return static_cast<T>(value.as.i);
    case PLUG_VALUE_UINT: return static_cast<T>(value.as.u);
    case PLUG_VALUE_FLOAT: {
      const bool overflows =
          std::isfinite(value.as.f) && std::abs(value.as.f) > std::numeric_limits<T>::max();
      if (overflows) return std::nullopt;
      return static_cast<T>(value.as.f);
    }
    default: return std::nullopt;
  }
}

plug_status relu(const plug_call* call) {
  return pointwise(call, 1, [call]<class T>() {
    // Borrowed, it would be computed into new memory and copied: one thread is faster at any size. The
    // comparison is false for NaN and for -0, which both pass through.
    const auto function = [](T x, T) { return x < 0 ? T{0} : x; };
    return launch<T>(*call, 1, "sim::relu", Layouts::kAny, function);
  });
}

plug_status add(const plug_call* call) {
  return pointwise(call, 2, [call]<class T>() -> plug_status {
    if (is_better_borrowed(*call)) return PLUG_UNSUPPORTED;
    const std::optional<T> alpha = to_real<T>(call->args[2]);
    if (!alpha) return PLUG_UNSUPPORTED;
    if (*alpha == 1) {
      return launch<T>(*call, 2, "sim::add", Layouts::kAny, [](T a, T b) { return a + b; });
    }
    // Rounded once, as PyTorch does for elements that lie in a row; for others it rounds the product too.
    const auto function = [alpha = *alpha](T a, T b) { return std::fma(b, alpha, a); };
    return launch<T>(*call, 2, "sim::add", Layouts::kDense, function);
  });
}

plug_status mul(const plug_call* call) {
  return pointwise(call, 2, [call]<class T>() -> plug_status {
    if (is_better_borrowed(*call)) return PLUG_UNSUPPORTED;
    return launch<T>(*call, 2, "sim::mul", Layouts::kAny, [](T a, T b) { return a * b; });
  });
}

// All but what is_supported() refuses.
constexpr std::uint32_t kAccepts = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED |
                                   PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR | PLUG_ACCEPTS_LAZY_BITS;

constexpr plug_kernel kList[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu, .accepts = kAccepts},
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .fn = add,
     .accepts = kAccepts},
    {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", .fn = mul, .accepts = kAccepts},
};

}  // namespace

const plug_kernels kKernels = {
    .size = sizeof(plug_kernels),
    .kernel_size = sizeof(plug_kernel),
    .count = std::size(kList),
    .list = kList,
};

}  // namespace torchplug::sim
