#include "aten/own/autograd_kernel.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>

#include <algorithm>

#include "base/torch_compat.h"

namespace torchplug::aten {
namespace {

using NodePtr = decltype(torch::autograd::Edge::function);
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// One argument or result that backward needs.
struct Saved {
  c10::IValue value;  // if it has no tensors
  std::vector<SavedVariable> tensors;
  bool is_list = false;

  enum class From : uint8_t { kArgument, kResult, kReturnedArgument };

  static Saved of(const c10::IValue& value, From from) {
    Saved saved;
    saved.is_list = is_list_of_tensors(value);
    if (!saved.is_list && !value.isTensor()) {
      saved.value = value;
      return saved;
    }
    // A result has this node behind it: saved as anything else it would keep the node, and itself, alive.
    const auto keep = [&](const at::Tensor& tensor) {
      const bool is_written_view = from == From::kReturnedArgument && tensor.defined() && tensor.is_view();
      saved.tensors.emplace_back(tensor, from != From::kArgument, is_written_view);
    };
    if (!saved.is_list) {
      keep(value.toTensor());
      return saved;
    }
    for (const c10::IValue& item : value.toListRef()) keep(item.isTensor() ? item.toTensor() : at::Tensor());
    return saved;
  }

  c10::IValue unpack(const NodePtr& node) const {
    if (tensors.empty() && !is_list) return value;
    if (!is_list) return tensors.front().unpack(node);
    c10::List<at::Tensor> list;
    for (const SavedVariable& tensor : tensors) list.push_back(tensor.unpack(node));
    return list;
  }
};

// Which tensors of a call belong to one argument or result, among all of them.
struct Range {
  size_t begin = 0;
  size_t count = 0;
  bool is_list = false;
};

Range add_range(const c10::IValue& value, size_t& next) {
  const bool is_list = is_list_of_tensors(value);
  const size_t count = is_list ? value.toListRef().size() : size_t{value.isTensor()};
  const Range range{next, count, is_list};
  next += count;
  return range;
}

template <class Visit>
void for_each_place(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) visit(value.toTensor());
  if (!is_list_of_tensors(value)) return;
  for (const c10::IValue& item : value.toListRef()) visit(item.isTensor() ? item.toTensor() : at::Tensor());
}

class OwnBackward final : public torch::autograd::Node {
 public:
  explicit OwnBackward(const OwnOperator& own) : own_(own) {}

  std::string name() const override { return own_.name + " backward"; }

  // Before the call.
  void save_arguments(Arguments arguments) {
    torch::autograd::edge_list edges;
    size_t next = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      arguments_.emplace_back();
      const bool is_differentiated = !own_.gradient || own_.gradient->names(i);
      inputs_.push_back(is_differentiated ? add_range(arguments[i], next) : Range{});
      if (own_.gradient && own_.gradient->used_arguments()[i])
        arguments_.back() = Saved::of(arguments[i], Saved::From::kArgument);
      if (!is_differentiated) continue;
      for_each_place(arguments[i], [&](const at::Tensor& tensor) {
        edges.push_back(tensor.defined() ? torch::autograd::impl::gradient_edge(tensor)
                                         : torch::autograd::Edge());
      });
    }
    set_next_edges(std::move(edges));
  }

