#pragma once
// Rotary embedding of queries and keys [..., tokens, heads, head_dim].

#include <optional>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

// cos and sin: [positions, half of the elements that turn]. positions: of each token, or its place.
inline constexpr const char* kRotary =
    "xcpu::rotary(Tensor q, Tensor k, Tensor cos, Tensor sin, Tensor? positions=None, *, "
    "bool interleaved=False) -> (Tensor, Tensor)";
void rotary(plug::Call& call, plug::Tensor q, plug::Tensor k, plug::Tensor cos, plug::Tensor sin,
            std::optional<plug::Tensor> positions, bool interleaved, plug::Out q_out, plug::Out k_out);

// Turns back, which is the gradient of the above.
inline constexpr const char* kRotaryInverse =
    "xcpu::rotary_inverse(Tensor q, Tensor k, Tensor cos, Tensor sin, Tensor? positions=None, *, "
    "bool interleaved=False) -> (Tensor, Tensor)";
void rotary_inverse(plug::Call& call, plug::Tensor q, plug::Tensor k, plug::Tensor cos, plug::Tensor sin,
                    std::optional<plug::Tensor> positions, bool interleaved, plug::Out q_out,
                    plug::Out k_out);

}  // namespace xcpu::plugin
