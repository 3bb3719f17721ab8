// A synchronous device whose kernels are written with plug.hpp: strided and broadcast
// elements, mixed dtypes, a reduction, matrix products, scratch and teams, lists and
// optional arguments, a failure. docs/kernels.md takes its code from here.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base.h"
#include "torchplug/plug.hpp"
#include "torchplug/schemas.h"

namespace {

// Any strides, sizes that expand, a number in host memory.
void mul(plug::Call &call, plug::Tensor self, plug::Tensor other, plug::Out result) {
  const plug::Loop loop(result, self, other);
  plug::visit<float, double, std::int64_t>(result.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    call.team(loop.count(), 16384, [&](std::int64_t begin, std::int64_t end) {
      loop.each<T, T, T>(begin, end, [](T &y, T a, T b) { y = a * b; });
    });
  });
}

// Any two dtypes, computed in the one that both are promoted to: the result's.
void add(plug::Call &, plug::Tensor self, plug::Tensor other, plug::Scalar alpha,
         plug::Out result) {
  const plug::Loop loop(result, self, other);
  plug::visit<float, double, std::int64_t, plug::Half, plug::BFloat16>(
      result.dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        const T by = alpha.to<T>();
        loop.map<T>([by](T a, T b) { return a + by * b; });
      });
}

// Either bound may be missing.
void clamp(plug::Call &, plug::Tensor self, std::optional<plug::Scalar> min,
           std::optional<plug::Scalar> max, plug::Out result) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double low = min ? min->to<double>() : -infinity;
  const double high = max ? max->to<double>() : infinity;
  if (result.dtype() != PLUG_F32 || self.dtype() != PLUG_F32)
    plug::decline("clamp is for float32");
  plug::Loop(result, self).map<double>([&](double x) {
    if (std::isnan(x)) return x;
    return std::fmin(std::fmax(x, low), high);
  });
}

// Over some dims or all, kept or not.
void sum(plug::Call &call, plug::Tensor self, std::optional<plug::Ints> dim, bool,
         std::optional<plug::Dtype>, plug::Out result) {
  if (self.dtype() != result.dtype()) plug::decline("sum does not convert");
  const plug::Reduction reduction(result, self, dim);
  plug::visit<float, double>(self.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    call.team(reduction.count(), 1024, [&](std::int64_t begin, std::int64_t end) {
      reduction.fold<T, T>(
          begin, end, 0.0, [](double sum, T x) { return sum + x; },
          [](double sum) { return sum; });
    });
  });
}

// beta self + alpha mat1 mat2; self is expanded to the result.
void addmm(plug::Call &call, plug::Tensor self, plug::Tensor mat1, plug::Tensor mat2,
           plug::Scalar beta, plug::Scalar alpha, plug::Out result) {
  const std::int64_t rows = result.size(0), columns = result.size(1),
                     depth = mat1.size(1);
  const float b = beta.to<float>(), a = alpha.to<float>();
  const float *const x = mat1.data<float>(), *const y = mat2.data<float>();
  if (b != 0)
    plug::Loop(result, self).each<float, float>([](float &r, float s) { r = s; });
  call.team(
      rows, 4096 / (columns * depth + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            double dot = 0;
            for (std::int64_t k = 0; k < depth; ++k)
              dot += double{x[i * mat1.stride(0) + k * mat1.stride(1)]} *
                     double{y[k * mat2.stride(0) + j * mat2.stride(1)]};
            float &r = result.data<float>()[i * result.stride(0) + j * result.stride(1)];
            r = static_cast<float>(a * dot + (b != 0 ? double{b} * double{r} : 0));
          }
        }
      });
}

// Rows of contiguous memory; what is added up in a row lies in scratch.
void softmax(plug::Call &call, plug::Tensor self, std::int64_t dim, bool,
             plug::Out result) {
  const std::int64_t length = self.ndim() == 0 ? 1 : self.size(dim);
  if (self.ndim() > 0 && self.stride(dim) != 1) plug::decline("softmax is along rows");
  if (self.numel() == 0) return;
  const plug::Span<const float> x = self.span<float>();
  const plug::Span<float> y = result.span<float>();
  const plug::Scratch<double> sums(call, x.size() / length);
  call.team(sums.size(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float most = -std::numeric_limits<float>::infinity();
      sums[row] = 0;
      for (std::int64_t i = 0; i < length; ++i)
        most = std::fmax(most, x[row * length + i]);
      for (std::int64_t i = 0; i < length; ++i)
        sums[row] += std::exp(double{x[row * length + i]} - double{most});
      for (std::int64_t i = 0; i < length; ++i)
        y[row * length + i] = static_cast<float>(
            std::exp(double{x[row * length + i]} - double{most}) / sums[row]);
    }
  });
}

