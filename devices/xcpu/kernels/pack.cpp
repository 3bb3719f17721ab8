// Packing weights, and back. Layouts are those of packed.h.

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "error.h"
#include "half.h"
#include "kernels.h"
#include "packed.h"
#include "team.h"

namespace xcpu {
namespace {

// One column of a panel: which row of which matrix it is, and where its words are.
struct Column {
  const xcpu_matrix* matrix;
  std::int64_t row;
  std::uint8_t* words;     // its first word
  std::int64_t row_bytes;  // from a word to the next
  std::int64_t index;      // in the panel
  std::uint8_t* panel;
};

Column column_of(const xcpu_packed& packed, const xcpu_matrix* first, const xcpu_matrix* second,
                 std::int64_t index, void* data) {
  const std::int64_t panel = index / kPanelColumns;
  const std::int64_t within = index % kPanelColumns;
  const std::int64_t width =
      std::min<std::int64_t>(kPanelColumns, columns_of(packed) - panel * kPanelColumns);
  Column column{first, index, nullptr, width * 4, within, nullptr};
  if (packed.pair != 0) {
    const bool is_second = within >= width / 2;
    column.matrix = is_second ? second : first;
    column.row = panel * kHalfColumns + (is_second ? within - width / 2 : within);
  }
  column.panel = static_cast<std::uint8_t*>(data) + panel * kPanelColumns * column_bytes_of(packed);
  column.words = column.panel + within * 4;
  return column;
}

template <class T>
void put(std::uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void read_row(const Column& column, std::vector<float>& values) {
  const xcpu_matrix& matrix = *column.matrix;
  std::int64_t at = column.row * matrix.row_stride;
  for (float& value : values) {
    value = element_at(matrix.data, matrix.dtype, at);
    at += matrix.column_stride;
  }
}

void write_row(const Column& column, const std::vector<float>& values) {
  const xcpu_matrix& matrix = *column.matrix;
  std::int64_t at = column.row * matrix.row_stride;
  for (const float value : values) {
    set_element(matrix.data, matrix.dtype, at, value);
    at += matrix.column_stride;
  }
}

// The largest size of the values; NaN where one is not finite, which makes every product with them NaN.
float size_of(const float* values, std::int64_t count) {
  float size = 0;
  bool is_finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    size = std::max(size, std::fabs(values[i]));
    is_finite &= std::isfinite(values[i]);
  }
  return is_finite ? size : std::numeric_limits<float>::quiet_NaN();
}

// To the nearest, of sizes up to 2^22; without a call, so that loops of it are vectors.
float nearest(float value) { return (value + 0x1.8p23F) - 0x1.8p23F; }

// value / scale as an integer between the bounds; 0 where there is no scale.
float quantised(float value, float reciprocal, float low, float high) {
  return std::min(high, std::max(low, nearest(std::min(1000.0F, std::max(-1000.0F, value * reciprocal)))));
}

float reciprocal_of(float scale) { return std::fabs(scale) > 0x1p-120F ? 1.0F / scale : 0.0F; }

// ------------------------------------ fp32, bf16 -------------------------------------

void pack_f32(const Column& column, const std::vector<float>& values) {
  std::uint8_t* to = column.words;
  for (const float value : values) {
    put(to, value);
    to += column.row_bytes;
  }
}

void unpack_f32(const Column& column, std::vector<float>& values) {
  const std::uint8_t* from = column.words;
  for (float& value : values) {
    value = get<float>(from);
    from += column.row_bytes;
  }
}

void pack_bf16(const Column& column, const std::vector<float>& values) {
  std::uint8_t* to = column.words;
  for (std::size_t k = 0; k < values.size(); k += 2, to += column.row_bytes) {
    const std::uint32_t high = k + 1 < values.size() ? to_bf16(values[k + 1]) : 0;
    put(to, to_bf16(values[k]) | high << 16);
  }
}

void unpack_bf16(const Column& column, std::vector<float>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::uint8_t* row = column.words + static_cast<std::int64_t>(k / 2) * column.row_bytes;
    values[k] = from_bf16(get<std::uint16_t>(row + k % 2 * 2));
  }
}

// --------------------------------------- int8 -----------------------------------------

void pack_int8(const Column& column, const std::vector<float>& values) {
  const float scale = size_of(values.data(), static_cast<std::int64_t>(values.size())) / 127.0F;
  const float reciprocal = reciprocal_of(scale);
  std::uint8_t* to = column.words + 2 * column.row_bytes;
  std::int32_t total = 0;
  for (std::size_t k = 0; k < values.size(); k += 4, to += column.row_bytes) {
    std::int8_t four[4] = {};
    for (std::size_t i = 0; i < 4 && k + i < values.size(); ++i) {
      four[i] = static_cast<std::int8_t>(quantised(values[k + i], reciprocal, -127.0F, 127.0F));
      total += four[i];
    }
    std::memcpy(to, four, sizeof four);
  }
  put(column.words, scale);
  put(column.words + column.row_bytes, -128 * total);
}

void unpack_int8(const Column& column, std::vector<float>& values) {
  const auto scale = get<float>(column.words);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::uint8_t* row = column.words + static_cast<std::int64_t>(k / 4 + 2) * column.row_bytes;
    values[k] = scale * static_cast<float>(get<std::int8_t>(row + k % 4));
  }
}

