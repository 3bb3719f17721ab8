#pragma once
// A reduction in the terms of what gloo computes: its own operator, and what has to be done to the numbers
// of each rank before and to the result after. A value.

#include <torch/csrc/distributed/c10d/Types.hpp>

#include <optional>

#include "base/namespaces.h"

namespace torchplug::distributed {

class Reduction {
 public:
  // Throws one sentence if gloo cannot do it with this dtype.
  Reduction(const c10d::ReduceOp& op, at::ScalarType dtype, int group_size);

  // What gloo is asked for.
  c10d::ReduceOp op() const { return op_; }
  // In place, on the CPU.
  void before(const at::Tensor& numbers) const;
  void after(const at::Tensor& numbers) const;

 private:
  c10d::ReduceOp::RedOpType op_;
  std::optional<double> factor_;
  std::optional<int> divisor_;
};

}  // namespace torchplug::distributed
