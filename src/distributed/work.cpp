#include "distributed/work.h"

#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <thread>

namespace torchplug::distributed {
namespace {

using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;

// A future that is complete; whoever takes its value makes his stream wait for the current ones. Without
// streams the value is there, and the future of no device: one of a device asks it for streams.
FuturePtr make_future(const std::vector<at::Tensor>& outputs) {
  std::vector<c10::Device> devices;
  for (const at::Tensor& output : outputs) {
    if (has_streams(output.device().index())) devices.push_back(output.device());
  }
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                         std::move(devices));
  future->markCompleted(c10::IValue(outputs));
  return future;
}

}  // namespace

Work::Work(int rank, c10d::OpType type, uint64_t sequence, std::shared_ptr<Exchange> exchange,
           std::vector<at::Tensor> outputs, const std::optional<Stream>& lane)
    : c10d::Work(rank, type),
      sequence_(sequence),
      exchange_(std::move(exchange)),
      outputs_(std::move(outputs)) {
  // Now: later the stream would have later operations too.
  if (!lane || outputs_.empty()) return;
  const c10::StreamGuard on_lane(lane->unwrap());
  future_ = make_future(outputs_);
}

void Work::synchronize() {
  if (!exchange_->can_run_in_order()) {
    exchange_->finish_now();
  } else {
    exchange_->finish_on(Stream::current(exchange_->device()));
  }
  c10d::Work::synchronize();
}

bool Work::wait(std::chrono::milliseconds timeout) {
  synchronize();
  if (timeout != kNoTimeout || opType_ == c10d::OpType::BARRIER) host_wait(timeout);
  if (const auto failed = exchange_->failure()) std::rethrow_exception(failed);
  return true;
}

void Work::host_wait(std::chrono::milliseconds timeout) const {
  if (timeout == kNoTimeout) {
    exchange_->synchronize();
    return;
  }
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!exchange_->is_over()) {
    TORCH_CHECK_WITH(DistBackendError, std::chrono::steady_clock::now() < end, exchange_->name(),
                     " has not finished after ", timeout.count(), " ms.");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

int Work::sourceRank() const {
  if (exchange_->is_finishing()) exchange_->synchronize();
  return exchange_->source_rank();
}

FuturePtr Work::getFuture() {
  std::lock_guard lock(future_lock_);
  if (future_ == nullptr) {
    wait();
    future_ = make_future(outputs_);
  }
  return future_;
}

bool WorkGroup::isCompleted() {
  return std::all_of(works_.begin(), works_.end(), [](const auto& work) { return work->isCompleted(); });
}

std::exception_ptr WorkGroup::exception() const {
  for (const auto& work : works_) {
    if (auto failed = work->exception()) return failed;
  }
  return nullptr;
}

std::vector<at::Tensor> WorkGroup::result() {
  std::vector<at::Tensor> all;
  for (const auto& work : works_) {
    const auto outputs = work->result();
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return all;
}

void WorkGroup::synchronize() {
  for (const auto& work : works_) work->synchronize();
}

bool WorkGroup::wait(std::chrono::milliseconds timeout) {
  for (const auto& work : works_) work->wait(timeout);
  return true;
}

void WorkGroup::abort() {
  for (const auto& work : works_) work->abort();
}

FuturePtr WorkGroup::getFuture() {
  synchronize();
  return make_future(result());
}

}  // namespace torchplug::distributed
