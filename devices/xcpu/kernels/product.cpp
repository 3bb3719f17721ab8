// xcpu_product: checks, scratch, one region of the team. Where both matrices are contiguous along their rows,
// dot products; otherwise panels of the weight are packed one by one, each by the thread that multiplies it,
// and meet the tiles of linear while they are in its cache.

#include <algorithm>
#include <limits>
#include <string>

#include "check.h"
#include "error.h"
#include "kernels.h"
#include "team.h"

namespace xcpu {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kAlone = 1 << 17;  // products for which a team costs more than it gains
constexpr std::int64_t kBytesOfPanels = 256 << 10;
constexpr std::int64_t kPanelsTogether = 4;

std::int64_t parts_of(std::int64_t all, std::int64_t part) { return (all + part - 1) / part; }
std::int64_t lines(std::int64_t bytes) { return parts_of(bytes, kLine) * kLine; }
std::int64_t bytes_of(xcpu_dtype dtype) { return dtype == XCPU_F32 ? 4 : 2; }

bool is_along_rows(const xcpu_matrix& matrix, std::int64_t columns) {
  return matrix.column_stride == 1 || columns == 1;
}
bool is_along_columns(const xcpu_matrix& matrix, std::int64_t rows) {
  return matrix.row_stride == 1 || rows == 1;
}

std::string fault_of_matrix(const xcpu_matrix& matrix, const std::string& name, bool is_contiguous) {
  if (matrix.data == nullptr) return name + ".data is NULL";
  if (matrix.dtype < XCPU_F32 || matrix.dtype > XCPU_F16) {
    return name + ".dtype is " + std::to_string(matrix.dtype) + "; dtypes are 0 to 2";
  }
  if (is_contiguous) return "";
  return name + " has the strides " + std::to_string(matrix.row_stride) + " and " +
         std::to_string(matrix.column_stride) + "; one of them is 1";
}

bool is_dots(const xcpu_product_args& args) {
  constexpr std::int64_t kFew = 16;
  return args.rows <= kFew && is_along_rows(args.x, args.k) && is_along_rows(args.weight, args.k);
}

std::string fault_of_product(const xcpu_product_args& args) {
  std::string fault = fault_of_numbers({{args.batches, "batches", 0, kMost},
                                        {args.rows, "rows", 0, kMost},
                                        {args.n, "n", 1, kMost},
                                        {args.k, "k", 1, kMost},
                                        {args.threads, "threads", 1, kMost}});
  if (!fault.empty() || args.batches == 0 || args.rows == 0) return fault;
  const bool is_x_contiguous = is_along_rows(args.x, args.k) || is_along_columns(args.x, args.rows);
  const bool is_weight_contiguous =
      is_along_rows(args.weight, args.k) || is_along_columns(args.weight, args.n);
  return first_of(
      {fault_of_matrix(args.x, "x", is_x_contiguous),
       fault_of_matrix(args.weight, "weight", is_weight_contiguous),
       fault_of_rows({{args.bias, "bias", 1, args.n}, {args.out, "out", args.rows, args.n, Need::kNeeded}})});
}

// Calls function(batch, part, parts) for all parts of all batches: as few of each as give every thread one.
template <class Function>
void share_batches(std::int64_t batches, std::int64_t most_parts, std::int32_t index, std::int32_t count,
                   Function function) {
  const std::int64_t parts = std::min(most_parts, parts_of(count, batches));
  const Share units = share_of(batches * parts, index, count);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) function(unit / parts, unit % parts, parts);
}

void run_dots(const Kernels& kernels, const xcpu_product_args& args, const xcpu_team* team) {
  constexpr std::int64_t kColumns = 16, kRows = 16;
  const bool is_wide = args.n >= args.rows;
  const std::int64_t steps = is_wide ? parts_of(args.n, kColumns) : parts_of(args.rows, kRows);
  run_team(team, [&](std::int32_t index, std::int32_t count) {
    share_batches(
        args.batches, steps, index, count, [&](std::int64_t batch, std::int64_t part, std::int64_t parts) {
          const Share share = share_of(steps, part, parts);
          if (is_wide) {
            kernels.product->dots(
                args, {batch, share.begin * kColumns, std::min(args.n, share.end * kColumns)}, 0, args.rows);
          } else {
            kernels.product->dots(args, {batch, 0, args.n}, share.begin * kRows,
                                  std::min(args.rows, share.end * kRows));
          }
        });
  });
}

// A product by tiles, its parts placed in scratch.
class Tiled {
 public:
  Tiled(const Kernels& kernels, const xcpu_product_args& args)
      : kernels_(kernels),
        args_(args),
        form_(args.x.dtype == XCPU_BF16 && args.weight.dtype == XCPU_BF16 ? LinearForm::kBf16
                                                                          : LinearForm::kF32),
        linear_kernels_(kernels.linear[static_cast<int>(form_)]),
        blocks_(parts_of(args.rows, linear_kernels_.max_block)),
        column_bytes_(parts_of(args.k, linear_kernels_.step) * 4),
        columns_(
            std::clamp(kBytesOfPanels / (column_bytes_ * kPanelColumns), std::int64_t{1}, kPanelsTogether) *
            kPanelColumns),
        input_bytes_(lines(args.rows * parts_of(args.k, 8) * linear_kernels_.input_bytes_of_8)),
        packed_bytes_(lines(columns_ * column_bytes_)) {}

