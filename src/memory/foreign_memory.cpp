#include "memory/foreign_memory.h"

#include <c10/util/Exception.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "base/immortal.h"
#include "memory/address_index.h"
#include "memory/block_pool.h"
#include "runtime/failure.h"

namespace torchplug::memory {
namespace {

struct ForeignMemory {
  ForeignMemory(char* address, void* base, char* view, uint64_t bytes, const Stream& stream, uint32_t flags)
      : block{address, base, view, bytes, bytes, stream, {}} {
    block.flags = flags;
  }

  Block block;
  std::function<void()> release;
  bool is_indexed = false;   // and counted, if it is hidden
  bool is_reserved = false;  // the address was made up, for PyTorch to calculate with
};

bool is_hidden(const Block& block) { return runtime_table().host_view != nullptr && block.view == nullptr; }

void add_to_index(ForeignMemory& memory) {
  add_foreign_to_address_index(memory.block);
  if (is_hidden(memory.block)) count_hidden_block(1);
  memory.is_indexed = true;
}

void remove_from_index(ForeignMemory& memory) {
  if (!memory.is_indexed) return;
  remove_foreign_from_address_index(memory.block);
  if (is_hidden(memory.block)) count_hidden_block(-1);
}

// A deleter cannot throw.
void finish(const ForeignMemory& memory) noexcept {
  if (memory.is_reserved) ::munmap(memory.block.address, memory.block.bytes);
  try {
    if (memory.release) memory.release();
  } catch (...) {
    record_failure(memory.block.stream.device(), std::current_exception());
  }
}

bool is_idle(const ForeignMemory& memory) noexcept {
  try {
    const auto idle = [](const Stream& stream) { return stream.is_idle(); };
    return std::all_of(memory.block.used_on.begin(), memory.block.used_on.end(), idle);
  } catch (...) {
    return false;
  }
}

void wait_for_streams(const ForeignMemory& memory) noexcept {
  try {
    for (const Stream& stream : memory.block.used_on) stream.synchronize();
  } catch (...) {
    record_failure(memory.block.stream.device(), std::current_exception());
  }
}

// Waits for streams in place of whoever let go of memory they still use. Its thread starts when it is first
// needed and never ends.
class Reaper {
 public:
  void take(std::unique_ptr<ForeignMemory> memory) {
    std::lock_guard lock(queue_lock_);
    if (taken_ == 0) start();
    queue_.push_back(std::move(memory));
    ++taken_;
    changed_.notify_all();
  }

  void finish_all() {
    std::unique_lock lock(queue_lock_);
    const uint64_t target = taken_;
    changed_.wait(lock, [&] { return done_ >= target; });
  }

 private:
  // Signals are for the program's own threads.
  void start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { run(); }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    while (true) {
      std::unique_ptr<ForeignMemory> memory;
      {
        std::unique_lock lock(queue_lock_);
        changed_.wait(lock, [&] { return !queue_.empty(); });
        memory = std::move(queue_.front());
        queue_.pop_front();
      }
      wait_for_streams(*memory);
      finish(*memory);
      memory = nullptr;
      std::lock_guard lock(queue_lock_);
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex queue_lock_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<ForeignMemory>> queue_;
  uint64_t taken_ = 0;
  uint64_t done_ = 0;
};

Reaper& reaper() {
  static Reaper& instance = *immortal<Reaper>();
  return instance;
}

// In a forked child, and when the process ends, the device is out of reach and the memory stays as it is.
void release_foreign(void* context) {
  std::unique_ptr<ForeignMemory> memory(static_cast<ForeignMemory*>(context));
  const DeviceIndex device = memory->block.stream.device();
  if (!is_open(device)) {
    std::ignore = memory.release();
    return;
  }
  remove_from_index(*memory);
  memory->block.used_on.push_back(memory->block.stream);
  memory->block.used_on.push_back(Stream::current(device));
  if (is_idle(*memory)) {
    finish(*memory);
  } else {
    reaper().take(std::move(memory));
  }
}

char* host_view(DeviceIndex device, void* base) {
  void* view = nullptr;
  if (runtime_table().host_view == nullptr) return nullptr;
  if (runtime_table().host_view(plugin_index(device), base, &view) != PLUG_OK) {
    take_plugin_error();
    return nullptr;
  }
  return static_cast<char*>(view);
}

std::unique_ptr<ForeignMemory> make_foreign(DeviceIndex device, void* base, uint64_t bytes) {
  const Stream stream = Stream::current(device);
  const bool addressable = (device_info(device).flags & PLUG_ADDRESSABLE) != 0;
  auto memory = std::make_unique<ForeignMemory>(static_cast<char*>(base), base, host_view(device, base),
                                                bytes, stream, PLUG_MEM_FOREIGN);
  if (!addressable) {
    void* address = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TORCH_CHECK_WITH(OutOfMemoryError, address != MAP_FAILED, "No address space is left for ", bytes,
                     " bytes.");
    memory->block.address = static_cast<char*>(address);
    memory->is_reserved = true;
  }
  add_to_index(*memory);
  return memory;
}

c10::DataPtr hand_out(std::unique_ptr<ForeignMemory> memory, uint64_t offset, std::function<void()> release) {
  memory->release = std::move(release);
  const c10::Device device(kDeviceType, memory->block.stream.device());
  char* address = memory->block.address + offset;
  return {address, memory.release(), &release_foreign, device};
}

}  // namespace

c10::DataPtr import_memory(DeviceIndex device, void* base, uint64_t offset, uint64_t bytes,
                           std::function<void()> release) {
  ensure_open(device);
  return hand_out(make_foreign(device, base, offset + bytes), offset, std::move(release));
}

c10::DataPtr import_address(DeviceIndex device, void* address, uint64_t bytes,
                            std::function<void()> release) {
  ensure_open(device);
  const Block* known = find_block(address);
  if (known == nullptr) return import_memory(device, address, 0, bytes, std::move(release));
  const auto offset = static_cast<uint64_t>(static_cast<char*>(address) - known->address);
  TORCH_CHECK(known->stream.device() == device && bytes <= known->bytes - offset, "The ", bytes, " bytes at ",
              address, " are not all in one piece of memory of ", active_module().name, ":", int{device},
              ".");
  auto memory = std::make_unique<ForeignMemory>(known->address, known->base, known->view, known->bytes,
                                                Stream::current(device), known->flags);
  return hand_out(std::move(memory), offset, std::move(release));
}

void adopt_storage(const c10::Storage& storage) {
  const c10::DataPtr& given = storage.data_ptr();
  if (given.get() == nullptr || find_block(given.get()) != nullptr) return;
  // A std::function is copied, a DataPtr is not.
  auto kept = std::make_shared<c10::DataPtr>();
  c10::DataPtr adopted = import_memory(given.device().index(), given.get(), 0, storage.nbytes(),
                                       [kept]() mutable { kept = nullptr; });
  *kept = storage.set_data_ptr(std::move(adopted));
}

Block* foreign_block(const c10::DataPtr& data) noexcept {
  if (data.get_deleter() != &release_foreign) return nullptr;
  return &static_cast<ForeignMemory*>(data.get_context())->block;
}

void finish_releases() {
  if (!is_forked()) reaper().finish_all();
}

}  // namespace torchplug::memory
