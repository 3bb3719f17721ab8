#pragma once
// The layout of a packed weight, the same for every instruction set.
//
// The columns of a weight are its outputs; of a pair, those of both matrices. They lie in panels of 32, one
// after the other; the last is as narrow as there are columns. A panel has two halves: its first 16 columns
// and the others, or, of a pair, as many outputs of the first matrix and the same of the second.
//
// A panel is rows of 32-bit words, a word of each column:
//
//   fp32   K rows; a word is a weight
//   bf16   ceil(K / 2) rows; a word is two inputs' weights, the earlier in its low half
//   int8   a row of fp32 scales; a row of int32 corrections, minus 128 times the sum of the column, for
//   inputs to
//          which 128 was added; ceil(K / 4) rows, a word is four inputs' weights, the earliest in its low
//          byte
//   int4   for each group: half a row of bf16 scales; group / 8 rows, a word is eight inputs' weights with 8
//   added:
//          inputs 0 to 3 in the low four bits of its bytes, 4 to 7 in the high four
//
// What is beyond K in the last row is zero. Where K is odd (bf16) or no multiple of 4 (int8), as many
// elements for each column follow the panel's rows, which say by how much: the sizes of a tensor of this
// layout determine K.

#include <cstdint>
#include <string>

#include "xcpu/xcpu.h"

namespace xcpu {

constexpr std::int64_t kLargestInt8K = 131072;  // so that a sum of products is below 2^31

// What is wrong with kind, group, pair, n or k; empty: nothing. `name` is of the argument.
std::string fault_of(const xcpu_packed& packed, const std::string& name);

std::int64_t columns_of(const xcpu_packed& packed);
std::int64_t column_bytes_of(const xcpu_packed& packed);

}  // namespace xcpu
