#include "options.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "arena.h"
#include "error.h"

namespace torchplug::sim {
namespace {

constexpr std::int32_t kMaxDevices = 64;
constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 45;  // two views fit the address space

std::uint64_t half_of_physical_memory() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return pages * page / 2;
}

// The power of two that "", "K", "KiB", "m", "GiB" and so on stand for.
std::optional<int> shift_of_suffix(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 0;
  constexpr std::string_view kUnits = "KMGTkmgt";
  const auto unit = kUnits.find(suffix.front());
  suffix.remove_prefix(1);
  if (unit == std::string_view::npos || (!suffix.empty() && suffix != "iB")) return std::nullopt;
  return 10 * (static_cast<int>(unit % 4) + 1);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const auto shift = shift_of_suffix(text.substr(static_cast<std::size_t>(rest - text.data())));
  if (!shift || number > (kMaxMemory >> *shift)) return std::nullopt;
  return number << *shift;
}

std::int32_t parse_devices(std::string_view text) {
  std::int32_t count = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || rest != end || count < 0 || count > kMaxDevices) {
    fail(PLUG_INVALID, "TORCHPLUG_SIM_DEVICES is \"", text, "\": give a number from 0 to ", kMaxDevices, ".");
  }
  return count;
}

std::uint64_t parse_memory(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes < Arena::kAlignment) {
    fail(PLUG_INVALID, "TORCHPLUG_SIM_MEMORY is \"", text,
         "\": give the bytes of each device, such as 1073741824, 512M or 2GiB, from ", Arena::kAlignment,
         " to 32T.");
  }
  return *bytes;
}

bool parse_switch(std::string_view name, std::string_view text) {
  if (text != "on" && text != "off") fail(PLUG_INVALID, name, " is \"", text, "\": give on or off.");
  return text == "on";
}

CompilerMode parse_compiler(std::string_view text) {
  if (text == "off") return CompilerMode::kOff;
  if (text == "on") return CompilerMode::kOn;
  if (text == "whole") return CompilerMode::kWhole;
  if (text == "static") return CompilerMode::kStatic;
  fail(PLUG_INVALID, "TORCHPLUG_SIM_COMPILER is \"", text, "\": give off, on, whole or static.");
}

double parse_seconds(std::string_view text) {
  constexpr double kMost = 86400;
  double seconds = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || rest != end || std::isnan(seconds) || seconds < 0 || seconds > kMost) {
    fail(PLUG_INVALID, "TORCHPLUG_SIM_COMPILE_SECONDS is \"", text, "\": give a number from 0 to 86400.");
  }
  return seconds;
}

}  // namespace

Options read_options(const plug_host& host) {
  Options options;
  options.memory = half_of_physical_memory();
  if (const char* devices = host.option(&host, "sim.devices")) options.devices = parse_devices(devices);
  if (const char* memory = host.option(&host, "sim.memory")) options.memory = parse_memory(memory);
  if (const char* profiler = host.option(&host, "sim.profiler")) {
    options.profiler = parse_switch("TORCHPLUG_SIM_PROFILER", profiler);
  }
  if (const char* capture = host.option(&host, "sim.capture")) {
    options.captures = parse_switch("TORCHPLUG_SIM_CAPTURE", capture);
  }
  if (const char* kernels = host.option(&host, "sim.kernels")) {
    options.kernels = parse_switch("TORCHPLUG_SIM_KERNELS", kernels);
  }
  if (const char* any = host.option(&host, "sim.any")) options.any = parse_switch("TORCHPLUG_SIM_ANY", any);
  if (const char* mode = host.option(&host, "sim.compiler")) options.compiler = parse_compiler(mode);
  if (const char* seconds = host.option(&host, "sim.compile_seconds"))
    options.compile_seconds = parse_seconds(seconds);
  options.memory -= options.memory % Arena::kAlignment;
  return options;
}

}  // namespace torchplug::sim
