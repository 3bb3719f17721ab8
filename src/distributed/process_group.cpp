#include "distributed/process_group.h"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/immortal.h"
#include "distributed/sparse_allreduce.h"
#include "distributed/work.h"
#include "runtime/capture.h"
#include "runtime/failure.h"

namespace torchplug::distributed {
namespace {

// Groups that live, so that none holds up the end of the process by waiting for other ranks.
struct ActiveGroups {
  std::mutex lock;
  std::set<ProcessGroup*> groups;
};

ActiveGroups& active_groups() {
  static auto& instance = *immortal<ActiveGroups>();
  return instance;
}

void abort_all() {
  std::lock_guard lock(active_groups().lock);
  for (ProcessGroup* group : active_groups().groups) group->abort();
}

// What is kept to the end of the process. gloo's threads cannot be called back from a wait for other ranks:
// its destructor would wait for them, and they may write to what was in flight.
struct Unfinished {
  std::mutex lock;
  std::vector<c10::intrusive_ptr<c10d::Backend>> hosts;
  std::vector<std::shared_ptr<Exchange>> exchanges;
};

Unfinished& unfinished() {
  static auto& instance = *immortal<Unfinished>();
  return instance;
}

void check_tensor(const char* name, const at::Tensor& tensor, const at::Device& device) {
  const std::string kind = device_type_name();
  TORCH_CHECK_VALUE(tensor.device().type() == kDeviceType, name, " of backend '", ProcessGroup::kName,
                    "' was given a tensor on ", tensor.device(), ". Give it tensors on ", kind,
                    ", or add a backend: init_process_group('cpu:gloo,", kind, ":", ProcessGroup::kName,
                    "').");
  TORCH_CHECK_VALUE(tensor.device() == device, name, " was given tensors on ", device, " and on ",
                    tensor.device(), ". Give it tensors on one device.");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, name, " was given a tensor of layout ", tensor.layout(),
                    ". Give it a dense one.");
}

// A device that is lost answers nothing, and this is asked where nobody could catch it.
bool is_known_to_be_over(const Exchange& exchange) noexcept {
  try {
    return exchange.is_over();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

ProcessGroup::ProcessGroup(c10::intrusive_ptr<c10d::Backend> host)
    : c10d::Backend(host->getRank(), host->getSize()), host_(std::move(host)) {
  static std::once_flag is_registered;
  std::call_once(is_registered, register_sparse_allreduce);
  std::lock_guard lock(active_groups().lock);
  active_groups().groups.insert(this);
}

// Does not wait for other ranks.
ProcessGroup::~ProcessGroup() {
  {
    std::lock_guard lock(active_groups().lock);
    active_groups().groups.erase(this);
  }
  abort();
}

ProcessGroup::ExchangePtr ProcessGroup::prepare(const char* name, at::TensorList tensors) {
  std::call_once(default_type_checked_, [this] { correct_default_type(); });
  TORCH_CHECK_VALUE(!tensors.empty(), name, " was given no tensor.");
  for (const at::Tensor& tensor : tensors) check_tensor(name, tensor, tensors.front().device());
  return prepare(name, tensors.front().device().index());
}

ProcessGroup::ExchangePtr ProcessGroup::prepare(const char* name, DeviceIndex device) {
  const std::string text = std::string(name) + " " + std::to_string(sequence_ + 1) + " on rank " +
                           std::to_string(rank_) + " of " + std::to_string(size_);
  return std::make_shared<Exchange>(device, text);
}

// A group made without a backend string is said to have gloo by default, whatever it has (PyTorch 2.11 to
// 2.13); DistributedDataParallel believes it.
void ProcessGroup::correct_default_type() {
  using Type = c10d::ProcessGroup::BackendType;
  if (getGroupUid().empty()) return;
  try {
    const auto group = c10d::resolve_process_group(getGroupUid());
    const auto devices = group->getDeviceTypes();
    const bool has_gloo = std::any_of(devices.begin(), devices.end(),
                                      [](const c10::Device& device) { return device.is_cpu(); });
    if (group->getBackendType() == Type::GLOO && !has_gloo) group->setDefaultBackend(Type::CUSTOM);
  } catch (const c10::Error&) {
    // A group that nobody registered is nobody's default.
    return;
  }
}

ProcessGroup::WorkPtr ProcessGroup::launch(c10d::OpType type, const ExchangePtr& exchange, Tensors outputs) {
  std::lock_guard lock(order_lock_);
  TORCH_CHECK_WITH(DistBackendError, !is_aborted_, exchange->name(),
                   " cannot start: the process group was aborted. Make a new one.");
  refuse_in_capture(Stream::current(exchange->device()), "A collective",
                    "Capture what comes before it and what comes after it as graphs of their own.");
  remove_finished();
  ++sequence_;
  const bool is_message = c10d::isP2POp(type);
  in_flight_.push_back(exchange);
  std::optional<Stream> lane;
  if (exchange->can_run_in_order()) {
    start_in_order(is_message, *exchange);
    if (!is_message) {
      lane = lane_stream(exchange->device(), is_message);
      last_collective_ = exchange;
    }
  } else {
    wait_for_lanes();
    exchange->start_now();
  }
  WorkPtr work = c10::make_intrusive<Work>(rank_, type, sequence_, exchange, std::move(outputs), lane);
  if (coalesced_) coalesced_->push_back(work);
  return work;
}

void ProcessGroup::start_in_order(bool is_message, Exchange& exchange) {
  const Stream& stream = lane_stream(exchange.device(), is_message);
  if (is_message) {
    exchange.start_on(stream);
    return;
  }
  // Behind one on another device too.
  if (last_collective_ != nullptr && last_collective_->device() != exchange.device()) {
    last_collective_->make_wait(stream);
  }
  exchange.start_on(stream);
  exchange.finish_on(stream);
}

const Stream& ProcessGroup::lane_stream(DeviceIndex device, bool is_message) {
  static const int registered = std::atexit(abort_all);
  TORCH_CHECK(registered == 0, "atexit failed with ", registered, ".");
  const Lane& lane = lanes_.try_emplace(device, device).first->second;
  return is_message ? lane.messages.get() : lane.collectives.get();
}

void ProcessGroup::remove_finished() {
  std::erase_if(in_flight_, [](const ExchangePtr& exchange) { return is_known_to_be_over(*exchange); });
}

void ProcessGroup::wait_for_lanes() {
  for (const auto& [device, lane] : lanes_) {
    lane.collectives.get().synchronize();
    lane.messages.get().synchronize();
  }
}

void ProcessGroup::startCoalescing() {
  std::lock_guard lock(order_lock_);
  coalesced_.emplace();
}

ProcessGroup::WorkPtr ProcessGroup::endCoalescing() {
  std::lock_guard lock(order_lock_);
  TORCH_CHECK(coalesced_, "endCoalescing was called without startCoalescing.");
  WorkPtr all = c10::make_intrusive<WorkGroup>(rank_, std::move(*coalesced_));
  coalesced_.reset();
  return all;
}

ProcessGroup::WorkPtr ProcessGroup::barrier(const c10d::BarrierOptions& options) {
  std::call_once(default_type_checked_, [this] { correct_default_type(); });
  const DeviceIndex device =
      options.device_ids.empty()
          ? bound_device_id_.value_or(at::Device(kDeviceType, current_device())).index()
          : static_cast<DeviceIndex>(options.device_ids.front());
  const auto exchange = prepare("barrier", device);
  exchange->set_steps([host = host_, options] { return Exchange::Works{host->barrier(options)}; }, {});
  return launch(c10d::OpType::BARRIER, exchange, {});
}

void ProcessGroup::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  std::lock_guard lock(order_lock_);
  wait_for_lanes();
  host_->monitoredBarrier(options, wait_all_ranks);
}

c10d::ErrorType ProcessGroup::getError() {
  std::lock_guard lock(order_lock_);
  const auto failed = [](const ExchangePtr& exchange) { return exchange->failure() != nullptr; };
  const bool has_failed = std::any_of(in_flight_.begin(), in_flight_.end(), failed);
  return has_failed ? c10d::ErrorType::COMM_ERROR : c10d::ErrorType::SUCCESS;
}

void ProcessGroup::shutdown() {
  std::lock_guard lock(order_lock_);
  if (is_aborted_) return;
  for (const ExchangePtr& exchange : in_flight_) {
    if (!exchange->is_finishing()) {
      exchange->abort();
      continue;
    }
    try {
      exchange->synchronize();
    } catch (...) {
      // For the next synchronisation of the device, or the end of the process.
      record_failure(exchange->device(), std::current_exception());
    }
  }
  remove_finished();
}

void ProcessGroup::abort() {
  std::lock_guard lock(order_lock_);
  if (std::exchange(is_aborted_, true)) return;
  if (!is_forked()) remove_finished();
  if (in_flight_.empty()) return;
  std::lock_guard keeping(unfinished().lock);
  for (const ExchangePtr& exchange : in_flight_) {
    exchange->abort();
    unfinished().exchanges.push_back(exchange);
  }
  unfinished().hosts.push_back(host_);
  in_flight_.clear();
}

}  // namespace torchplug::distributed
