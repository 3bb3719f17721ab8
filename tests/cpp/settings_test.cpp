// The environment is read through one table, and a value that it does not allow is one sentence.

#include "base/settings.h"

#include <cstdlib>
#include <set>
#include <string>

#include "harness.h"
#include "plugin/module.h"

namespace torchplug::tests {
namespace {

TEST(Settings, what_is_not_set_has_the_default_of_the_table) {
  alone([] {
    ::unsetenv("TORCHPLUG_FALLBACK");
    ::unsetenv("TORCHPLUG_LAUNCH_BLOCKING");
    ::unsetenv("TORCHPLUG_VISIBLE_DEVICES");
    EXPECT_EQ(choice_setting("TORCHPLUG_FALLBACK"), "allow");
    EXPECT_FALSE(flag_setting("TORCHPLUG_LAUNCH_BLOCKING"));
    EXPECT_EQ(text_setting("TORCHPLUG_VISIBLE_DEVICES"), nullptr);
  });
}

TEST(Settings, what_is_set_is_read) {
  alone([] {
    ::setenv("TORCHPLUG_FALLBACK", "error", 1);
    ::setenv("TORCHPLUG_LAUNCH_BLOCKING", "1", 1);
    ::setenv("TORCHPLUG_VISIBLE_DEVICES", "", 1);
    EXPECT_EQ(choice_setting("TORCHPLUG_FALLBACK"), "error");
    EXPECT_TRUE(flag_setting("TORCHPLUG_LAUNCH_BLOCKING"));
    EXPECT_STREQ(text_setting("TORCHPLUG_VISIBLE_DEVICES"), "") << "none is not all";
    check_settings();
  });
}

TEST(Settings, an_empty_flag_or_choice_is_not_set) {
  alone([] {
    ::setenv("TORCHPLUG_FALLBACK", "", 1);
    ::setenv("TORCHPLUG_LAUNCH_BLOCKING", "", 1);
    check_settings();
    EXPECT_EQ(choice_setting("TORCHPLUG_FALLBACK"), "allow");
    EXPECT_FALSE(flag_setting("TORCHPLUG_LAUNCH_BLOCKING"));
  });
}

TEST(Settings, a_plugin_is_not_loaded_with_a_value_that_nobody_understands) {
  alone([] {
    ::setenv("TORCHPLUG_LAUNCH_BLOCKING", "true", 1);
    const std::string text = error_of([] { load_module(HELLO_LIBRARY); });
    expect_says(text, {"TORCHPLUG_LAUNCH_BLOCKING", "'true'", "0 or 1"});
    expect_one_sentence(text);
    ::setenv("TORCHPLUG_LAUNCH_BLOCKING", "1", 1);
    EXPECT_EQ(load_module(HELLO_LIBRARY).name, "hello");
  });
}

TEST(Settings, a_plugins_key_is_a_variable_in_capitals) {
  alone([] {
    ::setenv("TORCHPLUG_ACME_CACHE_SIZE", "7", 1);
    EXPECT_STREQ(plugin_setting("acme.cache_size"), "7");
    EXPECT_EQ(plugin_setting("acme.cache"), nullptr);
  });
}

TEST(Settings, every_row_of_the_table_is_whole) {
  std::set<std::string> names;
  for (const Setting& setting : kSettings) {
    EXPECT_TRUE(std::string(setting.name).starts_with("TORCHPLUG_"));
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_STRNE(setting.meaning, "");
    const auto values = values_of(setting);
    EXPECT_EQ(values.empty(), setting.kind == SettingKind::kText) << setting.name;
    const std::set<std::string_view> allowed(values.begin(), values.end());
    EXPECT_TRUE(allowed.empty() || allowed.contains(setting.default_value)) << setting.name;
  }
}

}  // namespace
}  // namespace torchplug::tests
