#include "graph/graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/error.h"

namespace torchplug::graph {
namespace {

constexpr int kDeepest = 32;  // lists in lists; PyTorch has one in one
constexpr uint64_t kKnownFlags = PLUG_CALL_DETERMINISTIC | PLUG_CALL_FAST_F32 | PLUG_CALL_CAPTURED;

void check_bool(int64_t number, const std::string& who) {
  if (number != 0 && number != 1)
    throw GraphError(say(who, " is ", number, ", which is neither true nor false"));
}

bool holds_zero(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace

std::optional<std::vector<int64_t>> contiguous_strides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    if (d == 0) break;
    if (is_symbolic(sizes[d])) return std::nullopt;
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step)) return std::nullopt;
  }
  return strides;
}

const std::vector<int64_t>& strides_of(const TensorType& type) {
  if (!type.strides) throw std::logic_error("a value of a graph has no strides");
  return *type.strides;
}

TensorType contiguous(plug_dtype dtype, std::vector<int64_t> sizes) {
  std::optional<std::vector<int64_t>> strides = contiguous_strides(sizes);
  return {dtype, std::move(sizes), std::move(strides)};
}

std::optional<uint64_t> bytes_of(plug_dtype dtype, std::span<const int64_t> sizes) {
  uint64_t bytes = PLUG_DTYPE_BYTES(dtype);
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    if (is_symbolic(size)) return std::nullopt;
  }
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return std::nullopt;
  }
  return bytes;
}

Constant::Constant(std::shared_ptr<const void> data, uint64_t bytes)
    : data_(std::move(data)), bytes_(bytes), digest_(digest_of(data_.get(), bytes)) {}

std::shared_ptr<const Constant> Constant::copy_of(const void* data, uint64_t bytes) {
  const auto copy = std::make_shared<std::vector<uint64_t>>((bytes + 7) / 8 + 1);  // aligned, and never null
  if (bytes > 0) std::memcpy(copy->data(), data, bytes);
  return std::make_shared<const Constant>(std::shared_ptr<const void>(copy, copy->data()), bytes);
}

// ---- what is refused ----

void Graph::check_value(int64_t value, const std::string& who) const {
  if (value >= 0 && value < static_cast<int64_t>(values_.size())) return;
  throw GraphError(say(who, " names value ", value, ", but the graph has ", values_.size(), " so far"));
}

void Graph::check_symbol(int64_t symbol, const std::string& who) const {
  if (symbol >= 0 && symbol < static_cast<int64_t>(symbols_.size())) return;
  throw GraphError(say(who, " names symbol ", symbol, ", but the graph has ", symbols_.size()));
}

void Graph::check_type(const TensorType& type, const std::string& who) const {
  if (PLUG_DTYPE_BYTES(type.dtype) == 0)
    throw GraphError(say(who, " has ", type.dtype, ", which is no dtype"));
  const auto check_extents = [&](std::span<const int64_t> extents) {
    for (const int64_t extent : extents) {
      if (is_symbolic(extent)) check_symbol(-1 - extent, who);
    }
  };
  check_extents(type.sizes);
  if (!type.strides) return;
  check_extents(*type.strides);
  if (type.strides->size() != type.sizes.size()) {
    throw GraphError(say(who, " has ", type.sizes.size(), " sizes and ", type.strides->size(), " strides"));
  }
}

void Graph::check_argument(const Argument& argument, const std::string& who) const {
  switch (argument.tag()) {
    case PLUG_VALUE_BOOL: check_bool(argument.as<int64_t>(), who); break;
    case PLUG_VALUE_BOOLS:
      for (const uint8_t item : argument.as<std::vector<uint8_t>>()) check_bool(item, who);
      break;
    case PLUG_VALUE_STR:
      if (holds_zero(argument.as<std::string>())) throw GraphError(say(who, " is a text with a zero byte"));
      break;
    case PLUG_VALUE_DTYPE:
      if (PLUG_DTYPE_BYTES(argument.as<uint64_t>()) == 0) {
        throw GraphError(say(who, " is ", argument.as<uint64_t>(), ", which is no dtype"));
      }
      break;
    case PLUG_VALUE_REF: check_value(argument.as<int64_t>(), who); break;
    case PLUG_VALUE_REFS:
      for (const int64_t value : argument.as<std::vector<int64_t>>()) {
        if (value != -1) check_value(value, who);
      }
      break;
    case PLUG_VALUE_SYMBOL: check_symbol(argument.as<int64_t>(), who); break;
    case PLUG_VALUE_LIST:
      for (const Argument& item : argument.as<std::vector<Argument>>()) check_argument(item, who);
      break;
    default: break;
  }
}

void Graph::check_output(const Output& output, size_t place) const {
  const std::string who = say("output ", place);
  check_value(output.value, who);
  const TensorType& type = values_[static_cast<size_t>(output.value)].type;
  if (!type.strides) throw GraphError(say(who, " has no strides"));
  if (output.updates == -1) return;
  if (output.updates < 0 || output.updates >= input_count_) {
    throw GraphError(say(who, " updates input ", output.updates, ", but the graph has ", input_count_));
  }
  const TensorType& input = values_[static_cast<size_t>(output.updates)].type;
  if (input.dtype != type.dtype || input.sizes != type.sizes || input.strides != type.strides) {
    throw GraphError(
        say(who, " updates input ", output.updates, ", whose dtype, sizes or strides are others"));
  }
}

// ---- building ----

