#pragma once
// An operator's boxed arguments and its results in plug.h's terms. Borrows from the arguments; lives on the
// caller's stack; allocates nothing for the usual operator.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <span>
#include <vector>

#include "aten/kernel/host_number.h"
#include "aten/kernel/plug_form.h"
#include "runtime/device.h"

namespace torchplug::aten {

class KernelArguments {
 public:
  static constexpr size_t kTensorsInPlace = 8;

  explicit KernelArguments(DeviceIndex device) : device_(device) {}

  // Room for more tensors and numbers than fit in place; to be called before any of them is added.
  void reserve(c10::ArrayRef<c10::IValue> arguments, size_t result_count);
  // `type`: that of the argument in the schema, without its '?'.
  void add_argument(const c10::IValue& value, c10::TypeKind type, bool written);
  // Single numbers on the host that are added from now on are converted, unless 0 is given.
  void convert_numbers_to(plug_dtype dtype) { number_dtype_ = dtype; }
  // A tensor to be written, or nothing: it is not wanted, or the kernel shapes it.
  void add_result(const at::Tensor& tensor);
  void add_result_list(c10::ArrayRef<at::Tensor> tensors);
  // For the kernel to fill in.
  void add_number(const plug_value& value) { results_.push_back(value); }

  std::span<const plug_value> arguments() const { return {arguments_.data(), arguments_.size()}; }
  std::span<plug_value> results() { return {results_.data(), results_.size()}; }
  // The generator among the arguments; undefined if there is none.
  const at::Generator& generator() const { return generator_; }

 private:
  plug_value convert(const c10::IValue& value, bool written);
  plug_value convert_list(const c10::IValue& value, bool written);
  const plug_tensor* add_tensor(const at::Tensor& tensor, bool written);

  DeviceIndex device_;
  at::Generator generator_;
  c10::SmallVector<plug_value, 12> arguments_;
  c10::SmallVector<plug_value, 4> results_;
  c10::SmallVector<plug_tensor, kTensorsInPlace> tensors_;
  plug_dtype number_dtype_ = 0;
  c10::SmallVector<NumberRoom, kTensorsInPlace> numbers_;
  c10::SmallVector<int64_t, 32> ints_;
  c10::SmallVector<double, 8> floats_;
  c10::SmallVector<ComplexRoom, 4> complexes_;
  std::vector<std::vector<plug_value>> lists_;
  std::vector<std::vector<uint8_t>> bools_;
};

}  // namespace torchplug::aten
