#include "pytorch/hooks.h"

#include <ATen/Context.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "base/immortal.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"
#include "runtime/generator.h"

namespace torchplug::pytorch {
namespace {

// Where PyTorch is built for another accelerator, torch.empty(pin_memory=True) may be pinned by that one's
// allocator.
bool is_pinned_by_another(const void* address) {
  for (int i = 0; i < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++i) {
    const auto type = static_cast<c10::DeviceType>(i);
    if (type != kDeviceType && at::globalContext().isPinnedPtr(address, type)) return true;
  }
  return false;
}

struct Hooks final : at::PrivateUse1HooksInterface {
  void init() const override { ensure_open(current_device()); }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(DeviceIndex device) const override { return is_open(device); }

  DeviceIndex deviceCount() const override { return device_count(); }
  DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(DeviceIndex device) const override { set_current_device(device); }
  DeviceIndex exchangeDevice(DeviceIndex device) const override { return exchange_current_device(device); }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    return exchange_current_device(device);
  }

  const at::Generator& getDefaultGenerator(DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(DeviceIndex device) const override { return new_generator(device); }

  at::Device getDeviceFromPtr(void* address) const override {
    const Placement placement = DeviceAllocator::instance().locate(address);
    return {kDeviceType, placement.block->stream.device()};
  }
  bool isPinnedPtr(const void* address) const override {
    return is_pinned(address) || is_pinned_by_another(address);
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &host_allocator(); }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    c10::StorageImpl& resized = *storage.unsafeGetStorageImpl();
    TORCH_CHECK(resized.resizable(), "Trying to resize storage that is not resizable");
    const c10::DeviceGuard guard(resized.device());
    resized.mutable_data();  // its own, where it was shared until written
    DeviceAllocator& allocator = DeviceAllocator::instance();
    const DeviceIndex device = resized.device().index();
    c10::DataPtr data = allocator.allocate_on(Stream::current(device), bytes);
    allocator.copy_data(data.get(), resized.data(), std::min(bytes, resized.nbytes()));
    resized.set_data_ptr_noswap(std::move(data));
    resized.set_nbytes(bytes);
  }
};

}  // namespace

void register_hooks() {
  static auto& hooks = *immortal<Hooks>();
  static const bool is_registered = [] {
    at::RegisterPrivateUse1HooksInterface(&hooks);
    return true;
  }();
  static_cast<void>(is_registered);
}

}  // namespace torchplug::pytorch
