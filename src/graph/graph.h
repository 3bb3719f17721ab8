#pragma once
// A program without branches over tensors, as plug.h's plug_graph describes it: what every front end builds
// and every compiler is given. It is a value: built by calls, each of which refuses what no plug_graph can be
// with a GraphError, copied like a vector (contents of constants are shared), and never changed behind one's
// back. Several threads may read one.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/namespaces.h"
#include "graph/argument.h"
#include "graph/digest.h"
#include "graph/operator_schema.h"
#include "torchplug/plug.h"

namespace torchplug::graph {

// An integer that only a call knows.
struct Symbol {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
  int64_t hint = 0;
  std::string text;
};

// A size or stride is a number, or stands for a symbol: -1 - symbol, as in plug.h.
inline int64_t extent_of(int32_t symbol) { return -1 - int64_t{symbol}; }
inline bool is_symbolic(int64_t extent) { return extent < 0; }
inline int32_t symbol_of(int64_t extent) { return static_cast<int32_t>(-1 - extent); }

struct TensorType {
  plug_dtype dtype = 0;
  std::vector<int64_t> sizes;
  std::optional<std::vector<int64_t>> strides;  // in elements; inputs and outputs have them
};

// Of a type that has them.
const std::vector<int64_t>& strides_of(const TensorType& type);
// None if a size other than the first is a symbol: a stride would be a product of it.
std::optional<std::vector<int64_t>> contiguous_strides(std::span<const int64_t> sizes);
TensorType contiguous(plug_dtype dtype, std::vector<int64_t> sizes);

// The content of a constant, row after row, in host memory. Shared, and never changed.
class Constant {
 public:
  // `bytes` of memory that `data` owns.
  Constant(std::shared_ptr<const void> data, uint64_t bytes);
  static std::shared_ptr<const Constant> copy_of(const void* data, uint64_t bytes);

  const void* data() const { return data_.get(); }
  uint64_t bytes() const { return bytes_; }
  const Digest& digest() const { return digest_; }

 private:
  std::shared_ptr<const void> data_;
  uint64_t bytes_;
  Digest digest_;
};

struct Value {
  TensorType type;
  uint32_t flags = 0;     // PLUG_GRAPH_*
  int32_t producer = -1;  // the node it is a result of; -1: an input or a constant
  std::string name;       // for people; may be empty
  std::shared_ptr<const Constant> constant;

  bool is_constant() const { return constant != nullptr; }
};

struct Node {
  int32_t op = 0;  // in operators()
  std::vector<Argument> args;
  std::vector<int32_t> results;  // the value for each return; -1: nobody uses it
  std::string source;            // for people; may be empty
};

struct Output {
  int32_t value = 0;
  int32_t updates = -1;  // the input it is the new content of; -1: none
};

class Graph {
 public:
  int32_t add_symbol(Symbol symbol);
  // Before constants and nodes: input i is value i.
  int32_t add_input(TensorType type, std::string name = {}, bool is_weight = false);
  int32_t add_constant(plug_dtype dtype, std::vector<int64_t> sizes, std::shared_ptr<const Constant> content,
                       std::string name = {});
  // The number of the operator; the same for the same schema and place.
  int32_t add_operator(const std::string& schema, int32_t place = -1);
  // The number of the node; its results are nodes()[number].results. None for a result that nobody uses.
  int32_t add_node(int32_t op, std::vector<Argument> args, std::vector<std::optional<TensorType>> results,
                   std::string source = {});
  void set_outputs(std::vector<Output> outputs);
  void set_flags(uint64_t flags);  // PLUG_CALL_*
  void set_name(int32_t value, std::string name);
  // Where another compiler, or another version of it, lists the operator; -1: it does not.
  void set_place(int32_t op, int32_t place) { operators_[static_cast<size_t>(op)].place = place; }

  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Operator>& operators() const { return operators_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  int32_t input_count() const { return input_count_; }  // values 0 up to this
  uint64_t flags() const { return flags_; }

  const Operator& operator_of(const Node& node) const { return operators_[static_cast<size_t>(node.op)]; }
  // "node 3 (aten::add.Tensor)"
  std::string describe_node(int32_t node) const;

 private:
  void check_value(int64_t value, const std::string& who) const;
  void check_symbol(int64_t symbol, const std::string& who) const;
  void check_type(const TensorType& type, const std::string& who) const;
  void check_argument(const Argument& argument, const std::string& who) const;
  void check_output(const Output& output, size_t place) const;
  int32_t add_value(Value value);

  std::vector<Symbol> symbols_;
  std::vector<Value> values_;
  std::vector<Operator> operators_;
  std::unordered_map<std::string, std::vector<int32_t>> operators_by_schema_;
  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  int32_t input_count_ = 0;
  uint64_t flags_ = 0;
};

// How many bytes a contiguous tensor of numbers has; none if that is no 64-bit number.
std::optional<uint64_t> bytes_of(plug_dtype dtype, std::span<const int64_t> sizes);

}  // namespace torchplug::graph
