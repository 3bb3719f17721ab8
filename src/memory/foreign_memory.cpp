#include "memory/foreign_memory.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "memory/address_index.h"
#include "memory/host_access.h"
#include "runtime/capture.h"
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
  bool owns_address = false;  // and is in the address index; false for a part of memory that is known already
};

// A deleter cannot throw.
void finish(const ForeignMemory& memory) noexcept {
  if (memory.owns_address) release_address(memory.block);
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

// For all of them, also if one of them failed.
void wait_for_streams(const ForeignMemory& memory) noexcept {
  for (const Stream& stream : memory.block.used_on) {
    try {
      stream.synchronize();
    } catch (...) {
      record_failure(stream.device(), std::current_exception());
    }
  }
}

// Waits for the streams that still use memory which was dropped, then releases it. Its thread starts when it
// is first needed and never ends.
class ReleaseThread {
 public:
  void add(std::unique_ptr<ForeignMemory> memory) {
    std::lock_guard lock(queue_lock_);
    if (added_ == 0) start();
    queue_.push_back(std::move(memory));
    ++added_;
    changed_.notify_all();
  }

  void finish_all() {
    std::unique_lock lock(queue_lock_);
    const uint64_t target = added_;
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
  uint64_t added_ = 0;
  uint64_t done_ = 0;
};

ReleaseThread& release_thread() {
  static auto& instance = *immortal<ReleaseThread>();
  return instance;
}

c10::DataPtr make_data_ptr(std::unique_ptr<ForeignMemory> memory, uint64_t offset);

// Memory that is dropped in the capture of a graph lives as long as that, since replays use it.
std::shared_ptr<Capture> capture_that_uses(const ForeignMemory& memory) {
  if (!any_capture()) return nullptr;
  std::vector<Stream> streams = memory.block.used_on;
  streams.push_back(memory.block.stream);
  streams.push_back(Stream::current(memory.block.stream.device()));
  for (const Stream& stream : streams) {
    if (auto capture = capture_of(stream)) return capture;
  }
  return nullptr;
}

void hold(Capture& capture, std::unique_ptr<ForeignMemory> memory) {
  const size_t bytes = memory->block.bytes;
  c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<int64_t>(bytes),
                       make_data_ptr(std::move(memory), 0), /*allocator=*/nullptr, /*resizable=*/false);
  capture.hold(std::move(storage));
}

// In a forked child, and when the process ends, the device is out of reach and the memory stays as it is. On
// a lost device there is nothing to wait for.
void release_foreign(void* context) {
  std::unique_ptr<ForeignMemory> memory(static_cast<ForeignMemory*>(context));
  const DeviceIndex device = memory->block.stream.device();
  if (!may_give_back(device)) {
    std::ignore = memory.release();
    return;
  }
  if (const auto capture = capture_that_uses(*memory)) {
    hold(*capture, std::move(memory));
    return;
  }
  if (memory->owns_address) remove_from_address_index(memory->block);
  memory->block.used_on.push_back(memory->block.stream);
  memory->block.used_on.push_back(Stream::current(device));
  if (is_lost(device) || is_idle(*memory)) {
    finish(*memory);
  } else {
    release_thread().add(std::move(memory));
  }
}

c10::DataPtr make_data_ptr(std::unique_ptr<ForeignMemory> memory, uint64_t offset) {
  const c10::Device device(kDeviceType, memory->block.stream.device());
  char* address = memory->block.address + offset;
  return {address, memory.release(), &release_foreign, device};
}

std::unique_ptr<ForeignMemory> make_foreign(DeviceIndex device, void* base, uint64_t bytes) {
  char* address = make_address(device, base, bytes);
  auto memory = std::make_unique<ForeignMemory>(address, base, find_host_view(device, base), bytes,
                                                Stream::current(device), PLUG_MEM_FOREIGN);
  memory->owns_address = true;
  add_to_address_index(memory->block);
  return memory;
}

}  // namespace

c10::DataPtr import_memory(DeviceIndex device, void* base, uint64_t offset, uint64_t bytes,
                           std::function<void()> release) {
  ensure_open(device);
  std::unique_ptr<ForeignMemory> memory = make_foreign(device, base, offset + bytes);
  memory->release = std::move(release);
  return make_data_ptr(std::move(memory), offset);
}

c10::DataPtr import_address(DeviceIndex device, void* address, uint64_t bytes,
                            std::function<void()> release) {
  ensure_open(device);
  const Block* known = find_block(address);
  if (known == nullptr) return import_memory(device, address, 0, bytes, std::move(release));
  const auto offset = static_cast<uint64_t>(static_cast<char*>(address) - known->address);
  TORCH_CHECK(known->stream.device() == device && bytes <= known->bytes - offset, "The ", bytes, " bytes at ",
              address, " are not within one allocation of ", device_type_name(), ":", int{device}, ".");
  auto memory = std::make_unique<ForeignMemory>(known->address, known->base, known->view, known->bytes,
                                                Stream::current(device), known->flags);
  memory->release = std::move(release);
  return make_data_ptr(std::move(memory), offset);
}

void adopt_storage(const c10::Storage& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  if (data.get() == nullptr || find_block(data.get()) != nullptr) return;
  // A std::function is copied, a DataPtr is not.
  auto original = std::make_shared<c10::DataPtr>();
  c10::DataPtr adopted = import_memory(data.device().index(), data.get(), 0, storage.nbytes(),
                                       [original]() mutable { original = nullptr; });
  *original = storage.set_data_ptr(std::move(adopted));
}

Block* foreign_block(const c10::DataPtr& data) noexcept {
  if (data.get_deleter() != &release_foreign) return nullptr;
  return &static_cast<ForeignMemory*>(data.get_context())->block;
}

void finish_releases() {
  if (!is_forked()) release_thread().finish_all();
}

}  // namespace torchplug::memory
