#pragma once
// What the outputs of an operator would look like, found out without computing them.

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>

#include <optional>
#include <vector>

#include "aten/plan/operator_facts.h"
#include "aten/tensor/arguments.h"
#include "aten/tensor/device_tensor.h"
#include "runtime/stream.h"

namespace torchplug::aten {

struct OutputShape {
  bool is_tensor = true;  // false: a number, or an undefined tensor
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  size_t bytes = 0;                                // of a storage that holds it
  c10::intrusive_ptr<DeviceTensorImpl> prototype;  // of tensors of this shape

  // Whether a tensor has these sizes and strides.
  bool looks_like(const c10::TensorImpl& tensor) const {
    return tensor.sizes() == sizes && tensor.strides() == strides;
  }

  static OutputShape of(const at::Tensor& tensor);
  static OutputShape none();
};

// A tensor without data that looks the same, on PyTorch's device `meta`.
at::Tensor to_meta(const at::Tensor& tensor);

// An uninitialised device tensor of the shape, with memory from the given stream.
inline at::Tensor empty_on(const Stream& stream, const OutputShape& shape) {
  return empty_on(stream, *shape.prototype, shape.bytes);
}

// PyTorch's own C++ shape functions, which the CPU's kernels use too: no Python, half a microsecond. An
// operator with facts.is_structured is called with kShapeKey in a ShapingScope: throws what it throws for
// such arguments, else returns outputs on the device that nobody has filled, or, in place, its argument as it
// was.
inline constexpr c10::DispatchKeySet kShapeKey{c10::DispatchKey::PrivateUse2};

class ShapingScope {
 public:
  ShapingScope();
  ~ShapingScope();
  ShapingScope(const ShapingScope&) = delete;
  ShapingScope& operator=(const ShapingScope&) = delete;

 private:
  // Nobody called the operators that tell a shape: a profile shows each operator once.
  std::optional<at::DisableRecordFunctionGuard> unseen_;
  bool before_;
};

// What the shape function of a structured operator gives for boxed arguments, in a ShapingScope of its own.
torch::jit::Stack shape_structured(const OperatorFacts& facts, Arguments arguments);

// What the results of a call look like: one OutputShape for each tensor, several for a list of tensors, and
// one that is no tensor for anything else.
struct CallShape {
  std::vector<OutputShape> outputs;
  std::vector<size_t> counts;  // by result: how many of them are its
};

// By the shape function of a structured operator, else by the meta kernel, else by running the CPU's kernel
// on copies of the arguments. Slow: for a plan, once. What the operator writes is left as it is.
CallShape shape_any(const OperatorFacts& facts, Arguments arguments, const Stream& stream);
// The same without running anything; nothing if PyTorch cannot tell so. Throws what PyTorch refuses.
std::optional<CallShape> shape_without_running(const OperatorFacts& facts, Arguments arguments);

// The strides of a new output of PyTorch's loop over the elements of such tensors, as the CPU's pointwise
// kernels have it. Its meta kernels in Python differ where the tensors have unlike strides.
std::vector<int64_t> iterated_strides(Arguments arguments);

// Whether the calling thread is inside a ShapingScope: an operator asked to fill outputs leaves them as they
// are.
bool is_shaping();

}  // namespace torchplug::aten
