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
      : graph_(graph),
        program_(program),
        builder_(program),
        values_(graph.value_count),
        uses_(graph.value_count) {}

  void run(bool whole) {
    program_.inputs = static_cast<int>(graph_.input_count);
    program_.outputs = static_cast<int>(graph_.output_count);
    program_.symbols = static_cast<int>(graph_.symbol_count);
    for (std::uint32_t i = 0; i < graph_.input_count; ++i) add_input(i);
    for (std::uint32_t v = 0; v < graph_.value_count; ++v) {
      if ((graph_.values[v]->flags & PLUG_GRAPH_CONSTANT) != 0) add_constant(v);
    }
    for (std::uint32_t o = 0; o < graph_.output_count; ++o) {
      if (updated(o) >= 0)
        program_.buffers[static_cast<std::size_t>(input_buffer(updated(o)))].is_updated = true;
    }
    count_uses();
    for (std::uint32_t n = 0; n < graph_.node_count; ++n) lower_node(*graph_.nodes[n], whole);
    for (std::uint32_t o = 0; o < graph_.output_count; ++o) {
      if (updated(o) < 0) add_output(o);
    }
    add_updates();
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
    values_.at(static_cast<std::size_t>(value)) =
        builder_.load(static_cast<int>(program_.buffers.size()) - 1);
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

  // The value that an output is the new content of, or -1.
  std::int32_t updated(std::uint32_t output) const {
    return graph_.updates != nullptr ? graph_.updates[output] : -1;
  }

  const Tensor& output_value(std::uint32_t output) const {
    const auto& held = values_.at(static_cast<std::size_t>(graph_.outputs[output]));
    if (!held) fail(PLUG_INVALID, "Output ", output, " is not computed.");
    return *held;
  }

  Buffer output_buffer(std::uint32_t output) const {
    return described(*graph_.values[graph_.outputs[output]], Buffer::Origin::kOutput,
                     static_cast<int>(output));
  }

  void add_output(std::uint32_t output) {
    const Buffer made = output_buffer(output);
    const Tensor held = output_value(output);
    if (rebind(held, made)) return;
    program_.buffers.push_back(made);
    builder_.store(held, static_cast<int>(program_.buffers.size()) - 1, {0, made.strides}, false);
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

  // ---- Outputs that are arguments: written after all that reads their old content. ----

  struct Update {
    std::uint32_t output;
    int input;  // its buffer
    Buffer made;
    Tensor value;
  };

  void add_updates() {
    std::vector<Update> updates;
    for (std::uint32_t o = 0; o < graph_.output_count; ++o) {
      if (updated(o) < 0) continue;
      Update update{o, input_buffer(updated(o)), output_buffer(o), output_value(o)};
      // The argument's own strides: the output is that argument.
      update.made.strides = program_.buffers[static_cast<std::size_t>(update.input)].strides;
      update.made.overwritten = update.input;
      updates.push_back(std::move(update));
    }
    for (Update& update : updates) {
      if (must_be_kept(update, updates)) update.value = builder_.copied(update.value);
    }
    for (const Update& update : updates) {
      if (!write_in_place(update, updates)) store_update(update);
    }
  }

  int input_buffer(std::int32_t value) const {
    for (std::uint32_t i = 0; i < graph_.input_count; ++i) {
      if (graph_.inputs[i] == value) return static_cast<int>(i);  // inputs are the first buffers
    }
    fail(PLUG_INVALID, "An output is the new content of value ", value, ", which is no input.");
  }

  // Whether writing the argument would spoil what its new value, or that of another, is computed from.
  static bool must_be_kept(const Update& update, const std::vector<Update>& updates) {
    for (const Expr* load : loads_of(update.value.expr)) {
      for (const Update& other : updates) {
        if (load->buffer != other.input) continue;
        const bool is_itself = other.output == update.output && load->args.empty() &&
                               same_place(load->place, {0, update.made.strides}, update.made.sizes);
        if (!is_itself) return true;
      }
    }
    return false;
  }

  static bool same_place(const Affine& a, const Affine& b, const Shape& sizes) {
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (!sizes[d].is(1) && !(a.coefs[d] == b.coefs[d])) return false;
    }
    return a.offset == b.offset;
  }

  void store_update(const Update& update) {
    program_.buffers.push_back(update.made);
    builder_.store(update.value, static_cast<int>(program_.buffers.size()) - 1, {0, update.made.strides},
                   false);
  }

  // A copy of the argument with parts written into it needs no copy, nor does a copy of that: the parts are
  // written into the argument, one after the other.
  bool write_in_place(const Update& update, const std::vector<Update>& updates) {
    std::vector<std::size_t> copies;
    const std::vector<int> chain = chain_of(update, copies);
    if (chain.empty() || are_read(chain, update, updates)) return false;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      Buffer& buffer = program_.buffers[static_cast<std::size_t>(chain[i])];
      buffer.origin = update.made.origin;
      buffer.index = update.made.index;
      buffer.overwritten = i + 1 < chain.size() ? chain[i + 1] : update.input;
    }
    for (const std::size_t copy : copies)  // the last first
      program_.stages.erase(program_.stages.begin() + static_cast<std::ptrdiff_t>(copy));
    return true;
  }

  // Buffers that could lie where the argument does: its new content, what that is a copy of, and so on up to
  // a copy of the argument; and the stages that copy. None: there is no such chain.
  std::vector<int> chain_of(const Update& update, std::vector<std::size_t>& copies) const {
    std::vector<int> chain;
    const Expr* from = update.value.expr;
    for (;;) {
      if (!is_whole(from, update)) return {};
      if (from->buffer == update.input) return chain;
      const Buffer& buffer = program_.buffers[static_cast<std::size_t>(from->buffer)];
      const bool fits = buffer.origin == Buffer::Origin::kScratch && buffer.type == update.made.type &&
                        buffer.sizes == update.made.sizes && buffer.strides == update.made.strides;
      if (!fits) return {};
      const std::size_t copy = first_stage_of(from->buffer);
      const Stage& stage = program_.stages[copy];
      const bool is_copy = stage.kind == Stage::Kind::kLoops && stage.fold == Fold::kNone && !stage.is_part;
      if (!is_copy || !is_whole(stage.value, update)) return {};
      for (std::size_t later = copy + 1; later < program_.stages.size(); ++later) {
        if (reads(program_.stages[later], stage.value->buffer)) return {};
      }
      chain.push_back(from->buffer);
      copies.push_back(copy);
      from = stage.value;
    }
  }

  // Whether it is all of a buffer that lies as the argument does.
  static bool is_whole(const Expr* expr, const Update& update) {
    return expr->kind == Expr::Kind::kLoad && expr->args.empty() &&
           expr->place.coefs.size() == update.made.sizes.size() &&
           same_place(expr->place, {0, update.made.strides}, update.made.sizes);
  }

  std::size_t first_stage_of(int buffer) const {
    std::size_t first = 0;
    while (program_.stages[first].buffer != buffer) ++first;
    return first;
  }

  // Whether other updates, which are stored later, are made of what will have been overwritten by then.
  static bool are_read(const std::vector<int>& chain, const Update& update,
                       const std::vector<Update>& updates) {
    for (const Update& other : updates) {
      if (other.output == update.output) continue;
      for (const Expr* load : loads_of(other.value.expr)) {
        if (std::find(chain.begin() + 1, chain.end(), load->buffer) != chain.end()) return true;
      }
    }
    return false;
  }

  static bool reads(const Stage& stage, int buffer) {
    std::vector<const Expr*> roots = stage.positions;
    if (stage.value != nullptr) roots.push_back(stage.value);
    for (const Expr* root : roots) {
      for (const Expr* load : loads_of(root)) {
        if (load->buffer == buffer) return true;
      }
    }
    return false;
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

void lower(const plug_graph& graph, bool whole, Program& program) {
  GraphLowering(graph, program).run(whole);
}

}  // namespace torchplug::sim::compiler
