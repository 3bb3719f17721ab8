#include "location.h"

#include "device.h"
#include "error.h"

namespace torchplug::sim {

Location locate(const plug_mem& mem, std::uint64_t bytes, std::int64_t first) {
  constexpr std::uint32_t kKnownFlags = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;
  if ((mem.flags & ~kKnownFlags) != 0) {
    fail(PLUG_UNSUPPORTED, "Memory flags ", mem.flags, " are not known to sim.");
  }
  // Unsigned, so that an offset before the memory is a huge one, which resolve() refuses.
  const std::uint64_t offset = mem.offset + static_cast<std::uint64_t>(first);
  if (bytes == 0) return {nullptr, false};
  if (mem.device == PLUG_HOST) {
    return {static_cast<std::byte*>(mem.base) + offset, (mem.flags & PLUG_MEM_PINNED) == 0};
  }
  const Device& device = open_device(mem.device);
  if ((mem.flags & PLUG_MEM_FOREIGN) != 0) {
    std::byte* const imported = device.imports().find(mem.base, offset, bytes);
    if (imported != nullptr) return {imported, false};
    // Not imported: then it is memory of this process, only not asked for by the host.
  }
  return {device.arena().resolve(mem.base, offset, bytes), false};
}

}  // namespace torchplug::sim