// --------------------------------------- int4 -----------------------------------------

// In steps, of which no square is too large or too small for a float.
float squared_error(const float* values, std::int32_t count, float scale) {
  const float reciprocal = reciprocal_of(scale);
  float total = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const float error = values[i] * reciprocal - quantised(values[i], reciprocal, -8.0F, 7.0F);
    total += error * error;
  }
  return total;
}

// Of some scales, all bf16, the one that loses least. Values reach from -8 to 7, so the larger side decides
// on the sign.
std::uint16_t int4_scale(const float* values, std::int32_t count) {
  const float size = size_of(values, count);
  if (!std::isfinite(size)) return to_bf16(size);
  std::uint16_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (const float divisor : {-8.5F, -8.0F, -7.5F, -7.0F, 7.0F, 7.5F, 8.0F, 8.5F}) {
    const std::uint16_t scale = to_bf16(size / divisor);
    const float step = from_bf16(scale) / size;
    const float error = squared_error(values, count, from_bf16(scale)) * step * step;
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

struct Group {
  std::uint8_t* scale;
  std::uint8_t* words;
};
Group group_of(const xcpu_packed& packed, const Column& column, std::int64_t index) {
  const std::int64_t width = column.row_bytes / 4;
  std::uint8_t* begin = column.panel + index * width * (packed.group / 2 + 2);
  return {begin + column.index * 2, begin + width * 2 + column.index * 4};
}

// Which bits of which word of a group.
struct Nibble {
  std::int64_t word;
  int byte;
  int shift;
};
Nibble nibble_of(std::int64_t input) {
  return {input / 8, static_cast<int>(input % 4), input % 8 < 4 ? 0 : 4};
}

void pack_int4(const xcpu_packed& packed, const Column& column, const std::vector<float>& values) {
  for (std::int64_t index = 0; index < packed.k / packed.group; ++index) {
    const float* group_values = values.data() + index * packed.group;
    const Group group = group_of(packed, column, index);
    const std::uint16_t scale = int4_scale(group_values, packed.group);
    const float reciprocal = reciprocal_of(from_bf16(scale));
    put(group.scale, scale);
    for (std::int64_t i = 0; i < packed.group; i += 8) {
      std::uint8_t word[4] = {};
      for (std::int64_t j = i; j < i + 8; ++j) {
        const auto value = static_cast<int>(quantised(group_values[j], reciprocal, -8.0F, 7.0F)) + 8;
        const Nibble nibble = nibble_of(j);
        word[nibble.byte] = static_cast<std::uint8_t>(word[nibble.byte] | value << nibble.shift);
      }
      std::memcpy(group.words + i / 8 * column.row_bytes, word, sizeof word);
    }
  }
}

void unpack_int4(const xcpu_packed& packed, const Column& column, std::vector<float>& values) {
  for (std::int64_t k = 0; k < packed.k; ++k) {
    const Group group = group_of(packed, column, k / packed.group);
    const Nibble nibble = nibble_of(k % packed.group);
    const std::uint8_t byte = group.words[nibble.word * column.row_bytes + nibble.byte];
    values[static_cast<std::size_t>(k)] =
        from_bf16(get<std::uint16_t>(group.scale)) * static_cast<float>((byte >> nibble.shift & 15) - 8);
  }
}

// -------------------------------------- columns ---------------------------------------

void pack_column(const xcpu_packed& packed, const Column& column, const std::vector<float>& values) {
  switch (packed.kind) {
    case XCPU_W_F32: return pack_f32(column, values);
    case XCPU_W_BF16: return pack_bf16(column, values);
    case XCPU_W_INT8: return pack_int8(column, values);
    default: return pack_int4(packed, column, values);
  }
}

void unpack_column(const xcpu_packed& packed, const Column& column, std::vector<float>& values) {
  switch (packed.kind) {
    case XCPU_W_F32: return unpack_f32(column, values);
    case XCPU_W_BF16: return unpack_bf16(column, values);
    case XCPU_W_INT8: return unpack_int8(column, values);
    default: return unpack_int4(packed, column, values);
  }
}

// Memory that the page tables have in pieces of 2 MiB is read faster; only what was not written yet becomes
// that.
void ask_for_huge_pages(void* data, std::int64_t bytes) {
  constexpr std::uintptr_t kHuge = 2 << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (address + kHuge - 1) / kHuge * kHuge;
  const std::uintptr_t end = (address + static_cast<std::uintptr_t>(bytes)) / kHuge * kHuge;
  if (begin >= end) return;
  // It is advice: where it is refused, pages are small.
  static_cast<void>(
      ::madvise(static_cast<std::uint8_t*>(data) + (begin - address), end - begin, MADV_HUGEPAGE));
}

// What lies beyond the rows of a panel, to say what K is: zero, so that equal weights are equal bytes.
void clear_rest(const xcpu_packed& packed, const Column& column) {
  const std::int64_t rows = packed.kind == XCPU_W_BF16 ? (packed.k + 1) / 2 : (packed.k + 3) / 4 + 2;
  if (packed.kind != XCPU_W_BF16 && packed.kind != XCPU_W_INT8) return;
  const std::int64_t used = rows * column.row_bytes;
  const std::int64_t all = column.row_bytes / 4 * column_bytes_of(packed);
  std::memset(column.panel + used, 0, static_cast<std::size_t>(all - used));
}

std::string fault_of_matrices(const xcpu_packed& packed, const xcpu_matrix* matrix,
                              const xcpu_matrix* second) {
  std::string fault = fault_of(packed, "packed");
  if (!fault.empty()) return fault;
  if (matrix == nullptr || matrix->data == nullptr) return "matrix is absent";
  if ((second != nullptr) != (packed.pair != 0)) {
    return packed.pair != 0 ? "packed is a pair, and second is absent"
                            : "packed is no pair, and there is a second";
  }
  for (const xcpu_matrix* given : {matrix, second}) {
    if (given == nullptr) continue;
    if (given->data == nullptr) return "second is absent";
    if (given->dtype < XCPU_F32 || given->dtype > XCPU_F16) {
      return "a matrix has dtype " + std::to_string(given->dtype) + "; dtypes are 0 to 2";
    }
  }
  return "";
}

// Calls function(column, values) for every column, with a buffer for a row; each thread has a share of the
// panels.
template <class Function>
void for_each_column(const xcpu_packed& packed, const xcpu_matrix* matrix, const xcpu_matrix* second,
                     void* data, const xcpu_team* team, Function function) {
  const std::int64_t columns = columns_of(packed);
  const std::int64_t panels = (columns + kPanelColumns - 1) / kPanelColumns;
  run_team(team, [&](std::int32_t index, std::int32_t count) {
    const Share share = share_of(panels, index, count);
    std::vector<float> values(static_cast<std::size_t>(packed.k));
    const std::int64_t end = std::min(columns, share.end * kPanelColumns);
    for (std::int64_t i = share.begin * kPanelColumns; i < end; ++i) {
      function(column_of(packed, matrix, second, i, data), values);
    }
  });
}

}  // namespace
}  // namespace xcpu

