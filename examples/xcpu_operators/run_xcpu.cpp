// Calls operators of a plugin on CPU tensors, and runs a scripted module that has some,
// without Python: run_xcpu PLUGIN [MODULE]
//
// The module takes rows of 64 numbers.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max.h>
#include <ATen/ops/sub.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <iostream>
#include <string>
#include <torchplug/torchplug.hpp>
#include <vector>

namespace {

// An operator by its name, with all of its arguments in order.
at::Tensor call(const char *name, std::vector<c10::IValue> arguments) {
  const auto found = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  found.callBoxed(arguments);
  return arguments.front().toTensor();
}

void run(const std::string &plugin, const std::string &module) {
  const at::NoGradGuard no_grad;
  torchplug::load_operators(plugin);

  const at::Tensor matrix = at::linspace(-1, 1, int64_t{40} * 64).view({40, 64});
  const at::Tensor x = at::linspace(0, 1, int64_t{3} * 64).view({3, 64});
  const at::Tensor weight = call("xcpu::pack", {matrix, "int8", 0});
  const at::Tensor y =
      call("xcpu::linear", {x, weight, c10::IValue(), "none", c10::IValue(),
                            c10::IValue(), "int8", c10::IValue()});
  const double off = at::sub(y, at::matmul(x, matrix.t())).abs().max().item<double>();
  std::cout << y.sizes()
            << (off < 0.5 ? ", near the product of matrices\n" : ", wrong\n");

  if (module.empty()) return;
  std::cout << torch::jit::load(module).forward({x}).toTensor().sizes()
            << ", from the module\n";
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: run_xcpu PLUGIN [MODULE]\n";
    return 2;
  }
  try {
    run(argv[1], argc > 2 ? argv[2] : "");
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  }
}
