#pragma once
// Who knows what operators decompose into: Python, if the process has it. Asked once for each plan.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <string>

#include "aten/decomposed/program.h"

namespace torchplug::aten {

struct Trace {
  std::shared_ptr<Program> program{};  // null: not everything in it has a kernel
  std::vector<at::Tensor> results{};   // of the program, without data
  std::string why_not;                 // "it decomposes into aten::erf, which has no kernel"
  bool is_final = false;               // that is so for every call of the operator
};

// `arguments`: of the call, its tensors on PyTorch's device `meta`. Does not throw.
using Tracer = Trace (*)(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                         c10::Device device);
void set_tracer(Tracer tracer);
Tracer tracer();

// Whether the plugin wants it (PLUG_DECOMPOSE). Set before operators are registered.
void set_decomposes(bool wanted);
bool decomposes();

// Why none of the plugin's kernels would take a call of the operator with these tensors and results, "which
// has no kernel"; nothing if one would.
std::string why_not_served(const c10::OperatorHandle& op, const std::vector<at::Tensor>& tensors,
                           c10::Device device);

}  // namespace torchplug::aten
