// Device memory of the sim plugin: out of the host's reach, limited, and given back.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "sim_plugin.h"

namespace sim_test {
namespace {

// The signal that ends a process which reads one byte there; 0 if it survives.
int signal_of_reading(const void* address) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    (void)*static_cast<const volatile char*>(address);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// Memory that the system has committed to a device, over all copies of the plugin.
std::uint64_t committed_bytes(std::int32_t device) {
  const std::string name = "/memfd:sim:" + std::to_string(device) + " (deleted)";
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    struct stat status {};
    if (std::filesystem::read_symlink(file, gone) == name && stat(file.path().c_str(), &status) == 0) {
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
  }
  return bytes;
}

class SimMemory : public testing::Test {
 protected:
  std::uint64_t free_bytes(std::int32_t device) {
    std::uint64_t free = 0;
    std::uint64_t total = 0;
    EXPECT_EQ(plugin_->mem_info(device, &free, &total), PLUG_OK);
    EXPECT_EQ(total, Plugin::kMemory);
    return free;
  }

  const Plugin& plugin_ = Plugin::shared();
};

TEST_F(SimMemory, the_host_cannot_touch_the_address_but_can_touch_the_view) {
  const Memory memory(plugin_, 0, 100);
  EXPECT_EQ(signal_of_reading(memory.base()), SIGSEGV);
  EXPECT_EQ(signal_of_reading(memory.view()), 0);
}

TEST_F(SimMemory, the_view_shows_what_copies_wrote) {
  const Memory memory(plugin_, 0, 4096);
  std::vector<unsigned char> bytes(4096);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(3));
  const plug_mem to = memory.at();
  const plug_mem from = on_host(bytes.data());
  ASSERT_EQ(plugin_->copy(0, nullptr, &to, &from, bytes.size()), PLUG_OK);
  ASSERT_EQ(plugin_->device_sync(0), PLUG_OK);
  EXPECT_EQ(std::memcmp(memory.view(), bytes.data(), bytes.size()), 0);
}

TEST_F(SimMemory, only_what_was_allocated_has_a_view) {
  const Memory memory(plugin_, 0, 4096);
  void* view = nullptr;
  int on_stack = 0;
  EXPECT_EQ(plugin_->host_view(0, static_cast<char*>(memory.base()) + 512, &view), PLUG_INVALID);
  EXPECT_EQ(plugin_->host_view(1, memory.base(), &view), PLUG_INVALID);
  EXPECT_EQ(plugin_->host_view(0, &on_stack, &view), PLUG_INVALID);
  EXPECT_EQ(plugin_->host_view(0, memory.view(), &view), PLUG_INVALID);
}

TEST_F(SimMemory, every_allocation_is_aligned_and_apart_from_the_others) {
  std::vector<std::unique_ptr<Memory>> blocks;
  for (const std::uint64_t bytes : {0, 1, 511, 512, 513, 4096, 0, 100000}) {
    blocks.push_back(std::make_unique<Memory>(plugin_, 0, bytes));
    std::memset(blocks.back()->view(), static_cast<int>(blocks.size()), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()->base()) % 512, 0u);
  }
  std::set<void*> addresses;
  for (const auto& block : blocks) addresses.insert(block->base());
  EXPECT_EQ(addresses.size(), blocks.size()) << "zero bytes too have an address of their own";
  EXPECT_EQ(blocks[1]->view()[0], 2);
  EXPECT_EQ(blocks[5]->view()[4095], 6);
}

TEST_F(SimMemory, the_limit_is_exact_and_freed_memory_is_whole_again) {
  constexpr std::int32_t kDevice = 2;
  ASSERT_EQ(free_bytes(kDevice), Plugin::kMemory);
  {
    const Memory all(plugin_, kDevice, Plugin::kMemory);
    EXPECT_EQ(free_bytes(kDevice), 0u);
    void* base = nullptr;
    EXPECT_EQ(plugin_->mem_alloc(kDevice, 1, &base), PLUG_NO_MEMORY);
    EXPECT_EQ(base, nullptr);
  }
  EXPECT_EQ(free_bytes(kDevice), Plugin::kMemory);

  std::vector<void*> pieces(Plugin::kMemory / 65536);
  for (void*& piece : pieces) ASSERT_EQ(plugin_->mem_alloc(kDevice, 65536, &piece), PLUG_OK);
  void* base = nullptr;
  EXPECT_EQ(plugin_->mem_alloc(kDevice, 1, &base), PLUG_NO_MEMORY);
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937(7));
  for (void* piece : pieces) ASSERT_EQ(plugin_->mem_free(kDevice, piece), PLUG_OK);
  const Memory all(plugin_, kDevice, Plugin::kMemory);
  EXPECT_EQ(free_bytes(kDevice), 0u);
}

