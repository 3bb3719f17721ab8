#pragma once
// A process group for tensors of the device: a backend of torch.distributed that lets gloo, on the host, do
// the communication, in stream order.
// Collectives run one after the other, in the order of the calls, on a stream that the group has for itself,
// as a communicator's do. Messages (send, receive) only start there; whoever waits for one waits on his own
// stream, so that no message waits behind another. gloo is used from one stream or thread at a time, since
// the ranks must agree on the order of its calls. Shared by PyTorch's ProcessGroup and whoever else holds it;
// any thread.

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "distributed/exchange.h"
#include "distributed/reduction.h"

namespace torchplug::distributed {

class ProcessGroup final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  static constexpr const char* kName = "torchplug";

  // `host` communicates between CPU tensors. Nobody else may use it.
  explicit ProcessGroup(c10::intrusive_ptr<c10d::Backend> host);
  ~ProcessGroup() override;

  const std::string getBackendName() const override { return kName; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return host_->getBackendOptions(); }
  void setTimeout(std::chrono::milliseconds timeout) override { host_->setTimeout(timeout); }
  c10d::ErrorType getError() override;

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  // Waits for its result, whose size only the ranks together know.
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

  WorkPtr send(Tensors& tensors, int destination, int tag) override;
  WorkPtr recv(Tensors& tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;

  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override;
  WorkPtr endCoalescing() override;

  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_; }

  // Waits for the collectives that have been started, and gives up the messages that nobody waited for.
  void shutdown() override;
  // Ends what has been started with an error; what gloo is in the middle of it leaves at its own timeout.
  void abort() override;

 private:
  using ExchangePtr = std::shared_ptr<Exchange>;
  using HostGroup = c10::intrusive_ptr<c10d::Backend>;

  // The streams of the group on one device.
  struct Lane {
    explicit Lane(DeviceIndex device) : collectives(device), messages(device) {}
    PrivateStream collectives;
    PrivateStream messages;
  };

  ExchangePtr prepare(const char* name, at::TensorList tensors);
  ExchangePtr prepare(const char* name, DeviceIndex device);
  WorkPtr launch(c10d::OpType type, const ExchangePtr& exchange, Tensors outputs);
  void start_in_order(bool is_message, Exchange& exchange);

  WorkPtr allreduce_all(c10d::OpType type, const char* name, const Tensors& tensors,
                        const c10d::AllreduceOptions& options);
  WorkPtr allgather_all(c10d::OpType type, const char* name, const std::vector<Tensors>& outputs,
                        const Tensors& inputs, const c10d::AllgatherOptions& options);
  WorkPtr reduce_scatter_all(c10d::OpType type, const char* name, const Tensors& outputs,
                             const std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options);
  WorkPtr receive(c10d::OpType type, const char* name, Tensors& tensors,
                  const std::function<WorkPtr(const HostGroup&, Tensors&)>& post);

  const Stream& lane_stream(DeviceIndex device, bool is_message);
  void remove_finished();
  void wait_for_lanes();
  void correct_default_type();

  HostGroup host_;
  std::once_flag default_type_checked_;

  std::mutex order_lock_;  // the order of the calls; guards what follows
  std::map<DeviceIndex, Lane> lanes_;
  std::deque<ExchangePtr> in_flight_;
  ExchangePtr last_collective_;
  std::optional<std::vector<WorkPtr>> coalesced_;
  std::atomic<uint64_t> sequence_{0};
  bool is_aborted_ = false;
};

}  // namespace torchplug::distributed
