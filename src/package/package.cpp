#include "package/package.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "package/weights.h"
#include "runtime/capture.h"

namespace torchplug::package {
namespace {

// Below autograd and autocast. What is written in place counts as such: engines that pack weights look.
class CallScope {
 public:
  explicit CallScope(c10::Device device) : device_(device), records_nothing_(false), above_(kAbove) {}

 private:
  static constexpr c10::DispatchKeySet kAbove = c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset;

  c10::DeviceGuard device_;
  c10::AutoGradMode records_nothing_;
  c10::impl::ExcludeDispatchKeyGuard above_;
};

// What differs of two identities, which may be texts of many lines: of each, the first line that does.
std::pair<std::string, std::string> first_difference(const std::string& one, const std::string& other) {
  std::istringstream lines_of_one(one), lines_of_other(other);
  std::pair<std::string, std::string> lines;
  const auto read = [](std::istringstream& lines, std::string& line) {
    return static_cast<bool>(std::getline(lines, line)) || (line.clear(), false);
  };
  for (;;) {
    const bool is_in_one = read(lines_of_one, lines.first), is_in_other = read(lines_of_other, lines.second);
    if (lines.first != lines.second || (!is_in_one && !is_in_other)) return lines;
  }
}

size_t most_engines(const Contents& contents) {
  size_t most = compile::EngineCache<compile::Engine>::kDefaultCapacity;
  for (int32_t group = 0; std::cmp_less(group, contents.groups.size()); ++group)
    most = std::max(most, static_cast<size_t>(std::ranges::count(contents.made, group, &Made::group)));
  return most;
}

}  // namespace

Package::Package(const std::string& path, DeviceIndex device) : Package(PackageFile(path), device) {}

Package::Package(const PackageFile& file, DeviceIndex device)
    : contents_(from_bytes(file.read(file.contents()))),
      device_(kDeviceType, device),
      signature_(contents_, device_) {
  if (file.storages().size() != static_cast<size_t>(contents_.storages) ||
      file.engines().size() != static_cast<size_t>(contents_.engines))
    refuse("The package ", file.path(), " lacks storages or engines. Make it anew.");
  ensure_open(device);
  const CallScope scope(device_);
  weights_ = load_weights(file, contents_.weights, device_);
  weight_values_.assign(weights_.begin(), weights_.end());
  has_state_ = std::ranges::any_of(contents_.weights, &Weight::is_written);
  why_anew_ = compare_origins();
  load_groups(file);
  program_.emplace(contents_.program, device_, groups_);
}

std::string Package::compare_origins() const {
  const Origin& origin = contents_.origin;
  const compile::Compiler* compiler = compile::Compiler::of(device_.index());
  if (contents_.engines == 0 || compiler == nullptr) return "";
  const std::string plugin = graph::say(compiler->module().name, " ", compiler->module().version);
  if (origin.plugin != plugin)
    return graph::say("its engines are of plugin ", origin.plugin, ", and this one is ", plugin);
  const std::string identity = compiler->saves() ? compiler->identity() : "";
  if (origin.identity == identity) return "";
  const auto [there, here] = first_difference(origin.identity, identity);
  return graph::say("its engines were made for '", there, "', and here it is '", here, "'");
}

void Package::load_groups(const PackageFile& file) {
  const auto shelf = std::make_shared<graph::EngineShelf>();
  std::vector<std::string> engines;
  engines.reserve(file.engines().size());
  for (const Section& section : file.engines()) engines.push_back(file.read(section));
  for (const Made& made : contents_.made) {
    if (made.engine < 0 && made.declined.empty())
      refuse("The package ", file.path(), " lacks an engine. Make it anew.");
    shelf->put(made.key, {made.engine < 0 ? "" : engines[static_cast<size_t>(made.engine)], made.declined});
  }
  const size_t most = most_engines(contents_);
  for (const Group& group : contents_.groups)
    groups_.push_back(std::make_unique<LoadedGroup>(group, device_, shelf, most));
}

std::vector<c10::IValue> Package::run(const std::vector<c10::IValue>& inputs,
                                      const Runner::Interruption& interruption) {
  // Of a call that is captured, nobody could wait for the end: its replays come when they come.
  const bool takes_turns = has_state_ && !is_capturing(Stream::current(device_.index()));
  return takes_turns ? run_in_turn(inputs, interruption) : run_now(inputs, interruption);
}

std::vector<c10::IValue> Package::run_in_turn(const std::vector<c10::IValue>& inputs,
                                              const Runner::Interruption& interruption) {
  const std::lock_guard lock(order_lock_);
  const Stream stream = Stream::current(device_.index());
  if (last_ && *last_ != stream) done_->block(stream);
  const auto note_end = [&] {
    if (done_ == nullptr) done_ = std::make_unique<Event>(device_.index(), /*with_timing=*/false);
    done_->record(stream);
    last_ = stream;
  };
  try {
    std::vector<c10::IValue> results = run_now(inputs, interruption);
    note_end();
    return results;
  } catch (...) {
    note_end();  // a part of it may have been enqueued
    throw;
  }
}

std::vector<c10::IValue> Package::run_now(const std::vector<c10::IValue>& inputs,
                                          const Runner::Interruption& interruption) const {
  const CallScope scope(device_);
  const std::vector<Number> symbols = signature_.check(inputs);
  const std::vector<c10::IValue> given = signature_.conformed(inputs, symbols);
  std::vector<c10::IValue> results = program_->run(given, weight_values_, symbols, interruption);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (contents_.inputs[i].is_written && !given[i].toTensor().is_same(inputs[i].toTensor()))
      inputs[i].toTensor().copy_(given[i].toTensor());
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (contents_.outputs[i].input >= 0) results[i] = inputs[static_cast<size_t>(contents_.outputs[i].input)];
  return results;
}

}  // namespace torchplug::package
