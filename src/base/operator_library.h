#pragma once
// Where kernels are registered with PyTorch: one library for each namespace and dispatch key, made by its
// first use and kept for ever, as the kernels in it may be called until the process has ended. A kernel of an
// extension's counts for more than one of these: it is never registered over, and others can be withdrawn for
// its sake. Any thread may register; PyTorch wants no call of an operator meanwhile.

#include <torch/library.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::base {

class OperatorLibrary {
 public:
  OperatorLibrary(std::string space, c10::DispatchKey key) : space_(std::move(space)), key_(key) {}

  // Does nothing where an operator has a kernel for the key already.
  template <class Function>
  void impl(const char* name, Function&& function) {
    add(name, torch::CppFunction(std::forward<Function>(function)));
  }

  // For all operators without a kernel; the namespace is "_". Returns false, and does nothing, if there is
  // one already. `instead`: what PyTorch's refusal of a second one tells its author to do.
  bool fallback(torch::CppFunction function, const std::string& instead = "leave the second one out");

  // Whether the kernel that PyTorch calls for the operator under the key is from here.
  bool serves(const c10::OperatorHandle& op) const;
  // Work in progress may still use the kernel, which is kept.
  void withdraw(const c10::OperatorHandle& op);

 private:
  torch::Library make() const;
  void add(const char* name, torch::CppFunction function);

  std::string space_;
  c10::DispatchKey key_;
  std::mutex lock_;
  // By operator, so that each can be withdrawn.
  std::unordered_map<c10::OperatorName, torch::Library> kernels_;
  std::vector<c10::SafeKernelFunction> withdrawn_;
};

// "_" is the namespace for a fallback of all operators.
OperatorLibrary& operator_library(const char* space, c10::DispatchKey key);

// The kernel for calls of an operator in which there is no tensor, though its schema has some. It has no
// dispatch key that a library could be made for.
void register_without_tensors(const c10::OperatorName& name, c10::KernelFunction kernel);

}  // namespace torchplug::base
