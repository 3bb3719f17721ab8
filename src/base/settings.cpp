#include "base/settings.h"

#include <c10/util/Exception.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

namespace torchplug::base {
namespace {

// What the user set; null if that is nothing. An empty flag or choice counts as not set.
const char* value_of(const Setting& setting) noexcept {
  const char* value = std::getenv(setting.name);
  const bool says_nothing = value != nullptr && *value == '\0' && setting.kind != SettingKind::kText;
  return says_nothing ? nullptr : value;
}

// "allow, warn or error"
std::string in_words(const std::vector<std::string_view>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += values[i];
  }
  return text;
}

}  // namespace

std::vector<std::string_view> values_of(const Setting& setting) {
  std::vector<std::string_view> values;
  std::string_view rest = setting.kind == SettingKind::kText ? "" : setting.values;
  while (!rest.empty()) {
    values.push_back(rest.substr(0, rest.find('|')));
    rest.remove_prefix(std::min(rest.size(), values.back().size() + 1));
  }
  return values;
}

void check_settings() {
  for (const Setting& setting : kSettings) {
    const auto values = values_of(setting);
    const char* value = value_of(setting);
    if (value == nullptr || values.empty()) continue;
    TORCH_CHECK(std::ranges::find(values, value) != values.end(), setting.name, " is '", value,
                "'. Set it to ", in_words(values), ".");
  }
}

bool flag_setting(SettingName<SettingKind::kFlag> name) noexcept {
  const char* value = value_of(name.setting);
  return value != nullptr && std::string_view(value) == "1";
}

std::string_view choice_setting(SettingName<SettingKind::kChoice> name) {
  const char* value = value_of(name.setting);
  const auto values = values_of(name.setting);
  const auto found = value == nullptr ? values.end() : std::ranges::find(values, value);
  return found == values.end() ? name.setting.default_value : *found;
}

const char* text_setting(SettingName<SettingKind::kText> name) noexcept { return value_of(name.setting); }

std::string cache_directory() {
  if (const char* given = text_setting("TORCHPLUG_CACHE_DIR"); given != nullptr && *given != '\0')
    return given;
  const char* caches = std::getenv("XDG_CACHE_HOME");
  if (caches != nullptr && *caches != '\0') return std::string(caches) + "/torchplug";
  const char* home = std::getenv("HOME");
  const passwd* user = home == nullptr ? ::getpwuid(::getuid()) : nullptr;
  if (user != nullptr) home = user->pw_dir;
  return std::string(home == nullptr ? "." : home) + "/.cache/torchplug";
}

const char* plugin_setting(std::string_view key) {
  std::string name = "TORCHPLUG_";
  for (const char c : key) {
    name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return std::getenv(name.c_str());
}

}  // namespace torchplug::base
