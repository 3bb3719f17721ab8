#pragma once
// A kernel that PyTorch's Inductor has generated for the CPU, run on the memory of a device: through the
// host's view of it and in stream order if there is a lasting one, else at once, on memory that is mapped or
// copied for the call. Kernels live until the process ends, as the code does that was compiled for them. Any
// thread may launch one.

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aten/plan/fallback_policy.h"
#include "aten/plan/ledger.h"
#include "runtime/stream.h"

namespace torchplug::inductor {

// What a parameter of a kernel is.
enum class Parameter : char {
  kRead = 'r',     // a tensor
  kWritten = 'w',  // a tensor
  kInteger = 'i',  // int64_t
  kFloat = 'f',    // float
};

class GeneratedKernel {
 public:
  // What was compiled: calls the kernel with these arguments, each an address or the bits of a number.
  using Entry = void (*)(const uint64_t* arguments);

  // An argument as the caller gives it: a tensor, or the bits of a number.
  struct Argument {
    const at::Tensor* tensor = nullptr;
    uint64_t bits = 0;
  };
  using Arguments = std::span<const Argument>;

  // The kernel of that entry, which is made at the first call. `parameters`: a Parameter's letter for each.
  static GeneratedKernel& of(Entry entry, const std::string& name, const std::string& parameters);

  GeneratedKernel(Entry entry, aten::LedgerAccount& account, std::string parameters);

  const std::string& name() const { return account_.op(); }
  std::span<const Parameter> parameters() const { return parameters_; }

  // On the current stream of the device that the tensors are on. Tensors of the CPU are read as they are now.
  void launch(Arguments arguments);

 private:
  class Job;

  DeviceIndex device_of(Arguments arguments) const;
  bool fill(Job& job, Arguments arguments) const;
  void run_on_loan(Arguments arguments, const Stream& stream);

  Entry entry_;
  std::vector<Parameter> parameters_;
  aten::LedgerAccount& account_;
  aten::FallbackNotice notice_;
};

// Whether such kernels can run on the device: if the plugin gives a view of its memory, lasting or for a
// while.
bool can_launch_on(DeviceIndex device);

}  // namespace torchplug::inductor
