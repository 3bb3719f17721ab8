#include "check.h"

namespace xcpu {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

std::string fault_of_dtype(xcpu_dtype dtype, const std::string& name) {
  if (dtype >= XCPU_F32 && dtype <= XCPU_F16) return "";
  return name + ".dtype is " + text(dtype) + "; dtypes are 0 to 2";
}

}  // namespace

std::string fault_of_rows(std::initializer_list<GivenRows> all) {
  for (const GivenRows& given : all) {
    const std::string name = given.name;
    if (given.rows.data == nullptr) {
      if (given.need == Need::kNeeded && given.count > 0) return name + ".data is NULL";
      continue;
    }
    std::string fault = fault_of_dtype(given.rows.dtype, name);
    if (!fault.empty()) return fault;
    if (given.count > 1 && given.rows.stride < given.columns) {
      return name + ".stride is " + text(given.rows.stride) + ", less than the " + text(given.columns) +
             " elements of a row";
    }
  }
  return "";
}

std::string fault_of_heads(std::initializer_list<GivenHeads> all) {
  for (const GivenHeads& given : all) {
    const std::string name = given.name;
    if (given.heads.data == nullptr) {
      if (given.need == Need::kNeeded && given.tokens > 0 && given.count > 0) return name + ".data is NULL";
      continue;
    }
    std::string fault = fault_of_dtype(given.heads.dtype, name);
    if (!fault.empty()) return fault;
    const auto fault_of_stride = [&](std::int64_t stride, std::int64_t count, const char* member) {
      if (count < 2 || stride >= given.dim) return std::string();
      return name + member + " is " + text(stride) + ", less than the " + text(given.dim) +
             " elements of a vector";
    };
    fault = first_of({fault_of_stride(given.heads.token_stride, given.tokens, ".token_stride"),
                      fault_of_stride(given.heads.head_stride, given.count, ".head_stride")});
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string fault_of_numbers(std::initializer_list<GivenNumber> all) {
  for (const GivenNumber& given : all) {
    if (given.value >= given.least && given.value <= given.most) continue;
    return std::string(given.name) + " is " + text(given.value) + "; it is " + text(given.least) + " to " +
           text(given.most);
  }
  return "";
}

std::string fault_of_rotary(const xcpu_rotary& rotary, std::int64_t tokens, std::int32_t head_dim,
                            const std::string& name) {
  if (rotary.form != XCPU_ROTARY_HALVES && rotary.form != XCPU_ROTARY_INTERLEAVED) {
    return name + "form is " + text(rotary.form) + "; it is 0 or 1";
  }
  if (rotary.rotary_dim < 0 || rotary.rotary_dim > head_dim || rotary.rotary_dim % 2 != 0) {
    return name + "rotary_dim is " + text(rotary.rotary_dim) + "; it is even and at most head_dim, " +
           text(head_dim);
  }
  if (rotary.inverse != 0 && rotary.inverse != 1) {
    return name + "inverse is " + text(rotary.inverse) + "; it is 0 or 1";
  }
  if (rotary.rotary_dim == 0) return "";
  const std::string cos = name + "cos";
  const std::string sin = name + "sin";
  std::string fault =
      fault_of_rows({{rotary.cos, cos.c_str(), rotary.table_rows, rotary.rotary_dim / 2, Need::kNeeded},
                     {rotary.sin, sin.c_str(), rotary.table_rows, rotary.rotary_dim / 2, Need::kNeeded}});
  if (!fault.empty()) return fault;
  if (rotary.positions == nullptr) {
    if (tokens <= rotary.table_rows) return "";
    return "cos and sin have " + text(rotary.table_rows) + " rows, fewer than the " + text(tokens) +
           " tokens";
  }
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t position = rotary.positions[token];
    if (position >= 0 && position < rotary.table_rows) continue;
    return name + "positions[" + text(token) + "] is " + text(position) + "; cos and sin have " +
           text(rotary.table_rows) + " rows";
  }
  return "";
}

std::string first_of(std::initializer_list<std::string> faults) {
  for (const std::string& fault : faults) {
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace xcpu