const char* xcpu_pack(const xcpu_packed* shape, const xcpu_matrix* matrix, const xcpu_matrix* second,
                      void* out, const xcpu_team* team) {
  const std::string fault = xcpu::fault_of_matrices(*shape, matrix, second);
  if (!fault.empty()) return xcpu::refuse(fault);
  xcpu::ask_for_huge_pages(out, xcpu_packed_bytes(shape));
  xcpu::for_each_column(*shape, matrix, second, out, team,
                        [&](const xcpu::Column& column, std::vector<float>& values) {
                          if (column.index == 0) xcpu::clear_rest(*shape, column);
                          xcpu::read_row(column, values);
                          xcpu::pack_column(*shape, column, values);
                        });
  return nullptr;
}

const char* xcpu_unpack(const xcpu_packed* packed, const xcpu_matrix* matrix, const xcpu_matrix* second,
                        const xcpu_team* team) {
  const std::string fault = xcpu::fault_of_matrices(*packed, matrix, second);
  if (!fault.empty()) return xcpu::refuse(fault);
  // Columns are read only.
  xcpu::for_each_column(*packed, matrix, second, const_cast<void*>(packed->data), team,
                        [&](const xcpu::Column& column, std::vector<float>& values) {
                          xcpu::unpack_column(*packed, column, values);
                          xcpu::write_row(column, values);
                        });
  return nullptr;
}
