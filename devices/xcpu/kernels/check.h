#pragma once
// What is wrong with an argument that several families of kernels have: a sentence that begins with its name;
// empty: nothing.

#include <cstdint>
#include <initializer_list>
#include <string>

#include "xcpu/xcpu.h"

namespace xcpu {

enum class Need { kNeeded, kOptional };

struct GivenRows {
  const xcpu_rows& rows;
  const char* name;
  std::int64_t count, columns;
  Need need = Need::kOptional;
};
std::string fault_of_rows(std::initializer_list<GivenRows> all);

struct GivenHeads {
  const xcpu_heads& heads;
  const char* name;
  std::int64_t tokens, count, dim;
  Need need = Need::kOptional;
};
std::string fault_of_heads(std::initializer_list<GivenHeads> all);

// A number within bounds.
struct GivenNumber {
  std::int64_t value;
  const char* name;
  std::int64_t least, most;
};
std::string fault_of_numbers(std::initializer_list<GivenNumber> all);

std::string fault_of_rotary(const xcpu_rotary& rotary, std::int64_t tokens, std::int32_t head_dim,
                            const std::string& name);

// The first of several sentences that is not empty.
std::string first_of(std::initializer_list<std::string> faults);

}  // namespace xcpu
