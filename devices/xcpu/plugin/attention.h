#pragma once
// Attention of sequences of any lengths, whose keys and values are in memory or in a paged cache.

#include <optional>

#include "arguments.h"
#include "heads.h"
#include "torchplug/plug.hpp"

namespace xcpu::plugin {

// q, k, v: [..., tokens, heads, head_dim]. Without q_starts the tokens of dim -3 are a sequence; with them
// sequence i has tokens q_starts[i] to q_starts[i + 1] of q, and those of k_starts, or the same, of k and v.
inline constexpr const char* kAttention =
    "xcpu::attention(Tensor q, Tensor k, Tensor v, Tensor? q_starts=None, Tensor? k_starts=None, *, "
    "bool causal=True, float? scale=None, int window=0, float softcap=0.0, Tensor? alibi=None, "
    "Tensor? sinks=None) -> Tensor";
void attention(plug::Call& call, plug::Tensor q, plug::Tensor k, plug::Tensor v, OptionalTensor q_starts,
               OptionalTensor k_starts, bool causal, std::optional<double> scale, std::int64_t window,
               double softcap, OptionalTensor alibi, OptionalTensor sinks, plug::Out out);

// What such a call says, checked; `out` is not set.
xcpu_attention_args attention_args(const plug::Call& call, const plug::Tensor& q, const plug::Tensor& k,
                                   const plug::Tensor& v, const OptionalTensor& q_starts,
                                   const OptionalTensor& k_starts, bool causal, std::optional<double> scale,
                                   std::int64_t window, double softcap, const OptionalTensor& alibi,
                                   const OptionalTensor& sinks);

// What calls of it that look alike have in common, checked: all but addresses and scores.
struct PagedPlan {
  xcpu_paged_attention_args args;
  Heads q, out;
  std::int64_t scratch_bytes;
};

// q: [tokens, heads, head_dim], the last tokens of sequences of these lengths, whose pages block_table lists.
// Without q_starts each sequence has one.
inline constexpr const char* kPagedAttention =
    "xcpu::paged_attention(Tensor q, Tensor cache, Tensor lengths, Tensor block_table, "
    "Tensor? q_starts=None, *, bool causal=True, float? scale=None, int window=0, float softcap=0.0, "
    "Tensor? alibi=None, Tensor? sinks=None) -> Tensor";
PagedPlan plan_paged_attention(plug::Call& call, plug::Tensor q, plug::Tensor cache, plug::Tensor lengths,
                               plug::Tensor block_table, OptionalTensor q_starts, bool causal,
                               std::optional<double> scale, std::int64_t window, double softcap,
                               OptionalTensor alibi, OptionalTensor sinks, plug::Out out);
void paged_attention(plug::Call& call, const PagedPlan& plan, plug::Tensor q, plug::Tensor cache,
                     plug::Tensor lengths, plug::Tensor block_table, OptionalTensor q_starts, bool causal,
                     std::optional<double> scale, std::int64_t window, double softcap, OptionalTensor alibi,
                     OptionalTensor sinks, plug::Out out);

}  // namespace xcpu::plugin
