// A C++ program that uses a device through libtorch: no Python anywhere. Loads the plugin given on the
// command line, computes, differentiates and trains on its device, and compares with the CPU.

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mse_loss.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "aten/plan/ledger.h"
#include "torchplug/torchplug.hpp"

namespace {

using namespace torchplug::aten;

void require(bool holds, const char* promise) {
  TORCH_CHECK(holds, "It does not hold that ", promise, ".");
  std::printf("%s\n", promise);
}

// Numbers between -1 and 1 that repeat for every device.
at::Tensor waves(at::IntArrayRef sizes, double pace) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return at::arange(count, at::dtype(at::kFloat)).mul(pace).sin().view(sizes);
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& weight) { return at::matmul(x, weight).relu(); }

at::Tensor gradient(const c10::Device& device) {
  const at::Tensor x = waves({8, 16}, 0.7).to(device);
  at::Tensor weight = waves({16, 4}, 0.3).to(device).requires_grad_();
  forward(x, weight).sum().backward();
  return weight.grad();
}

struct Line {
  at::Tensor slope, intercept;
};

// Fits y = 3x - 2 by gradient descent.
Line train(const c10::Device& device) {
  const at::Tensor x = waves({64, 1}, 1.3).to(device);
  const at::Tensor y = x.mul(3).sub(2);
  Line line{at::full({1, 1}, 0.0, x.options()).requires_grad_(),
            at::full({1}, 0.0, x.options()).requires_grad_()};
  for (int step = 0; step < 200; ++step) {
    at::mse_loss(at::matmul(x, line.slope).add(line.intercept), y).backward();
    const at::NoGradGuard no_grad;
    for (at::Tensor* parameter : {&line.slope, &line.intercept}) {
      parameter->sub_(parameter->grad(), 0.3);
      parameter->mutable_grad().zero_();
    }
  }
  return line;
}

void compute(const c10::Device& device) {
  const at::Tensor x = waves({8, 16}, 0.7);
  const at::Tensor weight = waves({16, 4}, 0.3);
  const at::Tensor there = forward(x.to(device), weight.to(device));
  require(there.device() == device, "results stay on the device");
  require(at::allclose(there.cpu(), forward(x, weight)), "matmul and relu are the CPU's");
  require(at::allclose(gradient(device).cpu(), gradient(at::kCPU)), "gradients are the CPU's");
  const Line line = train(device);
  require(std::abs(line.slope.item<float>() - 3) < 1e-3 && std::abs(line.intercept.item<float>() + 2) < 1e-3,
          "a line is learnt");
}

void print_ledger() {
  require(!ledger_entries().empty(), "the ledger has what ran");
  std::printf("\n%-32s %-7s %6s %10s  %s\n", "operator", "way", "count", "bytes", "reason");
  for (const LedgerEntry& entry : ledger_entries()) {
    std::printf("%-32s %-7s %6llu %10llu  %s\n", entry.op.c_str(), way_name(entry.way),
                static_cast<unsigned long long>(entry.count), static_cast<unsigned long long>(entry.bytes),
                reason_text(entry.reason));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s PLUGIN\n", argv[0]);
    return 2;
  }
  try {
    const std::string name = torchplug::activate(argv[1]);
    std::printf("device %s\n", name.c_str());
    compute(c10::Device(name + ":0"));
    print_ledger();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
