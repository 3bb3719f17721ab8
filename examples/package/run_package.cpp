// Runs a package without Python: run_package PLUGIN PACKAGE ROWS
//
// The package is one of docs/packages.md: it takes rows of 64 numbers.

#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <torchplug/torchplug.hpp>
#include <vector>

namespace {

void run(const std::string &plugin, const std::string &path, int64_t rows) {
  const c10::Device device(torchplug::activate(plugin) + ":0");
  const torchplug::Package model(path);

  const at::Tensor x = at::cos(at::arange(rows * 64)).view({rows, 64}).to(device);
  const std::vector<at::Tensor> results = model.run({x});

  const std::vector<std::string> names = model.outputs();
  for (size_t i = 0; i < results.size(); ++i) {
    const at::Tensor result = results[i].cpu();
    std::cout << names[i] << ' ' << result.sizes() << ", from "
              << result.min().item<float>() << " to " << result.max().item<float>()
              << '\n';
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: run_package PLUGIN PACKAGE ROWS\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], std::atoll(argv[3]));
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  }
}
