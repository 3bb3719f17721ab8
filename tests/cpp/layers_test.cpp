// Which layers there are, and in which order they stand.

#include "plugin/layers/layers.h"

#include <cstdlib>
#include <cstring>

#include "harness.h"
#include "pytorch/activate.h"

namespace torchplug::tests {
namespace {

void with_layers(const char* wish, const std::function<void()>& body) {
  alone([&] {
    ::setenv("TORCHPLUG_LAYERS", wish, 1);
    body();
  });
}

TEST(Layers, without_a_wish_the_table_is_the_plugins_own) {
  alone([] {
    ::unsetenv("TORCHPLUG_LAYERS");
    Module& module = load_module(SIM_LIBRARY);
    const plug_runtime before = module.runtime;
    const plug_kernel kernel = module.kernels.at(0);
    apply_layers(module);
    EXPECT_EQ(std::memcmp(&before, &module.runtime, sizeof before), 0);
    EXPECT_EQ(kernel.fn, module.kernels.at(0).fn);
    EXPECT_TRUE(active_layers().empty());
  });
}

TEST(Layers, the_first_named_is_the_outermost) {
  with_layers("validate,fault", [] {
    ::setenv("TORCHPLUG_FAULT", "mem_free:1", 1);
    Module& module = load_module(SIM_LIBRARY);
    apply_layers(module);
    EXPECT_EQ(active_layers(), (std::vector<std::string>{"validate", "fault"}));
    // validate refuses what would have been the first call of fault's to fail.
    const plug_runtime& runtime = module.runtime;
    ASSERT_EQ(runtime.device_open(0), PLUG_OK);
    EXPECT_EQ(runtime.mem_free(0, &module), PLUG_INVALID);
    expect_says(take_plugin_error(), {"VALIDATE-memory-dead"});
    void* base = nullptr;
    ASSERT_EQ(runtime.mem_alloc(0, 100, &base), PLUG_OK);
    EXPECT_EQ(runtime.mem_free(0, base), PLUG_INTERNAL);
    expect_says(take_plugin_error(), {"mem_free:1"});
  });
}

TEST(Layers, an_unknown_name_is_one_sentence) {
  for (const char* wish : {"validate,nonsense", "nonsense"}) {
    with_layers(wish, [] {
      const std::string text = error_of([] { activate(SIM_LIBRARY); });
      expect_says(text, {"TORCHPLUG_LAYERS", "'nonsense'", "validate, fault"});
      expect_one_sentence(text);
    });
  }
}

TEST(Layers, a_name_given_twice_is_one_sentence) {
  with_layers("fault,fault", [] { expect_says(error_of([] { activate(SIM_LIBRARY); }), {"'fault' twice"}); });
}

}  // namespace
}  // namespace torchplug::tests
