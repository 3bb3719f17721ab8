#include "memory/held_storage.h"

#include "base/immortal.h"
#include "memory/pending_uses.h"

namespace torchplug::memory {
namespace {

struct HeldStorage {
  c10::Storage storage;
  std::vector<Stream> used_on;
  uint32_t awaited = 0;
};

PendingUses<HeldStorage>& held_storages() {
  static auto& instance = *immortal<PendingUses<HeldStorage>>();
  return instance;
}

}  // namespace

void hold_storage(const c10::Storage& storage, const Stream& stream) {
  release_passed_storages();
  auto held = std::make_unique<HeldStorage>(HeldStorage{storage, {stream}});
  held_storages().add(held.release());
}

void release_passed_storages() {
  if (held_storages().is_empty()) return;
  for (HeldStorage* passed : held_storages().take_passed(*module_for_host())) {
    const std::unique_ptr<HeldStorage> owned(passed);
  }
  if (held_storages().is_empty()) held_storages().release_events();
}

}  // namespace torchplug::memory
