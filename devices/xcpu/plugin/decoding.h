#pragma once
// What a step of decoding has beside attention: queries, keys and values at once, the last linear,
// embeddings.

#include <optional>
#include <string_view>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

// The product with the weight of queries, keys and values, one below the other. Queries, turned, are the
// result
// [..., q_heads, head_dim]; keys, turned, and values go to their slots in the cache.
inline constexpr const char* kQkv =
    "xcpu::qkv(Tensor x, Tensor weight, Tensor? bias, Tensor cos, Tensor sin, Tensor positions, "
    "Tensor(a!) cache, Tensor slots, int q_heads, *, bool interleaved=False, str precision=\"int8\") -> "
    "Tensor";
void qkv(plug::Call& call, plug::Tensor x, plug::Tensor weight, std::optional<plug::Tensor> bias,
         plug::Tensor cos, plug::Tensor sin, plug::Tensor positions, plug::Out cache, plug::Tensor slots,
         std::int64_t q_heads, bool interleaved, std::string_view precision, plug::Out q);

// The k largest outputs of a linear, in float32, and which they are, for each row of x.
inline constexpr const char* kTop =
    "xcpu::lm_head_topk(Tensor x, Tensor weight, int k, Tensor? bias=None, *, str precision=\"int8\") -> "
    "(Tensor, Tensor)";
void lm_head_topk(plug::Call& call, plug::Tensor x, plug::Tensor weight, std::int64_t k,
                  std::optional<plug::Tensor> bias, std::string_view precision, plug::Out values,
                  plug::Out indices);

// The same for some rows of x. They have a name, by which a program that is saved tells this from the above.
inline constexpr const char* kTopOfRows =
    "xcpu::lm_head_topk.rows(Tensor x, Tensor weight, int k, Tensor? bias=None, *, Tensor rows, "
    "str precision=\"int8\") -> (Tensor, Tensor)";
void lm_head_topk_of_rows(plug::Call& call, plug::Tensor x, plug::Tensor weight, std::int64_t k,
                          std::optional<plug::Tensor> bias, plug::Tensor rows, std::string_view precision,
                          plug::Out values, plug::Out indices);

// Row b of the result is the sum of rows indices[starts[b]] to indices[starts[b + 1] - 1] of the table.
inline constexpr const char* kEmbeddingBag =
    "xcpu::embedding_bag(Tensor table, Tensor indices, Tensor starts, Tensor? weights=None, *, "
    "bool mean=False, int padding=-1) -> Tensor";
void embedding_bag(plug::Call& call, plug::Tensor table, plug::Tensor indices, plug::Tensor starts,
                   std::optional<plug::Tensor> weights, bool mean, std::int64_t padding, plug::Out out);

}  // namespace xcpu::plugin
