#include "distributed/sparse_allreduce.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/operator_library.h"
#include "distributed/process_group.h"

namespace torchplug::distributed {
namespace {

using Result = std::tuple<std::vector<at::Tensor>, c10::intrusive_ptr<c10d::Work>>;

Result allreduce(at::TensorList tensors, const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                 const c10::intrusive_ptr<c10d::ReduceOp>& op,
                 const std::optional<at::Tensor>& /*sparse_indices*/, bool is_async, int64_t timeout) {
  c10d::AllreduceOptions options;
  options.reduceOp = *op;
  options.timeout = std::chrono::milliseconds(timeout);
  options.asyncOp = is_async;
  std::vector<at::Tensor> list = tensors.vec();
  auto work = group->getBackend(kDeviceType)->allreduce_sparse(list, options);
  return {std::move(list), std::move(work)};
}

}  // namespace

void register_sparse_allreduce() {
  operator_library("c10d", c10::DispatchKey::SparsePrivateUse1).impl("allreduce_", TORCH_FN(allreduce));
}

ProcessGroup::WorkPtr ProcessGroup::allreduce_sparse(Tensors& tensors,
                                                     const c10d::AllreduceOptions& options) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "all_reduce was given ", tensors.size(),
                    " sparse tensors. Give it one.");
  TORCH_CHECK_VALUE(options.reduceOp == c10d::ReduceOp::SUM,
                    "all_reduce of sparse tensors can only sum. Give it a dense tensor: tensor.to_dense().");
  at::Tensor& tensor = tensors.front();
  Tensors host{tensor.cpu()};
  const auto exchange = prepare("all_reduce", tensor.device().index());
  exchange->set_steps(
      [group = host_, host, options]() mutable { return Exchange::Works{group->allreduce(host, options)}; },
      {});
  WorkPtr work = launch(c10d::OpType::ALLREDUCE, exchange, tensors);
  work->synchronize();
  exchange->synchronize();
  if (const auto failed = exchange->failure()) std::rethrow_exception(failed);
  tensor.copy_(host.front());
  return work;
}

}  // namespace torchplug::distributed
