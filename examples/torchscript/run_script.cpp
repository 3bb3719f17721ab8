// Runs a scripted module without Python: run_script PLUGIN MODULE ROWS
//
// The module is one of docs/torchscript.md: it takes rows of 64 numbers.

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <torchplug/torchplug.hpp>

namespace {

constexpr int kCalls = 3;  // PyTorch looks at the first, and optimises at the second

void run(const std::string &plugin, const std::string &path, int64_t rows) {
  const c10::Device device(torchplug::activate(plugin) + ":0");
  torchplug::torchscript::enable();
  torch::jit::Module model = torch::jit::load(path, device);

  const at::NoGradGuard no_grad;
  const at::Tensor x = at::cos(at::arange(rows * 64)).view({rows, 64}).to(device);
  at::Tensor result;
  for (int i = 0; i < kCalls; ++i) result = model.forward({x}).toTensor().cpu();

  std::cout << result.sizes() << ", from " << result.min().item<float>() << " to "
            << result.max().item<float>() << '\n';
  std::cout << *torch::jit::lastExecutedOptimizedGraph();
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: run_script PLUGIN MODULE ROWS\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], std::atoll(argv[3]));
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  }
}
