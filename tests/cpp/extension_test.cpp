// What torchplug.hpp promises to extensions, on a device with streams, on a synchronous one, and on one
// whose memory has no addresses. Calls it as an extension would: from outside the core's namespace.

#include "torchplug/torchplug.hpp"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstring>

#include "sim_device.h"
#include "tensors.h"

namespace {

using namespace torchplug::tests;

TEST(Extension, says_which_plugin_it_runs_on) {
  on_sim([] {
    EXPECT_EQ(torchplug::plugin_name(), "sim");
    EXPECT_EQ(torchplug::plugin_path(), SIM_LIBRARY);
    EXPECT_NE(torchplug::plugin_runtime().host_func, nullptr);
  });
}

TEST(Extension, without_a_plugin_there_is_no_device_and_the_rest_says_what_to_do) {
  alone([] {
    EXPECT_EQ(torchplug::device_count(), 0);
    expect_says(error_of([] { torchplug::plugin_name(); }),
                {"No device plugin is loaded", "TORCHPLUG_DEVICE"});
  });
}

TEST(Extension, operators_of_a_plugin_without_a_device_are_loaded_and_called) {
  alone([] {
    const auto names = torchplug::load_operators(plugin_path("operators"));
    EXPECT_NE(std::find(names.begin(), names.end(), "acme::scale"), names.end());
    EXPECT_EQ(torchplug::load_operators(plugin_path("operators")), names) << "once is enough";
    EXPECT_EQ(torchplug::device_count(), 0);
    const auto scale = c10::Dispatcher::singleton()
                           .findSchemaOrThrow("acme::scale", "")
                           .typed<at::Tensor(const at::Tensor&, double)>();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(scale.call(numbers({4}), 2.5).equal(numbers({4}).mul(2.5)));
    expect_says(error_of([] { torchplug::load_operators("/no/such/library.so"); }), {"/no/such/library.so"});
  });
}

TEST(Extension, operators_are_loaded_beside_a_device) {
  on_sim([] {
    torchplug::load_operators(plugin_path("operators"));
    const auto scale = c10::Dispatcher::singleton()
                           .findSchemaOrThrow("acme::scale", "")
                           .typed<at::Tensor(const at::Tensor&, double)>();
    expect_same(scale.call(on_device(numbers({4})), 2.5), numbers({4}).mul(2.5));
  });
}

TEST(Extension, a_table_of_the_plugins_own_is_found_by_its_name) {
  alone([] {
    torchplug::activate(plugin_path("anything"));
    const auto* table = static_cast<const char* const*>(torchplug::extension("anything.table.1"));
    ASSERT_NE(table, nullptr);
    EXPECT_STREQ(table[0], "aten::neg");
    EXPECT_EQ(torchplug::extension("anything.table.2"), nullptr);
  });
  on_sim([] { EXPECT_EQ(torchplug::extension("anything.table.1"), nullptr); });
}

TEST(Extension, the_plugins_functions_take_native_streams_and_places_in_memory) {
  on_sim([] {
    const c10::Stream stream = torchplug::stream_from_pool(0, 1);
    const c10::StreamGuard guard(stream);
    const at::Tensor from = on_device(numbers({8}), 1);
    const at::Tensor to = at::full({8}, 0.0, from.options());
    const plug_mem source = torchplug::memory_of(from.narrow(0, 4, 4));
    const plug_mem target = torchplug::memory_of(to.narrow(0, 2, 4));
    EXPECT_EQ(source.device, 1);
    torchplug::check(
        torchplug::plugin_runtime().copy(1, torchplug::native_handle(stream), &target, &source, 16), "copy",
        1);
    const at::Tensor expected = at::full({8}, 0.0);
    expected.narrow(0, 2, 4).copy_(numbers({8}).narrow(0, 4, 4));
    expect_same(to, expected);
  });
}

TEST(Extension, the_plugin_numbers_its_devices_itself) {
  alone([] {
    ::setenv("TORCHPLUG_VISIBLE_DEVICES", "1", 1);
    torchplug::activate(SIM_LIBRARY);
    EXPECT_EQ(torchplug::device_count(), 1);
    EXPECT_EQ(torchplug::plugin_index(0), 1);
    EXPECT_EQ(torchplug::memory_of(on_device(numbers({4}))).device, 1);
    EXPECT_EQ(torchplug::memory_of(torchplug::allocate(0, torchplug::current_stream())).device, 1);
  });
}

TEST(Extension, a_failure_of_the_plugin_is_thrown_in_its_words) {
  on_sim([] {
    const plug_mem nowhere{nullptr, 0, 7, 0};
    const std::string error = error_of([&] {
      torchplug::check(torchplug::plugin_runtime().copy(0, nullptr, &nowhere, &nowhere, 1), "copy", 0);
    });
    expect_one_sentence(error);
    expect_says(error, {"sim:0", "copy"});
  });
}

TEST(Extension, a_native_handle_opens_the_device) {
  on_sim([] {
    const plug_stream stream = torchplug::native_handle(torchplug::default_stream(1));
    EXPECT_EQ(stream, nullptr) << "the default stream";
    EXPECT_EQ(torchplug::plugin_runtime().stream_sync(1, stream), PLUG_OK);
  });
}

// A stream of the plugin's that torchplug knows nothing of, as another library would have made it.
plug_stream make_elsewhere(int device) {
  torchplug::native_handle(torchplug::default_stream(static_cast<c10::DeviceIndex>(device)));  // opens it
  plug_stream stream = nullptr;
  EXPECT_EQ(torchplug::plugin_runtime().stream_create(device, 0, &stream), PLUG_OK);
  return stream;
}

void* native_of(int device, plug_stream stream) {
  void* native = nullptr;
  EXPECT_EQ(torchplug::plugin_runtime().stream_native(device, stream, &native), PLUG_OK);
  return native;
}

TEST(Extension, a_stream_made_elsewhere_carries_work_memory_and_events) {
  on_sim([] {
    const plug_stream made = make_elsewhere(1);
    const c10::Stream stream = torchplug::stream_from_external(native_of(1, made), 1);
    EXPECT_EQ(torchplug::native_handle(stream), made);
    EXPECT_EQ(stream.device(), device(1));
    EXPECT_EQ(torchplug::stream_from_external(native_of(1, made), 1), stream) << "the same each time";
    const c10::StreamGuard guard(stream);
    EXPECT_EQ(torchplug::current_stream(1), stream);
    at::Tensor x = on_device(numbers({64}), 1);
    x.add(1).mul(1);  // plans what follows
    stream.synchronize();
    c10::Event done(c10::kPrivateUse1);
    {
      Gate gate{torchplug::runtime::Stream(stream)};
      at::Tensor y = x.add(1).mul(3);
      done.record(stream);
      EXPECT_FALSE(done.query());
      const c10::Stream other = torchplug::stream_from_pool(0, 1);
      y.record_stream(other);
      x.record_stream(stream);
      gate.open();
      expect_same(y, numbers({64}).add(1).mul(3));
    }
    EXPECT_TRUE(done.query());
    EXPECT_EQ(torchplug::plugin_runtime().stream_query(1, made), PLUG_OK);
  });
}

TEST(Extension, memory_used_on_a_stream_made_elsewhere_waits_for_it) {
  on_sim([] {
    const plug_stream made = make_elsewhere(0);
    const c10::Stream stream = torchplug::stream_from_external(native_of(0, made), 0);
    c10::DataPtr data = torchplug::allocate(1 << 20, torchplug::default_stream(0));
    const void* address = data.get();
    Gate gate{torchplug::runtime::Stream(stream)};
    torchplug::record_stream(data, stream);
    data.clear();
    const c10::DataPtr meanwhile = torchplug::allocate(1 << 20, torchplug::default_stream(0));
    EXPECT_NE(meanwhile.get(), address);
    gate.open();
    stream.synchronize();
    EXPECT_EQ(torchplug::allocate(1 << 20, torchplug::default_stream(0)).get(), address);
  });
}

TEST(Extension, a_stream_of_torchplugs_own_comes_back_as_itself) {
  on_sim([] {
    const c10::Stream pooled = torchplug::stream_from_pool(-1, 1);
    EXPECT_EQ(torchplug::stream_from_external(pooled.native_handle(), 1), pooled);
    const c10::Stream standard = torchplug::default_stream(1);
    EXPECT_EQ(torchplug::stream_from_external(standard.native_handle(), 1), standard);
  });
}

TEST(Extension, what_is_no_stream_of_the_device_is_refused_in_the_plugins_words) {
  on_sim([] {
    int nothing = 0;
    expect_says(error_of([&] { torchplug::stream_from_external(&nothing, 0); }),
                {"sim:0", "stream_import", "is not a stream"});
    void* elsewhere = native_of(1, make_elsewhere(1));
    expect_says(error_of([&] { torchplug::stream_from_external(elsewhere, 0); }),
                {"is not a stream of sim:0"});
  });
}

TEST(Extension, a_device_index_left_out_is_the_current_device) {
  on_sim([] {
    torchplug::set_current_device(1);
    EXPECT_EQ(torchplug::current_device(), 1);
    EXPECT_EQ(torchplug::current_stream().device(), device(1));
    EXPECT_EQ(torchplug::default_stream().device(), device(1));
    EXPECT_EQ(torchplug::stream_from_pool().device(), device(1));
    expect_says(error_of([] { torchplug::set_current_device(2); }), {"sim:2", "0 to 1"});
  });
}

TEST(Extension, a_stream_set_current_leaves_the_current_device) {
  on_sim([] {
    const c10::Stream stream = torchplug::stream_from_pool(0, 1);
    torchplug::set_current_stream(stream);
    EXPECT_EQ(torchplug::current_device(), 0);
    EXPECT_EQ(torchplug::current_stream(1), stream);
    EXPECT_EQ(torchplug::current_stream(0), torchplug::default_stream(0));
  });
}

TEST(Extension, a_stream_of_another_device_type_is_refused) {
  on_sim([] {
    const c10::Stream foreign(c10::Stream::DEFAULT, c10::Device(c10::kCPU));
    const std::string error = error_of([&] { torchplug::native_handle(foreign); });
    expect_one_sentence(error);
    expect_says(error, {"'sim'", "'cpu'", "current_stream"});
  });
}

TEST(Extension, a_job_runs_between_the_work_before_and_after_it) {
  on_sim([] {
    const c10::Stream stream = torchplug::stream_from_pool();
    const c10::StreamGuard guard(stream);
    at::Tensor x = on_device(numbers({64}));
    torchplug::synchronize_device(0);
    Gate gate{torchplug::runtime::Stream(stream)};
    x.add_(1);
    torchplug::enqueue(stream, [view = static_cast<float*>(torchplug::host_view_of(x))] {
      for (int i = 0; i < 64; ++i) view[i] *= 3;
    });
    x.add_(2);
    EXPECT_FALSE(stream.query()) << "nothing waited for the gate";
    gate.open();
    expect_same(x, numbers({64}).add(1).mul(3).add(2));
  });
}

TEST(Extension, what_a_job_throws_is_thrown_where_the_device_is_next_waited_for) {
  on_sim([] {
    const c10::Stream stream = torchplug::current_stream();
    torchplug::enqueue(stream, [] { throw std::out_of_range("seven is out of range"); });
    expect_says(error_of<std::out_of_range>([&] { torchplug::synchronize_device(0); }),
                {"seven is out of range (sim:0, a host function, call "});
    stream.synchronize();
  });
}

TEST(Extension, allocated_memory_is_counted_until_it_is_freed_and_is_given_out_again_on_its_stream) {
  on_sim([] {
    const auto allocated = [] {
      return c10::getDeviceAllocator(c10::kPrivateUse1)->getDeviceStats(1).allocated_bytes[0].current;
    };
    const int64_t before = allocated();
    const c10::Stream stream = torchplug::default_stream(1);
    c10::DataPtr data = torchplug::allocate(1 << 20, stream);
    EXPECT_EQ(data.device(), device(1));
    EXPECT_GE(allocated() - before, 1 << 20);
    const plug_mem first = torchplug::memory_of(data);
    EXPECT_EQ(first.device, 1);
    data.clear();
    EXPECT_EQ(allocated(), before);
    data = torchplug::allocate(1 << 20, stream);
    EXPECT_EQ(torchplug::memory_of(data).base, first.base);
  });
}

TEST(Extension, recorded_memory_is_not_given_out_before_the_other_stream_is_done_with_it) {
  on_sim([] {
    const c10::Stream home = torchplug::default_stream();
    const c10::Stream other = torchplug::stream_from_pool();
    c10::DataPtr data = torchplug::allocate(1 << 20, home);
    const void* address = data.get();
    Gate gate{torchplug::runtime::Stream(other)};
    torchplug::record_stream(data, other);
    data.clear();
    EXPECT_NE(torchplug::allocate(1 << 20, home).get(), address);
  });
}

TEST(Extension, no_bytes_are_no_memory) {
  on_sim([] {
    const c10::DataPtr nothing = torchplug::allocate(0, torchplug::default_stream(1));
    EXPECT_EQ(torchplug::memory_of(nothing).base, nullptr);
    EXPECT_EQ(torchplug::memory_of(nothing).device, 1);
    EXPECT_EQ(torchplug::host_view_of(nothing), nullptr);
    EXPECT_EQ(torchplug::host_view_of(at::empty({0}, device(0))), nullptr);
  });
}

TEST(Extension, memory_that_is_not_the_devices_is_refused) {
  on_sim([] {
    expect_says(error_of([] { torchplug::memory_of(numbers({4})); }), {"does not belong to device 'sim'"});
    expect_says(error_of([] { torchplug::host_view_of(numbers({4})); }), {"does not belong to device 'sim'"});
  });
}

TEST(Extension, on_a_synchronous_device_a_job_runs_at_once_and_no_host_view_is_given) {
  alone([] {
    EXPECT_EQ(torchplug::activate(HELLO_LIBRARY), "hello");
    bool ran = false;
    torchplug::enqueue(torchplug::current_stream(), [&ran] { ran = true; });
    EXPECT_TRUE(ran);
    EXPECT_EQ(torchplug::host_view_of(on_device(numbers({4}))), nullptr);
    expect_says(error_of([] { torchplug::stream_from_pool(); }), {"hello", "synchronous"});
    expect_says(error_of([] { torchplug::stream_from_external(nullptr); }), {"hello", "synchronous"});
  });
}

TEST(Extension, a_place_in_memory_without_addresses_is_a_base_and_an_offset) {
  alone([] {
    torchplug::activate(plugin_path("opaque"));
    const at::Tensor x = on_device(numbers({8}));
    const plug_mem whole = torchplug::memory_of(x);
    const plug_mem part = torchplug::memory_of(x.narrow(0, 3, 2));
    EXPECT_EQ(part.base, whole.base);
    EXPECT_EQ(part.offset - whole.offset, 3 * sizeof(float));
    const c10::DataPtr data = torchplug::allocate(64, torchplug::current_stream());
    const plug_mem other = torchplug::memory_of(data);
    EXPECT_NE(std::pair(other.base, other.offset), std::pair(whole.base, whole.offset));
  });
}

}  // namespace
