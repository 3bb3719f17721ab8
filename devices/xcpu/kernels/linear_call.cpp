#include "linear_call.h"

#include <algorithm>

#include "packed.h"

namespace xcpu {
namespace {

constexpr std::int64_t kLine = 64;

std::int64_t lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

LinearForm form_of(const xcpu_linear_args& args) {
  switch (args.weight.kind) {
    case XCPU_W_F32: return LinearForm::kF32;
    case XCPU_W_BF16: return LinearForm::kBf16;
    case XCPU_W_INT8: return LinearForm::kInt8;
    default: return args.precision == XCPU_INPUT_INT8 ? LinearForm::kInt4 : LinearForm::kInt4Bf16;
  }
}

std::int64_t scale_bytes_of(LinearForm form, const xcpu_linear_args& args) {
  switch (form) {
    case LinearForm::kInt8: return args.rows * 4;
    case LinearForm::kInt4: return args.rows * (args.weight.k / args.weight.group) * 8;
    default: return 0;
  }
}

std::string fault_of_rows(const xcpu_rows& rows, const std::string& name, std::int64_t count,
                          std::int64_t columns) {
  if (rows.dtype < XCPU_F32 || rows.dtype > XCPU_F16) {
    return name + ".dtype is " + std::to_string(rows.dtype) + "; dtypes are 0 to 2";
  }
  if (rows.stride < columns && count > 1) {
    return name + ".stride is " + std::to_string(rows.stride) + ", less than the " + std::to_string(columns) +
           " elements of a row";
  }
  return "";
}

// The largest number of threads along the panels for which every thread has work; the others share the rows.
struct Grid {
  std::int32_t along_panels, along_blocks;
};
Grid grid_of(std::int64_t panels, std::int64_t blocks, std::int32_t count) {
  Grid best{1, 1};
  std::int64_t least = panels * blocks;
  for (std::int32_t along_panels = count; along_panels >= 1; --along_panels) {
    const std::int32_t along_blocks = count / along_panels;
    const std::int64_t work =
        ((panels + along_panels - 1) / along_panels) * ((blocks + along_blocks - 1) / along_blocks);
    if (work >= least) continue;
    least = work;
    best = {along_panels, along_blocks};
  }
  return best;
}

}  // namespace

std::string fault_of_linear(const xcpu_linear_args& args, const std::string& name) {
  std::string fault = fault_of(args.weight, name + "weight");
  if (!fault.empty()) return fault;
  if (args.rows < 0) return name + "rows is " + std::to_string(args.rows) + "; it is 0 or more";
  if (args.activation < XCPU_IDENTITY || args.activation > XCPU_SILU) {
    return name + "activation is " + std::to_string(args.activation) + "; activations are 0 to 4";
  }
  if (args.precision < XCPU_INPUT_INT8 || args.precision > XCPU_INPUT_BF16) {
    return name + "precision is " + std::to_string(args.precision) + "; it is 0 or 1";
  }
  struct Given {
    const xcpu_rows& rows;
    const char* name;
    std::int64_t count, columns;
    bool is_needed;
  };
  const std::int64_t n = args.weight.n;
  const Given all[] = {{args.x, "x", args.rows, args.weight.k, true},
                       {args.bias, "bias", 1, columns_of(args.weight), false},
                       {args.mul, "mul", args.rows, n, false},
                       {args.residual, "residual", args.rows, n, false},
                       {args.out, "out", args.rows, n, true}};
  if (args.weight.data == nullptr) return name + "weight.data is NULL";
  for (const Given& given : all) {
    if (given.rows.data == nullptr) {
      if (given.is_needed && args.rows > 0) return name + given.name + ".data is NULL";
      continue;
    }
    fault = fault_of_rows(given.rows, name + given.name, given.count, given.columns);
    if (!fault.empty()) return fault;
  }
  return "";
}

LinearCall::LinearCall(const Kernels& kernels, const xcpu_linear_args& args) {
  const LinearForm form = form_of(args);
  kernels_ = &kernels.linear[static_cast<int>(form)];
  linear_ = {};
  linear_.rows = args.rows;
  linear_.k = args.weight.k;
  linear_.outputs = args.weight.n;
  linear_.columns = columns_of(args.weight);
  linear_.panels = (linear_.columns + kPanelColumns - 1) / kPanelColumns;
  linear_.column_bytes = column_bytes_of(args.weight);
  linear_.group = args.weight.group;
  linear_.is_pair = args.weight.pair != 0;
  linear_.activation = args.activation;
  linear_.weight = static_cast<const std::uint8_t*>(args.weight.data);
  linear_.x = args.x;
  linear_.bias = args.bias;
  linear_.mul = args.mul;
  linear_.residual = args.residual;
  linear_.out = args.out;
  is_prepared_ = args.rows == 1 && kernels_->reads == args.x.dtype && args.weight.k % kernels_->step == 0;
  input_bytes_ = is_prepared_ ? 0 : lines(args.rows * ((args.weight.k + 7) / 8) * kernels_->input_bytes_of_8);
  scale_bytes_ = lines(scale_bytes_of(form, args));
}

void LinearCall::place_scratch(void* scratch) {
  auto* begin = static_cast<std::uint8_t*>(scratch);
  linear_.prepared = begin;
  linear_.input = is_prepared_ ? linear_.x.data : begin;
  linear_.scales = reinterpret_cast<float*>(begin + input_bytes_);
}

LinearPart LinearCall::part_of(std::int32_t index, std::int32_t count) const {
  const std::int64_t blocks = (linear_.rows + kernels_->max_block - 1) / kernels_->max_block;
  const Grid grid = grid_of(linear_.panels, blocks, count);
  if (index >= grid.along_panels * grid.along_blocks) return {0, 0, 0, 0};
  const Share panels = share_of(linear_.panels, index % grid.along_panels, grid.along_panels);
  const Share rows = share_of(blocks, index / grid.along_panels, grid.along_blocks);
  return {rows.begin, rows.end, panels.begin, panels.end};
}

// Memory is not idle while threads wait: the beginning of what this one reads next comes to its cache.
void LinearCall::prefetch(const LinearPart& part) const {
  constexpr std::int64_t kAhead = 32 << 10;
  const std::int64_t panel_bytes = kPanelColumns * linear_.column_bytes;
  const std::int64_t begin = part.panel_begin * panel_bytes;
  const std::int64_t all = linear_.columns * linear_.column_bytes;
  const std::int64_t end = std::min({begin + kAhead, part.panel_end * panel_bytes, all});
  for (std::int64_t at = begin; at < end; at += kLine) __builtin_prefetch(linear_.weight + at, 0, 2);
}

void LinearCall::prepare(std::int32_t index, std::int32_t count, Barrier& barrier) const {
  const Share rows = share_of(linear_.rows, index, count);
  kernels_->prepare(linear_, rows.begin, rows.end);
  prefetch(part_of(index, count));
  barrier.wait(count);
}

void LinearCall::prepare_inputs(std::int32_t index, std::int32_t count, Barrier& barrier) const {
  if (linear_.rows != 0 && !is_prepared_) prepare(index, count, barrier);
}

void LinearCall::compute_panels(std::int64_t begin, std::int64_t end, const xcpu_rows& out) const {
  Linear part = linear_;
  const std::int64_t first = begin * kPanelColumns;
  part.weight += first * linear_.column_bytes;
  part.columns = part.outputs = std::min(linear_.columns - first, (end - begin) * kPanelColumns);
  part.panels = end - begin;
  if (part.bias.data != nullptr) {
    const std::int64_t element = part.bias.dtype == XCPU_F32 ? 4 : 2;
    part.bias.data = static_cast<std::uint8_t*>(part.bias.data) + first * element;
  }
  part.out = out;
  const std::int64_t blocks = (linear_.rows + kernels_->max_block - 1) / kernels_->max_block;
  kernels_->compute(part, {0, blocks, 0, part.panels});
}

void LinearCall::run(std::int32_t index, std::int32_t count, Barrier& barrier) const {
  if (linear_.rows == 0) return;
  if (!is_prepared_) prepare(index, count, barrier);
  const LinearPart part = part_of(index, count);
  if (part.panel_begin < part.panel_end) kernels_->compute(linear_, part);
}

}  // namespace xcpu
