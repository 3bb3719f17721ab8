#pragma once
// The gradients of xcpu::attention: of q, k, v and sinks. The forward is computed once more.

#include <optional>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

// Those of them that are wanted. That of sinks that are absent is zeros.
inline constexpr const char* kAttentionBackward =
    "xcpu::attention_backward(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor? q_starts, "
    "Tensor? k_starts, bool causal, float? scale, int window, float softcap, Tensor? alibi, Tensor? sinks, "
    "bool[4] wanted) -> (Tensor, Tensor, Tensor, Tensor)";
void attention_backward(plug::Call& call, plug::Tensor grad, plug::Tensor q, plug::Tensor k, plug::Tensor v,
                        std::optional<plug::Tensor> q_starts, std::optional<plug::Tensor> k_starts,
                        bool causal, std::optional<double> scale, std::int64_t window, double softcap,
                        std::optional<plug::Tensor> alibi, std::optional<plug::Tensor> sinks,
                        plug::Bools wanted, std::optional<plug::Out> grad_q, std::optional<plug::Out> grad_k,
                        std::optional<plug::Out> grad_v, std::optional<plug::Out> grad_sinks);

}  // namespace xcpu::plugin
