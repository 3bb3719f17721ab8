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
#include "aten/own/shape_text.h"
#include "plugin/layers/serialize.h"
#include "plugin/team.h"
#include "runtime/sequence.h"

namespace torchplug::aten {
namespace {

std::atomic<bool> is_child{false};

// A plugin is not called in a process that was forked from one that has called it.
void refuse_fork(const char* name) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { is_child = true; });
  TORCH_CHECK(registered == 0, "pthread_atfork failed with ", registered, ".");
  TORCH_CHECK(!is_child.load(std::memory_order_relaxed), name,
              " cannot be called in a forked process. Start processes with the method 'spawn'.");
}

int32_t list_tag(const c10::TypePtr& list) {
  switch (list->containedType(0)->kind()) {
    case c10::TypeKind::FloatType: return PLUG_VALUE_FLOATS;
    case c10::TypeKind::BoolType: return PLUG_VALUE_BOOLS;
    default: return PLUG_VALUE_INTS;
  }
}

}  // namespace

HostCall::HostCall(const Module& module, const plug_kernel& kernel, const char* name, const char* schema,
                   const c10::FunctionSchema& types, std::span<const plug_value> arguments,
                   std::span<plug_value> results)
    : module_(module), kernel_(kernel), types_(types), results_(results) {
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
  refuse_fork(call_.name);
  void* state = nullptr;
  const auto lock = lock_calls(module_);
  take_plugin_error();
  check(kernel_.prepare(&call_, &state));
  return state;
}

void HostCall::run(void* state) {
  refuse_fork(call_.name);
  if (C10_UNLIKELY(is_team_used())) note_threads();
  call_.state = state;
  call_.sequence = runtime::next_sequence(call_.name);
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
  std::string said = take_plugin_error();
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
  const auto type = to_scalar_type(dtype);
  const bool is_plain = type && !c10::isQIntType(*type);
  const bool is_list =
      index < results_.size() && types_.returns()[index].type()->kind() == c10::TypeKind::ListType;
  const bool is_open =
      index < results_.size() && (results_[index].tag == PLUG_NONE || (is_list && index < shaped_.size()));
  if (!is_open || !is_plain || ndim < 0) {
    return refuse(PLUG_INVALID,
                  "host->output was called twice for a result, or with an unknown result index or dtype");
  }
  try {
    const auto dimensions = static_cast<size_t>(ndim);
    const at::IntArrayRef shape(sizes, dimensions);
    shaped_.resize(results_.size());
    shaped_[index].tensors.emplace_back(
        strides == nullptr ? at::detail::empty_cpu(shape, *type)
                           : at::detail::empty_strided_cpu(shape, {strides, dimensions}, *type));
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
  const c10::TypePtr& type = types_.returns()[index].type();
  if (type->kind() == c10::TypeKind::ListType && !aten::is_list_of_tensors(type)) {
    const at::Tensor& numbers = shaped.tensors.back();
    result = {};
    result.tag = list_tag(type);
    result.count = static_cast<uint32_t>(numbers.numel());
    result.as.ints = static_cast<const int64_t*>(numbers.const_data_ptr());
    return;
  }
  shaped.described.clear();
  for (const at::Tensor& tensor : shaped.tensors) {
    shaped.described.push_back(describe(tensor));
    shaped.described.back().flags |= PLUG_TENSOR_WRITTEN;
  }
  result = {};
  result.tag = type->kind() == c10::TypeKind::ListType ? PLUG_VALUE_TENSORS : PLUG_VALUE_TENSOR;
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
