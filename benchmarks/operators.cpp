// What one call of a small operator costs from C++, on a device and on the CPU in turns, or on the device
// beside another call.
//
//   operators PLUGIN.so [--only NAME]... [--rounds N] [--calls N] [--wait 1]
//
// Prints one JSON object: for each case nanoseconds a call on both (medians of the rounds), and the median
// and the quartiles of the rounds' own ratios; for what the CPU has nothing like, of the microseconds. After
// each round's calls the device is waited for; with --wait 1 that is part of their time.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "pytorch/activate.h"
#include "runtime/stream.h"

namespace {

// Made once for each device: what the calls are given is not timed.
struct Inputs {
  explicit Inputs(const at::Device& device)
      : x(at::rand({16}).to(device)),
        y(at::rand({16}).to(device)),
        square(at::rand({4, 4}).to(device)),
        number(at::rand({}).to(device)) {}

  at::Tensor x;
  at::Tensor y;
  at::Tensor square;
  at::Tensor number;
};

using Call = std::function<void(const Inputs&)>;

struct Case {
  const char* name;
  Call call;
  bool on_cpu = true;
  Call peer = nullptr;  // on the device, instead of `call` on the CPU
};

// An operator of the device's own, as PyTorch's functions in C++ call theirs.
template <class Signature>
const c10::TypedOperatorHandle<Signature>& own(const Inputs& in, const char* name) {
  static const auto handle =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow((c10::DeviceTypeName(in.x.device().type(), true) + "::" + name).c_str(), "")
          .typed<Signature>();
  return handle;
}

void own_relu(const Inputs& in) { own<at::Tensor(const at::Tensor&)>(in, "relu").call(in.x); }
void own_add(const Inputs& in) {
  own<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&)>(in, "add").call(in.x, in.y, 1);
}

class EmptyJob final : public torchplug::runtime::HostJob {
 public:
  void run() override {}
  void release() noexcept override {}
};

// One job for all: it is not used up by being run.
void launch(const Inputs& /*inputs*/) {
  static EmptyJob job;
  torchplug::runtime::Stream::current(0).enqueue(torchplug::runtime::HostJobPtr(&job));
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"relu", [](const Inputs& in) { at::relu(in.x); }},
      {"add", [](const Inputs& in) { at::add(in.x, in.y); }},
      {"mul", [](const Inputs& in) { at::mul(in.x, in.y); }},
      {"exp", [](const Inputs& in) { at::exp(in.x); }},
      {"sigmoid_", [](const Inputs& in) { in.x.sigmoid_(); }},
      {"sum", [](const Inputs& in) { at::sum(in.x); }},
      {"cat", [](const Inputs& in) { at::cat({in.x, in.y}); }},
      {"mm", [](const Inputs& in) { at::mm(in.square, in.square); }},
      {"mul_scalar", [](const Inputs& in) { at::mul(in.x, 2.0); }},
      {"view", [](const Inputs& in) { in.x.view({4, 4}); }},
      {"transpose", [](const Inputs& in) { in.square.transpose(0, 1); }},
      {"select", [](const Inputs& in) { in.x.select(0, 3); }},
      {"empty", [](const Inputs& in) { at::empty({16}, in.x.options()); }},
      {"item", [](const Inputs& in) { in.number.item(); }},
      {"clone", [](const Inputs& in) { in.x.clone(); }},
      {"launch", launch, /*on_cpu=*/false},
      {"own relu", own_relu, /*on_cpu=*/false, [](const Inputs& in) { at::relu(in.x); }},
      {"own add", own_add, /*on_cpu=*/false, [](const Inputs& in) { at::add(in.x, in.y); }},
      {"neg", [](const Inputs& in) { at::neg(in.x); }, /*on_cpu=*/false,
       [](const Inputs& in) { at::relu(in.x); }},
      {"sub", [](const Inputs& in) { at::sub(in.x, in.y); }, /*on_cpu=*/false,
       [](const Inputs& in) { at::add(in.x, in.y); }},
  };
  return all;
}

