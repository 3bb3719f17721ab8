#include "aten/own/host_call.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/strides.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "aten/kernel/call_flags.h"
#include "aten/kernel/plug_form.h"
#include "plugin/layers/serialize.h"
#include "plugin/sequence.h"
#include "plugin/team.h"

namespace torchplug::aten {
namespace {

std::atomic<bool> is_child{false};

// The plugin of a device is not called in a process that was forked from one that has called it, unless it
// says that it may be; one that has operators alone is, as PyTorch's CPU operators are.
void refuse_fork(const Module& module, const char* name) {
  if (!module.has_runtime || (module.flags & PLUG_FORKS) != 0) return;
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { is_child = true; });
  TORCH_CHECK(registered == 0, "pthread_atfork failed with ", registered, ".");
  TORCH_CHECK(!is_child.load(std::memory_order_relaxed), name, " of the device '", module.name,
              "' cannot be called in a forked process. Start processes with the method 'spawn'.");
}

}  // namespace

HostCall::HostCall(const Module& module, const plug_kernel& kernel, const char* name, const char* schema,
                   std::span<const ResultKind> kinds, std::span<const plug_value> arguments,
                   std::span<plug_value> results)
    : module_(module), kernel_(kernel), kinds_(kinds), results_(results) {
  call_.size = sizeof call_;
  call_.device = PLUG_HOST;
  call_.user = kernel.user;
  call_.args = arguments.data();
  call_.results = results.data();
  call_.arg_count = static_cast<uint32_t>(arguments.size());
  call_.result_count = static_cast<uint32_t>(results.size());
  call_.flags = call_flags(/*multiplies=*/true);
  call_.host_private = static_cast<CallServices*>(this);
  call_.name = name;
  call_.schema = schema;
}

void* HostCall::prepare() {
  refuse_fork(module_, call_.name);
  void* state = nullptr;
  const auto lock = lock_calls(module_);
  take_plugin_error();
  is_preparing_ = true;
  check(kernel_.prepare(&call_, &state));
  is_preparing_ = false;
  return state;
}

void HostCall::run(void* state) {
  refuse_fork(module_, call_.name);
  if (C10_UNLIKELY(is_team_used())) note_threads();
  call_.state = state;
  call_.sequence = next_sequence(call_.name);
  plug_status status = PLUG_OK;
  {
    const auto lock = lock_calls(module_);
    status = kernel_.fn(&call_);
  }
  const auto report = take_host_report(call_.sequence);
  if (C10_UNLIKELY(status != PLUG_OK)) check(status);
  if (C10_UNLIKELY(report.has_value())) {
    module_.host.set_error(&module_.host, report->message.c_str());
    check(report->status);
  }
}

void HostCall::check(plug_status status) const {
  if (C10_LIKELY(status == PLUG_OK)) return;
  std::string said = take_plugin_error_of(call_.sequence);
  if (said.empty())
    said = status == PLUG_UNSUPPORTED ? "its kernel does not take such a call" : "no reason given";
  const std::string message = std::string(call_.name) + " failed (" + status_name(status) + "): " + said;
  TORCH_CHECK_WITH(OutOfMemoryError, status != PLUG_NO_MEMORY, message);
  TORCH_CHECK(false, message);
}

plug_status HostCall::refuse(plug_status status, const char* why) const {
  module_.host.set_error(&module_.host, why);
  return status;
}

plug_status HostCall::scratch(uint64_t bytes, plug_mem* mem) {
  *mem = {nullptr, 0, PLUG_HOST, 0};
  if (bytes == 0) return PLUG_OK;
  try {
    scratch_.push_back(c10::GetCPUAllocator()->allocate(bytes));
    mem->base = scratch_.back().get();
    return PLUG_OK;
  } catch (const c10::Error& error) {
    return refuse(PLUG_NO_MEMORY, error.what_without_backtrace());
  }
}

plug_status HostCall::output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                             const int64_t* strides) {
  const bool is_begun = index < shaped_.size() && !shaped_[index].tensors.empty();
  const OutputRequest request{index, dtype, ndim, sizes, strides, is_preparing_, is_begun};
  if (const char* wrong = wrong_output(request, kinds_, results_)) return refuse(PLUG_INVALID, wrong);
  try {
    const auto dimensions = static_cast<size_t>(ndim);
    const at::IntArrayRef shape(sizes, dimensions);
    // wrong_output() has refused dtypes that PyTorch does not have.
    const at::ScalarType type = to_scalar_type(dtype).value_or(at::ScalarType::Undefined);
    shaped_.resize(results_.size());
    shaped_[index].tensors.emplace_back(
        strides == nullptr ? at::detail::empty_cpu(shape, type)
                           : at::detail::empty_strided_cpu(shape, {strides, dimensions}, type));
    show_result(index);
    return PLUG_OK;
  } catch (const c10::Error& error) {
    return refuse(PLUG_NO_MEMORY, error.what_without_backtrace());
  }
}

// What has been shaped so far, where the kernel looks for it.
void HostCall::show_result(uint32_t index) {
  Shaped& shaped = shaped_[index];
  plug_value& result = results_[index];
  if (is_numbers(kinds_[index])) {
    result = open_numbers(shaped.tensors.back());
    return;
  }
  shaped.described.clear();
  for (const at::Tensor& tensor : shaped.tensors) {
    shaped.described.push_back(describe(tensor));
    shaped.described.back().flags |= PLUG_TENSOR_WRITTEN;
  }
  result = {};
  result.tag = kinds_[index] == ResultKind::kTensors ? PLUG_VALUE_TENSORS : PLUG_VALUE_TENSOR;
  result.count = static_cast<uint32_t>(shaped.described.size());
  result.as.tensors = shaped.described.data();
}

// A seed from the CPU's generator: torch.manual_seed repeats what the kernel draws.
plug_status HostCall::rng(uint64_t /*draws*/, plug_rng* rng) {
  try {
    auto* generator = at::get_generator_or_default<at::CPUGeneratorImpl>(
        generator_.defined() ? std::optional(generator_) : std::nullopt,
        at::detail::getDefaultCPUGenerator());
    const std::lock_guard lock(generator->mutex_);
    rng->seed = generator->random64();
    rng->offset = 0;
    return PLUG_OK;
  } catch (const c10::Error& error) {
    return refuse(PLUG_INVALID, error.what_without_backtrace());
  }
}

}  // namespace torchplug::aten
