// The whole way of a graph without PyTorch: grouped, taken apart, compiled by examples/compiler and run,
// against the same nodes one by one.

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "graph/extract.h"
#include "graph/groups.h"
#include "graph/plug_view.h"
#include "graph/text.h"
#include "graph_samples.h"

namespace torchplug::graph::tests {
namespace {

using Tensors = std::vector<std::vector<float>>;  // by the number of the value

// examples/compiler, loaded as a host of its own would.
class ExampleCompiler {
 public:
  static const ExampleCompiler& instance() {
    static const ExampleCompiler compiler;
    return compiler;
  }

  // The place of the schema with that name; -1: not listed.
  int32_t place_of(std::string_view name) const {
    for (uint32_t i = 0; i < table_->schema_count; ++i) {
      if (std::string_view(table_->schemas[i]).starts_with(std::string(name) + "("))
        return static_cast<int32_t>(i);
    }
    return -1;
  }
  const char* schema(int32_t place) const { return table_->schemas[place]; }

  // None: declined, with a reason.
  plug_engine compile(const Graph& graph, int32_t answer = 0) const {
    const PlugView view(graph);
    static int32_t progress_answer = 0;
    progress_answer = answer;
    const char* const options[] = {nullptr};
    const plug_compile wish{.size = sizeof(plug_compile),
                            .device = 0,
                            .graph = view.get(),
                            .options = options,
                            .progress = [](const plug_compile*, double) { return progress_answer; },
                            .host_private = nullptr};
    plug_engine engine = nullptr;
    status = table_->compile(&wish, &engine);
    return engine;
  }

  Tensors run(plug_engine engine, const Graph& graph, const Tensors& inputs) const {
    Tensors outputs;
    std::vector<plug_tensor> tensors(inputs.size() + graph.outputs().size());
    std::vector<plug_value> values(tensors.size());
    for (const Output& output : graph.outputs()) {
      outputs.emplace_back(*bytes_of(PLUG_U8, graph.values()[static_cast<size_t>(output.value)].type.sizes));
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      const bool is_input = i < inputs.size();
      const float* data = is_input ? inputs[i].data() : outputs[i - inputs.size()].data();
      tensors[i].mem = {const_cast<float*>(data), 0, 0, 0};
      values[i] = {.tag = PLUG_VALUE_TENSOR, .count = 1, .as = {.tensors = &tensors[i]}};
    }
    const plug_call call{.size = sizeof(plug_call),
                         .device = 0,
                         .user = engine,
                         .args = values.data(),
                         .results = values.data() + inputs.size(),
                         .arg_count = static_cast<uint32_t>(inputs.size()),
                         .result_count = static_cast<uint32_t>(outputs.size())};
    EXPECT_EQ(table_->run(&call), PLUG_OK);
    for (void* block : scratch) std::free(block);
    scratch.clear();
    return outputs;
  }

  void destroy(plug_engine engine) const { EXPECT_EQ(table_->engine_destroy(0, engine), PLUG_OK); }

  static inline plug_status status = PLUG_OK;
  static inline std::string said;
  static inline std::vector<void*> scratch;