struct Options {
  std::string plugin;
  std::vector<std::string> only;
  int rounds = 31;
  int calls = 2000;
  bool wait = false;
};

Options parse(int argc, char** argv) {
  Options options;
  options.plugin = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--only") options.only.emplace_back(argv[i + 1]);
    if (flag == "--rounds") options.rounds = std::max(1, std::atoi(argv[i + 1]));
    if (flag == "--calls") options.calls = std::max(1, std::atoi(argv[i + 1]));
    if (flag == "--wait") options.wait = std::atoi(argv[i + 1]) != 0;
  }
  return options;
}

// One case, and what it is measured beside, if anything.
class Contest {
 public:
  Contest(const Case& measured, const at::Device& device)
      : case_(measured), on_cpu_(at::Device("cpu")), on_device_(device) {}

  // The first round is not counted: plans and caches are made in it.
  void play(const Options& options, int round) {
    double reference = 0;
    if (round % 2 != 0) reference = time_reference(options);
    const double device = time_device(case_.call, options);
    if (round % 2 == 0) reference = time_reference(options);
    if (round == 0) return;
    reference_.push_back(reference);
    device_.push_back(device);
    figures_.push_back(has_reference() ? device / reference : device / 1000);
  }

  void print() {
    const std::string reference = has_reference() ? std::to_string(quantile(reference_, 0.5)) : "null";
    std::printf(
        "  \"%s\": {\"device\": %.1f, \"reference\": %s, \"figure\": %.4f, \"low\": %.4f, \"high\": %.4f, "
        "\"rounds\": %zu}",
        case_.name, quantile(device_, 0.5), reference.c_str(), quantile(figures_, 0.5),
        quantile(figures_, 0.25), quantile(figures_, 0.75), figures_.size());
  }

 private:
  bool has_reference() const { return case_.on_cpu || case_.peer != nullptr; }

  double time_reference(const Options& options) const {
    if (case_.peer != nullptr) return time_device(case_.peer, options);
    if (!case_.on_cpu) return 0;
    return nanoseconds(options.calls, [&] {
      for (int i = 0; i < options.calls; ++i) case_.call(on_cpu_);
    });
  }

  double time_device(const Call& call, const Options& options) const {
    const double taken = nanoseconds(options.calls, [&] {
      for (int i = 0; i < options.calls; ++i) call(on_device_);
      if (options.wait) torchplug::runtime::synchronize_device(0);
    });
    torchplug::runtime::synchronize_device(0);
    return taken;
  }

  template <class Work>
  static double nanoseconds(int calls, const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const auto taken = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::nano>(taken).count() / calls;
  }

  // Between its neighbours where it falls between two.
  static double quantile(std::vector<double>& values, double part) {
    std::sort(values.begin(), values.end());
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  }

  const Case& case_;
  Inputs on_cpu_;
  Inputs on_device_;
  std::vector<double> reference_;
  std::vector<double> device_;
  std::vector<double> figures_;
};

bool wanted(const Case& measured, const Options& options) {
  return (options.only.empty() && measured.on_cpu) ||
         std::find(options.only.begin(), options.only.end(), measured.name) != options.only.end();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: operators PLUGIN.so [--only NAME]... [--rounds N] [--calls N] [--wait 1]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  at::set_num_threads(1);
  const at::Device device(torchplug::pytorch::activate(options.plugin) + ":0");
  const c10::InferenceMode inference;
  std::vector<Contest> contests;
  for (const Case& measured : cases()) {
    if (wanted(measured, options)) contests.emplace_back(measured, device);
  }
  // Every round has every case: what disturbs the machine spoils one round of each, not one case.
  for (int round = 0; round <= options.rounds; ++round) {
    for (Contest& contest : contests) contest.play(options, round);
  }
  std::printf("{\n");
  for (std::size_t i = 0; i < contests.size(); ++i) {
    contests[i].print();
    std::printf(i + 1 < contests.size() ? ",\n" : "\n");
  }
  std::printf("}\n");
  return 0;
}
