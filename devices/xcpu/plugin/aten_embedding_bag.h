#pragma once
// PyTorch's embedding bags on the device: sums and means of rows of a table. Gradients are the CPU's.

#include <optional>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

// aten::_embedding_bag and aten::_embedding_bag_forward_only. Beside the bags they give, for the gradient,
// the bag of each index and how many indices a mean is of.
void aten_embedding_bag(plug::Call& call, plug::Tensor weight, plug::Tensor indices, plug::Tensor offsets,
                        bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                        std::optional<plug::Tensor> per_sample_weights, bool include_last_offset,
                        std::int64_t padding_idx, plug::Out result, plug::Out offset2bag, plug::Out bag_size,
                        plug::Out max_indices);

}  // namespace xcpu::plugin
