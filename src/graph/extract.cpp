#include "graph/extract.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace torchplug::graph {

Extractor::Extractor(const Graph& graph)
    : graph_(graph), users_(graph.values().size()), outputs_(graph.values().size()) {
  for (size_t node = 0; node < graph.nodes().size(); ++node) {
    for (const Argument& argument : graph.nodes()[node].args) {
      argument.for_each_ref(
          [&](int32_t value) { users_[static_cast<size_t>(value)].push_back(static_cast<int32_t>(node)); });
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    outputs_[static_cast<size_t>(graph.outputs()[i].value)].push_back(static_cast<int32_t>(i));
  }
}

// One extraction: what has been brought over, by its number in the whole.
class Extraction {
 public:
  Extraction(const Extractor& whole, std::span<const int32_t> nodes)
      : whole_(whole), from_(whole.graph_), nodes_(nodes), inside_(nodes.begin(), nodes.end()) {}

  Extracted run() {
    find_outputs();
    find_needed();
    find_inputs();
    for (const int32_t input : result_.inputs) add_input(input);
    for (const int32_t node : result_.nodes) add_node(from_.nodes()[static_cast<size_t>(node)]);
    result_.graph.set_flags(from_.flags());
    result_.graph.set_outputs(outputs());
    return std::move(result_);
  }

 private:
  const Value& value(int32_t number) const { return from_.values()[static_cast<size_t>(number)]; }
  const std::vector<int32_t>& users(int32_t number) const {
    return whole_.users_[static_cast<size_t>(number)];
  }
  const std::vector<int32_t>& places(int32_t number) const {
    return whole_.outputs_[static_cast<size_t>(number)];
  }

  bool is_used_inside_only(int32_t number) const {
    return std::all_of(users(number).begin(), users(number).end(),
                       [this](int32_t user) { return inside_.contains(user); });
  }

  // The input of the whole that the result is the new content of, in place; -1: none.
  int32_t updated_by(int32_t result) const {
    if (places(result).size() != 1) return -1;
    const int32_t input = from_.outputs()[static_cast<size_t>(places(result).front())].updates;
    if (input < 0 || !places(input).empty() || !is_used_inside_only(input)) return -1;
    return input;
  }

  void find_outputs() {
    for (const int32_t node : nodes_) {
      for (const int32_t result : from_.nodes()[static_cast<size_t>(node)].results) {
        if (result < 0) continue;
        if (places(result).empty() && is_used_inside_only(result)) continue;
        result_.outputs.push_back(result);
        is_output_.insert(result);
        needed_.insert(result);
        updates_.push_back(updated_by(result));
      }
    }
  }

  // What no output needs is left out.
  void find_needed() {
    for (size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = from_.nodes()[static_cast<size_t>(nodes_[i])];
      const auto is_needed = [this](int32_t result) { return needed_.contains(result); };
      if (std::none_of(node.results.begin(), node.results.end(), is_needed)) continue;
      result_.nodes.push_back(nodes_[i]);
      for (const Argument& argument : node.args) {
        argument.for_each_ref([this](int32_t number) { needed_.insert(number); });
      }
    }
    std::reverse(result_.nodes.begin(), result_.nodes.end());
  }

  void find_inputs() {
    std::unordered_set<int32_t> known;
    const auto need = [&](int32_t number) {
      if (known.insert(number).second) result_.inputs.push_back(number);
    };
    for (const int32_t node : result_.nodes) {
      for (const Argument& argument : from_.nodes()[static_cast<size_t>(node)].args) {
        argument.for_each_ref([&](int32_t number) {
          const bool is_made_here = value(number).producer >= 0 && inside_.contains(value(number).producer);
          if (!value(number).is_constant() && !is_made_here) need(number);
        });
      }
    }
    // One that is overwritten without being read.
    for (const int32_t input : updates_) {
      if (input >= 0) need(input);
    }
  }

  int32_t symbol(int32_t number) {
    const auto [found, is_new] = symbols_.try_emplace(number, static_cast<int32_t>(result_.symbols.size()));
    if (is_new) {
      result_.graph.add_symbol(from_.symbols()[static_cast<size_t>(number)]);
      result_.symbols.push_back(number);
    }
    return found->second;
  }

  void renumber(std::vector<int64_t>& extents) {
    for (int64_t& extent : extents) {
      if (is_symbolic(extent)) extent = extent_of(symbol(symbol_of(extent)));
    }
  }

  // Strides of what stays inside say nothing to a compiler, and their symbols would have to be given to each
  // run.
  TensorType type(int32_t number, bool has_strides) {
    TensorType type = value(number).type;
    if (!has_strides) type.strides.reset();
    renumber(type.sizes);
    if (type.strides) renumber(*type.strides);
    return type;
  }

  void add_input(int32_t number) {
    const bool is_weight = (value(number).flags & PLUG_GRAPH_WEIGHT) != 0;
    values_[number] = result_.graph.add_input(type(number, true), value(number).name, is_weight);
  }

  int32_t local_value(int32_t number) {
    const auto found = values_.find(number);
    if (found != values_.end()) return found->second;
    const Value& constant = value(number);
    const int32_t local = result_.graph.add_constant(constant.type.dtype, constant.type.sizes,
                                                     constant.constant, constant.name);
    values_.emplace(number, local);
    return local;
  }

  void add_node(const Node& node) {
    std::vector<Argument> args;
    args.reserve(node.args.size());
    for (const Argument& argument : node.args) {
      args.push_back(argument.renumbered([this](int32_t number) { return local_value(number); },
                                         [this](int32_t number) { return symbol(number); }));
    }
    std::vector<std::optional<TensorType>> results;
    results.reserve(node.results.size());
    for (const int32_t result : node.results) {
      results.push_back(needed_.contains(result) ? std::optional(type(result, is_output_.contains(result)))
                                                 : std::nullopt);
    }
    const Operator& called = from_.operator_of(node);
    const int32_t local = result_.graph.add_node(result_.graph.add_operator(called.schema, called.place),
                                                 std::move(args), std::move(results), node.source);
    for (size_t i = 0; i < node.results.size(); ++i) {
      const int32_t number = result_.graph.nodes()[static_cast<size_t>(local)].results[i];
      if (number < 0) continue;
      values_.emplace(node.results[i], number);
      result_.graph.set_name(number, value(node.results[i]).name);
    }
  }

  std::vector<Output> outputs() const {
    std::vector<Output> outputs;
    for (size_t i = 0; i < result_.outputs.size(); ++i) {
      outputs.push_back({values_.at(result_.outputs[i]), updates_[i] < 0 ? -1 : values_.at(updates_[i])});
    }
    return outputs;
  }

  const Extractor& whole_;
  const Graph& from_;
  std::span<const int32_t> nodes_;
  std::unordered_set<int32_t> inside_;
  std::unordered_set<int32_t> is_output_;
  std::unordered_set<int32_t> needed_;  // values, by outputs or by nodes that these need
  std::vector<int32_t> updates_;        // for each output, the input of the whole
  std::unordered_map<int32_t, int32_t> values_;
  std::unordered_map<int32_t, int32_t> symbols_;
  Extracted result_;
};

Extracted Extractor::extract(std::span<const int32_t> nodes) const { return Extraction(*this, nodes).run(); }

}  // namespace torchplug::graph