int32_t Graph::add_symbol(Symbol symbol) {
  const std::string who = say("symbol ", symbols_.size());
  if (symbol.min > symbol.max) {
    throw GraphError(say(who, " runs from ", symbol.min, " to ", symbol.max, ", which is nothing"));
  }
  if (symbol.hint < symbol.min || symbol.hint > symbol.max) {
    throw GraphError(
        say(who, " has the hint ", symbol.hint, ", but runs from ", symbol.min, " to ", symbol.max));
  }
  if (holds_zero(symbol.text)) throw GraphError(say(who, " has a text with a zero byte"));
  symbols_.push_back(std::move(symbol));
  return static_cast<int32_t>(symbols_.size() - 1);
}

int32_t Graph::add_value(Value value) {
  if (holds_zero(value.name)) throw GraphError("the name of a value has a zero byte");
  values_.push_back(std::move(value));
  return static_cast<int32_t>(values_.size() - 1);
}

int32_t Graph::add_input(TensorType type, std::string name, bool is_weight) {
  const std::string who = say("input ", input_count_);
  if (static_cast<size_t>(input_count_) != values_.size()) {
    throw GraphError(say(who, " comes behind constants or nodes; inputs are added first"));
  }
  check_type(type, who);
  if (!type.strides) throw GraphError(say(who, " has no strides"));
  Value value{.type = std::move(type), .name = std::move(name), .constant = nullptr};
  if (is_weight) value.flags = PLUG_GRAPH_WEIGHT;
  add_value(std::move(value));
  return input_count_++;
}

int32_t Graph::add_constant(plug_dtype dtype, std::vector<int64_t> sizes,
                            std::shared_ptr<const Constant> content, std::string name) {
  const std::string who = say("constant value ", values_.size());
  TensorType type = contiguous(dtype, std::move(sizes));
  check_type(type, who);
  if (!content) throw GraphError(say(who, " has no content"));
  const std::optional<uint64_t> bytes = bytes_of(dtype, type.sizes);
  if (!bytes) throw GraphError(say(who, " has sizes that are symbols or too large"));
  if (*bytes != content->bytes()) {
    throw GraphError(
        say(who, " has ", content->bytes(), " bytes of content, but its sizes ask for ", *bytes));
  }
  return add_value({.type = std::move(type),
                    .flags = PLUG_GRAPH_CONSTANT,
                    .name = std::move(name),
                    .constant = std::move(content)});
}

int32_t Graph::add_operator(const std::string& schema, int32_t place) {
  std::vector<int32_t>& known = operators_by_schema_[schema];
  for (const int32_t op : known) {
    if (operators_[static_cast<size_t>(op)].place == place) return op;
  }
  operators_.push_back(read_operator(schema, place));
  known.push_back(static_cast<int32_t>(operators_.size() - 1));
  return known.back();
}

int32_t Graph::add_node(int32_t op, std::vector<Argument> args,
                        std::vector<std::optional<TensorType>> results, std::string source) {
  if (op < 0 || static_cast<size_t>(op) >= operators_.size()) {
    throw GraphError(say("a node calls operator ", op, ", but the graph has ", operators_.size()));
  }
  const Operator& called = operators_[static_cast<size_t>(op)];
  const std::string who = say("node ", nodes_.size(), " (", called.name, ")");
  if (args.size() != called.parameters.size() || results.size() != called.result_count) {
    throw GraphError(say(who, " has ", args.size(), " arguments and ", results.size(),
                         " results; its schema has ", called.parameters.size(), " and ",
                         called.result_count));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string argument = say("argument '", called.parameters[i].name, "' of ", who);
    if (args[i].depth() > kDeepest) throw GraphError(say(argument, " is a list of lists of lists too deep"));
    check_argument(args[i], argument);
  }
  for (const std::optional<TensorType>& result : results) {
    if (result) check_type(*result, say("a result of ", who));
  }
  if (holds_zero(source)) throw GraphError(say("the source of ", who, " has a zero byte"));

  const auto number = static_cast<int32_t>(nodes_.size());
  Node node{.op = op, .args = std::move(args), .results = {}, .source = std::move(source)};
  for (std::optional<TensorType>& result : results) {
    node.results.push_back(
        result ? add_value({.type = std::move(*result), .producer = number, .name = {}, .constant = nullptr})
               : -1);
  }
  nodes_.push_back(std::move(node));
  return number;
}

void Graph::set_outputs(std::vector<Output> outputs) {
  std::vector<bool> is_updated(static_cast<size_t>(input_count_));
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_output(outputs[i], i);
    if (outputs[i].updates == -1) continue;
    auto updated = is_updated[static_cast<size_t>(outputs[i].updates)];
    if (updated) throw GraphError(say("two outputs update input ", outputs[i].updates));
    updated = true;
  }
  outputs_ = std::move(outputs);
}

void Graph::set_flags(uint64_t flags) {
  if ((flags & ~kKnownFlags) != 0) throw GraphError(say("flags ", flags, " have bits that plug.h does not"));
  flags_ = flags;
}

void Graph::set_name(int32_t value, std::string name) {
  check_value(value, "a name");
  if (holds_zero(name)) throw GraphError("the name of a value has a zero byte");
  values_[static_cast<size_t>(value)].name = std::move(name);
}

std::string Graph::describe_node(int32_t node) const {
  return say("node ", node, " (", operator_of(nodes_[static_cast<size_t>(node)]).name, ")");
}

}  // namespace torchplug::graph
