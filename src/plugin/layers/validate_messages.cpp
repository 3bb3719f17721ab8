#include "plugin/layers/validate_messages.h"

#include <c10/util/Exception.h>

#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>

#include "base/immortal.h"
#include "base/settings.h"
#include "plugin/host.h"

namespace torchplug::plugin {
namespace {

using validation::Rule;

// In the order of Rule.
constexpr RuleText kRules[] = {
    {"VALIDATE-device-index", "the core names a device that the plugin does not have"},
    {"VALIDATE-device-closed", "the core uses a device before device_open"},
    {"VALIDATE-after-shutdown", "the core calls a function after shutdown"},
    {"VALIDATE-call-in-host-func", "a host function, or its release, calls the plugin"},
    {"VALIDATE-stream-handle", "a stream does not exist, was destroyed, or belongs to another device"},
    {"VALIDATE-event-handle", "an event does not exist, was destroyed, or belongs to another device"},
    {"VALIDATE-capture-handle", "a capture does not exist, was destroyed, or belongs to another device"},
    {"VALIDATE-capture-order", "a capture is begun twice, or ended without having begun"},
    {"VALIDATE-capture-in-use", "a capture is destroyed, or replayed on another stream, while a replay runs"},
    {"VALIDATE-elapsed-untimed", "event_elapsed of an event made without PLUG_EVENT_TIMING"},
    {"VALIDATE-flags", "a flag that plug.h does not have"},
    {"VALIDATE-memory-dead", "memory that mem_alloc did not return, or that has been freed"},
    {"VALIDATE-memory-extent", "an operation reaches outside of its allocation"},
    {"VALIDATE-memory-pinned",
     "PLUG_MEM_PINNED on memory that host_alloc did not return, nor host_pinned knows"},
    {"VALIDATE-tensor", "an invalid plug_tensor: its layout, its dimensions or its null memory"},
    {"VALIDATE-copy-strided", "copy_strided of tensors that differ in shape, overlap, or lie elsewhere"},
    {"VALIDATE-kernel-tensor", "a kernel is given a tensor that it does not accept"},
    {"VALIDATE-kernel-state",
     "a kernel is called with a state that is not its, or a state is forgotten too early"},
    {"VALIDATE-kernel-result", "a kernel changes what a result is, or leaves one without a shape"},
    {"VALIDATE-engine-handle", "an engine does not exist, was destroyed, or belongs to another device"},
    {"VALIDATE-engine-in-use", "an engine is destroyed while a stream still executes a run of it"},
    {"VALIDATE-compile-progress", "compile says that less than nothing, or more than all, is done"},
    {"VALIDATE-free-in-use", "memory is freed while a stream still uses it"},
    {"VALIDATE-map-range", "mem_map, mem_unmap or mem_unreserve of the wrong part of a reservation"},
    {"VALIDATE-host-map", "host_map of what is mapped already, or host_unmap of what is not"},
    {"VALIDATE-mapped-use", "work uses, or mem_free frees, memory that is mapped for the host"},
    {"VALIDATE-device-lacks", "the core calls a function that the device lacks, as its device_info says"},
    {"VALIDATE-alloc-largest", "mem_alloc of more than device_info's largest_bytes"},
    {"VALIDATE-status-unknown",
     "the plugin returns an unknown status, or one that the function may not return"},
    {"VALIDATE-error-silent", "the plugin fails without calling set_error"},
    {"VALIDATE-output-on-error", "the plugin writes an output although it fails"},
    {"VALIDATE-output-missing", "the plugin answers PLUG_OK and writes no output"},
    {"VALIDATE-alloc-alignment", "mem_alloc returns memory that is not aligned as device_info says"},
    {"VALIDATE-alloc-overlap", "mem_alloc or host_alloc returns memory that is already allocated"},
    {"VALIDATE-view-overlap", "host_view returns an address that is another allocation's view"},
    {"VALIDATE-handle-twice", "the plugin returns a handle that is already in use, or NULL"},
    {"VALIDATE-event-never-recorded", "the plugin says that a never recorded event is not ready"},
    {"VALIDATE-host-func-twice", "the plugin runs a host function more than once"},
    {"VALIDATE-host-func-order", "the plugin runs a host function before one enqueued earlier on its stream"},
    {"VALIDATE-release-twice", "the plugin releases a host function's argument twice, or before it has run"},
    {"VALIDATE-sync-early",
     "the plugin says that work is done while a host function before it has not ended"},
    {"VALIDATE-release-late", "a sync returns before the arguments of host functions have been released"},
    {"VALIDATE-red-zone",
     "something wrote behind the end of an allocation, or a kernel beside a result in host memory"},
    {"VALIDATE-leak", "something was not released before the process ended"},
};
static_assert(std::size(kRules) == static_cast<size_t>(Rule::kLeak) + 1);

enum class Mode { kError, kLog, kAbort };

struct Record {
  uint64_t count = 0;
  std::string last;
};

struct Found {
  std::mutex lock;
  std::array<Record, std::size(kRules)> records;
};

Found& found() {
  static auto& instance = *immortal<Found>();
  return instance;
}

Mode mode = Mode::kError;

Mode read_mode() {
  const std::string_view word = choice_setting("TORCHPLUG_VALIDATE");
  if (word == "log") return Mode::kLog;
  return word == "abort" ? Mode::kAbort : Mode::kError;
}

std::string record(Rule rule, const std::string& sentence) {
  const auto place = static_cast<size_t>(rule);
  std::string text = std::string(kRules[place].id) + ": " + sentence;
  std::lock_guard lock(found().lock);
  ++found().records[place].count;
  found().records[place].last = text;
  return text;
}

}  // namespace

std::span<const RuleText> validation_rules() { return kRules; }

std::vector<ValidationMessage> validation_messages() {
  std::vector<ValidationMessage> messages;
  std::lock_guard lock(found().lock);
  for (size_t i = 0; i < std::size(kRules); ++i) {
    const Record& record = found().records[i];
    if (record.count != 0) messages.push_back({kRules[i].id, record.count, record.last});
  }
  return messages;
}

void forget_validation_messages() {
  std::lock_guard lock(found().lock);
  found().records = {};
}

void validation::prepare_messages() { mode = read_mode(); }

void validation::violate(Rule rule, const std::string& sentence) {
  if (mode == Mode::kError) throw Violation(record(rule, sentence));
  note(rule, sentence);
}

std::string validation::note(Rule rule, const std::string& sentence) noexcept {
  std::string text = record(rule, sentence);
  log_message(rule == Rule::kLeak ? 1 : 3, text.c_str());
  if (mode == Mode::kAbort && rule != Rule::kLeak) std::abort();
  return text;
}

std::string validation::hexadecimal(const void* address) {
  std::ostringstream text;
  text << address;
  return text.str();
}

}  // namespace torchplug::plugin
