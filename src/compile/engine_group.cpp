#include "compile/engine_group.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_set>

#include "aten/plan/ledger.h"
#include "base/exception_text.h"
#include "base/immortal.h"
#include "compile/compile_error.h"
#include "compile/engine_call.h"
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

// Of engines of equal titles one text, which lives until the process ends.
const char* kept_name(const Graph& graph) {
  static auto& names = *immortal<std::unordered_set<std::string>>();
  static std::mutex lock;
  const std::string source = source_of(graph);
  const std::lock_guard hold(lock);
  return names.insert(source.empty() ? title_of(graph) : title_of(graph) + " of " + source).first->c_str();
}

// Of what makes every process compile anew, a process tells once.
constexpr const char* kCannotSave = "the plugin cannot save this engine";
constexpr const char* kOtherDirectory =
    "Set TORCHPLUG_CACHE_DIR to a directory that can hold them, or leave disks alone with "
    "options={\"cache\": False}.";

constexpr const char* kWithoutDisk = "Each process compiles anew until the plugin can.";

void tell_once(const std::string& why, const char* what_to_do) {
  static std::atomic<bool> is_told{false};
  if (is_told.exchange(true)) return;
  log_message(2, ("engines are not kept on disk: " + why + ". " + what_to_do).c_str());
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
      form_(compiler, graph_, std::move(strides)),
      name_(kept_name(graph_)),
      engines_(settings_.engines) {
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
  note(&GroupReport::declined, text_of(error));
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

void EngineGroup::note(Reasons GroupReport::*which, const std::string& why) {
  if (why.empty()) return;
  const std::lock_guard lock(report_lock_);
  Reasons& known = report_.*which;
  if (std::ranges::find(known, why) == known.end()) known.push_back(why);
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
  const auto [engine, is_loaded] = load_or_compile(graph_for(numbers), compilation);
  const std::lock_guard lock(report_lock_);
  report_.seconds += watch.seconds();
  if (engine == nullptr) return nullptr;
  (is_loaded ? report_.loaded : report_.compiled) += 1;
  std::erase_if(made_, [](const auto& one) { return one.expired(); });
  made_.push_back(engine);
  return engine;
}

Graph EngineGroup::graph_for(Numbers numbers) const {
  const bool is_static = !compiler_.has(PLUG_COMPILER_SYMBOLS) && !graph_.symbols().empty();
  return is_static ? with_numbers(graph_, numbers) : graph_;
}

EngineGroup::Made EngineGroup::load_or_compile(const Graph& graph, Compilation& compilation) {
  const std::string key = find_disk_key(graph);
  if (key.empty()) return {compile_engine(graph, compilation), false};
  const auto* kept = settings_.shelf ? settings_.shelf->find(key) : nullptr;
  if (kept != nullptr) {
    if (EnginePtr engine = load_kept(*kept)) return {std::move(engine), true};
    if (!kept->declined.empty()) return {nullptr, false};
  }
  if (store_) {
    if (EnginePtr engine = load_stored(*store_, key)) return {std::move(engine), true};
  }
  EnginePtr engine = compile_engine(graph, compilation);
  if (engine != nullptr && store_) save_engine(*store_, key, *engine);
  return {std::move(engine), false};
}

EngineGroup::EnginePtr EngineGroup::compile_engine(const Graph& graph, Compilation& compilation) {
  const auto progress = [&compilation](double done) {
    compilation.set_done(done);
    return compilation.is_wanted();
  };
  try {
    auto made = compiler_.compile({graph, settings_.options, progress}, name_);
    if (auto* engine = std::get_if<EnginePtr>(&made)) return std::move(*engine);
    note(&GroupReport::declined, std::get<Declined>(made).why);
    return nullptr;
  } catch (const CompileError& error) {
    if (!compilation.is_wanted()) throw CompileStopped(error.what());
    throw;
  }
}

// Empty if engines are not kept; a compiler that fails to name itself has none that are.
std::string EngineGroup::find_disk_key(const Graph& graph) {
  if (!store_ && !settings_.shelf) return "";
  try {
    return disk_key(graph);
  } catch (...) {
    const std::string why = text_of(std::current_exception());
    note(&GroupReport::disk, why);
    tell_once(why, kWithoutDisk);
    return "";
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
EngineGroup::EnginePtr EngineGroup::load_engine(std::string_view bytes, std::string& why) {
  try {
    EnginePtr engine = compiler_.load(bytes, static_cast<size_t>(graph_.input_count()), name_);
    if (engine == nullptr) {
      const std::string said = take_plugin_error();
      why = "the plugin has no use for an engine that it saved" + (said.empty() ? "" : ": " + said);
    }
    return engine;
  } catch (...) {
    why = text_of(std::current_exception());
    return nullptr;
  }
}

EngineGroup::EnginePtr EngineGroup::load_stored(EngineStore& store, std::string_view key) {
  const EngineStore::Loaded loaded = store.load(key);
  std::string why = loaded.why;
  EnginePtr engine;
  if (loaded.bytes) {
    engine = load_engine(*loaded.bytes, why);
    if (engine == nullptr) store.remove(key);
  }
  note(&GroupReport::disk, why);
  return engine;
}

EngineGroup::EnginePtr EngineGroup::load_kept(const EngineShelf::Kept& kept) {
  note(&GroupReport::declined, kept.declined);
  if (!kept.declined.empty()) return nullptr;
  std::string why;
  EnginePtr engine = load_engine(kept.bytes, why);
  note(&GroupReport::disk, why);
  return engine;
}

void EngineGroup::save_engine(EngineStore& store, std::string_view key, const Engine& engine) {
  std::string why;
  try {
    const std::optional<std::string> bytes = compiler_.save(engine);
    if (!bytes) return note(&GroupReport::disk, kCannotSave);
    why = store.save(key, *bytes);
    if (!why.empty()) tell_once(why, kOtherDirectory);
  } catch (...) {
    why = text_of(std::current_exception());
    tell_once(why, kWithoutDisk);
  }
  note(&GroupReport::disk, why);
}

bool EngineGroup::prepare(Numbers numbers, const Interruption& interruption) {
  return find_engine(numbers, interruption, /*waits=*/true) != nullptr;
}

EngineGroup::Saved EngineGroup::save(Numbers numbers, const Interruption& interruption) {
  const EnginePtr engine = find_engine(numbers, interruption, /*waits=*/true);
  Saved saved{graph::digest_of(disk_key(graph_for(numbers))), {}};
  if (engine != nullptr) {
    saved.kept.bytes = compiler_.save(*engine).value_or("");
  } else {
    const std::lock_guard lock(report_lock_);
    saved.kept.declined = report_.declined.empty() ? "it was declined" : report_.declined.back();
  }
  return saved;
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
  texts.reserve(engines.size());
  for (const EnginePtr& engine : engines) texts.push_back(engine->text());
  return texts;
}

// ---- calls ----

EngineGroup::EnginePtr EngineGroup::engine_for(Numbers numbers, const Stream& stream,
                                               const Interruption& interruption) {
  EnginePtr engine = find_engine(numbers, interruption, !settings_.in_background);
  if (engine == nullptr) return nullptr;
  if (const auto capture = capture_of(stream)) {
    if (engine->is_ordered()) engine = engine_of_capture(capture, numbers);
    capture->hold(engine);
  }
  return engine;
}

void EngineGroup::count(uint64_t GroupReport::*which) {
  const std::lock_guard lock(report_lock_);
  report_.*which += 1;
}

std::optional<std::vector<at::Tensor>> EngineGroup::run(Tensors inputs, Numbers numbers,
                                                        const Interruption& interruption) {
  form_.check(inputs, numbers);
  const Stream stream = Stream::current(compiler_.device());
  const EnginePtr engine = engine_for(numbers, stream, interruption);
  if (engine == nullptr) {
    count(&GroupReport::runs_without);
    return std::nullopt;
  }
  const LedgerTimer timer;
  EngineCall call(form_, inputs, numbers, stream);
  if (const auto declined = call.run(*engine); C10_UNLIKELY(declined.has_value())) {
    note(&GroupReport::declined, *declined);
    count(&GroupReport::runs_without);
    return std::nullopt;
  }
  count(&GroupReport::runs);
  engine_account().count(Way::kEngine, Reason::kNone, 0, timer.nanoseconds());
  return call.take_outputs();
}

}  // namespace torchplug::compile
