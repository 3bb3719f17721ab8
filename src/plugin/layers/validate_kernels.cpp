#include "plugin/layers/validate_kernels.h"

#include <string>

#include "plugin/host.h"
#include "plugin/layers/validate_messages.h"
#include "plugin/layers/validate_state.h"

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

}  // namespace

void check_tensor(const char* function, const plug_tensor& tensor) {
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
  memory().check_use(function, tensor.mem, extent);
}

plug_status check_kernel(const plug_kernel& kernel, const plug_call& call) {
  check_device(kernel.schema, call.device);
  order().check_stream(kernel.schema, call.device, call.stream);
  const auto check = [&](const plug_tensor& tensor) { check_tensor(kernel.schema, tensor); };
  for_each_tensor(call.args, call.arg_count, check);
  for_each_tensor(call.results, call.result_count, check);
  const Order::Place place = order().enqueue(call.device, call.stream);
  const auto use = [&](const plug_tensor& tensor) { memory().note_use(tensor.mem, place); };
  for_each_tensor(call.args, call.arg_count, use);
  take_plugin_error();
  const plug_status status = kernel.fn(&call);
  // Only now are all results there: some kernels shape theirs.
  for_each_tensor(call.results, call.result_count, use);
  return check_status(kernel.schema, status, /*is_query=*/false);
}

}  // namespace torchplug::plugin::validation
