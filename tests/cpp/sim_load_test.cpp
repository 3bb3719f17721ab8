// Loading the sim plugin, its settings, its devices' descriptions and its end.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <set>

#include "sim_plugin.h"

namespace sim_test {
namespace {

// The exit status of a child process that runs `body`.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int count_mappings_of_device_memory() {
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:sim:") != std::string::npos) ++count;
  }
  return count;
}

std::string refusal_of(Settings settings) {
  const FakeHost host(std::move(settings));
  const plug_module* module = nullptr;
  last_error.clear();
  EXPECT_EQ(load_copy()(&host, &module), PLUG_INVALID);
  EXPECT_EQ(module, nullptr);
  return last_error;
}

std::uint64_t memory_of(const std::string& setting) {
  const Plugin plugin(Settings{{"sim.memory", setting}});
  plug_device_info info{};
  info.size = sizeof info;
  EXPECT_EQ(plugin->device_info(0, &info), PLUG_OK);
  return info.total_bytes;
}

TEST(SimLoad, loading_starts_no_thread_and_maps_no_memory_and_opening_maps_it) {
  EXPECT_EQ(in_child([] {
              const int threads = count_threads("");
              const int mappings = count_mappings_of_device_memory();
              const Plugin plugin(Settings{{"sim.memory", "1M"}});
              std::int32_t count = 0;
              plugin->device_count(&count);
              if (count != 2) return 1;
              if (count_threads("") != threads) return 2;
              if (count_mappings_of_device_memory() != mappings) return 3;
              if (plugin->device_open(0) != PLUG_OK) return 4;
              if (count_mappings_of_device_memory() != mappings + 2) return 5;
              if (count_threads("") != threads) return 6;
              return 0;
            }),
            0);
}

TEST(SimLoad, there_are_as_many_devices_as_asked_for) {
  for (const std::int32_t wanted : {0, 1, 7, 64}) {
    const Plugin plugin(Settings{{"sim.devices", std::to_string(wanted)}});
    std::int32_t count = -1;
    EXPECT_EQ(plugin->device_count(&count), PLUG_OK);
    EXPECT_EQ(count, wanted);
  }
}

