#include "aten/kernel/kernel_call.h"

#include <c10/util/strides.h>

#include <algorithm>

#include "aten/kernel/kernel_arguments.h"
#include "aten/kernel/recorded_kernel.h"
#include "aten/tensor/describe.h"
#include "aten/tensor/device_tensor.h"
#include "aten/tensor/strides.h"
#include "base/dtype.h"
#include "plugin/layers/serialize.h"
#include "plugin/team.h"
#include "runtime/capture.h"
#include "runtime/generator.h"
#include "runtime/submit.h"

namespace torchplug::aten {

plug_status KernelCall::run(std::span<const plug_value> arguments, uint64_t flags) {
  plug_call call{};
  call.size = sizeof call;
  call.device = unchecked_plugin_index(stream_.device());
  call.stream = stream_.handle();
  call.user = kernel_.user;
  call.args = arguments.data();
  call.results = results_.data();
  call.arg_count = static_cast<uint32_t>(arguments.size());
  call.result_count = static_cast<uint32_t>(results_.size());
  call.flags = flags;
  call.host_private = static_cast<CallServices*>(this);
  call.name = name_;
  if (C10_UNLIKELY(is_team_used())) note_threads();
  if (any_capture() && is_recorded(call)) return PLUG_OK;
  const Work work{.kind = Work::Kind::kKernel,
                  .stream = stream_,
                  .function = "kernel",
                  .name = name_,
                  .may_decline = true};
  return submit(work, [&](uint64_t number) {
    call.sequence = number;
    const auto lock = lock_calls(module_);
    return kernel_.fn(&call);
  });
}

bool KernelCall::is_recorded(const plug_call& call) {
  const auto capture = capture_of(stream_);
  if (capture == nullptr) return false;
  if (!emulates_capture(stream_.device())) return false;
  capture->note(name_);
  const auto is_open = [](const plug_value& result) { return result.tag != PLUG_VALUE_TENSOR; };
  if (std::any_of(results_.begin(), results_.end(), is_open)) {
    capture->refuse(std::string("Kernel ") + kernel_.schema +
                    " cannot be captured in a graph, since the shapes of its results are known only when it "
                    "runs. Run the operator outside of the capture.");
  }
  check(record_command(module_, call.device, call.stream,
                       std::make_unique<RecordedKernel>(module_, kernel_, stream_, call, generator_)),
        kernel_.schema, stream_.device());
  return true;
}

plug_status KernelCall::scratch(uint64_t bytes, plug_mem* mem) {
  if (bytes == 0) {
    *mem = {nullptr, 0, plugin_index(stream_.device()), 0};
    return PLUG_OK;
  }
  try {
    c10::DataPtr data = DeviceAllocator::instance().allocate_on(stream_, bytes);
    *mem = DeviceAllocator::instance().locate(data).memory();
    scratch_.push_back(std::move(data));
    return PLUG_OK;
  } catch (const c10::Error& error) {
    module_.host.set_error(&module_.host, error.what_without_backtrace());
    return PLUG_NO_MEMORY;
  }
}

plug_status KernelCall::output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                               const int64_t* strides) {
  const auto type = to_scalar_type(dtype);
  const bool is_plain = type && !c10::isQIntType(*type);
  if (index >= results_.size() || results_[index].tag != PLUG_NONE || !is_plain || ndim < 0) {
    module_.host.set_error(
        &module_.host,
        "host->output was called twice for a result, or with an unknown result index or dtype");
    return PLUG_INVALID;
  }
  try {
    const auto dimensions = static_cast<size_t>(ndim);
    const at::IntArrayRef shape(sizes, dimensions);
    const auto contiguous = c10::contiguous_strides(shape);
    shaped_.resize(results_.size());
    shaped_[index].tensor = empty_on(
        stream_, shape,
        strides == nullptr ? at::IntArrayRef(contiguous) : at::IntArrayRef(strides, dimensions), *type);
    shaped_[index].described = describe(shaped_[index].tensor);
    shaped_[index].described.flags |= PLUG_TENSOR_WRITTEN;
    results_[index] = tagged(PLUG_VALUE_TENSOR);
    results_[index].as.tensors = &shaped_[index].described;
    return PLUG_OK;
  } catch (const c10::Error& error) {
    module_.host.set_error(&module_.host, error.what_without_backtrace());
    return PLUG_NO_MEMORY;
  }
}

plug_status KernelCall::rng(uint64_t draws, plug_rng* rng) {
  const at::Generator& generator = generator_.defined() ? generator_ : default_generator(stream_.device());
  try {
    auto* philox = at::check_generator<PhiloxGenerator>(generator);
    if (const auto capture = capture_of(stream_)) {
      const CapturedDraw draw = capture->draw_for_kernel(philox->shared_state(), draws);
      rng->seed = draw.seed;
      rng->offset = draw.offset;
      rng->location = draw.for_kernels;
      return PLUG_OK;
    }
    const Draw draw = philox->draw(draws);
    rng->seed = draw.seed;
    rng->offset = draw.offset;
    return PLUG_OK;
  } catch (const c10::Error& error) {
    module_.host.set_error(&module_.host, error.what_without_backtrace());
    return PLUG_INVALID;
  }
}

}  // namespace torchplug::aten
