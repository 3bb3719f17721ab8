#include "torchscript/compilation_group.h"

#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "aten/plan/operator_facts.h"
#include "base/immortal.h"
#include "runtime/capture.h"
#include "runtime/stream.h"
#include "torchscript/call_key.h"
#include "torchscript/offload.h"
#include "torchscript/recording.h"
#include "torchscript/state.h"

namespace torchplug::torchscript {
namespace {

using torch::jit::Stack;

struct AllGroups {
  std::mutex lock;  // guards
  std::vector<std::weak_ptr<CompilationGroup>> groups;
};

AllGroups& all_groups() {
  static auto& instance = *immortal<AllGroups>();
  return instance;
}

// While something is recorded, so that each conversion is made, and seen, where it is needed.
class WithoutAutocastCache {
 public:
  WithoutAutocastCache() { at::autocast::set_autocast_cache_enabled(false); }
  WithoutAutocastCache(const WithoutAutocastCache&) = delete;
  WithoutAutocastCache& operator=(const WithoutAutocastCache&) = delete;
  ~WithoutAutocastCache() { at::autocast::set_autocast_cache_enabled(before_); }

 private:
  bool before_ = at::autocast::is_autocast_cache_enabled();
};

// What has failed on the stream before is not the recorded call's, which is tried again where it fails.
void raise_earlier_failures(DeviceIndex device) {
  const Stream stream = Stream::current(device);
  if (!runtime::is_capturing(stream)) stream.synchronize();
}

// PyTorch's interpreter says where it was before it says what was wrong.
std::string last_line(const std::exception& error) {
  const auto* known = dynamic_cast<const c10::Error*>(&error);
  std::string text = known != nullptr ? known->what_without_backtrace() : error.what();
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

c10::Symbol group_symbol() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString(std::string(device_type_name()) + "::CompilationGroup");
  return symbol;
}

c10::Symbol weights_symbol() {
  static const c10::Symbol symbol = c10::Symbol::attr("weights");
  return symbol;
}

c10::Symbol lowered_symbol() {
  static const c10::Symbol symbol = c10::Symbol::attr("lowered");
  return symbol;
}

CompilationGroup::CompilationGroup(std::shared_ptr<torch::jit::Graph> graph, std::vector<bool> weights,
                                   std::shared_ptr<const Settings> own)
    : graph_(std::move(graph)),
      code_(graph_, group_symbol().toQualString()),
      weights_(std::move(weights)),
      own_(std::move(own)),
      inputs_(graph_->inputs().size()),
      programs_(settings() ? settings()->engines : Programs::kDefaultCapacity) {}

void CompilationGroup::interpret(Stack& stack) const { torch::jit::InterpreterState(code_).run(stack); }

void CompilationGroup::run(Stack& stack) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  const Inputs inputs = torch::jit::last(stack, inputs_);
  RECORD_FUNCTION(group_symbol().toQualString(), inputs);
  auto results = results_for(inputs);
  if (!results) {
    interpreted_.fetch_add(1, std::memory_order_relaxed);
    return interpret(stack);
  }
  torch::jit::drop(stack, inputs_);
  for (c10::IValue& result : *results) stack.push_back(std::move(result));
}

std::optional<CompilationGroup::Results> CompilationGroup::results_for(Inputs inputs) {
  const auto known = settings();
  if (known == nullptr) return std::nullopt;
  if (const auto device = device_of(inputs)) return results_on(*device, inputs);
  return known->offload && are_on_host(inputs) ? results_by_sending(inputs) : std::nullopt;
}

// The first call of a kind is done on the CPU, and once more on the device to be recorded.
std::optional<CompilationGroup::Results> CompilationGroup::results_by_sending(Inputs inputs) {
  if (at::autocast::is_autocast_enabled(at::kCPU)) return std::nullopt;
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);  // the device's
  auto key = key_of(inputs);
  if (!key) return std::nullopt;
  const DeviceIndex device = current_device();
  key->add(static_cast<int64_t>(device));
  Programs::Answer answer = programs_.get_or_start(*key);
  if (answer.ticket) {
    raise_earlier_failures(device);
    try {
      record(device, sent(inputs, weights_, device).values, *answer.ticket);
    } catch (const std::exception& error) {  // such as of an operator that names the CPU
      return interpreted_instead(inputs, *answer.ticket, error);
    }
    wait_for_recorded(device);
    return std::nullopt;
  }
  if (!answer.engine || *answer.engine == nullptr) return std::nullopt;
  const std::vector<at::Tensor> given = tensors_in(inputs);
  SentInputs moved = sent(inputs, weights_, device);
  const auto come_back = [&](const at::Tensor& tensor, int32_t input) {
    if (input >= 0) return given[static_cast<size_t>(input)];
    moved.bytes += tensor.nbytes();
    return tensor.to(at::kCPU);
  };
  auto results = (*answer.engine)->run(tensors_in(moved.values), come_back);
  for (c10::IValue& result : results)
    if (result.isDevice()) result = c10::Device(at::kCPU);  // that of some tensor
  count_moved(moved.bytes);
  return results;
}

