#include "attention.h"

#include <limits>
#include <string>

#include "arguments.h"
#include "cache.h"
#include "heads.h"

namespace xcpu::plugin {
namespace {

// A number for each query head, or NULL.
const float* per_head(const plug::Call& call, const OptionalTensor& tensor, const char* name,
                      std::int64_t heads) {
  if (!tensor) return nullptr;
  expect_sizes(*tensor, name, {heads});
  return floats_of(call, *tensor, name);
}

// 0 stands for the usual scale there: with the least one all scores are equal too.
float scale_of(double scale) {
  return scale == 0 ? std::numeric_limits<float>::min() : static_cast<float>(scale);
}

xcpu_scores scores_of(const plug::Call& call, bool causal, std::optional<double> scale, std::int64_t window,
                      double softcap, const OptionalTensor& alibi, const OptionalTensor& sinks,
                      std::int64_t heads) {
  if (window < 0) refuse("window is " + std::to_string(window) + "; it is a number of tokens, or 0 for all");
  xcpu_scores scores{};
  scores.causal = causal ? 1 : 0;
  scores.scale = scale ? scale_of(*scale) : 0;
  scores.window = window;
  scores.softcap = static_cast<float>(softcap);
  scores.alibi = per_head(call, alibi, "alibi", heads);
  scores.sinks = per_head(call, sinks, "sinks", heads);
  return scores;
}

// Sequences of as many tokens each.
Starts even_starts(const plug::Call& call, std::int64_t sequences, std::int64_t length) {
  const plug::Scratch<std::int64_t> starts(call, sequences + 1);
  for (std::int64_t i = 0; i <= sequences; ++i) starts[i] = i * length;
  return {starts.data(), sequences};
}

Starts given_or_even(const plug::Call& call, const OptionalTensor& given, const char* name,
                     const plug::Tensor& of, std::int64_t tokens) {
  if (given) return starts_of(call, *given, name, tokens);
  const std::int64_t length = of.size(-3);
  std::int64_t sequences = 1;
  for (std::int32_t d = 0; d < of.ndim() - 3; ++d) sequences *= of.size(d);
  return even_starts(call, sequences, length);
}

std::int32_t head_count(const Heads& heads) { return static_cast<std::int32_t>(heads.count); }

void expect_groups(const plug::Tensor& q, const Heads& queries, std::int64_t kv_heads, const char* of) {
  if (kv_heads > 0 && queries.count % kv_heads == 0) return;
  refuse("q is " + look_of(q) + ", whose heads are no multiple of the " + std::to_string(kv_heads) + " of " +
         of);
}

}  // namespace

xcpu_attention_args attention_args(const plug::Call& call, const plug::Tensor& q, const plug::Tensor& k,
                                   const plug::Tensor& v, const OptionalTensor& q_starts,
                                   const OptionalTensor& k_starts, bool causal, std::optional<double> scale,
                                   std::int64_t window, double softcap, const OptionalTensor& alibi,
                                   const OptionalTensor& sinks) {
  const Heads queries = heads_of(call, q, "q"), keys = heads_of(call, k, "k"),
              values = heads_of(call, v, "v");
  if (keys.head_dim != queries.head_dim) {
    refuse("k is " + look_of(k) + "; it has the head_dim of q, " + look_of(q));
  }
  expect_sizes(v, "v", k.sizes());
  expect_groups(q, queries, keys.count, "k");
  const Starts first = given_or_even(call, q_starts, "q_starts", q, queries.tokens);
  // Without starts of their own keys have those of the queries.
  const Starts second = q_starts && !k_starts ? starts_of(call, *q_starts, "q_starts", keys.tokens)
                                              : given_or_even(call, k_starts, "k_starts", k, keys.tokens);
  if (first.sequences != second.sequences) {
    refuse("q has " + std::to_string(first.sequences) + " sequences, and k has " +
           std::to_string(second.sequences));
  }
  xcpu_attention_args args{};
  args.scores = scores_of(call, causal, scale, window, softcap, alibi, sinks, queries.count);
  args.sequences = first.sequences;
  args.q_starts = first.data;
  args.k_starts = second.data;
  args.q_heads = head_count(queries);
  args.kv_heads = head_count(keys);
  args.head_dim = static_cast<std::int32_t>(queries.head_dim);
  args.threads = most_threads();
  args.q = queries.heads;
  args.k = keys.heads;
  args.v = values.heads;
  return args;
}

void attention(plug::Call& call, plug::Tensor q, plug::Tensor k, plug::Tensor v, OptionalTensor q_starts,
               OptionalTensor k_starts, bool causal, std::optional<double> scale, std::int64_t window,
               double softcap, OptionalTensor alibi, OptionalTensor sinks, plug::Out out) {
  xcpu_attention_args args =
      attention_args(call, q, k, v, q_starts, k_starts, causal, scale, window, softcap, alibi, sinks);
  if (out.numel() == 0) return;
  args.out = heads_of(call, out, "q").heads;
  const plug::Scratch<char> scratch(call, xcpu_attention_scratch(&args));
  check(xcpu_attention(&args, scratch.data(), team()));
}

PagedPlan plan_paged_attention(plug::Call& /*call*/, plug::Tensor q, plug::Tensor cache, plug::Tensor lengths,
                               plug::Tensor block_table, OptionalTensor q_starts, bool /*causal*/,
                               std::optional<double> /*scale*/, std::int64_t /*window*/, double /*softcap*/,
                               OptionalTensor /*alibi*/, OptionalTensor /*sinks*/, plug::Out out) {
  PagedPlan plan{};
  xcpu_paged_attention_args& args = plan.args;
  plan.q = shape_of_heads(q, "q");
  plan.out = shape_of_heads(out, "q");
  args.cache = cache_of(cache, plan.q.head_dim);
  args.cache.data = nullptr;
  expect_groups(q, plan.q, args.cache.kv_heads, "cache");
  args.sequences = q_starts ? q_starts->numel() - 1 : plan.q.tokens;
  expect_sizes(lengths, "lengths", {args.sequences});
  expect_sizes(block_table, "block_table", {args.sequences, -1});
  args.block_table_stride = block_table.size(1);
  args.q_heads = head_count(plan.q);
  args.threads = most_threads();
  plan.scratch_bytes = xcpu_paged_attention_scratch(&args);
  return plan;
}

void paged_attention(plug::Call& call, const PagedPlan& plan, plug::Tensor q, plug::Tensor cache,
                     plug::Tensor lengths, plug::Tensor block_table, OptionalTensor q_starts, bool causal,
                     std::optional<double> scale, std::int64_t window, double softcap, OptionalTensor alibi,
                     OptionalTensor sinks, plug::Out out) {
  xcpu_paged_attention_args args = plan.args;
  args.q_starts = q_starts ? starts_of(call, *q_starts, "q_starts", plan.q.tokens).data
                           : even_starts(call, plan.q.tokens, 1).data;
  args.scores = scores_of(call, causal, scale, window, softcap, alibi, sinks, plan.q.count);
  args.cache.data = address_of(cache);
  args.lengths = integers_of(call, lengths, "lengths");
  args.block_table = integers_of(call, block_table, "block_table");
  // As far as a row of the table reaches, no further.
  const std::int64_t most = args.block_table_stride * args.cache.page_tokens;
  for (std::int64_t i = 0; i < args.sequences; ++i) {
    if (args.lengths[i] <= most) continue;
    refuse("lengths has " + std::to_string(args.lengths[i]) + ", and a row of block_table is of " +
           std::to_string(most) + " tokens");
  }
  if (out.numel() == 0) return;
  args.q = place_heads(call, q, plan.q);
  args.out = place_heads(call, out, plan.out);
  const plug::Scratch<char> scratch(call, plan.scratch_bytes);
  check(xcpu_paged_attention(&args, scratch.data(), team()));
}

}  // namespace xcpu::plugin
