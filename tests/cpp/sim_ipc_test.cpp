// Sharing memory and events of the sim plugin between processes. A second copy of the library stands for the
// second process: it has nothing in common with the first but what is handed over.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "sim_plugin.h"

namespace sim_test {
namespace {

struct Handed {
  std::array<char, 256> bytes{};
  std::uint64_t count = 0;
  std::int32_t fd = -1;

  Handed() = default;
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;
  ~Handed() {
    if (fd >= 0) close(fd);
  }
};

class SimIpc : public testing::Test {
 protected:
  SimIpc() { EXPECT_EQ(other_->device_open(0), PLUG_OK); }

  void hand_over(void* base, Handed& handed) {
    ASSERT_EQ(
        plugin_->ipc_export(0, base, handed.bytes.data(), handed.bytes.size(), &handed.count, &handed.fd),
        PLUG_OK)
        << last_error;
  }

  static int open_descriptors() {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
  }

  const Plugin& plugin_ = Plugin::shared();
  Plugin other_{{{"sim.devices", "2"}, {"sim.memory", "16MiB"}}};
};

TEST_F(SimIpc, imported_memory_is_the_same_memory) {
  const Memory first(plugin_, 0, 100);  // so that the second does not begin at a page
  const Memory memory(plugin_, 0, 10000);
  Handed handed;
  hand_over(memory.base(), handed);
  void* base = nullptr;
  ASSERT_EQ(other_->ipc_import(0, handed.bytes.data(), handed.count, handed.fd, &base), PLUG_OK)
      << last_error;

  const char text[] = "from here";
  const plug_mem there{base, 9000, 0, PLUG_MEM_FOREIGN};
  const plug_mem host = on_host(text);
  ASSERT_EQ(other_->copy(0, nullptr, &there, &host, sizeof text), PLUG_OK) << last_error;
  EXPECT_STREQ(reinterpret_cast<const char*>(memory.view() + 9000), text);

  std::memcpy(memory.view() + 100, "and back", 9);
  void* view = nullptr;
  ASSERT_EQ(other_->host_view(0, base, &view), PLUG_OK);
  EXPECT_STREQ(static_cast<const char*>(view) + 100, "and back");
  EXPECT_EQ(other_->ipc_close(0, base), PLUG_OK);
}

TEST_F(SimIpc, memory_that_was_mapped_into_a_reservation_is_shared_too) {
  constexpr std::uint64_t kUnit = 2 << 20;
  void* reserved = nullptr;
  ASSERT_EQ(plugin_->mem_reserve(0, 4 * kUnit, &reserved), PLUG_OK) << last_error;
  ASSERT_EQ(plugin_->mem_map(0, reserved, kUnit, kUnit), PLUG_OK) << last_error;
  Handed handed;
  hand_over(reserved, handed);
  void* base = nullptr;
  ASSERT_EQ(other_->ipc_import(0, handed.bytes.data(), handed.count, handed.fd, &base), PLUG_OK)
      << last_error;
  void* here = nullptr;
  void* there = nullptr;
  ASSERT_EQ(plugin_->host_view(0, reserved, &here), PLUG_OK);
  ASSERT_EQ(other_->host_view(0, base, &there), PLUG_OK);
  std::memcpy(static_cast<char*>(here) + kUnit + 100, "mapped", 7);
  EXPECT_STREQ(static_cast<const char*>(there) + kUnit + 100, "mapped");

  ASSERT_EQ(plugin_->mem_map(0, reserved, 0, kUnit), PLUG_OK) << "later";
  std::memcpy(static_cast<char*>(here) + 100, "grown", 6);
  EXPECT_STREQ(static_cast<const char*>(there) + 100, "grown");
  EXPECT_EQ(other_->ipc_close(0, base), PLUG_OK);
  EXPECT_EQ(plugin_->mem_unmap(0, reserved, 0, 2 * kUnit), PLUG_OK);
  EXPECT_EQ(plugin_->mem_unreserve(0, reserved), PLUG_OK);
}

TEST_F(SimIpc, imported_memory_ends_where_the_allocation_does) {
  const Memory memory(plugin_, 0, 512);
  Handed handed;
  hand_over(memory.base(), handed);
  void* base = nullptr;
  ASSERT_EQ(other_->ipc_import(0, handed.bytes.data(), handed.count, handed.fd, &base), PLUG_OK);
  std::array<char, 16> host{};
  const plug_mem to = on_host(host.data());
  const plug_mem beyond{base, 510, 0, PLUG_MEM_FOREIGN};
  EXPECT_EQ(other_->copy(0, nullptr, &to, &beyond, 8), PLUG_INVALID);
  EXPECT_EQ(other_->ipc_close(0, base), PLUG_OK);
  const plug_mem gone{base, 0, 0, PLUG_MEM_FOREIGN};
  EXPECT_EQ(other_->copy(0, nullptr, &to, &gone, 8), PLUG_INVALID) << "after it was closed";
  EXPECT_EQ(other_->ipc_close(0, base), PLUG_INVALID) << "twice";
}

TEST_F(SimIpc, the_guarded_address_of_an_import_faults) {
  const Memory memory(plugin_, 0, 4096);
  Handed handed;
  hand_over(memory.base(), handed);
  void* base = nullptr;
  ASSERT_EQ(other_->ipc_import(0, handed.bytes.data(), handed.count, handed.fd, &base), PLUG_OK);
  EXPECT_EXIT(*static_cast<volatile char*>(base) = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EQ(other_->ipc_close(0, base), PLUG_OK);
}

TEST_F(SimIpc, what_is_no_handle_of_this_device_is_refused) {
  const Memory memory(plugin_, 0, 512);
  Handed handed;
  void* base = nullptr;
  EXPECT_EQ(plugin_->ipc_export(0, memory.base(), handed.bytes.data(), 3, &handed.count, &handed.fd),
            PLUG_INVALID);
  int here = 0;
  EXPECT_EQ(plugin_->ipc_export(0, &here, handed.bytes.data(), 256, &handed.count, &handed.fd), PLUG_INVALID);
  hand_over(memory.base(), handed);
  EXPECT_EQ(other_->ipc_import(0, "nonsense", 8, handed.fd, &base), PLUG_INVALID);
  ASSERT_EQ(other_->device_open(1), PLUG_OK);
  EXPECT_EQ(other_->ipc_import(1, handed.bytes.data(), handed.count, handed.fd, &base), PLUG_INVALID);
  EXPECT_EQ(other_->ipc_import(0, handed.bytes.data(), handed.count, -1, &base), PLUG_INTERNAL);
  plug_event event = nullptr;
  EXPECT_EQ(other_->ipc_import_event(0, handed.bytes.data(), handed.count, handed.fd, &event), PLUG_INVALID);
  EXPECT_EQ(base, nullptr);
}

TEST_F(SimIpc, no_descriptor_stays_open) {
  const int before = open_descriptors();
  {
    const Memory memory(plugin_, 0, 512);
    Handed handed;
    hand_over(memory.base(), handed);
    void* base = nullptr;
    ASSERT_EQ(other_->ipc_import(0, handed.bytes.data(), handed.count, handed.fd, &base), PLUG_OK);
    ASSERT_EQ(other_->ipc_close(0, base), PLUG_OK);
    const plug_event event = plugin_.event(0, PLUG_EVENT_SHARED);
    ASSERT_EQ(plugin_->event_destroy(0, event), PLUG_OK);
  }
  EXPECT_EQ(open_descriptors(), before);
}

class SimIpcEvent : public SimIpc {
 protected:
  SimIpcEvent() {
    Handed handed;
    EXPECT_EQ(plugin_->ipc_export_event(0, event_, handed.bytes.data(), 256, &handed.count, &handed.fd),
              PLUG_OK);
    EXPECT_EQ(other_->ipc_import_event(0, handed.bytes.data(), handed.count, handed.fd, &same_), PLUG_OK)
        << last_error;
  }
  ~SimIpcEvent() override {
    plugin_->event_destroy(0, event_);
    other_->event_destroy(0, same_);
  }

  const plug_event event_ = plugin_.event(0, PLUG_EVENT_SHARED);
  plug_event same_ = nullptr;
};

TEST_F(SimIpcEvent, the_other_process_waits_for_a_record) {
  const plug_stream stream = plugin_.stream(0);
  const plug_stream waiting = other_.stream(0);
  EXPECT_EQ(other_->event_query(0, same_), PLUG_OK) << "never recorded";
  Gate gate(plugin_, 0, stream);
  ASSERT_EQ(plugin_->event_record(0, event_, stream), PLUG_OK);
  EXPECT_EQ(other_->event_query(0, same_), PLUG_NOT_READY);
  ASSERT_EQ(other_->event_wait(0, same_, 0, waiting), PLUG_OK);
  bool passed = false;
  other_.enqueue(0, waiting, [&] { passed = true; });
  EXPECT_EQ(other_->stream_query(0, waiting), PLUG_NOT_READY);
  gate.open();
  ASSERT_EQ(other_->stream_sync(0, waiting), PLUG_OK);
  EXPECT_TRUE(passed);
  EXPECT_EQ(other_->event_sync(0, same_), PLUG_OK);
}

TEST_F(SimIpcEvent, a_later_record_on_a_faster_stream_does_not_stand_for_an_earlier_one) {
  const plug_stream slow = plugin_.stream(0);
  const plug_stream fast = other_.stream(0);
  const plug_stream waiting = other_.stream(0);
  Gate gate(plugin_, 0, slow);
  ASSERT_EQ(plugin_->event_record(0, event_, slow), PLUG_OK);
  ASSERT_EQ(other_->event_wait(0, same_, 0, waiting), PLUG_OK);
  ASSERT_EQ(other_->event_record(0, same_, fast), PLUG_OK);
  ASSERT_EQ(plugin_->event_sync(0, event_), PLUG_OK) << "of the latest record, which is done";
  EXPECT_EQ(other_->stream_query(0, waiting), PLUG_NOT_READY);
  gate.open();
  EXPECT_EQ(other_->stream_sync(0, waiting), PLUG_OK);
}

TEST_F(SimIpcEvent, too_many_pending_records_are_refused_and_nothing_is_lost) {
  const plug_stream stream = plugin_.stream(0);
  Gate gate(plugin_, 0, stream);
  plug_status status = PLUG_OK;
  int records = 0;
  while (status == PLUG_OK && records < 100'000) {
    status = plugin_->event_record(0, event_, stream);
    ++records;
  }
  EXPECT_EQ(status, PLUG_INTERNAL);
  gate.open();
  EXPECT_EQ(other_->event_sync(0, same_), PLUG_OK);
  EXPECT_EQ(plugin_->event_record(0, event_, stream), PLUG_OK);
  EXPECT_EQ(other_->event_sync(0, same_), PLUG_OK);
}

TEST_F(SimIpc, an_event_that_is_not_made_to_be_shared_is_not) {
  const plug_event event = plugin_.event(0);
  Handed handed;
  EXPECT_EQ(plugin_->ipc_export_event(0, event, handed.bytes.data(), 256, &handed.count, &handed.fd),
            PLUG_INVALID);
  plugin_->event_destroy(0, event);
}

}  // namespace
}  // namespace sim_test
