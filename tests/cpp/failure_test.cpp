// Work that fails after it was enqueued: kept with its type and words, thrown once, and then forgotten.

#include "runtime/failure.h"

#include <cstdlib>
#include <stdexcept>

#include "runtime/event.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug {
namespace {

using namespace torchplug_test;

void fail_on(const Stream& stream, const std::string& text) {
  enqueue(stream, [text] { throw std::out_of_range(text); });
}

TEST(Failure, of_a_job_is_thrown_with_its_type_at_synchronisation_once_and_the_stream_goes_on) {
  on_sim([] {
    const Stream stream = new_stream();
    fail_on(stream, "the job fell over");
    EXPECT_EQ(error_of<std::out_of_range>([&] { stream.synchronize(); }), "the job fell over");
    EXPECT_NO_THROW(stream.synchronize());
    bool ran = false;
    enqueue(stream, [&ran] { ran = true; });
    stream.synchronize();
    EXPECT_TRUE(ran);
  });
}

TEST(Failure, is_thrown_by_whichever_synchronisation_of_the_device_comes_first) {
  on_sim([] {
    const Stream stream = new_stream();
    fail_on(stream, "first");
    EXPECT_EQ(error_of<std::out_of_range>([] { synchronize_device(0); }), "first");
    fail_on(stream, "second");
    Event event(0, /*with_timing=*/false);
    event.record(stream);
    EXPECT_EQ(error_of<std::out_of_range>([&] { event.synchronize(); }), "second");
    fail_on(stream, "third");
    const at::Tensor there = on_device(numbers({2}));
    const CurrentStream current(stream);
    EXPECT_EQ(error_of<std::out_of_range>([&] { there.cpu(); }), "third");
    EXPECT_NO_THROW(synchronize_device(0));
  });
}

TEST(Failure, of_several_the_first_is_thrown) {
  on_sim([] {
    const Stream stream = new_stream();
    fail_on(stream, "the cause");
    fail_on(stream, "a consequence");
    EXPECT_EQ(error_of<std::out_of_range>([&] { stream.synchronize(); }), "the cause");
    EXPECT_NO_THROW(stream.synchronize());
  });
}

TEST(Failure, stays_with_its_device) {
  on_sim([] {
    fail_on(new_stream(0), "of device 0");
    EXPECT_NO_THROW(synchronize_device(1));
    EXPECT_EQ(error_of<std::out_of_range>([] { synchronize_device(0); }), "of device 0");
  });
}

TEST(Failure, of_an_operator_on_its_data_has_the_type_the_cpu_gives_it) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4}));
    const auto pick = [&](int64_t index) {
      const at::Tensor place = on_device(at::full({1}, index, at::dtype(at::kLong)));
      return x.index_select(0, place);
    };
    const auto expected = error_of<c10::IndexError>(
        [] { numbers({4}).index_select(0, at::full({1}, 99, at::dtype(at::kLong))); });
    pick(1);  // plans the next
    EXPECT_EQ(error_of<c10::IndexError>([&] {
                pick(99);
                synchronize_device(0);
              }),
              expected);
    expect_same(pick(2), numbers({4}).narrow(0, 2, 1));
  });
}

TEST(Failure, that_a_plugin_reports_names_the_call_and_is_thrown_once) {
  on_sim([] {
    const plug_host& host = active_module().host;
    on_device(numbers({1}));
    host.report(&host, 0, nullptr, 42, PLUG_TIMEOUT, "the fan stopped");
    const std::string text = error_of([] { synchronize_device(0); });
    expect_says(text, {"sim:0", "operator call 42", "timeout", "the fan stopped"});
    expect_one_sentence(text);
    EXPECT_NO_THROW(synchronize_device(0));
  });
}

TEST(Failure, a_lost_device_stays_lost_and_the_process_and_the_other_device_live) {
  on_sim([] {
    const plug_host& host = active_module().host;
    on_device(numbers({1}), 0);
    host.report(&host, 0, nullptr, 7, PLUG_LOST, "the board was unplugged");
    for (int i = 0; i < 3; ++i) {
      const std::string text = error_of<c10::AcceleratorError>([] { synchronize_device(0); });
      expect_says(text, {"sim:0", "device lost", "the board was unplugged"});
    }
    expect_same(on_device(numbers({4}), 1), numbers({4}));
  });
}

TEST(Failure, that_follows_a_lost_device_does_not_hide_it) {
  on_sim([] {
    const plug_host& host = active_module().host;
    on_device(numbers({1}));
    host.report(&host, 0, nullptr, 7, PLUG_LOST, "the board was unplugged");
    host.report(&host, 0, nullptr, 8, PLUG_INTERNAL, "nothing answers");
    expect_says(error_of<c10::AcceleratorError>([] { synchronize_device(0); }), {"the board was unplugged"});
    fail_on(new_stream(), "a job on top of it");
    expect_says(error_of<c10::AcceleratorError>([] { synchronize_device(0); }), {"the board was unplugged"});
  });
}

TEST(Failure, is_thrown_at_the_call_itself_when_launches_block) {
  alone([] {
    ::setenv("TORCHPLUG_LAUNCH_BLOCKING", "1", 1);
    activate(SIM_LIBRARY);
    const Stream stream = new_stream();
    EXPECT_EQ(error_of<std::out_of_range>([&] { fail_on(stream, "now"); }), "now");
    EXPECT_NO_THROW(stream.synchronize());
  });
}

}  // namespace
}  // namespace torchplug
