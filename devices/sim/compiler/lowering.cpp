#include "lowering.h"

#include <algorithm>
#include <string>

#include "error.h"

namespace torchplug::sim::compiler {
namespace {

std::vector<const Operator*> collect(bool whole) {
  std::vector<const Operator*> all;
  for (const OperatorList& family :
       {pointwise_operators(), shape_operators(), reduction_operators(), norm_operators(), index_operators(),
        creation_operators(), product_operators(), pooling_operators()}) {
    for (std::size_t i = 0; i < family.count; ++i) {
      if (whole || !family.list[i].whole) all.push_back(&family.list[i]);
    }
  }
  return all;
}

Type type_or_fail(plug_dtype dtype) {
  const auto known = type_of(dtype);
  if (!known) fail(PLUG_UNSUPPORTED, "The compiler has no code for dtype ", dtype, ".");
  return *known;
}

class GraphLowering {
 public:
  GraphLowering(const plug_graph& graph, Program& program)
      : graph_(graph), program_(program), builder_(program), values_(graph.value_count), uses_(graph.value_count) {}

  void run(bool whole) {
    program_.inputs = static_cast<int>(graph_.input_count);
    program_.outputs = static_cast<int>(graph_.output_count);
    program_.symbols = static_cast<int>(graph_.symbol_count);
    for (std::uint32_t i = 0; i < graph_.input_count; ++i) add_input(i);
    for (std::uint32_t v = 0; v < graph_.value_count; ++v) {
      if ((graph_.values[v]->flags & PLUG_GRAPH_CONSTANT) != 0) add_constant(v);
    }
    count_uses();
    for (std::uint32_t n = 0; n < graph_.node_count; ++n) lower_node(*graph_.nodes[n], whole);
    for (std::uint32_t o = 0; o < graph_.output_count; ++o) add_output(o);
  }

 private:
  Buffer described(const plug_graph_value& value, Buffer::Origin origin, int index) const {
    Buffer made{.origin = origin, .index = index, .type = type_or_fail(value.dtype)};
    for (std::int32_t d = 0; d < value.ndim; ++d) made.sizes.push_back(Poly::of_size(value.sizes[d]));
    made.strides = contiguous(made.sizes);
    if (value.strides != nullptr) {
      for (std::int32_t d = 0; d < value.ndim; ++d)
        made.strides[static_cast<std::size_t>(d)] = Poly::of_size(value.strides[d]);
    }
    made.elements = product(made.sizes);
    return made;
  }

  void add(std::int32_t value, Buffer buffer) {
    program_.buffers.push_back(std::move(buffer));
    values_.at(static_cast<std::size_t>(value)) = builder_.load(static_cast<int>(program_.buffers.size()) - 1);
  }

  void add_input(std::uint32_t input) {
    const std::int32_t value = graph_.inputs[input];
    add(value, described(*graph_.values[value], Buffer::Origin::kInput, static_cast<int>(input)));
  }

  void add_constant(std::uint32_t value) {
    const plug_graph_value& constant = *graph_.values[value];
    Buffer made = described(constant, Buffer::Origin::kConstant, 0);
    made.strides = contiguous(made.sizes);
    const auto elements = made.elements.number();
    if (!elements || constant.data == nullptr) fail(PLUG_INVALID, "A constant has no content.");
    std::vector<char>& bytes = program_.constants;
    bytes.resize((bytes.size() + 63) / 64 * 64);
    made.index = static_cast<int>(bytes.size());
    const auto count = static_cast<std::size_t>(*elements) * static_cast<std::size_t>(bytes_of(made.type));
    const char* const from = static_cast<const char*>(constant.data->mem.base) + constant.data->mem.offset;
    if (count != 0) bytes.insert(bytes.end(), from, from + count);
    add(static_cast<std::int32_t>(value), std::move(made));
  }

