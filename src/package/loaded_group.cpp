#include "package/loaded_group.h"

#include <algorithm>
#include <set>

#include "base/settings.h"
#include "graph/text.h"

namespace torchplug::package {
namespace {

graph::Graph read_graph(const std::string& text) {
  try {
    return graph::from_text(text);
  } catch (const graph::GraphError& error) {
    refuse("The package has a group that is none: ", error.what(), ". Make it anew.");
  }
}

bool are_contiguous(const graph::Graph& graph) {
  const auto is_contiguous = [&graph](int32_t value) {
    const graph::TensorType& type = graph.values()[static_cast<size_t>(value)].type;
    const auto contiguous = graph::contiguous_strides(type.sizes);
    // Of several open sizes the strides are symbols: the host has made them for this.
    return !contiguous || contiguous == type.strides;
  };
  for (int32_t input = 0; input < graph.input_count(); ++input)
    if (!is_contiguous(input)) return false;
  return std::ranges::all_of(graph.outputs(),
                             [&](const graph::Output& output) { return is_contiguous(output.value); });
}

// Gives operators the places that this compiler has for them. Why it does not take the graph; "": it does.
std::string fit(graph::Graph& graph, const compile::Compiler* compiler) {
  if (compiler == nullptr) return "the device has no compiler";
  for (size_t i = 0; i < graph.operators().size(); ++i) {
    const graph::Operator& op = graph.operators()[i];
    const Binding* binding = compiler->find(op.name);
    if (binding == nullptr || op.schema != binding->kernel->schema)
      return graph::say("the compiler does not list '", op.schema, "'");
    graph.set_place(static_cast<int32_t>(i), compiler->place_of(*binding));
  }
  const auto updates = [](const graph::Output& output) { return output.updates >= 0; };
  if (!compiler->has(PLUG_COMPILER_UPDATES) && std::ranges::any_of(graph.outputs(), updates))
    return "the compiler does not write inputs";
  if (!compiler->has(PLUG_COMPILER_STRIDED) && !are_contiguous(graph)) return "the compiler takes no strides";
  return "";
}

// Whether strides are numbers that no call of the group has.
bool names_others(const Group& group) {
  for (const auto& strides : group.strides)
    for (const int64_t stride : strides.value_or(std::vector<int64_t>()))
      if (stride < -static_cast<int64_t>(group.steps.symbols)) return true;
  return false;
}

}  // namespace

LoadedGroup::LoadedGroup(const Group& group, c10::Device device,
                         std::shared_ptr<const graph::EngineShelf> shelf, size_t engines)
    : graph_(read_graph(group.graph)),
      steps_(group.steps, device, no_groups_),
      number_count_(static_cast<size_t>(group.steps.symbols)) {
  if (static_cast<size_t>(group.steps.given) != static_cast<size_t>(graph_.input_count()) ||
      static_cast<size_t>(group.steps.symbols) < graph_.symbols().size() || names_others(group) ||
      group.steps.results.size() != graph_.outputs().size() ||
      group.strides.size() != graph_.outputs().size())
    refuse("The package has a group whose graph and whose operators differ. Make it anew.");
  const compile::Compiler* compiler = compile::Compiler::of(device.index());
  why_without_ = fit(graph_, compiler);
  if (!why_without_.empty()) return;
  compile::GroupSettings settings{
      .options = group.options, .engines = engines, .directory = cache_directory()};
  if (compiler->saves()) settings.shelf = std::move(shelf);
  engines_ = std::make_shared<compile::EngineGroup>(*compiler, graph_, std::move(settings), group.strides);
}

LoadedGroup::Tensors LoadedGroup::run(const Tensors& inputs, const std::vector<int64_t>& numbers,
                                      const Runner::Interruption& interruption) const {
  if (inputs.size() != static_cast<size_t>(graph_.input_count()) || numbers.size() != number_count_)
    refuse("The package gives a group ", inputs.size(), " inputs and ", numbers.size(),
           " numbers instead of ", graph_.input_count(), " and ", number_count_, ". Make it anew.");
  if (engines_ != nullptr) {
    if (auto outputs = engines_->run(inputs, numbers, interruption)) return *std::move(outputs);
  }
  return run_one_by_one(inputs, numbers, interruption);
}

LoadedGroup::Tensors LoadedGroup::run_one_by_one(const Tensors& inputs, const std::vector<int64_t>& numbers,
                                                 const Runner::Interruption& interruption) const {
  const std::vector<c10::IValue> given(inputs.begin(), inputs.end());
  const std::vector<c10::IValue> values =
      steps_.run(given, {}, std::vector<Number>(numbers.begin(), numbers.end()), interruption);
  Tensors outputs;
  outputs.reserve(values.size());
  for (const c10::IValue& value : values) outputs.push_back(value.toTensor());
  std::set<const c10::StorageImpl*> written;
  const auto storage_of = [](const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); };
  for (const graph::Output& output : graph_.outputs())
    if (output.updates >= 0) written.insert(storage_of(inputs[static_cast<size_t>(output.updates)]));
  // What an engine gives is no view of an input that is written.
  for (size_t i = 0; i < outputs.size(); ++i)
    if (graph_.outputs()[i].updates < 0 && written.contains(storage_of(outputs[i])))
      outputs[i] = outputs[i].clone();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int32_t updates = graph_.outputs()[i].updates;
    if (updates >= 0) outputs[i] = inputs[static_cast<size_t>(updates)].copy_(outputs[i]);
  }
  return outputs;
}

std::optional<compile::GroupReport> LoadedGroup::report() const {
  return engines_ == nullptr ? std::nullopt : std::optional(engines_->report());
}

}  // namespace torchplug::package
