// Devices that are not there, and devices that fail: one sentence each, and the next call works.

#include "runtime/device.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <cstdlib>

#include "harness.h"
#include "pytorch/activate.h"
#include "runtime/stream.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

at::Tensor empty_on_device(at::IntArrayRef sizes, int index = 0) {
  return at::empty(sizes, at::device(device(index)).dtype(at::kFloat));
}

TEST(Device, an_index_beyond_the_last_device_is_refused_with_those_there_are) {
  alone([] {
    activate(HELLO_LIBRARY);
    const std::string text = error_of([] { empty_on_device({2}, 7); });
    expect_says(text, {"hello:7", "from 0 to 0"});
    expect_one_sentence(text);
    expect_says(error_of([] { set_current_device(1); }), {"hello:1"});
    EXPECT_EQ(current_device(), 0);
    EXPECT_EQ(empty_on_device({2}).numel(), 2);
  });
}

TEST(Device, a_plugin_that_cannot_count_has_no_device_and_is_quoted_at_every_use) {
  alone([] {
    EXPECT_EQ(activate(plugin_path("count_fails")), "count_fails");
    EXPECT_EQ(device_count(), 0);
    EXPECT_FALSE(at::detail::getPrivateUse1Hooks().isAvailable());
    for (int i = 0; i < 2; ++i) {
      const std::string text = error_of([] { empty_on_device({2}); });
      expect_says(text,
                  {"count_fails", "device_count", "internal error", "the driver is older than the device"});
      expect_one_sentence(text);
    }
  });
}

TEST(Device, a_plugin_without_a_device_says_so) {
  alone([] {
    activate(plugin_path("no_devices"));
    EXPECT_EQ(device_count(), 0);
    EXPECT_FALSE(at::detail::getPrivateUse1Hooks().isAvailable());
    expect_says(error_of([] { empty_on_device({2}); }), {"no_devices:0", "found no device"});
  });
}

TEST(Device, memory_that_is_not_there_is_an_out_of_memory_error_in_the_plugins_words) {
  alone([] {
    activate(plugin_path("alloc_fails"));
    for (int i = 0; i < 2; ++i) {
      const std::string text = error_of<c10::OutOfMemoryError>([] { empty_on_device({1 << 20}); });
      expect_says(text, {"alloc_fails:0", "out of memory. Tried to allocate 4.0 MiB", "the board is full"});
      expect_one_sentence(text);
    }
    EXPECT_EQ(empty_on_device({0}).numel(), 0) << "nothing needs no memory";
  });
}

TEST(Device, an_allocation_that_fails_otherwise_is_an_error_and_the_next_one_works) {
  alone([] {
    ::setenv("TORCHPLUG_ALLOC_FAILS_ONCE", "1", 1);
    activate(plugin_path("alloc_fails"));
    const std::string text = error_of([] { on_device(numbers({4})); });
    expect_says(text, {"alloc_fails:0", "mem_alloc", "internal error", "the memory controller hiccuped"});
    expect_one_sentence(text);
    expect_same(on_device(numbers({4})), numbers({4}));
  });
}

TEST(Device, a_copy_that_fails_is_one_sentence_and_the_next_one_works) {
  alone([] {
    ::setenv("TORCHPLUG_COPY_FAILS_AFTER", "1", 1);
    activate(plugin_path("copy_fails"));
    const at::Tensor x = numbers({4});
    const at::Tensor there = on_device(x);
    const std::string text = error_of([&] { there.cpu(); });
    expect_says(text, {"copy_fails:0", "copy", "timeout", "the cable was pulled"});
    expect_one_sentence(text);
    expect_same(there, x);
  });
}

TEST(Device, a_failure_without_a_reason_is_not_given_the_reason_of_an_earlier_one) {
  alone([] {
    activate(plugin_path("terse"));
    expect_says(error_of([] { on_device(numbers({4})); }), {"timeout", "the cable was pulled"});
    expect_says(error_of([] { synchronize_device(0); }), {"timeout", "no reason given"});
  });
}

TEST(Device, a_copy_that_fails_inside_an_operator_leaves_its_arguments_as_they_were) {
  alone([] {
    ::setenv("TORCHPLUG_COPY_FAILS_AFTER", "2", 1);
    activate(plugin_path("copy_fails"));
    at::Tensor a = on_device(numbers({4}));
    const at::Tensor b = on_device(numbers({4}));
    expect_says(error_of([&] { a.add_(b); }), {"the cable was pulled"});
    expect_same(a, numbers({4}));
    a.add_(b);
    expect_same(a, numbers({4}).mul(2));
  });
}

TEST(Device, what_the_plugin_says_of_its_device_is_there) {
  alone([] {
    activate(HELLO_LIBRARY);
    const DeviceInfo& info = device_info(0);
    EXPECT_EQ(info.name, "Hello");
    EXPECT_EQ(info.total_bytes, uint64_t{1} << 32);
    EXPECT_EQ(info.alignment, 64u);
    EXPECT_TRUE(info.holds(PLUG_F32));
    EXPECT_FALSE(info.holds(PLUG_F64));
  });
}

TEST(Device, a_device_is_opened_by_its_first_use) {
  alone([] {
    activate(HELLO_LIBRARY);
    EXPECT_FALSE(is_open(0));
    empty_on_device({1});
    EXPECT_TRUE(is_open(0));
  });
}

}  // namespace
}  // namespace torchplug::tests
