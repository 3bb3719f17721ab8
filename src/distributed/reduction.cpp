#include "distributed/reduction.h"

#include <array>

namespace torchplug::distributed {
namespace {

using Op = c10d::ReduceOp::RedOpType;

const char* name_of(Op op) {
  static constexpr std::array kNames{"SUM",  "AVG", "PRODUCT", "MIN",        "MAX",
                                     "BAND", "BOR", "BXOR",    "PREMUL_SUM", "UNUSED"};
  return kNames.at(static_cast<size_t>(op));
}

bool is_bitwise(Op op) { return op == Op::BAND || op == Op::BOR || op == Op::BXOR; }
bool is_linear(Op op) { return op == Op::SUM || op == Op::AVG || op == Op::PREMUL_SUM; }

bool has_kernel(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
    case at::kDouble:
    case at::kHalf:
    case at::kBFloat16:
    case at::kChar:
    case at::kByte:
    case at::kBool:
    case at::kInt:
    case at::kLong:
    case at::kComplexFloat:
    case at::kComplexDouble: return true;
    default: return false;
  }
}

bool can_reduce(Op op, at::ScalarType dtype) {
  if (!has_kernel(dtype) || op == Op::UNUSED) return false;
  if (at::isComplexType(dtype)) return is_linear(op);
  if (at::isFloatingType(dtype)) return !is_bitwise(op);
  return op != Op::AVG && op != Op::PREMUL_SUM;
}

// Of bytes that are 0 or 1, and stay so.
Op of_booleans(Op op) {
  switch (op) {
    case Op::SUM:
    case Op::BOR: return Op::MAX;
    case Op::PRODUCT:
    case Op::BAND: return Op::MIN;
    default: return op;
  }
}

double factor_of(const c10d::ReduceOp& op) {
  // The name that PyTorch 2.11 has too.
  const auto* premul = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK(premul != nullptr, "ReduceOp.PREMUL_SUM was given without its factor.");
  return premul->tensor_factor.defined() ? premul->tensor_factor.item<double>() : premul->double_factor;
}

}  // namespace

Reduction::Reduction(const c10d::ReduceOp& op, at::ScalarType dtype, int group_size) : op_(op.op_) {
  TORCH_CHECK_TYPE(can_reduce(op_, dtype), "gloo does not support ReduceOp.", name_of(op_), " for ", dtype,
                   ". Convert the tensor first, for example to float32 or int64.");
  if (dtype == at::kBool) op_ = of_booleans(op_);
  if (op_ == Op::PREMUL_SUM) factor_ = factor_of(op);
  if (op_ == Op::AVG) divisor_ = group_size;
  if (is_linear(op_)) op_ = Op::SUM;
}

void Reduction::before(const at::Tensor& numbers) const {
  if (factor_) numbers.mul_(*factor_);
}

void Reduction::after(const at::Tensor& numbers) const {
  if (divisor_) numbers.div_(*divisor_);
}

}  // namespace torchplug::distributed
