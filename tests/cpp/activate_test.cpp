// Making a plugin the device of a process: once, one, and from start to end.

#include "pytorch/activate.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceType.h>

#include <filesystem>

#include "harness.h"
#include "pytorch/active_module.h"
#include "runtime/device.h"
#include "serial.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

TEST(Activate, gives_the_device_its_plugins_name) {
  alone([] {
    EXPECT_FALSE(is_module_loaded());
    EXPECT_EQ(activate(HELLO_LIBRARY), "hello");
    EXPECT_TRUE(is_module_loaded());
    EXPECT_EQ(c10::Device("hello:0"), device());
    EXPECT_EQ(device().str(), "hello:0");
    expect_same(on_device(numbers({3})).relu(), numbers({3}).relu());
  });
}

TEST(Activate, the_same_plugin_again_by_any_path_does_nothing) {
  alone([] {
    activate(HELLO_LIBRARY);
    const Module* module = &active_module();
    const at::Tensor x = on_device(numbers({4}));
    EXPECT_EQ(activate(HELLO_LIBRARY), "hello");
    EXPECT_EQ(activate(std::filesystem::relative(HELLO_LIBRARY)), "hello");
    EXPECT_EQ(&active_module(), module);
    expect_same(x, numbers({4}));
  });
}

TEST(Activate, a_second_plugin_is_refused_with_both_names_and_paths_and_the_first_goes_on) {
  alone([] {
    activate(HELLO_LIBRARY);
    const std::string text = error_of([] { activate(plugin_path("copy_fails")); });
    expect_says(text,
                {"'hello'", HELLO_LIBRARY, "'copy_fails'", plugin_path("copy_fails"), "one device plugin"});
    expect_one_sentence(text);
    EXPECT_EQ(active_module().name, "hello");
    expect_same(on_device(numbers({4})).add(1), numbers({4}).add(1));
  });
}

// Both ask for one call at a time: the second must not slip into the first one's place.
TEST(Activate, a_refused_second_plugin_gets_none_of_the_firsts_calls) {
  alone([] {
    const std::string first = plugin_path("serial");
    const std::string second = first + ".copy";
    std::filesystem::copy_file(first, second, std::filesystem::copy_options::overwrite_existing);
    activate(first);
    expect_says(error_of([&] { activate(second); }), {"one device plugin"});
    const auto calls_of_first = exported<uint64_t()>(first, "serial_calls");
    const auto calls_of_second = exported<uint64_t()>(second, "serial_calls");
    std::filesystem::remove(second);
    const uint64_t before = calls_of_second();
    expect_same(on_device(numbers({4})), numbers({4}));
    EXPECT_EQ(calls_of_second(), before);
    EXPECT_GT(calls_of_first(), 0u);
  });
}

// No device has been registered with PyTorch, and there is room for one.
void expect_untouched() {
  EXPECT_EQ(c10::get_privateuse1_backend(), "privateuseone");
  EXPECT_FALSE(is_module_loaded());
  EXPECT_FALSE(at::isPrivateUse1HooksRegistered());
  EXPECT_EQ(activate(HELLO_LIBRARY), "hello");
  expect_same(on_device(numbers({4})).relu(), numbers({4}).relu());
}

TEST(Activate, a_name_that_pytorch_has_already_is_refused_before_anything_is_changed) {
  alone([] {
    const auto refused = [] { return error_of([] { activate(plugin_path("taken_name")); }); };
    const std::string first = refused();
    expect_says(first, {"'cuda'", "another name"});
    expect_one_sentence(first);
    EXPECT_EQ(refused(), first);
    expect_untouched();
  });
}

TEST(Activate, a_name_that_pytorch_has_already_is_refused_for_later_too) {
  alone([] {
    for (const char* name : {"cuda", "cpu", "meta", "vulkan", "privateuseone"}) {
      expect_says(error_of([name] { activate_later(name, HELLO_LIBRARY); }), {name, "another name"});
    }
    expect_untouched();
  });
}

TEST(Activate, a_path_where_nothing_is_is_refused_for_later_too) {
  alone([] {
    expect_says(error_of([] { activate_later("acme", "/no/such/plugin.so"); }), {"/no/such/plugin.so"});
    expect_untouched();
  });
}

TEST(Activate, a_plugin_that_cannot_be_put_to_use_leaves_room_for_another) {
  alone([] {
    ::setenv("TORCHPLUG_LAYERS", "validate,nonsense", 1);
    expect_says(error_of([] { activate(HELLO_LIBRARY); }), {"'nonsense'"});
    ::setenv("TORCHPLUG_LAYERS", "fault,validate", 1);
    ::setenv("TORCHPLUG_FAULT", "nonsense", 1);  // found when validate is in place
    expect_says(error_of([] { activate(HELLO_LIBRARY); }), {"nonsense"});
    ::unsetenv("TORCHPLUG_FAULT");
    expect_untouched();
  });
}

