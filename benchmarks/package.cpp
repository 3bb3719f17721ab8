// What a package adds to its engine: calls of a package of 50 layers, each until its result is there, beside
// runs of the engine alone, whose arguments and results are prepared.
//
//   package PLUGIN.so [--rounds N]
//
// Prints one JSON object: nanoseconds of a call of the package and of the engine, and the median and the
// quartiles of the rounds' ratios. Rounds take turns.

#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aten/tensor/describe.h"
#include "compile/compiler.h"
#include "graph/text.h"
#include "package/package.h"
#include "pytorch/activate.h"

namespace {

using torchplug::compile::Compiler;
using torchplug::compile::Engine;
using torchplug::graph::Argument;
using torchplug::graph::Graph;
using torchplug::runtime::Stream;
namespace package = torchplug::package;

constexpr const char* kName = "50 layers";
constexpr int kLayers = 50;
constexpr int64_t kRows = 64;
constexpr int64_t kWidth = 256;

struct Options {
  std::string plugin;
  int rounds = 31;
  int calls = 20;
};

Options parse(int argc, char** argv) {
  Options options;
  options.plugin = argv[1];
  for (int i = 2; i + 1 < argc; i += 2)
    if (std::string(argv[i]) == "--rounds") options.rounds = std::max(1, std::atoi(argv[i + 1]));
  return options;
}

int32_t operator_in(Graph& graph, const Compiler& compiler, const char* name) {
  const auto* binding = compiler.find(name);
  TORCH_CHECK(binding != nullptr, "The compiler does not list ", name, ".");
  return graph.add_operator(binding->kernel->schema, compiler.place_of(*binding));
}

// Layers of a norm and a GELU: x, then weight and bias of each.
Graph layers(const Compiler& compiler) {
  Graph graph;
  const auto rows = torchplug::graph::contiguous(PLUG_F32, {kRows, kWidth});
  const auto row = torchplug::graph::contiguous(PLUG_F32, {kWidth});
  int32_t x = graph.add_input(rows, "x");
  for (int i = 0; i < 2 * kLayers; ++i) graph.add_input(row, "", /*is_weight=*/true);
  const int32_t norm = operator_in(graph, compiler, "aten::native_layer_norm");
  const int32_t gelu = operator_in(graph, compiler, "aten::gelu");
  const auto result_of = [&graph](int32_t node) {
    return graph.nodes()[static_cast<size_t>(node)].results[0];
  };
  for (int i = 0; i < kLayers; ++i) {
    const std::vector<Argument> args = {Argument::ref(x), Argument::ints({kWidth}),
                                        Argument::ref(1 + (2 * i)), Argument::ref(2 + (2 * i)),
                                        Argument::number(1e-5)};
    x = result_of(graph.add_node(norm, args, {rows, std::nullopt, std::nullopt}));
    x = result_of(graph.add_node(gelu, {Argument::ref(x), Argument::text("none")}, {rows}));
  }
  graph.set_outputs({{x, -1}});
  return graph;
}

// The operators of the group are not asked for: it has an engine.
package::Contents contents_of(const Graph& graph) {
  package::Contents contents;
  contents.storages = 1;
  const auto fixed = [](int64_t size) {
    return package::Size{package::Expression::integer(size), std::to_string(size)};
  };
  contents.inputs = {{"x",
                      true,
                      PLUG_F32,
                      {fixed(kRows), fixed(kWidth)},
                      {package::Expression::integer(kWidth), package::Expression::integer(1)},
                      false}};
  package::Program& program = contents.program;
  program.given = 2 * kLayers + 1;
  program.registers = program.given + 1;
  package::Step step{package::StepKind::kEngine, 0, {Argument::ref(0)}, {program.given}, ""};
  for (int i = 0; i < 2 * kLayers; ++i) {
    contents.weights.push_back(
        {"w" + std::to_string(i), 0, PLUG_F32, i * kWidth, {kWidth}, {1}, false, false});
    step.args.push_back(Argument::ref(1 + i));
  }
  program.steps = {step};
  program.results = {Argument::ref(program.given)};
  contents.outputs = {{"y", -1}};
  package::Group group{torchplug::graph::to_text(graph), {std::nullopt}, {}, {}};
  group.steps.given = group.steps.registers = program.given;
  group.steps.results = {Argument::ref(0)};
  contents.groups = {std::move(group)};
  return contents;
}

std::unique_ptr<package::Package> packaged(const Graph& graph) {
  const auto path =
      std::filesystem::temp_directory_path() / ("bench-" + std::to_string(::getpid()) + ".plug");
  const std::vector<float> weights(2 * kLayers * kWidth, 1.0F);
  const std::vector<package::Bytes> storages = {std::as_bytes(std::span(weights))};
  package::write_package(path, package::to_bytes(contents_of(graph)), storages, {});
  auto loaded = std::make_unique<package::Package>(path, 0);
  std::filesystem::remove(path);
  return loaded;
}

double nanoseconds_of(const std::function<void()>& call, int calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls;
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

void measure(const Options& options) {
  const c10::Device device(torchplug::runtime::kDeviceType, 0);
  const Compiler& compiler = *Compiler::of(0);
  const Graph graph = layers(compiler);
  const auto loaded = packaged(graph);
  const at::Tensor x = at::randn({kRows, kWidth}).to(device);
  const at::Tensor y = at::empty({kRows, kWidth}, x.options());
  const Stream stream = Stream::current(0);

  auto made = compiler.compile({graph, {}, {}}, "engine");
  const auto engine = std::get<std::shared_ptr<Engine>>(made);
  std::vector<at::Tensor> inputs = {x};
  inputs.insert(inputs.end(), loaded->weights().begin(), loaded->weights().end());
  std::vector<plug_tensor> described;
  for (const at::Tensor& input : inputs) described.push_back(torchplug::aten::describe(input));
  described.push_back(torchplug::aten::describe(y));
  described.back().flags |= PLUG_TENSOR_WRITTEN;
  std::vector<plug_value> values;
  for (const plug_tensor& tensor : described) {
    plug_value value{};
    value.tag = PLUG_VALUE_TENSOR;
    value.count = 1;
    value.as.tensors = &tensor;
    values.push_back(value);
  }
  const std::span<plug_value> result = std::span(values).last(1);
  const std::function<void()> alone = [&] {
    engine->run(inputs, std::span(values).first(inputs.size()), result, graph.flags(), stream);
    stream.synchronize();
  };
  const std::vector<c10::IValue> given = {x};
  const std::function<void()> whole = [&] {
    loaded->run(given, [] {});
    stream.synchronize();
  };
  std::vector<double> ours, theirs, ratios;
  for (int round = 0; round <= options.rounds; ++round) {
    const bool is_first = round % 2 == 0;
    const double first = nanoseconds_of(is_first ? whole : alone, options.calls);
    const double second = nanoseconds_of(is_first ? alone : whole, options.calls);
    if (round == 0) continue;  // engines are made in it
    ours.push_back(is_first ? first : second);
    theirs.push_back(is_first ? second : first);
    ratios.push_back(ours.back() / theirs.back());
  }
  std::printf("{\n  \"%s\": {\"device\": %.1f, \"reference\": %.1f, \"figure\": %.4f, ", kName,
              quantile(ours, 0.5), quantile(theirs, 0.5), quantile(ratios, 0.5));
  std::printf("\"low\": %.4f, \"high\": %.4f, \"rounds\": %zu}\n}\n", quantile(ratios, 0.25),
              quantile(ratios, 0.75), ratios.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: package PLUGIN.so [--rounds N]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  torchplug::pytorch::activate(options.plugin);
  measure(options);
  return 0;
}
