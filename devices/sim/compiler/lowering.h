#pragma once
// A plug_graph made into a Program: one function for each family of operators, found by the schema's place in
// one table. Fails with PLUG_UNSUPPORTED, and a sentence, for what cannot be compiled.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "builder.h"
#include "torchplug/plug.h"

namespace torchplug::sim::compiler {

struct Operator;

// One node while it is lowered: its arguments as the schema orders them, and its results.
class Node {
 public:
  Node(Builder& builder, const plug_graph& graph, const plug_node& node, const Operator& op,
       std::vector<std::optional<Tensor>>& values)
      : b(builder), graph_(graph), node_(node), op_(op), values_(values) {}

  Builder& b;
  const Operator& op() const { return op_; }
  // Of the operator, without its overload.
  std::string name() const;

  bool is_given(std::size_t index) const;
  Tensor tensor(std::size_t index) const;
  // In the type that it is computed in, or another.
  Tensor widened(std::size_t index) const;
  Tensor widened(std::size_t index, Type type) const;
  std::vector<std::optional<Tensor>> tensors(std::size_t index) const;
  // A Scalar, or a tensor, as a tensor of the type.
  Tensor operand(std::size_t index, Type type) const;
  // The same where PyTorch brings a Scalar into the tensor's type first: rounded to 16 bits.
  Tensor rounded(std::size_t index, Type type) const;
  double real(std::size_t index) const;
  std::int64_t integer(std::size_t index) const;
  // Whether a Scalar is given as one with a fraction; of a tensor, whether it holds such.
  bool is_fraction(std::size_t index) const;
  bool flag(std::size_t index) const { return is_given(index) && integer(index) != 0; }
  std::string_view text(std::size_t index) const;
  // Numbers that may be symbols.
  Poly size(std::size_t index) const;
  std::vector<Poly> sizes(std::size_t index) const;
  std::vector<std::int64_t> integers(std::size_t index) const;
  // Dims of a list or a number; all of them where none is given.
  std::vector<std::size_t> dims(std::size_t index, std::size_t rank) const;
  std::size_t dim(std::size_t index, std::size_t rank) const { return wrapped(integer(index), rank); }
  // A start that counts from the end if it is negative.
  Poly start(std::size_t index, const Poly& size) const;

  std::size_t result_count() const { return node_.result_count; }
  bool is_wanted(std::size_t result = 0) const;
  Type type(std::size_t result = 0) const;
  Shape shape(std::size_t result = 0) const;
  // Brings the tensor into the result's type and shape.
  void set(const Tensor& tensor, std::size_t result = 0);
  void set_rounded(const Tensor& tensor, std::size_t result = 0);

 private:
  const plug_value& arg(std::size_t index) const;
  Poly symbol(std::int64_t index) const { return Poly::symbol(static_cast<int>(index)); }
  Tensor value(std::int64_t index) const;
  const plug_graph_value& declared(std::size_t result) const;

  const plug_graph& graph_;
  const plug_node& node_;
  const Operator& op_;
  std::vector<std::optional<Tensor>>& values_;
};

struct Operator {
  const char* schema;
  void (*lower)(Node& node);
  const char* text = nullptr;  // for a family: what it computes
  int cost = 1;
  bool whole = false;  // only where every operator of a model is compiled
};

struct OperatorList {
  const Operator* list;
  std::size_t count;
};
// Each family in its own file.
OperatorList pointwise_operators();
OperatorList shape_operators();
OperatorList reduction_operators();
OperatorList norm_operators();
OperatorList index_operators();
OperatorList creation_operators();
OperatorList product_operators();
OperatorList pooling_operators();

// What compile() may be given, in the order of plug_node.op.
const std::vector<const Operator*>& operators(bool whole);

void lower(const plug_graph& graph, bool whole, Program& program);

}  // namespace torchplug::sim::compiler