std::optional<CompilationGroup::Results> CompilationGroup::results_on(DeviceIndex device, Inputs inputs) {
  const auto key = key_of(inputs);
  if (!key) return std::nullopt;
  Programs::Answer answer = programs_.get_or_start(*key);
  if (answer.ticket) {
    raise_earlier_failures(device);
    return record_or_interpret(device, inputs, *answer.ticket);
  }
  if (!answer.engine || *answer.engine == nullptr) return std::nullopt;
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  return (*answer.engine)->run(tensors_in(inputs));
}

// The error of a call is the one that the host has for it.
void CompilationGroup::wait_for_recorded(DeviceIndex device) {
  try {
    Stream::current(device).synchronize();
  } catch (const std::exception& error) {
    note(last_line(error));
  }
}

// What is recorded is kept until all is: there may not be enough memory for that, but for the call.
CompilationGroup::Results CompilationGroup::record_or_interpret(DeviceIndex device, Inputs inputs,
                                                                Programs::Ticket& ticket) {
  try {
    return record(device, inputs, ticket);
  } catch (const std::exception& error) {
    return interpreted_instead(inputs, ticket, error);
  }
}

// A call that fails by itself leaves its kind to be recorded by the next.
CompilationGroup::Results CompilationGroup::interpreted_instead(Inputs inputs, Programs::Ticket& ticket,
                                                                const std::exception& error) {
  Stack stack = inputs.vec();
  interpret(stack);
  note(last_line(error));
  ticket.finish(nullptr);
  return stack;
}

// The results are those that PyTorch's interpreter has given.
CompilationGroup::Results CompilationGroup::record(DeviceIndex device, Inputs inputs,
                                                   Programs::Ticket& ticket) {
  Stack stack = inputs.vec();
  const WithoutAutocastCache seen;
  const Recording recording([&] { interpret(stack); });
  const compile::Compiler* compiler = compile::Compiler::of(device);
  const auto known = settings();
  if (compiler == nullptr || known == nullptr) {
    ticket.finish(nullptr);
    return stack;
  }
  const auto is_listed = [&](const c10::OperatorHandle& op) {
    const auto is_list = [](const c10::Argument& one) {
      return one.type()->kind() == c10::TypeKind::ListType;
    };
    return compiler->find(aten::full_name(op.operator_name())) != nullptr &&
           std::ranges::none_of(op.schema().returns(), is_list);  // no node of a graph gives one
  };
  auto tape = make_tape(recording, inputs, stack, is_listed, known->decompositions.get());
  if (const auto* why = std::get_if<std::string>(&tape)) {
    note(*why);
    ticket.finish(nullptr);
    return stack;
  }
  auto program =
      std::make_shared<Program>(std::get<Tape>(std::move(tape)), *compiler, weights_in(inputs), *known);
  keep(program);
  ticket.finish(std::move(program));
  return stack;
}

std::vector<bool> CompilationGroup::weights_in(Inputs inputs) const {
  std::vector<bool> found;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t n = tensors_in({inputs[i]}).size(); n > 0; --n) found.push_back(weights_[i]);
  return found;
}

void CompilationGroup::keep(const std::shared_ptr<Program>& program) {
  const std::lock_guard lock(facts_lock_);
  std::erase_if(made_, [](const auto& one) { return one.expired(); });
  made_.push_back(program);
  operators_ = program->operators();
}

void CompilationGroup::note(const std::string& why) {
  const std::lock_guard lock(facts_lock_);
  if (std::ranges::find(why_, why) == why_.end()) why_.push_back(why);
}

GroupFacts CompilationGroup::facts() const {
  GroupFacts facts;
  facts.programs = programs_.size();
  facts.calls = calls_;
  facts.interpreted = interpreted_;
  const std::lock_guard lock(facts_lock_);
  facts.operators = operators_;
  facts.why = why_;
  for (const auto& one : made_) {
    const auto program = one.lock();
    if (program == nullptr) continue;
    for (const compile::GroupReport& report : program->reports()) {
      facts.engine_runs += report.runs;
      facts.compiled += report.compiled;
      facts.loaded += report.loaded;
      facts.why.insert(facts.why.end(), report.declined.begin(), report.declined.end());
    }
  }
  return facts;
}

std::vector<GroupFacts> facts_of_groups() {
  std::vector<GroupFacts> facts;
  AllGroups& all = all_groups();
  const std::lock_guard lock(all.lock);
  std::erase_if(all.groups, [](const auto& one) { return one.expired(); });
  for (const auto& one : all.groups)
    if (const auto group = one.lock()) facts.push_back(group->facts());
  return facts;
}

std::function<void(Stack&)> make_operation(const torch::jit::Node* node) {
  const auto& graph = node->g(torch::jit::attr::Subgraph);
  std::vector<bool> weights(node->inputs().size());
  for (const int64_t place : node->is(weights_symbol())) weights[static_cast<size_t>(place)] = true;
  std::shared_ptr<const Settings> own;
  if (node->hasAttribute(lowered_symbol())) {
    Settings lowered;
    lowered.offload = true;
    own = std::make_shared<const Settings>(std::move(lowered));
  }
  auto group = std::make_shared<CompilationGroup>(graph, std::move(weights), std::move(own));
  {
    AllGroups& all = all_groups();
    const std::lock_guard lock(all.lock);
    std::erase_if(all.groups, [](const auto& one) { return one.expired(); });
    all.groups.push_back(group);
  }
  return [group](Stack& stack) { group->run(stack); };
}

}  // namespace torchplug::torchscript