  void count_uses() {
    const auto use = [this](std::int64_t value) {
      if (value >= 0) ++uses_.at(static_cast<std::size_t>(value));
    };
    for (std::uint32_t n = 0; n < graph_.node_count; ++n) {
      const plug_node& node = *graph_.nodes[n];
      for (std::uint32_t a = 0; a < node.arg_count; ++a) {
        const plug_value& arg = node.args[a];
        if (arg.tag == PLUG_VALUE_REF) use(arg.as.i);
        for (std::uint32_t i = 0; arg.tag == PLUG_VALUE_REFS && i < arg.count; ++i) use(arg.as.ints[i]);
      }
    }
    for (std::uint32_t o = 0; o < graph_.output_count; ++o) use(graph_.outputs[o]);
  }

  void lower_node(const plug_node& node, bool whole) {
    const auto& known = operators(whole);
    if (node.op < 0 || static_cast<std::size_t>(node.op) >= known.size()) {
      fail(PLUG_INVALID, "The graph names operator ", node.op, ", which is not listed.");
    }
    Node context(builder_, graph_, node, *known[static_cast<std::size_t>(node.op)], values_);
    try {
      context.op().lower(context);
    } catch (const Failure& failure) {
      const std::string where = node.source != nullptr ? std::string(" (") + node.source + ")" : "";
      throw Failure(failure.status(), failure.what() + where);
    }
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
      if (node.results[r] >= 0) keep_if_shared(static_cast<std::size_t>(node.results[r]));
    }
  }

  // Computed once where several use it and it is worth a place.
  void keep_if_shared(std::size_t value) {
    constexpr int kWorthKeeping = 12, kTooMuch = 400;
    auto& held = values_[value];
    if (!held) return;
    const int cost = held->expr->cost;
    const bool is_number = loads_of(held->expr).empty();
    if ((uses_[value] > 1 && cost >= kWorthKeeping && !is_number) || cost >= kTooMuch) {
      held = builder_.realised(*held);
    }
  }

  void add_output(std::uint32_t output) {
    const std::int32_t value = graph_.outputs[output];
    Buffer made = described(*graph_.values[value], Buffer::Origin::kOutput, static_cast<int>(output));
    const std::int32_t updated = graph_.updates != nullptr ? graph_.updates[output] : -1;
    const auto& held = values_.at(static_cast<std::size_t>(value));
    if (!held) fail(PLUG_INVALID, "Output ", output, " is not computed.");
    if (updated < 0 && rebind(*held, made)) return;
    if (updated >= 0) return add_update(*held, made, updated);
    program_.buffers.push_back(made);
    builder_.store(*held, static_cast<int>(program_.buffers.size()) - 1, {0, made.strides}, false);
  }

  // Has the stages that fill the output's value write into the output itself.
  bool rebind(const Tensor& held, const Buffer& made) {
    const Expr& expr = *held.expr;
    if (expr.kind != Expr::Kind::kLoad || !expr.args.empty()) return false;
    Buffer& buffer = program_.buffers[static_cast<std::size_t>(expr.buffer)];
    const bool fits = buffer.origin == Buffer::Origin::kScratch && buffer.type == made.type &&
                      buffer.elements == made.elements && expr.place.offset.is(0) &&
                      made.strides == contiguous(made.sizes) && is_dense(expr.place, made.sizes);
    if (!fits) return false;
    buffer.origin = made.origin;
    buffer.index = made.index;
    return true;
  }

  static bool is_dense(const Affine& place, const Shape& sizes) {
    const std::vector<Poly> dense = contiguous(sizes);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (!sizes[d].is(1) && !(place.coefs[d] == dense[d])) return false;
    }
    return true;
  }

  // The argument itself is written, after all that reads its old content.
  void add_update(const Tensor& held, Buffer made, std::int32_t /*input*/) {
    const Tensor kept = builder_.realised(held);
    program_.buffers.push_back(made);
    builder_.store(kept, static_cast<int>(program_.buffers.size()) - 1, {0, made.strides}, false);
  }

  const plug_graph& graph_;
  Program& program_;
  Builder builder_;
  std::vector<std::optional<Tensor>> values_;
  std::vector<int> uses_;
};

}  // namespace

const std::vector<const Operator*>& operators(bool whole) {
  static const std::vector<const Operator*> some = collect(false), all = collect(true);
  return whole ? all : some;
}

void lower(const plug_graph& graph, bool whole, Program& program) { GraphLowering(graph, program).run(whole); }

}  // namespace torchplug::sim::compiler
