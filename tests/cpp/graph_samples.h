#pragma once
// Graphs for tests of src/graph: small ones by hand, and random ones of all that a graph can hold. No
// PyTorch.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "graph/canonical.h"
#include "graph/error.h"
#include "graph/graph.h"

namespace torchplug::graph::tests {

inline constexpr const char* kAdd =
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
inline constexpr const char* kRelu = "aten::relu(Tensor self) -> Tensor";
inline constexpr const char* kView = "aten::view(Tensor self, SymInt[] size) -> Tensor";

// The sentence that `body` throws; "" if it throws none.
inline std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const GraphError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  return "";
}

inline void expect_refused(const std::function<void()>& body, const std::vector<std::string_view>& parts) {
  const std::string text = refusal_of(body);
  EXPECT_FALSE(text.empty()) << "nothing was refused; expected: " << parts.front();
  for (const std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in: " << text;
  }
}

inline TensorType f32(std::vector<int64_t> sizes) { return contiguous(PLUG_F32, std::move(sizes)); }

template <class T>
std::shared_ptr<const Constant> constant_of(const std::vector<T>& items) {
  return Constant::copy_of(items.data(), items.size() * sizeof(T));
}

// All that a graph is built of, in an order that can be changed.
struct Recipe {
  struct ConstantPart {
    plug_dtype dtype = PLUG_U8;
    std::vector<int64_t> sizes;
    std::vector<uint8_t> content;
  };
  struct InputPart {
    TensorType type;
    std::string name;
    bool is_weight = false;
  };
  struct NodePart {
    std::string schema;
    int32_t place = 0;
    std::vector<Argument> args;
    std::vector<std::optional<TensorType>> results;
    std::string source;
  };
  std::vector<Symbol> symbols;
  std::vector<InputPart> inputs;
  std::vector<ConstantPart> constants;
  std::vector<NodePart> nodes;
  std::vector<Output> outputs;
  uint64_t flags = 0;

  Graph build() const {
    Graph graph;
    for (const Symbol& symbol : symbols) graph.add_symbol(symbol);
    for (const InputPart& input : inputs) graph.add_input(input.type, input.name, input.is_weight);
    for (const ConstantPart& part : constants) {
      graph.add_constant(part.dtype, part.sizes, constant_of(part.content));
    }
    for (const NodePart& node : nodes) {
      graph.add_node(graph.add_operator(node.schema, node.place), node.args, node.results, node.source);
    }
    graph.set_outputs(outputs);
    graph.set_flags(flags);
    return graph;
  }
};

class RandomRecipe {
 public:
  explicit RandomRecipe(uint32_t seed) : random_(seed) {}