// Along any dim: each tensor is copied into its part of the result.
void cat(plug::Call &, plug::Tensors tensors, std::int64_t dim, plug::Out result) {
  dim = result.wrap(dim);
  plug_tensor part = result.raw();
  std::int64_t next = 0;
  for (const plug::Tensor tensor : tensors) {
    if (tensor.dtype() != result.dtype()) plug::decline("cat does not convert");
  }
  for (const plug::Tensor tensor : tensors) {
    if (tensor.ndim() != result.ndim()) continue; /* [0], which PyTorch skips */
    part.sizes = tensor.raw().sizes;
    part.mem.offset =
        result.raw().mem.offset + static_cast<std::uint64_t>(next * result.stride(dim)) *
                                      PLUG_DTYPE_BYTES(part.dtype);
    next += tensor.size(dim);
    plug::Loop(plug::Out(part), tensor)
        .runs(0, tensor.numel(),
              [&](char *const *data, const std::int64_t *strides, std::int64_t n) {
                plug::check(plug_convert(data[0], part.dtype, strides[0], data[1],
                                         part.dtype, strides[1], n));
              });
  }
}

// As many rows as there are elements that are not 0.
void nonzero(plug::Call &, plug::Tensor self, plug::Unshaped result) {
  const plug::Span<const float> x = self.span<float>();
  std::int64_t count = 0, row = 0;
  for (const float value : x) count += value != 0 ? 1 : 0;
  const plug::Out out = result.shape(PLUG_I64, {count, self.ndim()});
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t rest = i;
    if (x[i] == 0) continue;
    for (std::int64_t d = self.ndim() - 1; d >= 0; --d) {
      out.data<std::int64_t>()[row * self.ndim() + d] = rest % self.size(d);
      rest /= self.size(d);
    }
    ++row;
  }
}

void sinh(plug::Call &, plug::Tensor, plug::Out) {
  throw std::runtime_error("the sine unit is on fire");
}

constexpr plug_dtype kFloat[] = {PLUG_F32, PLUG_I64};
constexpr std::uint64_t kAnyStrides = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_BROADCAST |
                                      PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR;

constexpr plug::Kernel kKernels[] = {
    plug::kernel<&mul>(PLUG_SCHEMA_MUL_TENSOR, kAnyStrides),
    plug::kernel<&add>(PLUG_SCHEMA_ADD_TENSOR, kAnyStrides | PLUG_ACCEPTS_MIXED),
    plug::kernel<&clamp>(PLUG_SCHEMA_CLAMP, kAnyStrides),
    plug::kernel<&sum>(PLUG_SCHEMA_SUM_DIM_INTLIST, PLUG_ACCEPTS_STRIDED),
    plug::kernel<&addmm>(PLUG_SCHEMA_ADDMM, PLUG_ACCEPTS_STRIDED).with_dtypes(kFloat),
    plug::kernel<&softmax>(PLUG_SCHEMA__SOFTMAX).with_dtypes(kFloat),
    plug::kernel<&cat>(PLUG_SCHEMA_CAT, PLUG_ACCEPTS_STRIDED),
    plug::kernel<&nonzero>(PLUG_SCHEMA_NONZERO, PLUG_SHAPES_OUTPUT).with_dtypes(kFloat),
    plug::kernel<&sinh>(PLUG_SCHEMA_SINH),
};

plug_status info(int32_t device, plug_device_info *filled) {
  static const plug_dtype dtypes[] = {PLUG_F32, PLUG_F64, PLUG_F16,  PLUG_BF16,
                                      PLUG_I32, PLUG_I64, PLUG_BOOL, PLUG_U8};
  const plug_status status = base_info(device, filled);
  filled->dtypes = dtypes;
  filled->dtype_count = sizeof dtypes / sizeof *dtypes;
  return status;
}

}  // namespace

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug::host = given;
  make_device(given, "typed");
  runtime.device_info = info;
  add_kernels(kKernels, sizeof kKernels / sizeof *kKernels);
  *out = &module;
  return PLUG_OK;
}
