#include "aten/kernel/kernel_call.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
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

plug_call KernelCall::make_call(std::span<const plug_value> arguments, uint64_t flags) {
  plug_call call{};
  call.size = sizeof call;
  call.device = unchecked_plugin_index(stream_.device());
  call.stream = stream_.handle();
  call.user = target_.kernel.user;
  call.args = arguments.data();
  call.results = results_.data();
  call.arg_count = static_cast<uint32_t>(arguments.size());
  call.result_count = static_cast<uint32_t>(results_.size());
  call.flags = flags;
  call.host_private = static_cast<CallServices*>(this);
  call.name = target_.name;
  call.schema = target_.schema;
  call.compute = alike_.compute;
  return call;
}

plug_status KernelCall::run(std::span<const plug_value> arguments, uint64_t flags) {
  plug_call call = make_call(arguments, flags);
  if (C10_UNLIKELY(alike_.state != nullptr)) call.state = alike_.state->get();
  if (C10_UNLIKELY(is_team_used())) note_threads();
  if (any_capture() && is_recorded(call)) return PLUG_OK;
  if (C10_UNLIKELY(alike_.state != nullptr)) alike_.state->note_use(stream_);
  const Work work{.kind = Work::Kind::kKernel,
                  .stream = stream_,
                  .function = "kernel",
                  .name = target_.name,
                  .may_decline = target_.may_decline};
  return submit(work, [&](uint64_t number) {
    call.sequence = sequence_ = number;
    const auto lock = lock_calls(target_.module);
    return target_.kernel.fn(&call);
  });
}

plug_status KernelCall::prepare(std::span<const plug_value> arguments, uint64_t flags, void** state) {
  if (is_capturing(stream_)) flags |= PLUG_CALL_CAPTURED;
  const plug_call call = make_call(arguments, flags);
  is_preparing_ = true;
  const auto lock = lock_calls(target_.module);
  return target_.kernel.prepare(&call, state);
}

bool KernelCall::is_recorded(plug_call& call) {
  const auto capture = capture_of(stream_);
  if (capture == nullptr) return false;
  call.flags |= PLUG_CALL_CAPTURED;
  if (!emulates_capture(stream_.device())) {
    // The plugin's own capture: what replays use of the state lives as long as the graph.
    if (alike_.state != nullptr) capture->hold(alike_.state);
    return false;
  }
  capture->note(target_.name);
  // What is PLUG_NONE is not wanted, unless the kernel shapes its results.
  const bool shapes_results = (target_.kernel.accepts & PLUG_SHAPES_OUTPUT) != 0;
  const auto is_open = [&](const plug_value& result) {
    if (result.tag == PLUG_NONE) return shapes_results;
    return result.tag != PLUG_VALUE_TENSOR && result.tag != PLUG_VALUE_TENSORS;
  };
  if (std::any_of(results_.begin(), results_.end(), is_open)) {
    capture->refuse(std::string("Kernel ") + target_.title() +
                    " cannot be captured in a graph, since its results, or their shapes, are known only when "
                    "it runs. Run the operator outside of the capture.");
  }
  auto recorded = std::make_unique<RecordedKernel>(target_, alike_.state, stream_, call, generator_);
  const uint64_t draws = alike_.draws.load(std::memory_order_relaxed);
  if (draws != 0 || generator_.defined()) {
    const auto state = at::check_generator<PhiloxGenerator>(generator())->shared_state();
    recorded->set_draw(capture->draw_for_recorded_kernel(state, draws), draws);
  }
  check(record_command(target_.module, call.device, call.stream, std::move(recorded)), target_.title(),
        stream_.device());
  return true;
}

const at::Generator& KernelCall::generator() const {
  return generator_.defined() ? generator_ : default_generator(stream_.device());
}

plug_status KernelCall::fail(plug_status status, const char* sentence) const {
  target_.module.host.set_error(&target_.module.host, sentence);
  return status;
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
    return fail(PLUG_NO_MEMORY, error.what_without_backtrace());
  }
}

plug_status KernelCall::output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                               const int64_t* strides) {
  const bool is_begun = index < shaped_.size() && !shaped_[index].tensors.empty();
  const OutputRequest request{index, dtype, ndim, sizes, strides, is_preparing_, is_begun};
  if (const char* wrong = wrong_output(request, target_.results, results_)) return fail(PLUG_INVALID, wrong);
  try {
    const auto dimensions = static_cast<size_t>(ndim);
    const at::IntArrayRef shape(sizes, dimensions);
    const auto contiguous = c10::contiguous_strides(shape);
    // wrong_output() has refused dtypes that PyTorch does not have.
    const at::ScalarType type = to_scalar_type(dtype).value_or(at::ScalarType::Undefined);
    shaped_.resize(results_.size());
    if (is_numbers(target_.results[index])) {
      add_numbers(index, type, sizes[0]);
    } else {
      add_tensor(index, type, shape,
                 strides == nullptr ? at::IntArrayRef(contiguous) : at::IntArrayRef(strides, dimensions));
    }
    return PLUG_OK;
  } catch (const c10::Error& error) {
    return fail(PLUG_NO_MEMORY, error.what_without_backtrace());
  }
}

// In prepare() a tensor without memory: only its looks are wanted.
void KernelCall::add_tensor(uint32_t index, at::ScalarType type, at::IntArrayRef sizes,
                            at::IntArrayRef strides) {
  Shaped& shaped = shaped_[index];
  shaped.tensors.push_back(is_preparing_
                               ? at::empty_strided(sizes, strides, at::TensorOptions(at::kMeta).dtype(type))
                               : empty_on(stream_, sizes, strides, type));
  plug_tensor described{};
  if (is_preparing_) {
    const at::Tensor& tensor = shaped.tensors.back();
    described.mem.device = unchecked_plugin_index(stream_.device());
    described.dtype = to_plug_dtype(type).value_or(0);
    described.ndim = static_cast<int32_t>(tensor.dim());
    described.sizes = tensor.sizes().data();
    described.strides = tensor.strides().data();
  } else {
    described = describe(shaped.tensors.back());
  }
  described.flags |= PLUG_TENSOR_WRITTEN;
  shaped.described.push_back(described);
  const bool is_list = target_.results[index] == ResultKind::kTensors;
  results_[index] = tagged(is_list ? PLUG_VALUE_TENSORS : PLUG_VALUE_TENSOR);
  results_[index].count = static_cast<uint32_t>(shaped.described.size());
  results_[index].as.tensors = shaped.described.data();
}

// In host memory, which a CPU tensor owns.
void KernelCall::add_numbers(uint32_t index, at::ScalarType type, int64_t count) {
  Shaped& shaped = shaped_[index];
  shaped.tensors.push_back(at::zeros({count}, at::TensorOptions(at::kCPU).dtype(type)));
  results_[index] = open_numbers(shaped.tensors.back());
}

plug_status KernelCall::rng(uint64_t draws, plug_rng* rng) {
  if (is_preparing_) return fail(PLUG_INVALID, "host->rng was called in prepare, which draws nothing");
  const uint64_t before = drawn_;
  drawn_ += rounded_draws(draws);
  if (set_aside_count_ != 0 && drawn_ <= set_aside_count_) {
    rng->seed = set_aside_->at_replay->seed;
    rng->offset = set_aside_->at_replay->offset + set_aside_->offset + before;
    return PLUG_OK;
  }
  alike_.draws.store(drawn_, std::memory_order_relaxed);
  try {
    auto* philox = at::check_generator<PhiloxGenerator>(generator());
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
    return fail(PLUG_INVALID, error.what_without_backtrace());
  }
}

}  // namespace torchplug::aten
