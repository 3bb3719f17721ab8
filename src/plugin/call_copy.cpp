#include "plugin/call_copy.h"

#include <cstring>

namespace torchplug::plugin {

CallCopy::CallCopy(const plug_call& call) : call_(call) {
  call_.args = keep_values(call.args, call.arg_count);
  call_.results = keep_values(call.results, call.result_count);
  call_.host_private = nullptr;
}

plug_call CallCopy::call() { return call_; }

template <class T>
T* CallCopy::keep(const T* items, size_t count) {
  if (items == nullptr || count == 0) return nullptr;
  room_.push_back(std::make_unique<std::byte[]>(count * sizeof(T)));
  std::memcpy(room_.back().get(), items, count * sizeof(T));
  return reinterpret_cast<T*>(room_.back().get());
}

plug_value* CallCopy::keep_values(const plug_value* values, size_t count) {
  plug_value* kept = keep(values, count);
  for (size_t i = 0; i < count && kept != nullptr; ++i) keep_contents(kept[i]);
  return kept;
}

void CallCopy::keep_contents(plug_value& value) {
  switch (value.tag) {
    case PLUG_VALUE_COMPLEX: value.as.floats = keep(value.as.floats, 2); break;
    case PLUG_VALUE_STR: value.as.str = keep(value.as.str, value.count); break;
    case PLUG_VALUE_INTS: value.as.ints = keep(value.as.ints, value.count); break;
    case PLUG_VALUE_FLOATS: value.as.floats = keep(value.as.floats, value.count); break;
    case PLUG_VALUE_BOOLS: value.as.bools = keep(value.as.bools, value.count); break;
    case PLUG_VALUE_LIST: value.as.values = keep_values(value.as.values, value.count); break;
    case PLUG_VALUE_TENSOR:
    case PLUG_VALUE_TENSORS: {
      const size_t count = value.tag == PLUG_VALUE_TENSOR ? 1 : value.count;
      plug_tensor* tensors = keep(value.as.tensors, count);
      for (size_t i = 0; i < count && tensors != nullptr; ++i) keep_contents(tensors[i]);
      value.as.tensors = tensors;
      break;
    }
    default: break;  // in the value itself
  }
}

void CallCopy::keep_contents(plug_tensor& tensor) {
  if (tensor.ndim < 0) return;
  const auto dimensions = static_cast<size_t>(tensor.ndim);
  tensor.sizes = keep(tensor.sizes, dimensions);
  tensor.strides = keep(tensor.strides, dimensions);
  if (tensor.mem.device != PLUG_HOST || tensor.mem.base == nullptr) return;
  const char* number = static_cast<const char*>(tensor.mem.base) + tensor.mem.offset;
  tensor.mem.base = const_cast<char*>(keep(number, PLUG_DTYPE_BYTES(tensor.dtype)));
  tensor.mem.offset = 0;
}

}  // namespace torchplug::plugin