  // After it: the results have this behind them.
  void set_results(Arguments results, const NodePtr& self) {
    size_t next = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      outputs_.push_back(add_range(results[i], next));
      for_each_place(results[i], [&](const at::Tensor& tensor) { set_result(i, tensor, self); });
    }
    for (size_t i = 0; i < results.size(); ++i) {
      results_.emplace_back();
      if (own_.gradient && own_.gradient->used_results()[i])
        results_.back() =
            Saved::of(results[i], own_.returned[i] ? Saved::From::kReturnedArgument : Saved::From::kResult);
    }
  }

  variable_list apply(variable_list&& gradients) override {
    TORCH_CHECK_NOT_IMPLEMENTED(
        own_.gradient, own_.name,
        " has no gradient. Give it one with torch.library.register_autograd, or call it "
        "under torch.no_grad() or with detached tensors.");
    variable_list computed(num_outputs());
    const bool any =
        std::any_of(gradients.begin(), gradients.end(), [](const at::Tensor& g) { return g.defined(); });
    if (!any) return computed;
    const GradientValues values = unpack(gradients);
    for (const GradientText::Entry& entry : own_.gradient->entries()) {
      const auto is_wanted = [&](size_t argument) { return values.wanted[argument]; };
      if (std::ranges::none_of(entry.arguments, is_wanted)) continue;
      const auto found = own_.gradient->compute(entry, values);
      for (size_t i = 0; i < entry.arguments.size(); ++i) keep(found[i], entry.arguments[i], computed);
    }
    return computed;
  }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    arguments_.clear();
    results_.clear();
  }

 private:
  void set_result(size_t index, const at::Tensor& tensor, const NodePtr& self) {
    const bool can_differ = tensor.defined() && torch::autograd::isDifferentiableType(tensor.scalar_type());
    if (!can_differ) {
      add_input_metadata(Node::undefined_input());
    } else if (own_.returned[index]) {
      const auto place = add_input_metadata(tensor);
      torch::autograd::impl::rebase_history(tensor, {self, place});
    } else {
      torch::autograd::set_history(tensor, self);
    }
  }

  GradientValues unpack(const variable_list& gradients) {
    const std::lock_guard lock(mutex_);
    TORCH_CHECK(!is_released_, torch::autograd::ERR_BACKWARD_TWICE);
    const NodePtr self = getptr();
    GradientValues values;
    for (const Saved& saved : arguments_) values.arguments.push_back(saved.unpack(self));
    for (const Saved& saved : results_) values.results.push_back(saved.unpack(self));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const bool is_used = own_.gradient && own_.gradient->used_gradients()[i];
      values.gradients.push_back(is_used ? gradient_of(outputs_[i], gradients) : c10::IValue());
    }
    for (const Range& range : inputs_) values.wanted.push_back(is_wanted(range));
    return values;
  }

  // Zeros for one that is not defined.
  c10::IValue gradient_of(const Range& range, const variable_list& gradients) const {
    const auto one = [&](size_t place) {
      if (gradients[place].defined()) return gradients[place];
      return input_metadata(place).was_default_constructed() ? at::Tensor()
                                                             : input_metadata(place).zeros_like();
    };
    if (!range.is_list) return one(range.begin);
    c10::List<at::Tensor> list;
    for (size_t i = 0; i < range.count; ++i) list.push_back(one(range.begin + i));
    return list;
  }

  bool is_wanted(const Range& range) const {
    for (size_t i = 0; i < range.count; ++i) {
      if (task_should_compute_output(range.begin + i)) return true;
    }
    return false;
  }

  void keep(const c10::IValue& found, size_t argument, variable_list& computed) const {
    const Range& range = inputs_[argument];
    if (found.isNone()) return;
    std::vector<at::Tensor> tensors;
    const auto add = [&](const c10::IValue& value) {
      tensors.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
    };
    if (range.is_list && (found.isList() || found.isTuple())) {
      if (found.isList())
        for (const c10::IValue& item : found.toListRef()) add(item);
      if (found.isTuple())
        for (const c10::IValue& item : found.toTupleRef().elements()) add(item);
    } else {
      add(found);
    }
    TORCH_CHECK(range.count == 0 || tensors.size() == range.count, own_.name, ": its gradient gives ",
                tensors.size(), " tensors for argument '", own_.schema.arguments()[argument].name(),
                "', which is a list of ", range.count, ".");
    for (size_t i = 0; i < range.count; ++i) {
      if (task_should_compute_output(range.begin + i)) computed[range.begin + i] = tensors[i];
    }
  }

  const OwnOperator& own_;
  std::vector<Saved> arguments_;
  std::vector<Saved> results_;
  std::vector<Range> inputs_;   // by argument, among the gradients that apply() gives
  std::vector<Range> outputs_;  // by result, among those that it takes
  bool is_released_ = false;
};

}  // namespace

bool AutogradKernel::is_gradient_needed(Arguments arguments) const {
  if (!at::GradMode::is_enabled()) return false;
  bool is_needed = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (own_.gradient && !own_.gradient->names(i) && !own_.writes[i]) continue;
    for_each_tensor(arguments[i],
                    [&](const at::Tensor& tensor) { is_needed = is_needed || tensor.requires_grad(); });
  }
  return is_needed;
}

void AutogradKernel::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                                torch::jit::Stack* stack) {
  if (!own_.gradient && handle.hasKernelForDispatchKey(c10::DispatchKey::Autograd)) {
    // Somebody's formula, which stands under the key for all backends; this one under those of single ones.
    const c10::DispatchKeySet theirs = (keys - c10::DispatchKeySet(c10::DispatchKey::AutogradFunctionality))
                                           .add(c10::DispatchKey::AutogradOther);
    handle.redispatchBoxed(theirs, stack);
    return;
  }
  const Arguments arguments = torch::jit::last(*stack, own_.schema.arguments().size());
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      TORCH_CHECK_NOT_IMPLEMENTED(!torch::autograd::isFwGradDefined(tensor), own_.name,
                                  " has no gradient in forward mode.");
    });
  }
  if (is_gradient_needed(arguments)) {
    run_recorded(handle, keys, *stack);
  } else {
    const at::AutoDispatchBelowAutograd below;
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
}

void AutogradKernel::run_recorded(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                                  torch::jit::Stack& stack) const {
  const Arguments arguments = torch::jit::last(stack, own_.schema.arguments().size());
  std::vector<at::Tensor> unreturned;  // what is written beside the results
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!own_.writes[i]) continue;
    const bool is_returned =
        std::find(own_.returned.begin(), own_.returned.end(), std::optional(i)) != own_.returned.end();
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      torch::autograd::check_inplace(tensor, /*requires_grad=*/true);
      if (!is_returned) unreturned.push_back(tensor);
    });
  }
  auto node = compat::make_node<OwnBackward>(own_);
  node->save_arguments(arguments);
  {
    const at::AutoDispatchBelowAutograd below;
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, &stack);
  }
  node->set_results(torch::jit::last(stack, own_.schema.returns().size()), node);
  for (const at::Tensor& tensor : unreturned) {
    if (!torch::autograd::isDifferentiableType(tensor.scalar_type())) continue;
    const auto place = node->add_input_metadata(tensor);
    torch::autograd::impl::rebase_history(tensor, {node, place});
  }
}

void VersionKernel::operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                               torch::jit::Stack* stack) {
  const Arguments arguments = torch::jit::last(*stack, own_.schema.arguments().size());
  std::vector<at::Tensor> written;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (own_.writes[i])
      for_each_tensor(arguments[i], [&](const at::Tensor& tensor) { written.push_back(tensor); });
  }
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }
  for (const at::Tensor& tensor : written) torch::autograd::impl::bump_version(tensor);
}

}  // namespace torchplug::aten
