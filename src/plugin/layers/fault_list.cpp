#include "plugin/layers/fault_list.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "plugin/layer.h"

namespace torchplug::plugin {
namespace {

const std::map<std::string_view, plug_status> kStatuses = {
    {"unsupported", PLUG_UNSUPPORTED}, {"invalid", PLUG_INVALID}, {"no_memory", PLUG_NO_MEMORY},
    {"timeout", PLUG_TIMEOUT},         {"lost", PLUG_LOST},       {"internal", PLUG_INTERNAL},
};

constexpr std::string_view kAsking[] = {"mem_alloc", "host_alloc", "mem_reserve", "mem_map"};
constexpr std::string_view kWithoutDevice[] = {"device_count", "shutdown", "host_alloc", "host_free",
                                               "host_pinned"};

template <size_t N>
bool is_among(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// plug.h's name for what a fault is of: short ones for the most usual.
std::optional<std::string> function_named(std::string_view name) {
  if (name == "alloc") return "mem_alloc";
  if (name == "fill") return "mem_fill";
  for (const char* word : {"kernel", "run", "engine_pack"}) {
    if (name == word) return word;
  }
  std::optional<std::string> found;
  const CompilerCalls calls;
  CompilerCalls::for_each(calls, [&](const char* member, const auto& /*function*/) {
    if (name == member) found = member;
  });
  for_each_member([&]<auto Function>(const char* member, Group /*group*/) {
    if (name == member) found = member;
  });
  return found;
}

// Reads one fault of the whole text, from left to right.
class Reader {
 public:
  Reader(const std::string& whole, size_t begin, size_t end) : whole_(whole), at_(begin), end_(end) {}

  std::unique_ptr<const Fault> read() {
    auto fault = std::make_unique<Fault>();
    fault->text = whole_.substr(at_, end_ - at_);
    const std::string_view name = word();
    if (name == "slow") {
      read_slow(*fault);
    } else if (name == "later" || name == "lost") {
      fault->kind = name == "later" ? Fault::Kind::kLater : Fault::Kind::kLost;
      expect(':', "a number follows");
      fault->nth = call_number();
      if (name == "later") read_status(*fault);
    } else {
      read_failure(*fault, name);
    }
    if (take('@')) {
      if (is_among(kWithoutDevice, fault->function))
        refuse("'" + fault->function + "' does not take a device");
      fault->device = static_cast<int32_t>(number("a device"));
    }
    if (at_ != end_) refuse("unexpected characters follow");
    return fault;
  }

 private:
  void read_failure(Fault& fault, std::string_view name) {
    const auto function = function_named(name);
    if (!function) {
      at_ -= name.size();
      refuse(
          "unknown fault; use alloc, copy, fill, kernel, slow, later, lost, or a function "
          "of plug_runtime or plug_compiler");
    }
    fault.function = *function;
    if (is_among(kAsking, *function)) fault.status = PLUG_NO_MEMORY;
    if (take('>')) {
      if (!is_among(kAsking, *function)) refuse("only an allocation has a size");
      fault.above_bytes = number("bytes");
    } else {
      expect(':', "a number follows");
      fault.nth = call_number();
      fault.and_later = take('+');
    }
    read_status(fault);
  }

  void read_status(Fault& fault) {
    if (!take(':')) return;
    const std::string_view name = word();
    const auto found = kStatuses.find(name);
    if (found == kStatuses.end()) {
      at_ -= name.size();
      refuse("unknown status; use unsupported, invalid, no_memory, timeout, lost or internal");
    }
    fault.status = found->second;
  }

  void read_slow(Fault& fault) {
    fault.kind = Fault::Kind::kSlow;
    expect(':', "'default' or '*' follows");
    if (!take('*')) {
      const std::string_view name = word();
      if (name != "default") {
        at_ -= name.size();
        refuse("unknown stream; use 'default', or '*' for all");
      }
      fault.only_default = true;
    }
    expect(':', "a time follows, such as 2ms");
    const auto amount = static_cast<int64_t>(number("a time, such as 2ms"));
    const std::string_view unit = word();
    if (unit == "us") {
      fault.delay = std::chrono::microseconds(amount);
    } else if (unit == "ms") {
      fault.delay = std::chrono::milliseconds(amount);
    } else if (unit == "s") {
      fault.delay = std::chrono::seconds(amount);
    } else {
      at_ -= unit.size();
      refuse("unknown unit of time; use us, ms or s");
    }
  }

  std::string_view word() {
    const size_t begin = at_;
    while (at_ < end_ && (std::isalpha(static_cast<unsigned char>(whole_[at_])) != 0 || whole_[at_] == '_'))
      ++at_;
    return std::string_view(whole_).substr(begin, at_ - begin);
  }

  uint64_t number(const char* what) {
    uint64_t value = 0;
    const char* begin = whole_.data() + at_;
    const auto [parsed, problem] = std::from_chars(begin, whole_.data() + end_, value);
    if (problem != std::errc()) refuse(std::string("a number is missing: ") + what);
    at_ += static_cast<size_t>(parsed - begin);
    return value;
  }

  uint64_t call_number() {
    const uint64_t value = number("which call");
    if (value == 0) refuse("calls are counted from 1");
    return value;
  }

  bool take(char wanted) {
    if (at_ == end_ || whole_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted, const char* why) {
    if (!take(wanted)) refuse(std::string("'") + wanted + "' is missing: " + why);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    TORCH_CHECK(false, "TORCHPLUG_FAULT '", whole_, "' is invalid at character ", at_ + 1, ": ", what, ".");
  }

  const std::string& whole_;
  size_t at_;
  size_t end_;
};

}  // namespace

std::shared_ptr<const FaultList> parse_faults(const std::string& text) {
  auto faults = std::make_shared<FaultList>();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    faults->push_back(Reader(text, begin, end).read());
    begin = end + 1;
  }
  return faults;
}

}  // namespace torchplug::plugin