TEST(Activate, a_plugin_that_could_not_be_put_to_use_is_as_it_was_when_it_is_tried_again) {
  alone([] {
    ::setenv("TORCHPLUG_LAYERS", "validate,nonsense", 1);
    error_of([] { activate(HELLO_LIBRARY); });
    ::setenv("TORCHPLUG_LAYERS", "fault", 1);
    activate(HELLO_LIBRARY);
    EXPECT_EQ(active_module().layers, std::vector<std::string>{"fault"});
  });
}

TEST(Activate, what_another_backend_has_taken_is_refused) {
  alone([] {
    c10::register_privateuse1_backend("other");
    const std::string text = error_of([] { activate(HELLO_LIBRARY); });
    expect_says(text, {"'hello'", "'other'", "not both"});
    expect_one_sentence(text);
    expect_says(error_of([] { activate_later("hello", HELLO_LIBRARY); }), {"'hello'", "'other'"});
  });
}

TEST(Activate, a_plugin_that_cannot_be_loaded_leaves_room_for_another) {
  alone([] {
    expect_says(error_of([] { activate(plugin_path("refuses")); }), {"the licence server does not answer"});
    EXPECT_FALSE(is_module_loaded());
    EXPECT_EQ(activate(HELLO_LIBRARY), "hello");
    expect_same(on_device(numbers({4})), numbers({4}));
  });
}

TEST(Activate, a_plugin_for_later_is_loaded_by_the_first_tensor) {
  alone([] {
    activate_later("hello", HELLO_LIBRARY);
    EXPECT_EQ(c10::Device("hello:0"), device());
    EXPECT_FALSE(is_module_loaded());
    expect_same(at::zeros({3}, device()).add(1), at::ones({3}));
    EXPECT_TRUE(is_module_loaded());
    EXPECT_EQ(activate(HELLO_LIBRARY), "hello");
  });
}

TEST(Activate, a_plugin_for_later_that_cannot_be_loaded_says_why_at_every_use) {
  alone([] {
    activate_later("refuses", plugin_path("refuses"));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(device_count(), 0);
      expect_says(error_of([] { at::zeros({3}, device()); }), {"the licence server does not answer"});
    }
  });
}

TEST(Activate, a_plugin_that_could_not_be_loaded_later_can_be_loaded_when_it_is_repaired) {
  alone([] {
    activate_later("hello", plugin_path("refuses"));
    expect_says(error_of([] { at::zeros({3}, device()); }), {"the licence server does not answer"});
    EXPECT_EQ(device_count(), 0);
    EXPECT_EQ(activate(HELLO_LIBRARY), "hello");
    EXPECT_EQ(device_count(), 1);
    expect_same(on_device(numbers({4})).relu(), numbers({4}).relu());
  });
}

TEST(Activate, a_plugin_that_could_not_be_loaded_later_keeps_its_name) {
  alone([] {
    activate_later("refuses", plugin_path("refuses"));
    expect_says(error_of([] { at::zeros({3}, device()); }), {"the licence server does not answer"});
    const std::string text = error_of([] { activate(HELLO_LIBRARY); });
    expect_says(text, {"'hello'", "'refuses'", "in place of", "TORCHPLUG_DEVICE"});
    expect_one_sentence(text);
    expect_says(error_of([] { at::zeros({3}, device()); }), {"the licence server does not answer"});
  });
}

TEST(Activate, a_plugin_announced_under_another_name_is_refused_with_both_names) {
  alone([] {
    activate_later("acme", HELLO_LIBRARY);
    const std::string text = error_of([] { at::zeros({3}, device()); });
    expect_says(text, {"'hello'", "'acme'", HELLO_LIBRARY, "torchplug.devices"});
  });
}

TEST(Activate, a_second_choice_for_later_is_refused_and_nothing_is_loaded) {
  alone([] {
    activate_later("hello", HELLO_LIBRARY);
    activate_later("hello", HELLO_LIBRARY);
    expect_says(error_of([] { activate_later("sim", SIM_LIBRARY); }),
                {"'hello'", "'sim'", "one device plugin"});
    EXPECT_FALSE(is_module_loaded());
  });
}

TEST(Activate, without_a_plugin_the_error_says_how_to_choose_one) {
  alone([] { expect_says(error_of([] { active_module(); }), {"No device plugin", "TORCHPLUG_DEVICE"}); });
}

TEST(Activate, an_older_plugin_is_a_whole_device) {
  alone([] {
    activate(plugin_path("older"));
    const at::Tensor x = numbers({5, 3});
    const at::Tensor there = on_device(x);
    expect_same(there.relu(), x.relu());
    expect_same(there.neg(), x.neg());
    expect_same(there.t().add(x.t().to(device())), x.t().add(x.t()));
    EXPECT_EQ(ledger_count("aten::relu", Way::kKernel, Reason::kNone), 1u);
    EXPECT_EQ(ledger_count("aten::neg", Way::kKernel, Reason::kNone), 1u);
    EXPECT_EQ(ledger_count("aten::add.Tensor", Way::kStage, Reason::kNoKernel), 1u);
  });
}

}  // namespace
}  // namespace torchplug::tests
