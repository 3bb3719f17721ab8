#include "compile/engine_group.h"

#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "aten/plan/ledger.h"
#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/describe.h"
#include "aten/tensor/device_tensor.h"
#include "base/dtype.h"
#include "base/immortal.h"
#include "compile/compile_error.h"
#include "graph/canonical.h"
#include "graph/specialize.h"
#include "graph/title.h"

namespace torchplug::compile {
namespace {

using namespace std::chrono_literals;

LedgerAccount& engine_account() {
  static auto& account = *immortal<LedgerAccount>("engine");
  return account;
}

std::vector<int64_t> values_of(const std::vector<int64_t>& extents, std::span<const int64_t> numbers) {
  std::vector<int64_t> values;
  values.reserve(extents.size());
  for (const int64_t extent : extents) values.push_back(value_of(extent, numbers));
  return values;
}

bool are_equal(const std::vector<int64_t>& extents, at::IntArrayRef actual,
               std::span<const int64_t> numbers) {
  if (extents.size() != actual.size()) return false;
  for (size_t i = 0; i < extents.size(); ++i)
    if (value_of(extents[i], numbers) != actual[i]) return false;
  return true;
}

// Whether the strides tell the same elements apart.
bool have_same_strides(const at::Tensor& tensor, const std::vector<int64_t>& extents,
                       std::span<const int64_t> numbers) {
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto d = static_cast<int64_t>(i);
    if (tensor.size(d) != 1 && tensor.stride(d) != value_of(extents[i], numbers)) return false;
  }
  return true;
}

// Of engines of equal titles one text, which lives until the process ends.
const char* kept_name(const Graph& graph) {
  static auto& names = *immortal<std::unordered_set<std::string>>();
  static std::mutex lock;
  const std::string source = source_of(graph);
  const std::lock_guard hold(lock);
  return names.insert(source.empty() ? title_of(graph) : title_of(graph) + " of " + source).first->c_str();
}

// Whether the ranges in which their elements lie have bytes in common.
bool may_overlap(const at::Tensor& a, const at::Tensor& b) {
  if (!a.storage().is_alias_of(b.storage()) || a.numel() == 0 || b.numel() == 0) return false;
  const auto range_of = [](const at::Tensor& tensor) {
    int64_t last = tensor.storage_offset();
    for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
    const auto bytes = static_cast<int64_t>(tensor.itemsize());
    return std::pair(tensor.storage_offset() * bytes, (last + 1) * bytes);
  };
  const auto [begin_a, end_a] = range_of(a);
  const auto [begin_b, end_b] = range_of(b);
  return begin_a < end_b && begin_b < end_a;
}

at::Tensor copy_with_strides(const at::Tensor& tensor, at::IntArrayRef strides) {
  at::Tensor copy = at::empty_strided(tensor.sizes(), strides, tensor.options());
  copy.copy_(tensor);
  return copy;
}

// Without the backtrace that PyTorch adds.
std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& known) {
    return known.what_without_backtrace();
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

plug_value value_of_tensor(const plug_tensor* tensor) {
  plug_value value{};
  value.tag = PLUG_VALUE_TENSOR;
  value.count = 1;
  value.as.tensors = tensor;
  return value;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

EngineGroup::EngineGroup(const Compiler& compiler, Graph graph, GroupSettings settings,
                         std::vector<std::optional<std::vector<int64_t>>> strides)
    : compiler_(compiler),
      graph_(std::move(graph)),
      settings_(std::move(settings)),
      strides_(std::move(strides)),
      name_(kept_name(graph_)),
      engines_(settings_.engines) {
  for (const Output& output : graph_.outputs())
    if (output.updates >= 0) updated_.push_back(static_cast<size_t>(output.updates));
  if (!settings_.directory.empty() && compiler.saves()) store_.emplace(settings_.directory);
}

// ---- engines ----

EngineKey EngineGroup::key_of(Numbers numbers) const {
  EngineKey key;
  if (!compiler_.has(PLUG_COMPILER_SYMBOLS)) key.add(numbers);
  return key;
}

EngineGroup::EnginePtr EngineGroup::find_engine(Numbers numbers, const Interruption& interruption,
                                                bool waits) {
  const EngineKey key = key_of(numbers);
  if (const auto found = engines_.find(key)) {
    if (C10_UNLIKELY(*found == nullptr)) throw_failure();
    return *found;
  }
  throw_failure();
  try {
    return start_or_wait(key, numbers, interruption, waits);
  } catch (const CompileStopped&) {  // another thread has lost its patience; this one has not
    return start_or_wait(key, numbers, interruption, waits);
  }
}

EngineGroup::EnginePtr EngineGroup::start_or_wait(const EngineKey& key, Numbers numbers,
                                                  const Interruption& interruption, bool waits) {
  auto answer = engines_.get_or_start(key);
  if (answer.engine) return *answer.engine;
  std::shared_ptr<Compilation> compilation;
  if (answer.ticket) {
    auto ticket = std::make_shared<EngineCache<Engine>::Ticket>(*std::move(answer.ticket));
    compilation = start_compilation(
        [group = shared_from_this(), ticket, known = std::vector<int64_t>(numbers.begin(), numbers.end())](
            const std::shared_ptr<Compilation>& self) {
          try {
            ticket->finish(group->make_engine(known, *self));
          } catch (...) {
            group->note_failure(*ticket, std::current_exception());
          }
        });
  }
  if (!waits) return nullptr;
  try {
    while (answer.made.wait_for(50ms) != std::future_status::ready) interruption();
  } catch (...) {
    if (compilation != nullptr) compilation->cancel();
    throw;
  }
  try {
    return answer.made.get();
  } catch (...) {
    take_failure();  // who has waited is told of it, not the next to call too
    throw;
  }
}

// Whoever waits is thrown it; where nobody does, the next to call.
void EngineGroup::note_failure(EngineCache<Engine>::Ticket& ticket, const std::exception_ptr& error) {
  if (settings_.in_background) {
    const std::lock_guard lock(report_lock_);
    failure_ = error;
  }
  if (!settings_.gives_up) return ticket.fail(error);
  note_declined(text_of(error));
  ticket.decline(error);
}

std::exception_ptr EngineGroup::take_failure() {
  const std::lock_guard lock(report_lock_);
  return std::exchange(failure_, nullptr);
}

void EngineGroup::throw_failure() {
  if (!settings_.in_background) return;
  if (const std::exception_ptr failure = take_failure()) std::rethrow_exception(failure);
}

void EngineGroup::note_declined(const std::string& why) {
  const std::lock_guard lock(report_lock_);
  if (std::ranges::find(report_.declined, why) == report_.declined.end()) report_.declined.push_back(why);
}

EngineGroup::EnginePtr EngineGroup::engine_of_capture(const std::shared_ptr<Capture>& capture,
                                                      Numbers numbers) {
  EngineKey key = key_of(numbers);
  const std::lock_guard lock(captured_lock_);
  std::erase_if(captured_, [](const Captured& one) { return one.capture.expired(); });
  for (const Captured& one : captured_) {
    if (one.capture.lock() != capture || !(one.key == key)) continue;
    if (EnginePtr engine = one.engine.lock()) return engine;
  }
  Compilation alone;
  EnginePtr engine = make_engine(std::vector<int64_t>(numbers.begin(), numbers.end()), alone);
  if (engine != nullptr) captured_.push_back({capture, std::move(key), engine});
  return engine;
}

EngineGroup::EnginePtr EngineGroup::make_engine(const std::vector<int64_t>& numbers,
                                                Compilation& compilation) {
  const Stopwatch watch;
  const bool is_static = !compiler_.has(PLUG_COMPILER_SYMBOLS) && !graph_.symbols().empty();
  const Graph known = is_static ? with_numbers(graph_, numbers) : graph_;
  const std::string key = store_ ? disk_key(known) : std::string();
  EnginePtr engine = store_ ? load_engine(key) : nullptr;
  const bool is_loaded = engine != nullptr;
  if (!is_loaded) engine = compile_engine(known, compilation);
  if (store_ && engine != nullptr && !is_loaded) save_engine(key, *engine);
  const std::lock_guard lock(report_lock_);
  report_.seconds += watch.seconds();
  if (engine == nullptr) return nullptr;
  (is_loaded ? report_.loaded : report_.compiled) += 1;
  made_.push_back(engine);
  return engine;
}

EngineGroup::EnginePtr EngineGroup::compile_engine(const Graph& graph, Compilation& compilation) {
  const auto progress = [&compilation](double done) {
    compilation.set_done(done);
    return compilation.is_wanted();
  };
  try {
    auto made = compiler_.compile({graph, settings_.options, progress}, name_);
    if (auto* engine = std::get_if<EnginePtr>(&made)) return std::move(*engine);
    note_declined(std::get<Declined>(made).why);
    return nullptr;
  } catch (const CompileError& error) {
    if (!compilation.is_wanted()) throw CompileStopped(error.what());
    throw;
  }
}

std::string EngineGroup::disk_key(const Graph& graph) const {
  EngineKey key;
  key.add(digest_of(graph)).add(std::string_view(compiler_.module().name)).add(compiler_.module().version);
  key.add(compiler_.identity());
  for (const std::string& option : settings_.options) key.add(std::string_view(option));
  return std::string(key.bytes());
}

// What cannot be used is compiled anew.
EngineGroup::EnginePtr EngineGroup::load_engine(std::string_view key) {
  const EngineStore::Loaded loaded = store_->load(key);
  std::string why = loaded.why;
  EnginePtr engine;
  if (loaded.bytes) {
    try {
      engine = compiler_.load(*loaded.bytes, static_cast<size_t>(graph_.input_count()), name_);
      if (engine == nullptr) why = "the plugin has no use for an engine that it saved";
    } catch (...) {
      why = text_of(std::current_exception());
    }
    if (engine == nullptr) store_->remove(key);
  }
  if (why.empty()) return engine;
  const std::lock_guard lock(report_lock_);
  report_.disk.push_back(why);
  return engine;
}

void EngineGroup::save_engine(std::string_view key, const Engine& engine) {
  std::string why;
  try {
    why = store_->save(key, compiler_.save(engine));
  } catch (...) {
    why = text_of(std::current_exception());
  }
  if (why.empty()) return;
  const std::lock_guard lock(report_lock_);
  report_.disk.push_back(why);
}

void EngineGroup::prepare(Numbers numbers, const Interruption& interruption) {
  find_engine(numbers, interruption, /*waits=*/true);
}

GroupReport EngineGroup::report() const {
  const std::lock_guard lock(report_lock_);
  GroupReport report = report_;
  report.engines = engines_.size();
  return report;
}

std::vector<std::string> EngineGroup::texts() const {
  std::vector<EnginePtr> engines;
  {
    const std::lock_guard lock(report_lock_);
    for (const auto& made : made_)
      if (auto engine = made.lock()) engines.push_back(std::move(engine));
  }
  std::vector<std::string> texts;
  for (const EnginePtr& engine : engines) texts.push_back(engine->text());
  return texts;
}

// ---- calls ----

void EngineGroup::check_inputs(Tensors inputs, Numbers numbers) const {
  const auto count = static_cast<size_t>(graph_.input_count());
  TORCH_CHECK(inputs.size() == count && numbers.size() == graph_.symbols().size(), "An engine of ", count,
              " inputs and ", graph_.symbols().size(), " symbols was given ", inputs.size(), " and ",
              numbers.size(), ".");
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Symbol& symbol = graph_.symbols()[i];
    TORCH_CHECK(numbers[i] >= symbol.min && numbers[i] <= symbol.max, "An engine was given ", numbers[i],
                " for '", symbol.text, "', which it takes from ", symbol.min, " to ", symbol.max, ".");
  }
  for (size_t i = 0; i < count; ++i) {
    const Value& value = graph_.values()[i];
    const at::Tensor& given = inputs[i];
    const bool fits = given.defined() && given.device().type() == kDeviceType &&
                      given.device().index() == compiler_.device() &&
                      to_plug_dtype(given.scalar_type()) == value.type.dtype &&
                      are_equal(value.type.sizes, given.sizes(), numbers);
    if (C10_LIKELY(fits)) continue;
    TORCH_CHECK(false, "Input ", i, value.name.empty() ? "" : " ('" + value.name + "')",
                " of an engine is to be ", c10::toString(*to_scalar_type(value.type.dtype)), " of sizes ",
                at::IntArrayRef(values_of(value.type.sizes, numbers)), " on device ",
                static_cast<int>(compiler_.device()), ", and was given ",
                given.defined() ? c10::toString(given.scalar_type()) : "nothing", " of sizes ",
                given.defined() ? given.sizes() : at::IntArrayRef(), " on ",
                given.defined() ? given.device().str() : "no device", ".");
  }
}

// With the strides that the graph has, and no lazy bit.
at::Tensor EngineGroup::conformed(const at::Tensor& input, size_t place, Numbers numbers) const {
  const TensorType& type = graph_.values()[place].type;
  const bool has_bits = input.is_conj() || input.is_neg();
  if (C10_LIKELY(!has_bits && have_same_strides(input, *type.strides, numbers))) return input;
  return copy_with_strides(input, values_of(*type.strides, numbers));
}

// As the graph has them. What a run writes has memory of its own, so that the others keep their old content.
std::vector<at::Tensor> EngineGroup::take_inputs(Tensors given, Numbers numbers) const {
  std::vector<at::Tensor> inputs;
  inputs.reserve(given.size());
  for (size_t i = 0; i < given.size(); ++i) inputs.push_back(conformed(given[i], i, numbers));
  for (const size_t place : updated_) {
    own_memory(inputs[place]);
    const auto is_met = [&](const at::Tensor& other) {
      return &other != &inputs[place] && may_overlap(inputs[place], other);
    };
    if (C10_UNLIKELY(std::ranges::any_of(inputs, is_met)))
      inputs[place] = copy_with_strides(inputs[place], inputs[place].strides());
  }
  return inputs;
}

at::Tensor EngineGroup::make_output(size_t place, Tensors inputs, Numbers numbers,
                                    const Stream& stream) const {
  const Output& output = graph_.outputs()[place];
  if (output.updates >= 0) return inputs[static_cast<size_t>(output.updates)];
  const TensorType& type = graph_.values()[static_cast<size_t>(output.value)].type;
  return empty_on(stream, values_of(type.sizes, numbers), values_of(*type.strides, numbers),
                  *to_scalar_type(type.dtype));
}

std::optional<std::vector<at::Tensor>> EngineGroup::run(Tensors given, Numbers numbers,
                                                        const Interruption& interruption) {
  check_inputs(given, numbers);
  EnginePtr engine = find_engine(numbers, interruption, !settings_.in_background);
  const LedgerTimer timer;
  const Stream stream = Stream::current(compiler_.device());
  if (const auto capture = capture_of(stream); capture != nullptr && engine != nullptr) {
    if (engine->is_ordered()) engine = engine_of_capture(capture, numbers);
    capture->hold(engine);
  }
  const auto count = [this](uint64_t GroupReport::*which) {
    const std::lock_guard lock(report_lock_);
    report_.*which += 1;
  };
  if (engine == nullptr) {
    count(&GroupReport::runs_without);
    return std::nullopt;
  }
  const std::vector<at::Tensor> inputs = take_inputs(given, numbers);
  std::vector<at::Tensor> outputs;
  outputs.reserve(graph_.outputs().size());
  for (size_t i = 0; i < graph_.outputs().size(); ++i)
    outputs.push_back(make_output(i, inputs, numbers, stream));

  std::vector<plug_tensor> described(inputs.size() + outputs.size());
  std::vector<plug_value> arguments;
  std::vector<plug_value> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    described[i] = describe(inputs[i]);
    arguments.push_back(value_of_tensor(&described[i]));
  }
  for (const size_t place : updated_) described[place].flags |= PLUG_TENSOR_WRITTEN;
  for (const int64_t number : numbers) {
    plug_value value{};
    value.tag = PLUG_VALUE_INT;
    value.as.i = number;
    if (compiler_.has(PLUG_COMPILER_SYMBOLS)) arguments.push_back(value);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    plug_tensor& tensor = described[inputs.size() + i];
    tensor = describe(outputs[i]);
    tensor.flags |= PLUG_TENSOR_WRITTEN;
    results.push_back(value_of_tensor(&tensor));
  }
  const auto declined = engine->run(inputs, arguments, results, graph_.flags(), stream);
  if (C10_UNLIKELY(declined.has_value())) {
    note_declined(*declined);
    count(&GroupReport::runs_without);
    return std::nullopt;
  }
  count(&GroupReport::runs);
  engine_account().count(Way::kEngine, Reason::kNone, 0, timer.nanoseconds());
  finish_outputs(given, outputs, numbers);
  return outputs;
}

// In the places and with the strides that the caller wants them in.
void EngineGroup::finish_outputs(Tensors given, std::vector<at::Tensor>& outputs, Numbers numbers) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int32_t updates = graph_.outputs()[i].updates;
    if (updates >= 0) {
      const at::Tensor& target = given[static_cast<size_t>(updates)];
      if (!outputs[i].is_same(target)) {
        target.copy_(outputs[i]);
      } else if (!target.is_inference()) {
        target.unsafeGetTensorImpl()->bump_version();  // as whoever packs it as a weight has to know
      }
      outputs[i] = target;
    } else if (strides_[i] && !have_same_strides(outputs[i], *strides_[i], numbers)) {
      outputs[i] = copy_with_strides(outputs[i], values_of(*strides_[i], numbers));
    }
  }
}

}  // namespace torchplug::compile
