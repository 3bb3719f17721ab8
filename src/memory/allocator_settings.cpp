#include "memory/allocator_settings.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <set>

#include "base/settings.h"
#include "base/torch_compat.h"

namespace torchplug::memory {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;

std::vector<std::string> unknown_keys(const std::string& text) {
  const c10::CachingAllocator::ConfigTokenizer tokens(text);
  std::vector<std::string> unknown;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& key = tokens[i];
    if (!Config::getKeys().contains(key)) unknown.push_back(key);
    if (i + 2 >= tokens.size() || tokens[i + 1] != ":") break;  // PyTorch says what is wrong with it
    i = tokens.skipKey(i) + 1;
  }
  return unknown;
}

// PyTorch ignores keys that it does not know, unless a backend of its own takes them.
void read_environment() {
  for (const std::string& key : unknown_keys(Config::last_allocator_settings())) {
    TORCH_WARN("torchplug ignores the allocator setting '", key, "' of PYTORCH_ALLOC_CONF.");
  }
  const char* text = text_setting("TORCHPLUG_ALLOC_CONF");
  if (text != nullptr && *text != '\0') set_allocator_settings(text);
}

void ensure_read() {
  static std::once_flag read;
  std::call_once(read, read_environment);
}

}  // namespace

void set_allocator_settings(const std::string& text) {
  for (const std::string& key : unknown_keys(text)) {
    const std::set<std::string> known(Config::getKeys().begin(), Config::getKeys().end());
    TORCH_CHECK_VALUE(false, "There is no allocator setting '", key, "'. Write name:value with one of ",
                      c10::Join(", ", known), ".");
  }
  try {
    c10::CachingAllocator::setAllocatorSettings(text);
  } catch (const c10::Error& error) {
    TORCH_CHECK_VALUE(false, "The allocator settings '", text,
                      "' cannot be used: ", error.what_without_backtrace());
  } catch (const std::exception&) {
    TORCH_CHECK_VALUE(false, "The allocator settings '", text, "' cannot be read: a number is missing.");
  }
}

AllocatorSettings allocator_settings() {
  ensure_read();
  return {compat::large_segment_size(), Config::max_split_size(), Config::max_non_split_rounding_size(),
          Config::garbage_collection_threshold(), Config::use_expandable_segments()};
}

size_t rounded_size(size_t bytes, size_t unit) {
  const size_t divisions = Config::roundup_power2_divisions(std::max<size_t>(bytes, 1));
  size_t step = unit;
  if (divisions > 1 && bytes > unit * divisions && !std::has_single_bit(bytes)) {
    step = std::max(unit, std::bit_floor(bytes) / divisions);
  }
  return std::max((bytes + step - 1) / step * step, bytes);  // the round one may be too large a number
}

bool rounds_to_divisions() {
  const auto divisions = Config::roundup_power2_divisions();
  return std::any_of(divisions.begin(), divisions.end(), [](size_t number) { return number > 1; });
}

}  // namespace torchplug::memory
