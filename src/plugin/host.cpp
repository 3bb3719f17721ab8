#include "plugin/host.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/immortal.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "plugin/sequence.h"
#include "plugin/team.h"

namespace torchplug::plugin {
namespace {

thread_local std::string last_error;
constinit thread_local uint64_t last_error_sequence = 0;  // the thread's latest when the error was set
std::atomic<ReportHandler> report_handler{nullptr};

struct HostReports {
  std::atomic<bool> any{false};
  std::mutex lock;
  std::map<uint64_t, HostReport> of_calls;  // the first of each
};

HostReports& host_reports() {
  static auto& reports = *immortal<HostReports>();
  return reports;
}

void report_on_host(uint64_t sequence, plug_status status, const char* message) {
  HostReports& reports = host_reports();
  const std::lock_guard lock(reports.lock);
  reports.of_calls.try_emplace(sequence, HostReport{status, as_utf8(message)});
  reports.any.store(true, std::memory_order_release);
}

std::atomic<int32_t>& log_threshold() {
  static std::atomic<int32_t> threshold{choice_setting("TORCHPLUG_LOG").front() - '0'};
  return threshold;
}

void set_error(const plug_host* /*host*/, const char* message) {
  last_error = as_utf8(message);
  last_error_sequence = latest_sequence();
}

void log(const plug_host* /*host*/, int32_t level, const char* message) { log_message(level, message); }

const char* option(const plug_host* /*host*/, const char* key) { return plugin_setting(key); }

CallServices& services(const plug_call* call) { return *static_cast<CallServices*>(call->host_private); }

plug_status scratch(const plug_host* /*host*/, const plug_call* call, uint64_t bytes, plug_mem* mem) {
  return services(call).scratch(bytes, mem);
}

plug_status output(const plug_host* /*host*/, const plug_call* call, uint32_t index, plug_dtype dtype,
                   int32_t ndim, const int64_t* sizes, const int64_t* strides) {
  return services(call).output(index, dtype, ndim, sizes, strides);
}

// The kernel may know less of plug_rng than the host does.
plug_status rng(const plug_host* host, const plug_call* call, uint64_t draws, plug_rng* rng) {
  if (rng->size < sizeof(uint32_t) || rng->size > kLargestTable) {
    set_error(host, "host->rng was given a plug_rng whose size is not set: set it to sizeof(plug_rng)");
    return PLUG_INVALID;
  }
  plug_rng whole{};
  whole.size = sizeof whole;
  const plug_status status = services(call).rng(draws, &whole);
  if (status != PLUG_OK) return status;
  whole.size = rng->size;
  std::memcpy(rng, &whole, std::min<size_t>(rng->size, sizeof whole));
  return PLUG_OK;
}

void team(const plug_host* /*host*/, void (*function)(void*, int32_t, int32_t), void* argument) {
  run_team(function, argument);
}

void report(const plug_host* /*host*/, int32_t device, plug_stream stream, uint64_t sequence,
            plug_status status, const char* message) {
  if (device == PLUG_HOST) {
    report_on_host(sequence, status, message);
  } else if (auto* handler = report_handler.load()) {
    handler(device, stream, sequence, status, message);
  }
}

}  // namespace

void log_message(int32_t level, const char* message) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  if (level < log_threshold() || level < 0 || level > 3) return;
  std::fprintf(stderr, "torchplug %s: %s\n", kNames[level], message);
}

void set_log_level(int32_t level) { log_threshold() = level; }

void set_report_handler(ReportHandler handler) { report_handler = handler; }

std::optional<HostReport> take_host_report(uint64_t sequence) {
  HostReports& reports = host_reports();
  if (!reports.any.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(reports.lock);
  auto taken = reports.of_calls.extract(sequence);
  if (taken.empty()) taken = reports.of_calls.extract(0);  // of no call in particular
  reports.any.store(!reports.of_calls.empty(), std::memory_order_release);
  if (taken.empty()) return std::nullopt;
  return std::move(taken.mapped());
}

plug_host make_host_table() {
  plug_host host{};
  host.size = sizeof host;
  host.abi_minor = PLUG_ABI_MINOR;
  host.set_error = set_error;
  host.log = log;
  host.option = option;
  host.scratch = scratch;
  host.output = output;
  host.rng = rng;
  host.report = report;
  host.team = team;
  return host;
}

std::string take_plugin_error() { return std::exchange(last_error, {}); }

std::string take_plugin_error_of(uint64_t sequence) {
  const bool is_older = last_error_sequence < sequence;
  std::string said = take_plugin_error();
  return is_older ? std::string() : said;
}

std::string status_name(plug_status status) {
  switch (status) {
    case PLUG_OK: return "ok";
    case PLUG_NOT_READY: return "not ready";
    case PLUG_UNSUPPORTED: return "unsupported";
    case PLUG_INVALID: return "invalid use";
    case PLUG_NO_MEMORY: return "out of memory";
    case PLUG_TIMEOUT: return "timeout";
    case PLUG_LOST: return "device lost";
    case PLUG_INTERNAL: return "internal error";
    default: return "unknown status " + std::to_string(status);
  }
}

}  // namespace torchplug::plugin
