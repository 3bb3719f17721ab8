#include "plugin/layers/validate_kernels.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "plugin/host.h"
#include "plugin/layers/validate_host_results.h"
#include "plugin/layers/validate_messages.h"

namespace torchplug::plugin::validation {
namespace {

// Calls visit(tensor) for every tensor among the values.
template <class Visitor>
void for_each_tensor(const plug_value* values, uint32_t count, Visitor visit) {
  for (uint32_t i = 0; i < count; ++i) {
    const plug_value& value = values[i];
    if (value.tag == PLUG_VALUE_TENSOR) {
      visit(value.as.tensors[0]);
    } else if (value.tag == PLUG_VALUE_TENSORS) {
      for (uint32_t n = 0; n < value.count; ++n) visit(value.as.tensors[n]);
    } else if (value.tag == PLUG_VALUE_LIST) {
      for_each_tensor(value.as.values, value.count, visit);
    }
  }
}

bool is_there(const plug_tensor& tensor) { return tensor.ndim >= 0 && tensor.layout == 0; }

bool has_elements(const plug_tensor& tensor) { return extent_of(tensor).bytes != 0; }

// Whether the elements follow each other without a gap in the order of the given dimensions, the last first.
bool is_dense(const plug_tensor& tensor, const std::vector<int32_t>& dimensions) {
  int64_t next = 1;
  for (const int32_t dimension : std::views::reverse(dimensions)) {
    if (tensor.sizes[dimension] == 1) continue;
    if (tensor.strides[dimension] != next) return false;
    next *= tensor.sizes[dimension];
  }
  return true;
}

bool is_contiguous(const plug_tensor& tensor, bool in_any_order) {
  std::vector<int32_t> dimensions;
  for (int32_t d = 0; d < tensor.ndim; ++d) {
    if (tensor.sizes[d] != 1) dimensions.push_back(d);
  }
  if (in_any_order) {
    std::stable_sort(dimensions.begin(), dimensions.end(),
                     [&](int32_t a, int32_t b) { return tensor.strides[a] > tensor.strides[b]; });
  }
  return !has_elements(tensor) || is_dense(tensor, dimensions);
}

// Where the elements lie; of tensors that interleave this says that they overlap.
bool may_overlap(const plug_tensor& a, const plug_tensor& b) {
  if (a.mem.base != b.mem.base || a.mem.device != b.mem.device) return false;
  const Extent first = extent_of(a);
  const Extent second = extent_of(b);
  if (first.bytes == 0 || second.bytes == 0) return false;
  const auto begin_a = static_cast<int64_t>(a.mem.offset) + first.first;
  const auto begin_b = static_cast<int64_t>(b.mem.offset) + second.first;
  return begin_a < begin_b + static_cast<int64_t>(second.bytes) &&
         begin_b < begin_a + static_cast<int64_t>(first.bytes);
}

bool has_same_shape(const plug_tensor& a, const plug_tensor& b) {
  return a.ndim == b.ndim && std::equal(a.sizes, a.sizes + a.ndim, b.sizes);
}

bool is_number(const plug_tensor& tensor) { return tensor.mem.device == PLUG_HOST && tensor.ndim == 0; }

bool takes_dtype(const plug_kernel& kernel, plug_dtype dtype) {
  const plug_dtype* end = kernel.dtypes + kernel.dtype_count;
  return kernel.dtypes == nullptr || std::find(kernel.dtypes, end, dtype) != end;
}

// What is wrong with an argument or result of a kernel in the call; null: nothing.
const char* unaccepted(const plug_tensor& tensor, const plug_kernel& kernel, const plug_call& call) {
  constexpr uint32_t kLazy = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG;
  if (!is_there(tensor) || !has_elements(tensor)) return nullptr;
  // What comes as it is may be anything.
  if (kernel.schema == nullptr) return nullptr;
  const uint64_t accepts = kernel.accepts;
  if (!takes_dtype(kernel, tensor.dtype)) return "has a dtype that is not among the kernel's";
  const bool is_converted =
      call.compute == 0 || (accepts & PLUG_ACCEPTS_MIXED) != 0 || tensor.dtype == call.compute;
  if (is_number(tensor) && !is_converted) return "is a number of another dtype than call->compute";
  if ((tensor.flags & kLazy) != 0 && (accepts & PLUG_ACCEPTS_LAZY_BITS) == 0) return "has a conj or neg bit";
  const bool is_host_call = call.device == PLUG_HOST;
  const bool may_be_host = is_host_call || ((accepts & PLUG_ACCEPTS_HOST_SCALAR) != 0 && tensor.ndim == 0);
  if (tensor.mem.device == PLUG_HOST && !may_be_host) return "is in host memory";
  if (tensor.mem.device != PLUG_HOST && is_host_call) return "is in memory of a device";
  if ((accepts & PLUG_ACCEPTS_STRIDED) != 0) return nullptr;
  return is_contiguous(tensor, (accepts & PLUG_ACCEPTS_DENSE) != 0) ? nullptr : "is not contiguous";
}

void check_accepted(const plug_kernel& kernel, const plug_call& call) {
  const char* wrong = nullptr;
  const auto check = [&](const plug_tensor& tensor) {
    if (wrong == nullptr) wrong = unaccepted(tensor, kernel, call);
  };
  for_each_tensor(call.args, call.arg_count, check);
  const bool is_allocated = (kernel.accepts & PLUG_SHAPES_OUTPUT) == 0;
  if (is_allocated) for_each_tensor(call.results, call.result_count, check);
  if (wrong == nullptr) return;
  violate(Rule::kKernelTensor, std::string(title_of(kernel, call)) + " was given a tensor that " + wrong +
                                   ", which it does not accept.");
}

std::vector<int32_t> tags_of(const plug_call& call) {
  std::vector<int32_t> tags;
  for (uint32_t i = 0; i < call.result_count; ++i) tags.push_back(call.results[i].tag);
  return tags;
}

// What the kernel has made of its results: a number is still one of its type, a tensor a tensor.
void check_results(const plug_kernel& kernel, const plug_call& call, const std::vector<int32_t>& before) {
  for (uint32_t i = 0; i < call.result_count; ++i) {
    const int32_t tag = call.results[i].tag;
    if (before[i] == PLUG_NONE || tag == before[i]) continue;
    violate(Rule::kKernelResult, std::string(title_of(kernel, call)) + " changed the tag of result " +
                                     std::to_string(i) + " from " + std::to_string(before[i]) + " to " +
                                     std::to_string(tag) + ".");
  }
}

bool is_unshaped(const plug_value& result) { return result.tag == PLUG_NONE; }

// `any` is given results that PyTorch cannot shape, all of them PLUG_NONE, for its `prepare` to shape.
void check_shaped(const plug_kernel& kernel, const plug_call& call) {
  if (kernel.schema != nullptr || (kernel.accepts & PLUG_SHAPES_OUTPUT) != 0 || call.result_count == 0)
    return;
  if (!std::all_of(call.results, call.results + call.result_count, is_unshaped)) return;
  violate(Rule::kKernelResult, "prepare of `any` returned PLUG_OK for " + std::string(call.name) +
                                   " and left result 0, which PyTorch cannot shape, without a shape. Call "
                                   "host->output, or return PLUG_UNSUPPORTED.");
}

// Of CPU tensors: no device, no stream, and nothing to wait for.
void check_host_call(const plug_kernel& kernel, const plug_call& call) {
  if (call.stream == nullptr && (kernel.accepts & PLUG_ACCEPTS_HOST) != 0) return;
  violate(Rule::kKernelTensor, std::string(title_of(kernel, call)) + " was given CPU tensors " +
                                   (call.stream != nullptr ? "and a stream." : "and does not accept them."));
}

void check_given(State& state, const plug_kernel& kernel, const plug_call& call) {
  const char* title = title_of(kernel, call);
  if (call.device == PLUG_HOST) {
    check_host_call(kernel, call);
  } else {
    state.check_device(title, call.device);
    state.order.check_stream(title, call.device, call.stream);
  }
  const auto check = [&](const plug_tensor& tensor) { check_tensor(state, title, tensor); };
  for_each_tensor(call.args, call.arg_count, check);
  for_each_tensor(call.results, call.result_count, check);
  check_accepted(kernel, call);
}

plug_status check_host_kernel(State& state, const plug_kernel& kernel, const plug_call& call) {
  check_given(state, kernel, call);
  state.kernel_states.check_call(title_of(kernel, call), call.state);
  take_plugin_error();
  GuardedResults results(call);
  const plug_status status = kernel.fn(&results.call());
  const std::string wrong = results.settle();
  if (!wrong.empty()) violate(Rule::kRedZone, std::string(kernel.schema) + " " + wrong + ".");
  return state.check_status(kernel.schema, status, /*is_query=*/false);
}

}  // namespace

void check_copy_strided(int32_t device, const plug_tensor& dst, const plug_tensor& src) {
  const char* wrong = nullptr;
  if (!has_same_shape(dst, src))
    wrong = "that differ in shape";
  else if (may_overlap(dst, src))
    wrong = "that overlap";
  else if (has_elements(dst) && (dst.mem.device != device || src.mem.device != device))
    wrong = "of another device";
  if (wrong == nullptr) return;
  violate(Rule::kCopyStrided, std::string("copy_strided was given tensors ") + wrong + ".");
}

void check_tensor(State& state, const char* function, const plug_tensor& tensor) {
  constexpr uint32_t kKnown = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG | PLUG_TENSOR_WRITTEN;
  if (tensor.ndim == -1) return;
  if ((tensor.flags & ~kKnown) != 0) {
    violate(Rule::kFlags,
            std::string(function) + " was given tensor flags " + std::to_string(tensor.flags) + ".");
  }
  if (tensor.layout != 0) return;
  const bool has_shape = tensor.ndim == 0 || (tensor.sizes != nullptr && tensor.strides != nullptr);
  if (tensor.ndim < -1 || !has_shape) {
    violate(Rule::kTensor, std::string(function) + " was given a tensor of " + std::to_string(tensor.ndim) +
                               " dimensions without their sizes.");
    return;
  }
  const Extent extent = extent_of(tensor);
  if (extent.bytes != 0 && tensor.mem.base == nullptr) {
    violate(Rule::kTensor, std::string(function) + " was given a tensor that has elements and no memory.");
    return;
  }
  state.memory.check_use(function, tensor.mem, extent);
}

plug_status check_prepare(State& state, const plug_kernel& kernel, const plug_call& call, void** kept) {
  check_given(state, kernel, call);
  take_plugin_error();
  const std::vector<int32_t> before = tags_of(call);
  const plug_status status = kernel.prepare(&call, kept);
  if (status == PLUG_OK) {
    check_results(kernel, call, before);
    check_shaped(kernel, call);
    if (*kept != nullptr) state.kernel_states.add(*kept);
  }
  return state.check_status("prepare", status, /*is_query=*/false);
}

plug_status check_kernel(State& state, const plug_kernel& kernel, const plug_call& call,
                         const EngineKernel& engine) {
  if (call.device == PLUG_HOST) return check_host_kernel(state, kernel, call);
  check_given(state, kernel, call);
  if (engine.engine != nullptr) state.engines.check_live(engine.function, call.device, engine.engine);
  state.kernel_states.check_call(title_of(kernel, call), call.state);
  const Order::Place place = state.order.enqueue(call.device, call.stream);
  if (state.below.has<&plug_runtime::stream_create>()) {  // else it is over when it returns
    state.kernel_states.note_use(call.state, place);
    if (engine.engine != nullptr) state.engines.note_use(engine.engine, place);
  }
  const auto use = [&](const plug_tensor& tensor) { state.memory.note_use(tensor.mem, place); };
  for_each_tensor(call.args, call.arg_count, use);
  take_plugin_error();
  const std::vector<int32_t> before = tags_of(call);
  const plug_status status = kernel.fn(&call);
  // Only now are all results there: some kernels shape theirs.
  for_each_tensor(call.results, call.result_count, use);
  if (status == PLUG_OK) check_results(kernel, call, before);
  return state.check_status(title_of(kernel, call), status, /*is_query=*/false);
}

}  // namespace torchplug::plugin::validation