TEST_F(SimMemory, a_refusal_says_what_was_asked_and_what_is_left) {
  constexpr std::int32_t kDevice = 2;
  constexpr std::uint64_t kQuarter = Plugin::kMemory / 4;
  void* pieces[4];
  for (void*& piece : pieces) ASSERT_EQ(plugin_->mem_alloc(kDevice, kQuarter, &piece), PLUG_OK);
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[0]), PLUG_OK);
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[2]), PLUG_OK);
  void* base = nullptr;
  EXPECT_EQ(plugin_->mem_alloc(kDevice, 2 * kQuarter + 1, &base), PLUG_NO_MEMORY);
  EXPECT_EQ(last_error, "sim:2 cannot allocate 33554433 bytes: 33554432 of 67108864 bytes are free");
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[1]), PLUG_OK);
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[3]), PLUG_OK);
}

TEST_F(SimMemory, what_is_free_can_be_had_in_one_piece_though_it_lay_scattered) {
  constexpr std::int32_t kDevice = 2;
  constexpr std::uint64_t kQuarter = Plugin::kMemory / 4;
  void* pieces[4];
  for (void*& piece : pieces) ASSERT_EQ(plugin_->mem_alloc(kDevice, kQuarter, &piece), PLUG_OK);
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[0]), PLUG_OK);
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[2]), PLUG_OK);
  const Memory half(plugin_, kDevice, 2 * kQuarter);
  EXPECT_EQ(free_bytes(kDevice), 0u);
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[1]), PLUG_OK);
  ASSERT_EQ(plugin_->mem_free(kDevice, pieces[3]), PLUG_OK);
}

TEST_F(SimMemory, a_size_that_overflows_is_out_of_memory) {
  for (const std::uint64_t below : {0, 1, 510, 511, 512}) {
    void* base = nullptr;
    EXPECT_EQ(plugin_->mem_alloc(0, std::numeric_limits<std::uint64_t>::max() - below, &base),
              PLUG_NO_MEMORY);
    void* pinned = nullptr;
    EXPECT_EQ(plugin_->host_alloc(std::numeric_limits<std::uint64_t>::max() - below, &pinned),
              PLUG_NO_MEMORY);
  }
}

TEST_F(SimMemory, freeing_what_is_not_allocated_is_refused_by_name) {
  void* base = nullptr;
  ASSERT_EQ(plugin_->mem_alloc(0, 4096, &base), PLUG_OK);
  const std::uint64_t before = free_bytes(0);
  EXPECT_EQ(plugin_->mem_free(1, base), PLUG_INVALID);
  EXPECT_EQ(plugin_->mem_free(0, static_cast<char*>(base) + 512), PLUG_INVALID);
  EXPECT_EQ(plugin_->mem_free(0, nullptr), PLUG_INVALID);
  EXPECT_EQ(free_bytes(0), before);

  EXPECT_EQ(plugin_->mem_free(0, base), PLUG_OK);
  EXPECT_EQ(plugin_->mem_free(0, base), PLUG_INVALID);
  std::ostringstream named;
  named << base << " is not an allocation of sim:0.";
  EXPECT_EQ(last_error, named.str());
}

TEST_F(SimMemory, reserved_addresses_cost_nothing_until_memory_is_mapped_into_them) {
  constexpr std::uint64_t kUnit = 2 << 20;
  constexpr std::int32_t kDevice = 2;
  void* base = nullptr;
  ASSERT_EQ(plugin_->mem_reserve(kDevice, 2 * Plugin::kMemory, &base), PLUG_OK);
  EXPECT_EQ(free_bytes(kDevice), Plugin::kMemory);
  ASSERT_EQ(plugin_->mem_map(kDevice, base, 2 * kUnit, kUnit), PLUG_OK);
  EXPECT_EQ(free_bytes(kDevice), Plugin::kMemory - kUnit);

  void* view = nullptr;
  ASSERT_EQ(plugin_->host_view(kDevice, base, &view), PLUG_OK);
  auto* bytes = static_cast<unsigned char*>(view);
  std::memset(bytes + 2 * kUnit, 7, kUnit);
  EXPECT_EQ(signal_of_reading(bytes + kUnit), SIGSEGV);
  EXPECT_EQ(signal_of_reading(static_cast<char*>(base) + 2 * kUnit), SIGSEGV) << "only the view is open";
  const plug_mem mapped = {base, 2 * kUnit + 5, kDevice, 0};
  unsigned char read = 0;
  const plug_mem to = on_host(&read);
  ASSERT_EQ(plugin_->copy(kDevice, nullptr, &to, &mapped, 1), PLUG_OK);
  EXPECT_EQ(read, 7);

  EXPECT_EQ(plugin_->mem_unreserve(kDevice, base), PLUG_INVALID) << "still mapped";
  ASSERT_EQ(plugin_->mem_unmap(kDevice, base, 2 * kUnit, kUnit), PLUG_OK);
  EXPECT_EQ(signal_of_reading(bytes + 2 * kUnit), SIGSEGV);
  EXPECT_EQ(free_bytes(kDevice), Plugin::kMemory);
  EXPECT_EQ(plugin_->mem_unreserve(kDevice, base), PLUG_OK);
  EXPECT_EQ(plugin_->mem_unreserve(kDevice, base), PLUG_INVALID);
}