  std::int64_t scratch_bytes() const { return args_.batches * input_bytes_ + args_.threads * packed_bytes_; }

  void run(void* scratch, const xcpu_team* team) const {
    auto* const begin = static_cast<std::uint8_t*>(scratch);
    Barrier barrier;
    run_team(team, [&](std::int32_t index, std::int32_t all) {
      const std::int32_t count = std::min(all, args_.threads);
      if (index >= count) return;
      share_batches(args_.batches, blocks_, index, count,
                    [&](std::int64_t batch, std::int64_t part, std::int64_t parts) {
                      prepare(batch, share_of(blocks_, part, parts), begin + batch * input_bytes_);
                    });
      barrier.wait(count);
      compute(index, count, begin);
    });
  }

 private:
  xcpu_matrix x_of(std::int64_t batch) const {
    xcpu_matrix x = args_.x;
    x.data = static_cast<std::uint8_t*>(x.data) + batch * args_.x_batch_stride * bytes_of(x.dtype);
    return x;
  }

  void prepare(std::int64_t batch, const Share& blocks, void* prepared) const {
    const xcpu_matrix x = x_of(batch);
    if (is_along_rows(x, args_.k)) {
      Linear linear{};
      linear.rows = args_.rows;
      linear.k = args_.k;
      linear.x = {x.data, x.dtype, x.row_stride};
      linear.prepared = prepared;
      linear_kernels_.prepare(linear, args_.rows * blocks.begin / blocks_, args_.rows * blocks.end / blocks_);
    } else {
      kernels_.product->prepare({x, args_.rows, args_.k, linear_kernels_.max_block, prepared}, form_,
                                blocks.begin, blocks.end);
    }
  }

  // Units are chunks of columns; where these are fewer than threads, of some blocks of rows.
  void compute(std::int32_t index, std::int32_t count, std::uint8_t* scratch) const {
    const std::int64_t chunks = parts_of(args_.n, columns_);
    const std::int64_t groups = std::min(blocks_, parts_of(count, args_.batches * chunks));
    const Share units = share_of(args_.batches * chunks * groups, index, count);
    std::uint8_t* const packed = scratch + args_.batches * input_bytes_ + index * packed_bytes_;
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t batch = unit / groups / chunks;
      const std::int64_t first = unit / groups % chunks * columns_;
      const ProductColumns columns{batch, first, std::min(args_.n, first + columns_)};
      kernels_.product->pack(args_, form_, columns, packed);
      multiply(columns, share_of(blocks_, unit % groups, groups), packed, scratch + batch * input_bytes_);
    }
  }

  void multiply(const ProductColumns& columns, const Share& blocks, const std::uint8_t* packed,
                const void* prepared) const {
    Linear linear{};
    linear.rows = args_.rows;
    linear.k = args_.k;
    linear.outputs = linear.columns = columns.end - columns.begin;
    linear.panels = parts_of(linear.columns, kPanelColumns);
    linear.column_bytes = column_bytes_;
    linear.activation = XCPU_IDENTITY;
    linear.weight = packed;
    linear.input = prepared;
    linear.bias = moved(args_.bias, columns.begin);
    linear.out = moved(args_.out, columns.batch * args_.out_batch_stride + columns.begin);
    linear_kernels_.compute(linear, {blocks.begin, blocks.end, 0, linear.panels});
  }

  static xcpu_rows moved(xcpu_rows rows, std::int64_t elements) {
    if (rows.data != nullptr) {
      rows.data = static_cast<std::uint8_t*>(rows.data) + elements * bytes_of(rows.dtype);
    }
    return rows;
  }

  const Kernels& kernels_;
  const xcpu_product_args& args_;
  LinearForm form_;
  const LinearKernels& linear_kernels_;
  std::int64_t blocks_;
  std::int64_t column_bytes_;
  std::int64_t columns_;  // that are packed together
  std::int64_t input_bytes_;
  std::int64_t packed_bytes_;
};

}  // namespace
}  // namespace xcpu

int64_t xcpu_product_scratch(const xcpu_product_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr || !xcpu::fault_of_product(*args).empty() || xcpu::is_dots(*args)) return 0;
  return xcpu::Tiled(*kernels, *args).scratch_bytes();
}

const char* xcpu_product(const xcpu_product_args* args, void* scratch, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_product(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  if (args->batches == 0 || args->rows == 0) return nullptr;
  const double products = static_cast<double>(args->batches) * static_cast<double>(args->rows) *
                          static_cast<double>(args->n) * static_cast<double>(args->k);
  const xcpu_team* used = products < xcpu::kAlone ? nullptr : team;
  if (xcpu::is_dots(*args)) {
    xcpu::run_dots(*kernels, *args, used);
  } else {
    xcpu::Tiled(*kernels, *args).run(scratch, used);
  }
  return nullptr;
}