  Recipe make() {
    Recipe recipe;
    recipe.flags = below(4);
    symbols_ = below(4);
    for (int64_t i = 0; i < symbols_; ++i) {
      const auto min = static_cast<int64_t>(below(10)) - 3;
      recipe.symbols.push_back({min, min + int64_t{100} + below(5), min + 1, text()});
    }
    const int64_t inputs = 1 + below(4);
    for (int64_t i = 0; i < inputs; ++i) recipe.inputs.push_back({type(true), text(), below(2) == 0});
    values_ = inputs;
    add_constants(recipe);
    const int64_t nodes = below(12);
    for (int64_t i = 0; i < nodes; ++i) add_node(recipe);
    add_outputs(recipe);
    return recipe;
  }

  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }

  // The same with another number somewhere, or nothing where there is none to change.
  bool mutate(Recipe& recipe) {
    switch (below(9)) {
      case 0: return mutate_symbol(recipe);
      case 1: return mutate_input(recipe);
      case 2: return mutate_constant(recipe);
      case 3: recipe.flags ^= 1; return true;
      case 4: return mutate_output(recipe);
      case 5: return mutate_result(recipe);
      case 6: return mutate_operator(recipe);
      default: return mutate_argument(recipe);
    }
  }

 private:
  std::string text() {
    static const std::vector<std::string> texts = {"",         "x",          "layers.0.weight", "a \"b\" \\c",
                                                   "Gerät\t",  "two\nlines", "# no comment",    "%3",
                                                   "2*s0 + 1", "x1"};
    return texts[static_cast<size_t>(below(static_cast<int64_t>(texts.size())))];
  }

  plug_dtype dtype() {
    static constexpr plug_dtype kTypes[] = {PLUG_F32,  PLUG_F64,       PLUG_BF16,         PLUG_I64, PLUG_BOOL,
                                            PLUG_C128, PLUG_F8_E4M3FN, PLUG_F4_E2M1FN_X2, PLUG_QI8, 0x30717};
    return kTypes[below(std::size(kTypes))];
  }

  int64_t extent() {
    return symbols_ > 0 && below(3) == 0 ? extent_of(static_cast<int32_t>(below(symbols_))) : below(6);
  }

  TensorType type(bool has_strides) {
    TensorType type{dtype(), {}, std::nullopt};
    const int64_t dims = below(4);
    for (int64_t d = 0; d < dims; ++d) type.sizes.push_back(extent());
    type.strides = contiguous_strides(type.sizes);
    if (!has_strides && below(3) == 0) type.strides.reset();
    if (type.strides || !has_strides) {
      if (below(3) != 0) return type;
    }
    type.strides.emplace();
    for (int64_t d = 0; d < dims; ++d) type.strides->push_back(extent());
    return type;
  }

  double number() {
    static constexpr uint64_t kOdd[] = {0x7ff8000000000000,
                                        0x7ff8000000000001,
                                        0x7ff4000000000000,
                                        0xfff8000000000000,
                                        0x7ff0000000000000,
                                        0xfff0000000000000,
                                        0x8000000000000000,
                                        0,
                                        1,
                                        0x3ff0000000000000,
                                        0x4000000000000000,
                                        0x3fb999999999999a};
    return std::bit_cast<double>(below(2) == 0 ? kOdd[below(std::size(kOdd))] : random_());
  }

  Argument argument(int depth = 0) {
    const auto some = [this](auto make) {
      std::vector<decltype(make())> items(static_cast<size_t>(below(4)));
      for (auto& item : items) item = make();
      return items;
    };
    switch (below(depth < 3 ? 19 : 17)) {
      case 0: return {};
      case 1: return Argument::boolean(below(2) == 0);
      case 2: return Argument::integer(static_cast<int64_t>(random_()) >> below(64));
      case 3: return Argument::unsigned_integer(random_());
      case 4: return Argument::number(number());
      case 5: return Argument::complex(number(), number());
      case 6: return Argument::text(text());
      case 7: return Argument::dtype(dtype());
      case 8: return Argument::layout(below(3));
      case 9: return Argument::format(below(6));
      case 10: return Argument::device(below(3) - 1);
      case 11: return Argument::generator();
      case 12: return Argument::ints(some([this] { return static_cast<int64_t>(random_()); }));
      case 13: return Argument::floats(some([this] { return number(); }));
      case 14: return Argument::bools(some([this] { return static_cast<uint8_t>(below(2)); }));
      case 15: return Argument::refs(some([this] { return below(values_ + 1) - 1; }));
      case 16: return symbols_ > 0 ? Argument::symbol(static_cast<int32_t>(below(symbols_))) : Argument();
      case 17: return Argument::list(some([this, depth] { return argument(depth + 1); }));
      default: return Argument::ref(static_cast<int32_t>(below(values_)));
    }
  }

  void add_constants(Recipe& recipe) {
    const int64_t count = below(4);
    for (int64_t i = 0; i < count; ++i) {
      std::vector<uint8_t> content(static_cast<size_t>(below(2) == 0 ? below(9) : 200));
      for (uint8_t& byte : content) byte = static_cast<uint8_t>(random_());
      recipe.constants.push_back({PLUG_U8, {static_cast<int64_t>(content.size())}, content});
    }
    values_ += count;
  }

  void add_node(Recipe& recipe) {
    const int64_t args = below(5);
    const int64_t results = below(3);
    Recipe::NodePart node;
    node.schema = "test::f" + std::to_string(below(2)) + "(";
    for (int64_t i = 0; i < args; ++i) {
      if (i > 0) node.schema += ", ";
      if (i == 2) node.schema += "*, ";
      node.schema += "Tensor(a!)? a" + std::to_string(i) + (i == 1 ? "=[1, ')']" : "");
      node.args.push_back(argument());
    }
    node.schema += ") -> (";
    for (int64_t i = 0; i < results; ++i) {
      node.schema += i == 0 ? "Tensor" : ", Tensor(b)[] c";
      const bool is_used = below(5) != 0;
      node.results.push_back(is_used ? std::optional(type(false)) : std::nullopt);
    }
    node.schema += ")";
    node.place = static_cast<int32_t>(below(4)) - 1;
    for (const Recipe::NodePart& other : recipe.nodes) {  // a place has one schema
      if (other.place == node.place && other.schema != node.schema) node.place = -1;
    }
    node.source = text();
    for (const auto& result : node.results) values_ += result.has_value();
    recipe.nodes.push_back(std::move(node));
  }

  void add_outputs(Recipe& recipe) {
    const Graph graph = recipe.build();
    std::vector<bool> is_updated(recipe.inputs.size());
    for (int64_t value = 0; value < values_; ++value) {
      const TensorType& type = graph.values()[static_cast<size_t>(value)].type;
      if (!type.strides || below(3) != 0) continue;
      Output output{static_cast<int32_t>(value), -1};
      for (size_t input = 0; input < recipe.inputs.size(); ++input) {
        const TensorType& other = recipe.inputs[input].type;
        if (is_updated[input] || other.dtype != type.dtype || other.sizes != type.sizes) continue;
        if (other.strides != type.strides || below(2) == 0) continue;
        output.updates = static_cast<int32_t>(input);
        is_updated[input] = true;
        break;
      }
      recipe.outputs.push_back(output);
    }
  }

  template <class T>
  T& pick(std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

  bool mutate_symbol(Recipe& recipe) {
    if (recipe.symbols.empty()) return false;
    ++(below(2) == 0 ? pick(recipe.symbols).min : pick(recipe.symbols).max);
    return true;
  }

  bool mutate_type(TensorType& type) {
    switch (below(3)) {
      case 0: type.dtype = type.dtype == PLUG_I16 ? PLUG_U16 : PLUG_I16; return true;
      case 1:
        if (type.sizes.empty()) return false;
        ++pick(type.sizes);  // a symbol becomes another one, or 0
        return true;
      default:
        type.sizes.push_back(1);
        if (type.strides) type.strides->push_back(1);
        return true;
    }
  }

  bool mutate_input(Recipe& recipe) {
    Recipe::InputPart& input = pick(recipe.inputs);
    if (!recipe.outputs.empty()) recipe.outputs.back().updates = -1;
    for (Output& output : recipe.outputs) {
      if (output.updates >= 0) return false;  // it has to match its output
    }
    switch (below(3)) {
      case 0: input.is_weight = !input.is_weight; return true;
      case 1:
        if (input.type.strides->empty()) return false;
        ++pick(*input.type.strides);
        return true;
      default: return mutate_type(input.type);
    }
  }

  bool mutate_constant(Recipe& recipe) {
    if (recipe.constants.empty()) return false;
    Recipe::ConstantPart& part = pick(recipe.constants);
    if (part.content.empty() || below(3) == 0) {
      part.sizes.push_back(1);
    } else if (below(2) == 0) {
      part.dtype = PLUG_I8;
    } else {
      pick(part.content) ^= 1;
    }
    return true;
  }

  bool mutate_output(Recipe& recipe) {
    if (recipe.outputs.empty()) return false;
    Output& output = pick(recipe.outputs);
    if (output.updates >= 0) {
      output.updates = -1;
    } else {
      recipe.outputs.push_back(output);
    }
    return true;
  }

  bool mutate_result(Recipe& recipe) {
    if (recipe.nodes.empty()) return false;
    Recipe::NodePart& node = pick(recipe.nodes);
    if (node.results.empty() || !node.results[0]) return false;
    for (const Output& output : recipe.outputs) {
      if (output.updates >= 0) return false;
    }
    return mutate_type(*node.results[0]);
  }

  bool mutate_operator(Recipe& recipe) {
    if (recipe.nodes.empty()) return false;
    Recipe::NodePart& node = pick(recipe.nodes);
    if (below(2) == 0) {
      ++node.place;
    } else {
      node.schema.insert(6, "_");
    }
    return true;
  }

  bool mutate_argument(Recipe& recipe) {
    if (recipe.nodes.empty()) return false;
    Recipe::NodePart& node = pick(recipe.nodes);
    if (node.args.empty()) return false;
    Argument& argument = pick(node.args);
    argument = changed(argument);
    return true;
  }

  Argument changed(const Argument& from) {
    switch (from.tag()) {
      case PLUG_VALUE_BOOL: return Argument::boolean(from.as<int64_t>() == 0);
      case PLUG_VALUE_INT: return Argument::integer(from.as<int64_t>() ^ 1);
      case PLUG_VALUE_UINT: return Argument::unsigned_integer(from.as<uint64_t>() ^ 1);
      case PLUG_VALUE_FLOAT: return Argument::number(flipped(from.as<double>()));
      case PLUG_VALUE_COMPLEX: {
        const auto& parts = from.as<std::vector<double>>();
        return below(2) == 0 ? Argument::complex(flipped(parts[0]), parts[1])
                             : Argument::complex(parts[0], flipped(parts[1]));
      }
      case PLUG_VALUE_STR: return Argument::text(from.as<std::string>() + "!");
      case PLUG_VALUE_DTYPE: return Argument::dtype(from.as<uint64_t>() == PLUG_I16 ? PLUG_U16 : PLUG_I16);
      case PLUG_VALUE_LAYOUT: return Argument::layout(from.as<int64_t>() + 1);
      case PLUG_VALUE_FORMAT: return Argument::format(from.as<int64_t>() + 1);
      case PLUG_VALUE_DEVICE: return Argument::device(from.as<int64_t>() + 1);
      case PLUG_VALUE_INTS:
        return changed_list(from.as<std::vector<int64_t>>(), [](int64_t i) { return i ^ 1; });
      case PLUG_VALUE_FLOATS: return changed_list(from.as<std::vector<double>>(), flipped);
      case PLUG_VALUE_LIST: {
        auto items = from.as<std::vector<Argument>>();
        if (items.empty()) return Argument::ints({});
        Argument& item = pick(items);
        item = changed(item);
        return Argument::list(items);
      }
      case PLUG_NONE: return Argument::integer(0);
      default: return {};
    }
  }

  static double flipped(double number) { return std::bit_cast<double>(std::bit_cast<uint64_t>(number) ^ 1); }

  template <class T, class Change>
  Argument changed_list(std::vector<T> items, Change change) {
    if (items.empty()) return Argument::list({});
    T& item = pick(items);
    item = change(item);
    if constexpr (std::is_same_v<T, double>) {
      return Argument::floats(items);
    } else {
      return Argument::ints(items);
    }
  }

  std::mt19937_64 random_;
  int64_t symbols_ = 0;
  int64_t values_ = 0;
};

}  // namespace torchplug::graph::tests
