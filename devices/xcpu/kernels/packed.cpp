#include "packed.h"

#include "error.h"

namespace xcpu {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

bool is_group(std::int64_t group) { return group == 32 || group == 64 || group == 128; }

// Bytes of the elements of the tensor.
std::int64_t element_bytes(xcpu_kind kind) {
  switch (kind) {
    case XCPU_W_F32: return 4;
    case XCPU_W_BF16: return 2;
    default: return 1;
  }
}

// Elements of a column, which of a row of the tensor there are as many.
std::int64_t column_elements(const xcpu_packed& packed) {
  const std::int64_t even = round_up(packed.k, 2);
  const std::int64_t fours = round_up(packed.k, 4);
  switch (packed.kind) {
    case XCPU_W_F32: return packed.k;
    case XCPU_W_BF16: return even + (even - packed.k);
    case XCPU_W_INT8: return fours + 8 + (fours - packed.k);
    default: return packed.k / packed.group * (packed.group / 2 + 2);
  }
}

std::string text(std::int64_t value) { return std::to_string(value); }

}  // namespace

std::string fault_of(const xcpu_packed& packed, const std::string& name) {
  if (packed.kind < XCPU_W_F32 || packed.kind > XCPU_W_INT4) {
    return name + ".kind is " + text(packed.kind) + "; kinds are 0 to 3";
  }
  if (packed.n < 1) return name + ".n is " + text(packed.n) + "; a weight has at least one output";
  if (packed.k < 1) return name + ".k is " + text(packed.k) + "; a weight has at least one input";
  if (packed.pair != 0 && packed.pair != 1) return name + ".pair is " + text(packed.pair) + "; it is 0 or 1";
  if (packed.kind == XCPU_W_INT8 && packed.k > kLargestInt8K) {
    return name + ".k is " + text(packed.k) + "; an int8 weight has at most " + text(kLargestInt8K) +
           " inputs";
  }
  if (packed.kind != XCPU_W_INT4) {
    return packed.group == 0 ? ""
                             : name + ".group is " + text(packed.group) + "; only int4 weights have groups";
  }
  if (!is_group(packed.group)) return name + ".group is " + text(packed.group) + "; it is 32, 64 or 128";
  if (packed.k % packed.group != 0) {
    return name + ".k is " + text(packed.k) + ", which is no multiple of its group, " + text(packed.group);
  }
  return "";
}

std::int64_t columns_of(const xcpu_packed& packed) { return packed.n * (1 + packed.pair); }

std::int64_t column_bytes_of(const xcpu_packed& packed) {
  return column_elements(packed) * element_bytes(packed.kind);
}

}  // namespace xcpu

using xcpu::refuse;

const char* xcpu_packed_sizes(const xcpu_packed* packed, int64_t sizes[3]) {
  const std::string fault = xcpu::fault_of(*packed, "packed");
  if (!fault.empty()) return refuse(fault);
  const std::int64_t matrices = 1 + packed->pair;
  sizes[0] = packed->n;
  if (packed->kind == XCPU_W_INT4) {
    sizes[1] = packed->k / packed->group;
    sizes[2] = matrices * (packed->group / 2 + 2);
  } else {
    sizes[1] = matrices;
    sizes[2] = xcpu::column_elements(*packed);
  }
  return nullptr;
}

const char* xcpu_packed_read(xcpu_kind kind, const int64_t sizes[3], xcpu_packed* packed) {
  xcpu_packed read{};
  read.data = packed->data;
  read.kind = kind;
  read.n = sizes[0];
  const std::int64_t last = sizes[2];
  if (kind == XCPU_W_INT4) {
    read.pair = last > 66 || last == 36 ? 1 : 0;
    read.group = static_cast<std::int32_t>(2 * (last / (1 + read.pair) - 2));
    read.k = sizes[1] * read.group;
  } else {
    read.pair = static_cast<std::int32_t>(sizes[1] - 1);
    read.k = last;
    if (kind == XCPU_W_BF16) read.k = last - 2 * (last % 2);
    if (kind == XCPU_W_INT8) read.k = last - 8 - 2 * (last % 4);
  }
  std::int64_t expected[3] = {};
  if (xcpu_packed_sizes(&read, expected) != nullptr || expected[1] != sizes[1] || expected[2] != last) {
    return refuse("sizes [" + xcpu::text(sizes[0]) + ", " + xcpu::text(sizes[1]) + ", " + xcpu::text(last) +
                  "] are those of no packed weight of kind " + xcpu::text(kind));
  }
  *packed = read;
  return nullptr;
}

int64_t xcpu_packed_bytes(const xcpu_packed* packed) {
  if (!xcpu::fault_of(*packed, "packed").empty()) return 0;
  return xcpu::columns_of(*packed) * xcpu::column_bytes_of(*packed);
}