TEST_F(SimMemory, mapping_keeps_to_units_the_reservation_and_the_limit) {
  constexpr std::uint64_t kUnit = 2 << 20;
  constexpr std::int32_t kDevice = 2;
  void* base = nullptr;
  EXPECT_EQ(plugin_->mem_reserve(kDevice, kUnit + 1, &base), PLUG_INVALID);
  ASSERT_EQ(plugin_->mem_reserve(kDevice, Plugin::kMemory + kUnit, &base), PLUG_OK);
  EXPECT_EQ(plugin_->mem_map(kDevice, base, 1, kUnit), PLUG_INVALID);
  EXPECT_EQ(plugin_->mem_map(kDevice, base, 0, kUnit / 2), PLUG_INVALID);
  EXPECT_EQ(plugin_->mem_map(kDevice, base, Plugin::kMemory + kUnit, kUnit), PLUG_INVALID);
  EXPECT_EQ(plugin_->mem_unmap(kDevice, base, 0, kUnit), PLUG_INVALID) << "not mapped";
  ASSERT_EQ(plugin_->mem_map(kDevice, base, 0, Plugin::kMemory), PLUG_OK);
  EXPECT_EQ(plugin_->mem_map(kDevice, base, 0, kUnit), PLUG_INVALID) << "mapped already";
  EXPECT_EQ(plugin_->mem_map(kDevice, base, Plugin::kMemory, kUnit), PLUG_NO_MEMORY);
  ASSERT_EQ(plugin_->mem_unmap(kDevice, base, 0, Plugin::kMemory), PLUG_OK);
  ASSERT_EQ(plugin_->mem_unreserve(kDevice, base), PLUG_OK);
}

TEST_F(SimMemory, a_big_block_goes_back_to_the_system) {
  constexpr std::uint64_t kBytes = 16 << 20;
  const std::uint64_t before = committed_bytes(3);
  {
    const Memory memory(plugin_, 3, kBytes);
    std::memset(memory.view(), 1, kBytes);
    EXPECT_GE(committed_bytes(3), before + kBytes);
  }
  EXPECT_LE(committed_bytes(3), before + 4096);
}

TEST_F(SimMemory, threads_that_allocate_at_once_never_share_a_byte) {
  constexpr int kThreads = 4;
  const std::uint64_t before = free_bytes(1);
  std::vector<std::thread> threads;
  for (int id = 1; id <= kThreads; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937 random(static_cast<unsigned>(id));
      for (int round = 0; round < 300; ++round) {
        const std::uint64_t bytes = 1 + random() % 100000;
        void* base = nullptr;
        void* view = nullptr;
        ASSERT_EQ(plugin_->mem_alloc(1, bytes, &base), PLUG_OK);
        ASSERT_EQ(plugin_->host_view(1, base, &view), PLUG_OK);
        std::memset(view, id, bytes);
        std::this_thread::yield();
        const auto* byte = static_cast<unsigned char*>(view);
        ASSERT_EQ(std::count(byte, byte + bytes, id), static_cast<std::ptrdiff_t>(bytes));
        ASSERT_EQ(plugin_->mem_free(1, base), PLUG_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(free_bytes(1), before);
}

TEST_F(SimMemory, pinned_memory_is_page_aligned_and_freed_once) {
  void* base = nullptr;
  ASSERT_EQ(plugin_->host_alloc(5000, &base), PLUG_OK);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), 0u);
  std::memset(base, 1, 5000);
  EXPECT_EQ(plugin_->host_free(base), PLUG_OK);
  EXPECT_EQ(plugin_->host_free(base), PLUG_INVALID);
}

}  // namespace
}  // namespace sim_test
