#pragma once
// Arguments of an operator as the functions of xcpu.h take them. What does not fit is refused in one sentence
// that names the argument. Everything here lives as long as the call whose arguments it describes.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {

using OptionalTensor = std::optional<plug::Tensor>;
using OptionalOut = std::optional<plug::Out>;

// Throws what the operator raises.
[[noreturn]] void refuse(const std::string& why);

// Throws what a function of xcpu.h has refused, if it has.
void check(const char* fault);

// PyTorch's threads, for the functions of xcpu.h.
const xcpu_team* team();

// "float32 [2, 3]"
std::string look_of(const plug::Tensor& tensor);
std::string text_of(plug::Ints sizes);

// float32, bfloat16 or float16.
xcpu_dtype dtype_of(const plug::Tensor& tensor, const char* name);

// A tensor whose dtype and sizes must be these; -1 is any size.
void expect_sizes(const plug::Tensor& tensor, const char* name, std::initializer_list<std::int64_t> sizes);
void expect_sizes(const plug::Tensor& tensor, const char* name, plug::Ints sizes);

// The stride that the first dims of a tensor have as one; 0 of a single place.
std::optional<std::int64_t> common_stride(const plug::Tensor& tensor, std::int32_t dims);

// A contiguous copy for the time of the call.
void* copy_contiguous(const plug::Call& call, const plug::Tensor& tensor);

// The rows of a tensor [..., columns]. One whose rows do not lie at equal distances is copied.
struct Rows {
  xcpu_rows rows;
  std::int64_t count;
  std::int64_t columns;
  bool is_copied;
};
Rows rows_of(const plug::Call& call, const plug::Tensor& tensor, const char* name);
xcpu_rows rows_of(const plug::Call& call, const OptionalTensor& tensor, const char* name);

// The same in two steps: what holds for all calls that look alike, without an address, and what a call has.
Rows shape_of_rows(const plug::Tensor& tensor, const char* name);
Rows shape_of_rows(const OptionalTensor& tensor, const char* name);
xcpu_rows place_rows(const plug::Call& call, const plug::Tensor& tensor, const Rows& shape);
xcpu_rows place_rows(const plug::Call& call, const OptionalTensor& tensor, const Rows& shape);

// cos and sin of rotary embedding: a row for each position, of at most half of head_dim.
void expect_table(const plug::Tensor& cos, const plug::Tensor& sin, std::int64_t head_dim);

// A matrix of any strides.
xcpu_matrix matrix_of(const plug::Tensor& tensor, const char* name);

// A weight that xcpu::pack has made.
xcpu_packed packed_of(const plug::Tensor& tensor, const char* name);

// Where the first element lies.
void* address_of(const plug::Tensor& tensor);

// The place of a word in a list of them.
std::int32_t word_of(std::string_view word, const char* name, std::initializer_list<const char*> words);

}  // namespace xcpu::plugin
