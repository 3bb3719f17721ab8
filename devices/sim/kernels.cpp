#include "kernels.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>

#include "device.h"
#include "error.h"
#include "location.h"
#include "profiler.h"

namespace torchplug::sim {
namespace {

// What a pointwise kernel works on. The sizes and strides in a call are gone when the kernel
// function returns, so the work that is enqueued takes these by value.
template <class T>
struct Operands {
  T* result;
  std::array<const T*, 2> input;
  std::int64_t count;
};

std::int64_t element_count(const plug_tensor& tensor) {
  std::int64_t count = 1;
  for (std::int32_t d = 0; d < tensor.ndim; ++d) count *= tensor.sizes[d];
  return count;
}

// PLUG_UNSUPPORTED answers what the host promised not to send as well as what it may.
bool is_plain(const plug_value& value, plug_dtype dtype) {
  if (value.tag != PLUG_VALUE_TENSOR) return false;
  const plug_tensor& tensor = *value.as.tensors;
  constexpr std::uint32_t kKnownFlags = PLUG_TENSOR_WRITTEN;
  return tensor.dtype == dtype && tensor.ndim >= 0 && tensor.layout == 0 &&
         (tensor.flags & ~kKnownFlags) == 0 && tensor.mem.device != PLUG_HOST;
}

bool is_supported(const plug_call& call, std::uint32_t inputs, plug_dtype dtype) {
  constexpr std::uint64_t kKnownFlags = PLUG_CALL_DETERMINISTIC | PLUG_CALL_FAST_F32;
  if ((call.flags & ~kKnownFlags) != 0 || !is_plain(call.results[0], dtype)) return false;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    if (!is_plain(call.args[i], dtype)) return false;
  }
  return true;
}

template <class T>
Operands<T> take_operands(const plug_call& call, std::uint32_t inputs) {
  const plug_tensor& result = *call.results[0].as.tensors;
  Operands<T> operands{nullptr, {}, element_count(result)};
  const std::uint64_t bytes = static_cast<std::uint64_t>(operands.count) * sizeof(T);
  operands.result = reinterpret_cast<T*>(locate(result.mem, bytes).address);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    const plug_mem& mem = call.args[i].as.tensors->mem;
    operands.input[i] = reinterpret_cast<const T*>(locate(mem, bytes).address);
  }
  return operands;
}

// Enqueues launch(operands, stream) for float32 and float64.
template <class Launch>
plug_status pointwise(const plug_call* call, std::uint32_t inputs, const Launch& launch) noexcept {
  return guarded([&]() -> plug_status {
    Stream& stream = open_device(call->device).stream(call->stream);
    if (is_supported(*call, inputs, PLUG_F32)) {
      return launch(take_operands<float>(*call, inputs), stream);
    }
    if (is_supported(*call, inputs, PLUG_F64)) {
      return launch(take_operands<double>(*call, inputs), stream);
    }
    return PLUG_UNSUPPORTED;
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

Activity kernel(const char* name) { return {.kind = PLUG_RECORD_KERNEL, .name = name}; }

plug_status relu(const plug_call* call) {
  return pointwise(call, 1, []<class T>(const Operands<T>& x, Stream& stream) -> plug_status {
    enqueue(stream, kernel("sim::relu"), [x]() noexcept {
      // The comparison is false for NaN and for -0, which both pass through.
      for (std::int64_t i = 0; i < x.count; ++i) {
        const T value = x.input[0][i];
        x.result[i] = value < 0 ? T{0} : value;
      }
    });
    return PLUG_OK;
  });
}

plug_status add(const plug_call* call) {
  return pointwise(call, 2, [&]<class T>(const Operands<T>& x, Stream& stream) -> plug_status {
    const std::optional<T> alpha = to_real<T>(call->args[2]);
    if (!alpha) return PLUG_UNSUPPORTED;
    enqueue(stream, kernel("sim::add"), [x, alpha = *alpha]() noexcept {
      if (alpha == 1) {
        for (std::int64_t i = 0; i < x.count; ++i) x.result[i] = x.input[0][i] + x.input[1][i];
      } else {
        for (std::int64_t i = 0; i < x.count; ++i) {
          x.result[i] = std::fma(x.input[1][i], alpha, x.input[0][i]);
        }
      }
    });
    return PLUG_OK;
  });
}

plug_status mul(const plug_call* call) {
  return pointwise(call, 2, []<class T>(const Operands<T>& x, Stream& stream) -> plug_status {
    enqueue(stream, kernel("sim::mul"), [x]() noexcept {
      for (std::int64_t i = 0; i < x.count; ++i) x.result[i] = x.input[0][i] * x.input[1][i];
    });
    return PLUG_OK;
  });
}

constexpr plug_kernel kList[] = {
    {"aten::relu(Tensor self) -> Tensor", relu, nullptr, PLUG_ACCEPTS_ALIAS, 0},
    {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add, nullptr,
     PLUG_ACCEPTS_ALIAS, 0},
    {"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", mul, nullptr, PLUG_ACCEPTS_ALIAS, 0},
};

}  // namespace

const plug_kernels kKernels = {
    .size = sizeof(plug_kernels),
    .kernel_size = sizeof(plug_kernel),
    .count = std::size(kList),
    .reserved = 0,
    .list = kList,
};

}  // namespace torchplug::sim
