#pragma once
// What PyTorch holds of an operation of a process group.
// wait() makes the current stream wait, not the host, unless the device cannot be made to: then the host
// waits. A barrier, a wait with a limit, and the question where a message came from make the host wait
// anywhere. Owned by whoever called the operation; any thread.

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "distributed/exchange.h"

namespace torchplug::distributed {

class Work final : public c10d::Work {
 public:
  // `lane` is the stream on which the whole operation has been enqueued, if it has.
  Work(int rank, c10d::OpType type, uint64_t sequence, std::shared_ptr<Exchange> exchange,
       std::vector<at::Tensor> outputs, const std::optional<Stream>& lane);

  bool isCompleted() override { return exchange_->is_over(); }
  bool isSuccess() const override { return exchange_->failure() == nullptr; }
  std::exception_ptr exception() const override { return exchange_->failure(); }
  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override;
  void blockCurrentStream() override { synchronize(); }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override { exchange_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getSequencenumber() const override { return sequence_; }

 private:
  void host_wait(std::chrono::milliseconds timeout) const;

  const uint64_t sequence_;
  const std::shared_ptr<Exchange> exchange_;
  const std::vector<at::Tensor> outputs_;
  std::mutex future_lock_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// Several operations as one.
class WorkGroup final : public c10d::Work {
 public:
  WorkGroup(int rank, std::vector<c10::intrusive_ptr<c10d::Work>> works)
      : c10d::Work(rank, c10d::OpType::COALESCED), works_(std::move(works)) {}

  bool isCompleted() override;
  bool isSuccess() const override { return exception() == nullptr; }
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override;
  void synchronize() override;
  void blockCurrentStream() override { synchronize(); }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  const std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

}  // namespace torchplug::distributed
