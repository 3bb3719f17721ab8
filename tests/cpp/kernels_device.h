#pragma once
// The kernels plugin under the core: tests of what the host does around a plugin's kernel.

#include <ATen/ops/empty_strided.h>

#include <functional>
#include <string>

#include "harness.h"
#include "kernels.h"
#include "pytorch/activate.h"
#include "tensors.h"

namespace torchplug::tests {

// Runs `body` in a process of its own whose device is the kernels plugin's.
inline void on_kernels(const std::function<void()>& body) {
  alone([&] {
    activate(plugin_path("kernels"));
    body();
  });
}

// The calls of one kernel, "relu(" or "add.Tensor(": how many, and what the last one was given.
inline const seen_calls& seen(const std::string& name) {
  static const auto find = exported<const seen_calls*(const char*)>(plugin_path("kernels"), "kernels_seen");
  const seen_calls* found = find(("aten::" + name).c_str());
  if (found == nullptr) throw std::runtime_error("there is no kernel " + name);
  return *found;
}

inline const seen_tensor& seen_argument(const std::string& name, size_t index) {
  return seen(name).args[index].tensors[0];
}

inline const seen_tensor& seen_result(const std::string& name, size_t index = 0) {
  return seen(name).results[index].tensors[0];
}

inline std::vector<int64_t> sizes_of(const seen_tensor& tensor) {
  return {tensor.sizes, tensor.sizes + tensor.ndim};
}

inline std::vector<int64_t> strides_of(const seen_tensor& tensor) {
  return {tensor.strides, tensor.strides + tensor.ndim};
}

// The device's memory is addressable, so a tensor lies where PyTorch says.
inline bool lies_at(const seen_tensor& seen, const at::Tensor& tensor) {
  return seen.place == tensor.const_data_ptr();
}

using Operation = std::function<at::Tensor(std::vector<at::Tensor>)>;

inline std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors, const c10::Device& where) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) {
    // Keeps the strides, which to() does not for a tensor with gaps.
    at::Tensor copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(where));
    copies.push_back(copy.copy_(tensor));
  }
  return copies;
}

// The operation gives on the device what it gives on the CPU, and does to its arguments what it does to
// the CPU's.
inline void same_as_cpu(const Operation& operation, const std::vector<at::Tensor>& arguments) {
  const auto here = copies_of(arguments, at::kCPU);
  const auto there = copies_of(arguments, device());
  const at::Tensor expected = operation(here);
  expect_same(operation(there), expected);
  for (size_t i = 0; i < here.size(); ++i) expect_same(there[i], here[i]);
}

// What the CPU refuses, the device refuses.
inline void refused_as_by_cpu(const Operation& operation, const std::vector<at::Tensor>& arguments) {
  EXPECT_ANY_THROW(operation(copies_of(arguments, at::kCPU))) << "the CPU takes it";
  EXPECT_THROW(operation(copies_of(arguments, device())), c10::Error);
}

}  // namespace torchplug::tests
