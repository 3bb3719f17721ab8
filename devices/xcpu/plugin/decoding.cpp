#include "decoding.h"

#include <algorithm>
#include <string>

#include "arguments.h"
#include "cache.h"
#include "heads.h"
#include "linear.h"

namespace xcpu::plugin {
namespace {

std::int32_t fitting(std::int64_t value, const char* name, std::int64_t most) {
  if (value < 1 || value > most) {
    refuse(std::string(name) + " is " + std::to_string(value) + "; it is 1 to " + std::to_string(most));
  }
  return static_cast<std::int32_t>(value);
}

xcpu_rotary rotary_of(const plug::Call& call, const plug::Tensor& cos, const plug::Tensor& sin,
                      const std::int64_t* positions, bool interleaved, std::int64_t head_dim) {
  expect_table(cos, sin, head_dim);
  xcpu_rotary rotary{};
  rotary.form = interleaved ? XCPU_ROTARY_INTERLEAVED : XCPU_ROTARY_HALVES;
  rotary.rotary_dim = static_cast<std::int32_t>(2 * cos.size(1));
  rotary.table_rows = cos.size(0);
  rotary.cos = rows_of(call, cos, "cos").rows;
  rotary.sin = rows_of(call, sin, "sin").rows;
  rotary.positions = positions;
  return rotary;
}

const std::int64_t* rows_within(const plug::Call& call, const plug::Tensor& rows, std::int64_t count) {
  const std::int64_t* found = integers_of(call, rows, "rows");
  for (std::int64_t i = 0; i < rows.numel(); ++i) {
    if (found[i] >= 0 && found[i] < count) continue;
    refuse("rows has " + std::to_string(found[i]) + ", and x has " + std::to_string(count) + " rows");
  }
  return found;
}

// `rows`: those of x that are asked for, or NULL for all.
void top(const plug::Call& call, const plug::Tensor& x, const plug::Tensor& weight, std::int64_t k,
         const plug::Tensor* rows, const std::optional<plug::Tensor>& bias, std::string_view precision,
         const plug::Out& values, const plug::Out& indices) {
  const xcpu_packed packed = packed_of(weight, "weight");
  if (packed.pair != 0) refuse("weight is a pair; it is a weight of xcpu::pack");
  xcpu_top_args args{};
  args.linear = linear_args(call, x, packed, bias, "none", precision);
  args.linear.out.dtype = XCPU_F32;
  args.k = fitting(k, "k", packed.n);
  args.x_rows = args.linear.rows;
  if (rows != nullptr) {
    if (rows->ndim() != 1) refuse("rows has the sizes " + text_of(rows->sizes()) + "; it has one dimension");
    args.take = rows_within(call, *rows, args.x_rows);
    args.linear.rows = rows->numel();
  }
  if (args.linear.rows == 0) return;
  args.threads = most_threads();
  args.values = values.data<float>();
  args.indices = indices.data<std::int64_t>();
  const plug::Scratch<char> scratch(call, xcpu_top_scratch(&args));
  check(xcpu_top(&args, scratch.data(), team()));
}

}  // namespace

void qkv(plug::Call& call, plug::Tensor x, plug::Tensor weight, std::optional<plug::Tensor> bias,
         plug::Tensor cos, plug::Tensor sin, plug::Tensor positions, plug::Out cache, plug::Tensor slots,
         std::int64_t q_heads, bool interleaved, std::string_view precision, plug::Out q) {
  const xcpu_packed packed = packed_of(weight, "weight");
  if (packed.pair != 0) refuse("weight is a pair; it is a weight of xcpu::pack");
  xcpu_qkv_args args{};
  args.linear = linear_args(call, x, packed, bias, "none", precision);
  args.linear.out.dtype = XCPU_F32;
  args.q_heads = fitting(q_heads, "q_heads", packed.n);
  const std::int64_t head_dim = q.size(-1);
  args.cache = cache_of(cache, head_dim);
  if (head_dim * (q_heads + 2 * std::int64_t{args.cache.kv_heads}) != packed.n) {
    refuse("weight has " + std::to_string(packed.n) + " outputs, which are no queries of " +
           std::to_string(q_heads) + " heads with keys and values of " + std::to_string(args.cache.kv_heads));
  }
  const plug::Ints leading(x.sizes().data(), x.ndim() - 1);
  expect_sizes(positions, "positions", leading);
  if (slots.numel() != args.linear.rows) {
    refuse("slots is " + look_of(slots) + ", and x has " + std::to_string(args.linear.rows) + " tokens");
  }
  args.slots = integers_of(call, slots, "slots");
  args.rotary = rotary_of(call, cos, sin, integers_of(call, positions, "positions"), interleaved, head_dim);
  if (args.linear.rows == 0) return;
  args.q = {plug_address(&q.raw().mem), dtype_of(q, "x"), q_heads * head_dim, head_dim};
  const plug::Scratch<char> scratch(call, xcpu_qkv_scratch(&args));
  check(xcpu_qkv(&args, scratch.data(), team()));
}

void lm_head_topk(plug::Call& call, plug::Tensor x, plug::Tensor weight, std::int64_t k,
                  std::optional<plug::Tensor> bias, std::string_view precision, plug::Out values,
                  plug::Out indices) {
  top(call, x, weight, k, nullptr, bias, precision, values, indices);
}

void lm_head_topk_of_rows(plug::Call& call, plug::Tensor x, plug::Tensor weight, std::int64_t k,
                          std::optional<plug::Tensor> bias, plug::Tensor rows, std::string_view precision,
                          plug::Out values, plug::Out indices) {
  top(call, x, weight, k, &rows, bias, precision, values, indices);
}

void embedding_bag(plug::Call& call, plug::Tensor table, plug::Tensor indices, plug::Tensor starts,
                   std::optional<plug::Tensor> weights, bool mean, std::int64_t padding, plug::Out out) {
  if (table.ndim() != 2) refuse("table is " + look_of(table) + "; it is a matrix, with a row for each index");
  if (indices.ndim() != 1) refuse("indices is " + look_of(indices) + "; it has one dimension");
  if (mean && weights) refuse("weights are given, and a mean has none");
  const Starts begins = starts_of(call, starts, "starts", indices.numel());
  xcpu_bag_args args{};
  args.mean = mean ? 1 : 0;
  args.bags = begins.sequences;
  args.columns = table.size(1);
  args.table_rows = table.size(0);
  args.table = rows_of(call, table, "table").rows;
  args.indices = integers_of(call, indices, "indices");
  args.starts = begins.data;
  if (weights) {
    expect_sizes(*weights, "weights", indices.sizes());
    args.weights = floats_of(call, *weights, "weights");
  }
  args.padding = padding;
  args.out = rows_of(call, out, "table").rows;
  if (out.numel() > 0) check(xcpu_embedding_bag(&args, team()));
}

}  // namespace xcpu::plugin
