#include "arguments.h"

#include <algorithm>
#include <array>

namespace xcpu::plugin {
namespace {

struct NamedDtype {
  plug_dtype dtype;
  const char* name;
};
constexpr NamedDtype kNames[] = {{PLUG_F32, "float32"}, {PLUG_BF16, "bfloat16"}, {PLUG_F16, "float16"},
                                 {PLUG_F64, "float64"}, {PLUG_I8, "int8"},       {PLUG_I16, "int16"},
                                 {PLUG_I32, "int32"},   {PLUG_I64, "int64"},     {PLUG_U8, "uint8"},
                                 {PLUG_BOOL, "bool"},   {PLUG_C64, "complex64"}};

const char* name_of(plug_dtype dtype) {
  for (const NamedDtype& named : kNames) {
    if (named.dtype == dtype) return named.name;
  }
  return "of another dtype";
}

void run_on_host(void* /*context*/, void (*fn)(void*, std::int32_t, std::int32_t), void* argument) {
  plug::host->team(plug::host, fn, argument);
}

std::optional<xcpu_kind> kind_of(plug_dtype dtype) {
  switch (dtype) {
    case PLUG_I32: return XCPU_W_F32;
    case PLUG_I16: return XCPU_W_BF16;
    case PLUG_I8: return XCPU_W_INT8;
    case PLUG_U8: return XCPU_W_INT4;
    default: return std::nullopt;
  }
}

bool are_equal(plug::Ints sizes, plug::Ints expected) {
  return std::equal(sizes.begin(), sizes.end(), expected.begin(), expected.end(),
                    [](std::int64_t size, std::int64_t wanted) { return wanted == -1 || size == wanted; });
}

}  // namespace

void refuse(const std::string& why) { throw plug::Failure(PLUG_INVALID, why); }

void check(const char* fault) {
  if (fault != nullptr) refuse(fault);
}

void* address_of(const plug::Tensor& tensor) { return plug_address(&tensor.raw().mem); }

const xcpu_team* team() {
  static constexpr xcpu_team kTeam = {nullptr, run_on_host};
  return &kTeam;
}

std::string text_of(plug::Ints sizes) {
  std::string text = "[";
  for (std::int64_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + (sizes[i] == -1 ? std::string("any") : std::to_string(sizes[i]));
  }
  return text + "]";
}

std::string look_of(const plug::Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + text_of(tensor.sizes());
}

xcpu_dtype dtype_of(const plug::Tensor& tensor, const char* name) {
  switch (tensor.dtype()) {
    case PLUG_F32: return XCPU_F32;
    case PLUG_BF16: return XCPU_BF16;
    case PLUG_F16: return XCPU_F16;
    default:
      refuse(std::string(name) + " is " + name_of(tensor.dtype()) + "; it is float32, bfloat16 or float16");
  }
}

void expect_sizes(const plug::Tensor& tensor, const char* name, plug::Ints sizes) {
  if (are_equal(tensor.sizes(), sizes)) return;
  refuse(std::string(name) + " has the sizes " + text_of(tensor.sizes()) +
         "; with the other arguments it is " + text_of(sizes));
}

void expect_sizes(const plug::Tensor& tensor, const char* name, std::initializer_list<std::int64_t> sizes) {
  expect_sizes(tensor, name, plug::Ints(sizes.begin(), static_cast<std::int64_t>(sizes.size())));
}

void expect_table(const plug::Tensor& cos, const plug::Tensor& sin, std::int64_t head_dim) {
  if (cos.ndim() != 2 || cos.size(1) < 1 || 2 * cos.size(1) > head_dim) {
    refuse("cos has the sizes " + text_of(cos.sizes()) + "; it is a row for each position, of at most half " +
           "of head_dim, " + std::to_string(head_dim));
  }
  expect_sizes(sin, "sin", cos.sizes());
}

std::optional<std::int64_t> common_stride(const plug::Tensor& tensor, std::int32_t dims) {
  std::optional<std::int64_t> stride;
  std::int64_t next = 0;
  for (std::int32_t d = dims - 1; d >= 0; --d) {
    if (tensor.size(d) == 1) continue;
    if (!stride) {
      stride = tensor.stride(d);
    } else if (tensor.stride(d) != next) {
      return std::nullopt;
    }
    next = tensor.stride(d) * tensor.size(d);
  }
  return stride.value_or(0);
}

void* copy_contiguous(const plug::Call& call, const plug::Tensor& tensor) {
  const auto bytes = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(tensor.dtype()));
  const plug::Scratch<char> scratch(call, tensor.numel() * bytes);
  std::array<std::int64_t, PLUG_LOOP_DIMS> strides{};
  std::int64_t stride = 1;
  for (std::int32_t d = tensor.ndim() - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = stride;
    stride *= tensor.size(d);
  }
  plug_tensor copy = tensor.raw();
  copy.mem = scratch.mem();
  copy.strides = strides.data();
  const plug_tensor* both[] = {&copy, &tensor.raw()};
  plug_loop loop;
  plug::check(plug_loop_make(&loop, 2, both, 0));
  call.team(loop.count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    plug_runs runs;
    for (plug_runs_begin(&runs, &loop, begin, end); plug_runs_next(&runs) != 0;) {
      plug_convert(runs.data[0], copy.dtype, runs.strides[0], runs.data[1], copy.dtype, runs.strides[1],
                   runs.n);
    }
  });
  return scratch.data();
}

