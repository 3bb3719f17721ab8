#include "graph/canonical.h"

#include <bit>
#include <string_view>

namespace torchplug::graph {
namespace {

// Writes what a reader could read back without knowing more, so that no two graphs have the same bytes: each
// list behind its length, each value described where it is first named.
class CanonicalWriter {
 public:
  explicit CanonicalWriter(const Graph& graph)
      : graph_(graph), numbers_(graph.values().size(), -1), operators_(graph.operators().size(), -1) {}

  std::vector<uint8_t> write() {
    add_text("torchplug graph 1");
    add(graph_.flags());
    add(graph_.symbols().size());
    for (const Symbol& symbol : graph_.symbols()) {
      add(symbol.min);
      add(symbol.max);
    }
    add(graph_.input_count());
    for (int32_t input = 0; input < graph_.input_count(); ++input) add_input(input);
    add(graph_.nodes().size());
    for (const Node& node : graph_.nodes()) add_node(node);
    add_outputs();
    add_unused_constants();
    return std::move(bytes_);
  }

 private:
  void add(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<uint8_t>(number >> shift));
  }
  void add(int64_t number) { add(static_cast<uint64_t>(number)); }
  void add(int32_t number) { add(int64_t{number}); }
  void add(uint32_t number) { add(uint64_t{number}); }
  void add(double number) { add(std::bit_cast<uint64_t>(number)); }
  void add(uint8_t number) { bytes_.push_back(number); }
  void add_text(std::string_view text) {
    add(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  template <class Number>
  void add_list(const std::vector<Number>& numbers) {
    add(numbers.size());
    for (const Number number : numbers) add(number);
  }

  void give_number(int32_t value) { numbers_[static_cast<size_t>(value)] = next_number_++; }

  void add_type(int32_t value) {
    const TensorType& type = graph_.values()[static_cast<size_t>(value)].type;
    add(type.dtype);
    add_list(type.sizes);
  }
  void add_strides(int32_t value) { add_list(strides_of(graph_.values()[static_cast<size_t>(value)].type)); }

  void add_input(int32_t input) {
    give_number(input);
    add_type(input);
    add_strides(input);
    add(graph_.values()[static_cast<size_t>(input)].flags);
  }

  void add_constant(int32_t value) {
    give_number(value);
    add_type(value);
    for (const uint8_t byte : graph_.values()[static_cast<size_t>(value)].constant->digest()) add(byte);
  }

  // A constant that is named for the first time has the next number, and is described behind it.
  void add_ref(int64_t value) {
    if (value < 0) return add(value);
    const int32_t number = numbers_[static_cast<size_t>(value)];
    add(number < 0 ? next_number_ : number);
    if (number < 0) add_constant(static_cast<int32_t>(value));
  }

  // Likewise.
  void add_operator(int32_t op) {
    int32_t& number = operators_[static_cast<size_t>(op)];
    const bool is_new = number < 0;
    if (is_new) number = next_operator_++;
    add(number);
    if (!is_new) return;
    add_text(graph_.operators()[static_cast<size_t>(op)].schema);
    add(graph_.operators()[static_cast<size_t>(op)].place);
  }

  void add_argument(const Argument& argument) {
    add(static_cast<uint8_t>(argument.tag()));
    switch (argument.tag()) {
      case PLUG_NONE:
      case PLUG_VALUE_GENERATOR: break;
      case PLUG_VALUE_UINT:
      case PLUG_VALUE_DTYPE: add(argument.as<uint64_t>()); break;
      case PLUG_VALUE_FLOAT: add(argument.as<double>()); break;
      case PLUG_VALUE_COMPLEX:
      case PLUG_VALUE_FLOATS: add_list(argument.as<std::vector<double>>()); break;
      case PLUG_VALUE_STR: add_text(argument.as<std::string>()); break;
      case PLUG_VALUE_INTS: add_list(argument.as<std::vector<int64_t>>()); break;
      case PLUG_VALUE_BOOLS: add_list(argument.as<std::vector<uint8_t>>()); break;
      case PLUG_VALUE_REF: add_ref(argument.as<int64_t>()); break;
      case PLUG_VALUE_REFS:
        add(argument.as<std::vector<int64_t>>().size());
        for (const int64_t value : argument.as<std::vector<int64_t>>()) add_ref(value);
        break;
      case PLUG_VALUE_LIST:
        add(argument.as<std::vector<Argument>>().size());
        for (const Argument& item : argument.as<std::vector<Argument>>()) add_argument(item);
        break;
      default: add(argument.as<int64_t>()); break;
    }
  }

  void add_node(const Node& node) {
    add_operator(node.op);
    add(node.args.size());
    for (const Argument& argument : node.args) add_argument(argument);
    add(node.results.size());
    for (const int32_t value : node.results) {
      add(static_cast<uint8_t>(value >= 0));
      if (value < 0) continue;
      give_number(value);
      add_type(value);
    }
  }

  void add_outputs() {
    add(graph_.outputs().size());
    for (const Output& output : graph_.outputs()) {
      add_ref(output.value);
      add_strides(output.value);
      add(output.updates);
    }
  }

  void add_unused_constants() {
    for (size_t value = 0; value < numbers_.size(); ++value) {
      if (numbers_[value] < 0) add_constant(static_cast<int32_t>(value));
    }
  }

  const Graph& graph_;
  std::vector<uint8_t> bytes_;
  std::vector<int32_t> numbers_;    // of values, in the order in which they are named; -1: not yet
  std::vector<int32_t> operators_;  // likewise
  int32_t next_number_ = 0;
  int32_t next_operator_ = 0;
};

}  // namespace

std::vector<uint8_t> canonical_bytes(const Graph& graph) { return CanonicalWriter(graph).write(); }

Digest digest_of(const Graph& graph) {
  const std::vector<uint8_t> bytes = canonical_bytes(graph);
  return digest_of(bytes.data(), bytes.size());
}

}  // namespace torchplug::graph
