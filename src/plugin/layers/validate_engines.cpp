#include "plugin/layers/validate_engines.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "plugin/host.h"
#include "plugin/layers/validate_messages.h"
#include "plugin/layers/validate_state.h"

namespace torchplug::plugin::validation {
namespace {

// A wish whose progress is looked at before the host is told.
struct WatchedWish {
  const plug_compile& given;
  plug_compile wish;

  explicit WatchedWish(const plug_compile& from) : given(from), wish(from) {
    wish.progress = progress;
    wish.host_private = this;
  }

  static int32_t progress(const plug_compile* asked, double done) {
    const auto& self = *static_cast<const WatchedWish*>(asked->host_private);
    if (std::isnan(done) || done < 0 || done > 1) {
      note(Rule::kCompileProgress,
           "compile said that " + std::to_string(done) + " of the engine is done; that runs from 0 to 1.");
    }
    return self.given.progress(&self.given, done);
  }
};

// What a function that makes an engine has given.
plug_status check_made(State& state, const char* function, int32_t device, plug_status status,
                       plug_engine made, plug_engine* engine) {
  state.check_status(function, status, /*is_query=*/false);
  if (status != PLUG_OK && made != nullptr)
    violate(Rule::kOutputOnError,
            std::string(function) + " failed (" + status_name(status) + ") but wrote its output.");
  if (status != PLUG_OK) return status;
  if (made == nullptr)
    violate(Rule::kOutputMissing, std::string(function) + " answered PLUG_OK but wrote no output.");
  state.engines.add(function, device, made);
  *engine = made;
  return status;
}

}  // namespace

void Engines::add(const char* function, int32_t device, plug_engine engine) {
  bool is_new = false;
  {
    const std::lock_guard lock(lock_);
    is_new = engines_.try_emplace(engine, Life{device, {}}).second;
  }
  if (is_new) return;
  violate(Rule::kHandleTwice, std::string(function) + " returned the engine " + hexadecimal(engine) +
                                  ", which is already in use.");
}

void Engines::check_live(const char* function, int32_t device, plug_engine engine) {
  {
    const std::lock_guard lock(lock_);
    const auto found = engines_.find(engine);
    if (found != engines_.end() && found->second.device == device) return;
  }
  violate(Rule::kEngineHandle, std::string(function) + " was given the engine " + hexadecimal(engine) +
                                   ", which device " + std::to_string(device) + " does not have.");
}

// What a capture has recorded runs at its replays, which hold the engine.
void Engines::note_use(plug_engine engine, const Order::Place& place) {
  if (order_.is_capturing()) return;
  const std::lock_guard lock(lock_);
  const auto found = engines_.find(engine);
  if (found == engines_.end()) return;
  auto& uses = found->second.uses;
  const auto same =
      std::ranges::find_if(uses, [&](const Order::Place& use) { return use.stream == place.stream; });
  if (same != uses.end())
    *same = place;
  else
    uses.push_back(place);
}

void Engines::check_destroy(int32_t device, plug_engine engine) {
  check_live("engine_destroy", device, engine);
  std::vector<Order::Place> uses;
  {
    const std::lock_guard lock(lock_);
    uses = std::move(engines_[engine].uses);
    engines_.erase(engine);
  }
  for (const Order::Place& use : uses) {
    if (order_.has_passed(use)) continue;
    violate(Rule::kEngineInUse, "engine_destroy was given the engine " + hexadecimal(engine) +
                                    ", of which a stream still executes a run.");
  }
}

size_t Engines::count() {
  const std::lock_guard lock(lock_);
  return engines_.size();
}

plug_status check_compile(State& state, const decltype(CompilerCalls::compile)& below,
                          const plug_compile* wish, plug_engine* engine) {
  WatchedWish watched(*wish);
  plug_engine made = nullptr;
  take_plugin_error();
  const plug_status status = below(wish->progress == nullptr ? wish : &watched.wish, &made);
  return check_made(state, "compile", wish->device, status, made, engine);
}

plug_status check_load(State& state, const decltype(CompilerCalls::engine_load)& below, int32_t device,
                       const void* data, uint64_t bytes, plug_engine* engine) {
  plug_engine made = nullptr;
  take_plugin_error();
  const plug_status status = below(device, data, bytes, &made);
  return check_made(state, "engine_load", device, status, made, engine);
}

}  // namespace torchplug::plugin::validation
