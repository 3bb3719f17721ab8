#include "memory/host_access.h"

#include <c10/util/Exception.h>
#include <sys/mman.h>

namespace torchplug::memory {

char* make_address(DeviceIndex device, void* base, size_t bytes) {
  if ((device_info(device).flags & PLUG_ADDRESSABLE) != 0) return static_cast<char*>(base);
  void* address = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK_WITH(OutOfMemoryError, address != MAP_FAILED, "No address space is left for ", bytes,
                   " bytes.");
  return static_cast<char*>(address);
}

void release_address(const Block& block) noexcept {
  if (block.address != block.base) ::munmap(block.address, block.bytes);
}

char* find_host_view(DeviceIndex device, void* base) {
  if (!plugin_has<&plug_runtime::host_view>(device)) return nullptr;
  void* view = nullptr;
  const plug_status status = ask_plugin<&plug_runtime::host_view>(device, base, &view);
  if (status != PLUG_OK) {
    const std::string said = take_plugin_error();
    if (status != PLUG_UNSUPPORTED) {
      TORCH_WARN_ONCE(device_type_name(), ":", int{device}, ": host_view failed (", status_name(status),
                      "): ", said.empty() ? "no reason given" : said,
                      ". Operators on that memory use copies, as if it had no view.");
    }
    return nullptr;
  }
  return static_cast<char*>(view);
}

}  // namespace torchplug::memory
