// What one call of a small operator costs from C++, on a device and on the CPU in turns.
//
//   operators PLUGIN.so [--only NAME] [--rounds N] [--calls N]
//
// Prints one JSON object: for each case nanoseconds a call on both, and the median of the rounds' ratios.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "activate.h"
#include "runtime/stream.h"

namespace {

struct Case {
  const char* name;
  std::function<void(const at::Tensor& x, const at::Tensor& y)> call;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"relu", [](const auto& x, const auto&) { at::relu(x); }},
      {"add", [](const auto& x, const auto& y) { at::add(x, y); }},
      {"mul", [](const auto& x, const auto& y) { at::mul(x, y); }},
      {"exp", [](const auto& x, const auto&) { at::exp(x); }},
      {"sigmoid_", [](const auto& x, const auto&) { const_cast<at::Tensor&>(x).sigmoid_(); }},
      {"sum", [](const auto& x, const auto&) { at::sum(x); }},
      {"cat", [](const auto& x, const auto& y) { at::cat({x, y}); }},
      {"mm", [](const auto& x, const auto& y) { at::mm(x.view({4, 4}), y.view({4, 4})); }},
      {"mul_scalar", [](const auto& x, const auto&) { at::mul(x, 2.0); }},
      {"view", [](const auto& x, const auto&) { x.view({4, 4}); }},
      {"transpose", [](const auto& x, const auto&) { x.view({4, 4}).transpose(0, 1); }},
      {"select", [](const auto& x, const auto&) { x.select(0, 3); }},
      {"empty", [](const auto& x, const auto&) { at::empty({16}, x.options()); }},
      {"item", [](const auto& x, const auto&) { x.select(0, 3).item(); }},
      {"clone", [](const auto& x, const auto&) { x.clone(); }},
  };
  return all;
}

double nanoseconds(const Case& measured, const at::Tensor& x, const at::Tensor& y, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) measured.call(x, y);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Options {
  std::string plugin;
  std::string only;
  int rounds = 31;
  int calls = 2000;
};

Options parse(int argc, char** argv) {
  Options options;
  options.plugin = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--only") options.only = argv[i + 1];
    if (flag == "--rounds") options.rounds = std::atoi(argv[i + 1]);
    if (flag == "--calls") options.calls = std::atoi(argv[i + 1]);
  }
  return options;
}

void measure(const Case& measured, const Options& options, const at::Device& device, bool first) {
  const at::Tensor x = at::rand({16});
  const at::Tensor y = at::rand({16});
  const at::Tensor device_x = x.to(device);
  const at::Tensor device_y = y.to(device);
  std::vector<double> on_cpu;
  std::vector<double> on_device;
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    on_cpu.push_back(nanoseconds(measured, x, y, options.calls));
    on_device.push_back(nanoseconds(measured, device_x, device_y, options.calls));
    torchplug::synchronize_device(0);
    ratios.push_back(on_device.back() / on_cpu.back());
  }
  std::printf("%s\n  \"%s\": {\"cpu_ns\": %.1f, \"device_ns\": %.1f, \"ratio\": %.3f}", first ? "" : ",",
              measured.name, median(on_cpu), median(on_device), median(ratios));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: operators PLUGIN.so [--only NAME] [--rounds N] [--calls N]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  at::set_num_threads(1);
  const at::Device device(torchplug::activate(options.plugin) + ":0");
  const c10::InferenceMode inference;
  std::printf("{");
  bool first = true;
  for (const Case& measured : cases()) {
    if (!options.only.empty() && options.only != measured.name) continue;
    measure(measured, options, device, first);
    first = false;
  }
  std::printf("\n}\n");
  return 0;
}