TEST(SimLoad, memory_is_given_in_bytes_or_with_a_binary_suffix) {
  EXPECT_EQ(memory_of("1048576"), 1u << 20);
  EXPECT_EQ(memory_of("512K"), 512u << 10);
  EXPECT_EQ(memory_of("512kiB"), 512u << 10);
  EXPECT_EQ(memory_of("3M"), 3u << 20);
  EXPECT_EQ(memory_of("2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(memory_of("1T"), std::uint64_t{1} << 40);
  EXPECT_EQ(memory_of("1000"), 512u) << "rounded down to what can be allocated";
}

TEST(SimLoad, half_of_physical_memory_is_the_default) {
  const Plugin plugin(Settings{});
  plug_device_info info{};
  info.size = sizeof info;
  ASSERT_EQ(plugin->device_info(1, &info), PLUG_OK);
  const auto physical =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(info.total_bytes, physical / 2 / 512 * 512);
}

TEST(SimLoad, a_bad_setting_is_refused_with_its_name_and_value) {
  for (const char* bad : {"", "-1", "65", "two", "2 ", "1.5"}) {
    const std::string refusal = refusal_of({{"sim.devices", bad}});
    EXPECT_NE(refusal.find("TORCHPLUG_SIM_DEVICES is \"" + std::string(bad) + "\""), std::string::npos)
        << refusal;
  }
  for (const char* bad :
       {"", "0", "511", "-5M", "12Q", "1 G", "1.5G", "M", "1MiBs", "64T", "99999999999999999999"}) {
    const std::string refusal = refusal_of({{"sim.memory", bad}});
    EXPECT_NE(refusal.find("TORCHPLUG_SIM_MEMORY is \"" + std::string(bad) + "\""), std::string::npos)
        << refusal;
  }
}

TEST(SimDevice, a_device_describes_itself) {
  const Plugin& plugin = Plugin::shared();
  std::set<std::string> uuids;
  for (std::int32_t device = 0; device < Plugin::kDevices; ++device) {
    plug_device_info info{};
    info.size = sizeof info;
    ASSERT_EQ(plugin->device_info(device, &info), PLUG_OK);
    EXPECT_STREQ(info.name, "torchplug simulated accelerator");
    EXPECT_EQ(info.flags, std::uint32_t{PLUG_ADDRESSABLE});
    EXPECT_EQ(info.total_bytes, Plugin::kMemory);
    EXPECT_EQ(info.alignment, 512u);
    EXPECT_EQ(info.processor_count, std::thread::hardware_concurrency());
    EXPECT_EQ(info.priority_high, -1);
    EXPECT_EQ(info.priority_low, 0);
    EXPECT_EQ(info.bus_id, "sim:" + std::to_string(device));
    const std::set<plug_dtype> dtypes(info.dtypes, info.dtypes + info.dtype_count);
    EXPECT_EQ(dtypes.size(), info.dtype_count);
    EXPECT_EQ(dtypes.size(), 25u);
    EXPECT_TRUE(dtypes.contains(PLUG_BF16) && dtypes.contains(PLUG_F8_E4M3FN));
    uuids.emplace(reinterpret_cast<const char*>(info.uuid), sizeof info.uuid);
  }
  EXPECT_EQ(uuids.size(), std::size_t{Plugin::kDevices});
}

TEST(SimDevice, nothing_is_written_beyond_the_size_of_an_older_host) {
  plug_device_info info;
  std::memset(&info, 0xab, sizeof info);
  info.size = offsetof(plug_device_info, alignment);
  ASSERT_EQ(Plugin::shared()->device_info(0, &info), PLUG_OK);
  EXPECT_EQ(info.total_bytes, Plugin::kMemory);
  EXPECT_EQ(info.size, offsetof(plug_device_info, alignment));
  EXPECT_EQ(info.alignment, 0xababababababababu);
}

// Every function that takes a device index, with that index.
std::vector<std::function<plug_status(std::int32_t)>> calls_that_name_a_device() {
  const plug_runtime* sim = Plugin::shared().operator->();
  static void* address = nullptr;
  static std::uint64_t number = 0;
  static std::int32_t flag = 0;
  static plug_stream stream = nullptr;
  static plug_event event = Plugin::shared().event(0, PLUG_EVENT_TIMING);
  static std::int64_t ns = 0;
  static plug_device_info info{};
  static const plug_mem mem = on_host(&number);
  static const plug_tensor tensor{mem, PLUG_U8, 0, nullptr, nullptr, 0, 0, nullptr};
  info.size = sizeof info;
  return {
      [=](auto device) { return sim->device_info(device, &info); },
      [=](auto device) { return sim->device_sync(device); },
      [=](auto device) { return sim->device_open(device); },
      [=](auto device) { return sim->mem_alloc(device, 8, &address); },
      [=](auto device) { return sim->mem_free(device, address); },
      [=](auto device) { return sim->mem_info(device, &number, &number); },
      [=](auto device) { return sim->copy(device, nullptr, &mem, &mem, 8); },
      [=](auto device) {
        const plug_mem elsewhere{nullptr, 0, device, 0};
        return sim->copy(0, nullptr, &mem, &elsewhere, 8);
      },
      [=](auto device) { return sim->copy_strided(device, nullptr, &tensor, &tensor); },
      [=](auto device) { return sim->mem_fill(device, nullptr, &mem, 0, 8); },
      [=](auto device) { return sim->stream_create(device, 0, &stream); },
      [=](auto device) { return sim->stream_destroy(device, nullptr); },
      [=](auto device) { return sim->stream_query(device, nullptr); },
      [=](auto device) { return sim->stream_sync(device, nullptr); },
      [=](auto device) { return sim->event_create(device, 0, &event); },
      [=](auto device) { return sim->event_destroy(device, event); },
      [=](auto device) { return sim->event_record(device, event, nullptr); },
      [=](auto device) { return sim->event_wait(device, event, 0, nullptr); },
      [=](auto device) { return sim->event_wait(0, event, device, nullptr); },
      [=](auto device) { return sim->event_query(device, event); },
      [=](auto device) { return sim->event_sync(device, event); },
      [=](auto device) { return sim->event_elapsed(device, event, event, &ns); },
      [=](auto device) { return sim->peer_access(device, 0, &flag); },
      [=](auto device) { return sim->peer_access(0, device, &flag); },
      [=](auto device) { return sim->host_view(device, address, &address); },
      [=](auto device) {
        return sim->host_func(
            device, nullptr, [](void*, plug_status) { ADD_FAILURE(); },
            [](void*) { ADD_FAILURE() << "released though never taken"; }, nullptr);
      },
  };
}

TEST(SimDevice, an_index_out_of_range_is_refused_by_every_function) {
  const auto calls = calls_that_name_a_device();
  for (std::size_t call = 0; call < calls.size(); ++call) {
    for (const std::int32_t index : {-2, Plugin::kDevices, 1 << 30}) {
      last_error.clear();
      EXPECT_EQ(calls[call](index), PLUG_INVALID) << "call " << call;
      EXPECT_EQ(last_error,
                "Device " + std::to_string(index) + " does not exist: the number of sim devices is 4.");
    }
  }
}

TEST(SimDevice, a_device_that_was_not_opened_is_refused_but_described) {
  const Plugin plugin(Settings{{"sim.memory", "1M"}});
  void* base = nullptr;
  EXPECT_EQ(plugin->mem_alloc(1, 8, &base), PLUG_INVALID);
  EXPECT_EQ(last_error, "sim:1 has not been opened.");
  plug_device_info info{};
  info.size = sizeof info;
  EXPECT_EQ(plugin->device_info(1, &info), PLUG_OK);
}

TEST(SimDevice, all_devices_reach_each_other) {
  std::int32_t can_copy = 0;
  EXPECT_EQ(Plugin::shared()->peer_access(0, 3, &can_copy), PLUG_OK);
  EXPECT_EQ(can_copy, 1);
}

TEST(SimShutdown, work_that_was_enqueued_is_done_and_its_threads_end) {
  const Plugin plugin(Settings{{"sim.devices", "11"}, {"sim.memory", "1M"}});
  ASSERT_EQ(plugin->device_open(10), PLUG_OK);
  std::atomic<int> done{0};
  const plug_stream other = plugin.stream(10);
  for (int i = 0; i < 1000; ++i) {
    plugin.enqueue(10, nullptr, [&] { ++done; });
    plugin.enqueue(10, other, [&] { ++done; });
  }
  ASSERT_EQ(plugin->stream_destroy(10, other), PLUG_OK);
  EXPECT_EQ(plugin->shutdown(), PLUG_OK);
  EXPECT_EQ(done, 2000);
  EXPECT_TRUE(eventually([] { return count_threads("sim10:") == 0; }));
}

TEST(SimShutdown, a_stream_that_never_finishes_does_not_hold_up_the_end) {
  const Plugin plugin(Settings{{"sim.memory", "1M"}});
  ASSERT_EQ(plugin->device_open(0), PLUG_OK);
  ASSERT_EQ(plugin->device_open(1), PLUG_OK);
  const Gate gate(plugin, 0, nullptr);
  const plug_event event = plugin.event(0);
  ASSERT_EQ(plugin->event_record(0, event, nullptr), PLUG_OK);
  ASSERT_EQ(plugin->event_wait(0, event, 1, nullptr), PLUG_OK);
  ASSERT_EQ(plugin->event_destroy(0, event), PLUG_OK);

  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(plugin->shutdown(), PLUG_TIMEOUT);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  EXPECT_NE(last_error.find("2 streams"), std::string::npos) << last_error;
}

}  // namespace
}  // namespace sim_test