Rows shape_of_rows(const plug::Tensor& tensor, const char* name) {
  Rows found{};
  found.rows.dtype = dtype_of(tensor, name);
  if (tensor.ndim() < 1) refuse(std::string(name) + " is a number; it has at least one dimension");
  found.columns = tensor.size(-1);
  found.count = 1;
  for (std::int32_t d = 0; d + 1 < tensor.ndim(); ++d) found.count *= tensor.size(d);
  found.rows.stride = found.columns;
  if (tensor.numel() == 0) return found;
  const auto stride = common_stride(tensor, tensor.ndim() - 1);
  const bool is_dense = found.columns == 1 || tensor.stride(-1) == 1;
  found.is_copied = !is_dense || !stride || (found.count > 1 && *stride < found.columns);
  if (!found.is_copied && found.count > 1) found.rows.stride = *stride;
  return found;
}

Rows shape_of_rows(const OptionalTensor& tensor, const char* name) {
  return tensor ? shape_of_rows(*tensor, name) : Rows{};
}

xcpu_rows place_rows(const plug::Call& call, const plug::Tensor& tensor, const Rows& shape) {
  xcpu_rows rows = shape.rows;
  if (shape.count * shape.columns == 0) return rows;
  rows.data = shape.is_copied ? copy_contiguous(call, tensor) : address_of(tensor);
  return rows;
}

xcpu_rows place_rows(const plug::Call& call, const OptionalTensor& tensor, const Rows& shape) {
  return tensor ? place_rows(call, *tensor, shape) : xcpu_rows{};
}

Rows rows_of(const plug::Call& call, const plug::Tensor& tensor, const char* name) {
  Rows found = shape_of_rows(tensor, name);
  found.rows = place_rows(call, tensor, found);
  return found;
}

xcpu_rows rows_of(const plug::Call& call, const OptionalTensor& tensor, const char* name) {
  return tensor ? rows_of(call, *tensor, name).rows : xcpu_rows{};
}

xcpu_matrix matrix_of(const plug::Tensor& tensor, const char* name) {
  const xcpu_dtype dtype = dtype_of(tensor, name);
  if (tensor.ndim() != 2) {
    refuse(std::string(name) + " has the sizes " + text_of(tensor.sizes()) +
           "; it is a matrix of outputs by inputs");
  }
  return {address_of(tensor), dtype, tensor.stride(0), tensor.stride(1)};
}

xcpu_packed packed_of(const plug::Tensor& tensor, const char* name) {
  const auto kind = kind_of(tensor.dtype());
  if (!kind) {
    refuse(std::string(name) + " is " + look_of(tensor) +
           ", which is no packed weight: give it to xcpu::pack first");
  }
  xcpu_packed packed{};
  if (tensor.ndim() != 3 || xcpu_packed_read(*kind, tensor.sizes().data(), &packed) != nullptr) {
    refuse(std::string(name) + " is " + look_of(tensor) +
           ", which xcpu::pack never gives: a packed weight is used as it was given");
  }
  if (!tensor.is_contiguous()) {
    refuse(std::string(name) + " has the strides " + text_of(tensor.strides()) +
           "; a packed weight is contiguous, as xcpu::pack gave it");
  }
  packed.data = address_of(tensor);
  return packed;
}

std::int32_t word_of(std::string_view word, const char* name, std::initializer_list<const char*> words) {
  std::int32_t place = 0;
  for (const char* known : words) {
    if (word == known) return place;
    ++place;
  }
  std::string all;
  for (const char* known : words) all += (all.empty() ? "\"" : ", \"") + std::string(known) + "\"";
  refuse(std::string(name) + " is \"" + std::string(word) + "\"; it is one of " + all);
}

}  // namespace xcpu::plugin
