#pragma once
// PyTorch's scaled dot product attention on the device and its gradient, without a mask of the caller's and
// without dropout. What is declined, torchplug composes.

#include <optional>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

// Whether a call is taken, before PyTorch decides how attention is carried out.
plug_status prepare_attention(const plug_call* call, void** state);

void fused_attention(plug::Call& call, plug::Tensor query, plug::Tensor key, plug::Tensor value,
                     std::optional<plug::Tensor> bias, double dropout, bool is_causal, bool debug_mask,
                     std::optional<double> scale, plug::Out out, plug::Out lse,
                     std::optional<plug::Out> q_starts, std::optional<plug::Out> k_starts,
                     plug::Returned<std::int64_t> max_q, plug::Returned<std::int64_t> max_k,
                     std::optional<plug::Out> seed, std::optional<plug::Out> offset,
                     std::optional<plug::Out> mask);

void fused_attention_backward(plug::Call& call, plug::Tensor grad, plug::Tensor query, plug::Tensor key,
                              plug::Tensor value, const plug_value& bias, plug::Bools wanted,
                              plug::Tensor out, plug::Tensor lse, const plug_value& q_starts,
                              const plug_value& k_starts, std::int64_t max_q, std::int64_t max_k,
                              double dropout, bool is_causal, const plug_value& seed,
                              const plug_value& offset, std::optional<double> scale,
                              std::optional<plug::Out> grad_query, std::optional<plug::Out> grad_key,
                              std::optional<plug::Out> grad_value, std::optional<plug::Out> grad_bias);

}  // namespace xcpu::plugin