 private:
  ExampleCompiler() {
    static const plug_host host{
        .size = sizeof(plug_host),
        .abi_minor = PLUG_ABI_MINOR,
        .set_error = [](const plug_host*, const char* message) { said = message; },
        .log = nullptr,
        .option = nullptr,
        .scratch = [](const plug_host*, const plug_call*, uint64_t bytes, plug_mem* mem) -> plug_status {
          scratch.push_back(std::malloc(bytes));
          *mem = {scratch.back(), 0, 0, 0};
          return PLUG_OK;
        }};
    void* library = ::dlopen(EXAMPLE_COMPILER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    const auto entry =
        reinterpret_cast<decltype(&torchplug_plugin_v0)>(::dlsym(library, "torchplug_plugin_v0"));
    const plug_module* module = nullptr;
    if (entry(&host, &module) != PLUG_OK || module->compiler == nullptr)
      throw std::runtime_error("no compiler");
    table_ = module->compiler;
  }

  const plug_compiler* table_ = nullptr;
};

// What one node computes, in double.
double compute(std::string_view name, double a, double b) {
  if (name == "aten::add.Tensor") return a + 0.5 * b;
  if (name == "aten::mul.Tensor") return a * b;
  if (name == "aten::relu") return a < 0 ? 0 : a;
  if (name == "aten::sigmoid") return 1 / (1 + std::exp(-a));
  if (name == "aten::tanh") return std::tanh(a);
  return std::sin(a);  // the operator that is not listed
}

constexpr int64_t kElements = 700;  // more than a block, and no multiple of one

// Some of the listed operators and one that is not, on tensors of one shape and numbers in their place.
Graph random_pointwise(std::mt19937& random, size_t nodes) {
  static constexpr std::string_view kNames[] = {"aten::add.Tensor", "aten::mul.Tensor", "aten::relu",
                                                "aten::sigmoid",    "aten::tanh",       "aten::sin"};
  const ExampleCompiler& compiler = ExampleCompiler::instance();
  Graph graph;
  graph.add_input(f32({7, 100}), "x");
  graph.add_input(f32({7, 100}), "y");
  std::vector<float> content(kElements);
  for (float& item : content) item = static_cast<float>(random() % 1000) / 500 - 1;
  graph.add_constant(PLUG_F32, {7, 100}, constant_of(content));
  for (size_t i = 0; i < nodes; ++i) {
    const std::string_view name = kNames[random() % std::size(kNames)];
    const int32_t place = compiler.place_of(name);
    const int32_t op =
        graph.add_operator(place < 0 ? "aten::sin(Tensor self) -> Tensor" : compiler.schema(place), place);
    const auto any = [&] { return Argument::ref(static_cast<int32_t>(random() % graph.values().size())); };
    std::vector<Argument> args = {any()};
    if (name == "aten::add.Tensor" || name == "aten::mul.Tensor") {
      args.push_back(random() % 4 == 0 ? Argument::number(0.75) : any());
    }
    if (name == "aten::add.Tensor") args.push_back(Argument::number(0.5));
    graph.add_node(op, std::move(args), {f32({7, 100})});
  }
  std::vector<Output> outputs;
  for (size_t value = 3; value < graph.values().size(); ++value) {
    if (random() % 3 == 0) outputs.push_back({static_cast<int32_t>(value), -1});
  }
  outputs.push_back({static_cast<int32_t>(graph.values().size() - 1), -1});
  graph.set_outputs(outputs);
  return graph;
}

void run_node(const Graph& graph, int32_t number, Tensors& tensors) {
  const Node& node = graph.nodes()[static_cast<size_t>(number)];
  const auto item = [&](const Argument& argument, size_t i) {
    if (argument.tag() != PLUG_VALUE_REF) return argument.as<double>();
    return static_cast<double>(tensors[static_cast<size_t>(argument.as<int64_t>())].at(i));
  };
  std::vector<float> result(kElements);
  for (size_t i = 0; i < result.size(); ++i) {
    const double second = node.args.size() > 1 ? item(node.args[1], i) : 0;
    result[i] = static_cast<float>(compute(graph.operator_of(node).name, item(node.args[0], i), second));
  }
  tensors[static_cast<size_t>(node.results[0])] = std::move(result);
}

Tensors start_values(const Graph& graph) {
  Tensors tensors(graph.values().size());
  for (size_t value = 0; value < tensors.size(); ++value) {
    if (value < 2 || graph.values()[value].is_constant()) tensors[value].resize(kElements);
    if (graph.values()[value].is_constant()) {
      std::memcpy(tensors[value].data(), graph.values()[value].constant->data(), kElements * sizeof(float));
    }
  }
  for (size_t i = 0; i < kElements; ++i) {
    tensors[0][i] = static_cast<float>(i % 41) / 20 - 1;
    tensors[1][i] = static_cast<float>(i % 37) / 18 - 1;
  }
  return tensors;
}

void run_group(const Extractor& extractor, std::span<const int32_t> nodes, Tensors& tensors) {
  const Extracted part = extractor.extract(nodes);
  if (part.nodes.empty()) return;  // nobody needs what it computes
  // As text and back: it is the same graph.
  const Graph again = from_text(to_text(part.graph), [&](const Digest& digest, uint64_t) {
    std::shared_ptr<const Constant> found;
    for (const Value& value : part.graph.values()) {
      if (value.constant && value.constant->digest() == digest) found = value.constant;
    }
    return found;
  });
  plug_engine engine = ExampleCompiler::instance().compile(again);
  ASSERT_NE(engine, nullptr) << ExampleCompiler::said << "\n" << to_text(part.graph);
  Tensors inputs;
  for (const int32_t input : part.inputs) {
    ASSERT_EQ(tensors[static_cast<size_t>(input)].size(), static_cast<size_t>(kElements))
        << "it is there by now";
    inputs.push_back(tensors[static_cast<size_t>(input)]);
  }
  Tensors outputs = ExampleCompiler::instance().run(engine, again, inputs);
  ExampleCompiler::instance().destroy(engine);
  for (size_t i = 0; i < outputs.size(); ++i) tensors[static_cast<size_t>(part.outputs[i])] = outputs[i];
}

TEST(ExampleCompiler, groups_of_a_random_graph_give_what_its_nodes_give_one_by_one) {
  size_t engines = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_pointwise(random, 1 + random() % 25);
    std::vector<Candidate> candidates;
    for (const Node& node : graph.nodes()) {
      const bool is_bound = graph.operator_of(node).is_bound();
      candidates.push_back({is_bound, false, is_bound ? "" : "not listed"});
    }
    const Groups groups = group_nodes(graph, candidates, 1 + random() % 2);
    Tensors grouped = start_values(graph);
    const Extractor extractor(graph);
    for (const Groups::Step& step : groups.steps) {
      if (step.group < 0) {
        run_node(graph, step.node, grouped);
      } else {
        run_group(extractor, groups.groups[static_cast<size_t>(step.group)], grouped);
      }
    }
    engines += groups.groups.size();
    Tensors expected = start_values(graph);
    for (size_t node = 0; node < graph.nodes().size(); ++node)
      run_node(graph, static_cast<int32_t>(node), expected);
    for (const Output& output : graph.outputs()) {
      const auto value = static_cast<size_t>(output.value);
      ASSERT_EQ(grouped[value].size(), expected[value].size());
      for (size_t i = 0; i < expected[value].size(); ++i) {
        ASSERT_NEAR(grouped[value][i], expected[value][i], 1e-5 * (1 + std::fabs(expected[value][i])))
            << "seed " << seed;
      }
    }
  }
  EXPECT_GT(engines, 60u);
}

TEST(ExampleCompiler, what_it_does_not_compile_is_declined_with_a_reason) {
  const ExampleCompiler& compiler = ExampleCompiler::instance();
  const std::string head =
      "operator " + std::to_string(compiler.place_of("aten::relu")) + " aten::relu(Tensor self) -> Tensor\n";
  const std::vector<std::pair<std::string, std::string>> declined = {
      {"graph(%x: f64[2]) { %1: f64[2] = aten::relu(%x) return %1 }", "float32"},
      {"symbol s0 in 0..9, hint 1\ngraph(%x: f32[s0]) { %1: f32[s0] = aten::relu(%x) return %1 }", "open"},
      {"graph(%x: f32[2], %y: f32[3]) { %2: f32[2] = aten::relu(%x) %3: f32[3] = aten::relu(%y) return %2, "
       "%3 }",
       "differ"},
      {"graph(%x: f32[2]) { return }", "empty"},
  };
  for (const auto& [text, why] : declined) {
    EXPECT_EQ(compiler.compile(from_text(head + text)), nullptr) << text;
    EXPECT_EQ(ExampleCompiler::status, PLUG_UNSUPPORTED);
    EXPECT_NE(ExampleCompiler::said.find(why), std::string::npos) << ExampleCompiler::said;
  }
  const Graph graph = from_text(head + "graph(%x: f32[2]) { %1: f32[2] = aten::relu(%x) return %1 }");
  EXPECT_EQ(compiler.compile(graph, 1), nullptr) << "nobody wants it any more";
  EXPECT_EQ(ExampleCompiler::status, PLUG_TIMEOUT);
}

TEST(ExampleCompiler, a_tensor_of_one_element_serves_all_of_the_others) {
  const ExampleCompiler& compiler = ExampleCompiler::instance();
  const Graph graph =
      from_text("operator " + std::to_string(compiler.place_of("aten::mul.Tensor")) + " " +
                compiler.schema(compiler.place_of("aten::mul.Tensor")) +
                "\ngraph(%x: f32[700], %y: f32[]) { %2: f32[700] = aten::mul.Tensor(%x, %y) return %2, %x }");
  plug_engine engine = compiler.compile(graph);
  ASSERT_NE(engine, nullptr) << ExampleCompiler::said;
  const Tensors outputs = compiler.run(engine, graph, {std::vector<float>(700, 3), {2}});
  EXPECT_EQ(outputs[0], std::vector<float>(700, 6));
  EXPECT_EQ(outputs[1], std::vector<float>(700, 3)) << "an output that is an input";
  compiler.destroy(engine);
}

}  // namespace
}  // namespace torchplug::graph::tests
