#include "device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "torchplug/plug.hpp"
#include "xcpu/xcpu.h"

namespace xcpu::plugin {
namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kHugePage = 2 << 20;

// "AMD EPYC 9B14 (avx512_bf16)"
const std::string& name_of_device() {
  static const std::string name = [] {
    std::string model = "CPU", line;
    for (std::ifstream file("/proc/cpuinfo"); std::getline(file, line);) {
      const std::size_t colon = line.find(": ");
      if (!line.starts_with("model name") || colon == std::string::npos) continue;
      model = line.substr(colon + 2);
      break;
    }
    return model + " (" + xcpu_isa() + ")";
  }();
  return name;
}

std::uint64_t configured(int name) {
  const long value = sysconf(name);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

plug_status device_count(std::int32_t* count) {
  *count = 1;
  return PLUG_OK;
}

plug_status device_info(std::int32_t /*device*/, plug_device_info* info) {
  return plug::guarded([&] {
    // Those of PyTorch's operators that have kernels list their own.
    static constexpr plug_dtype kDtypes[] = {PLUG_F32, PLUG_BF16, PLUG_F16};
    plug_device_info filled{};
    filled.size = info->size;
    filled.flags = PLUG_ADDRESSABLE | PLUG_INTEGRATED;
    filled.name = name_of_device().c_str();
    filled.total_bytes = configured(_SC_PHYS_PAGES) * configured(_SC_PAGESIZE);
    filled.alignment = kLine;
    filled.dtypes = kDtypes;
    filled.dtype_count = std::size(kDtypes);
    filled.processor_count = static_cast<std::uint32_t>(configured(_SC_NPROCESSORS_ONLN));
    filled.cache_bytes = configured(_SC_LEVEL3_CACHE_SIZE);
    std::memcpy(info, &filled, std::min<std::size_t>(info->size, sizeof filled));
  });
}

plug_status device_sync(std::int32_t /*device*/) { return PLUG_OK; }

plug_status mem_alloc(std::int32_t /*device*/, std::uint64_t bytes, void** base) {
  const bool is_large = bytes >= 2 * kHugePage;
  void* memory = nullptr;
  if (bytes > PTRDIFF_MAX || posix_memalign(&memory, is_large ? kHugePage : kLine, bytes) != 0) {
    return plug::fail(PLUG_NO_MEMORY, "the host has no memory left");
  }
#if defined(MADV_HUGEPAGE)
  if (is_large) madvise(memory, bytes, MADV_HUGEPAGE);  // where it is refused, small pages do
#endif
  *base = memory;
  return PLUG_OK;
}

plug_status mem_free(std::int32_t /*device*/, void* base) {
  std::free(base);
  return PLUG_OK;
}

// Whether there is nothing to do, and no flag that this was not written for.
plug_status known(std::uint32_t flags) {
  constexpr std::uint32_t kKnown = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;
  return (flags & ~kKnown) == 0 ? PLUG_OK : PLUG_UNSUPPORTED;
}

constexpr std::int64_t kShare = 1 << 20;  // bytes that are worth a thread

plug_status copy(std::int32_t /*device*/, plug_stream /*stream*/, const plug_mem* dst, const plug_mem* src,
                 std::uint64_t bytes) {
  if (known(dst->flags | src->flags) != PLUG_OK) return PLUG_UNSUPPORTED;
  auto* const to = static_cast<char*>(plug_address(dst));
  const auto* const from = static_cast<const char*>(plug_address(src));
  if (to < from + bytes && from < to + bytes) {
    std::memmove(to, from, bytes);
    return PLUG_OK;
  }
  return plug::guarded([&] {
    plug::team(plug::host, static_cast<std::int64_t>(bytes), kShare,
               [&](std::int64_t begin, std::int64_t end) {
                 std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
               });
  });
}

plug_status mem_fill(std::int32_t /*device*/, plug_stream /*stream*/, const plug_mem* dst, std::uint8_t byte,
                     std::uint64_t bytes) {
  if (known(dst->flags) != PLUG_OK) return PLUG_UNSUPPORTED;
  auto* const to = static_cast<char*>(plug_address(dst));
  return plug::guarded([&] {
    plug::team(plug::host, static_cast<std::int64_t>(bytes), kShare,
               [&](std::int64_t begin, std::int64_t end) {
                 std::memset(to + begin, byte, static_cast<std::size_t>(end - begin));
               });
  });
}

plug_status host_view(std::int32_t /*device*/, void* base, void** view) {
  *view = base;
  return PLUG_OK;
}

}  // namespace

const plug_runtime kRuntime = {
    .size = sizeof(plug_runtime),
    .device_count = device_count,
    .device_info = device_info,
    .device_sync = device_sync,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .copy = copy,
    .mem_fill = mem_fill,
    .host_view = host_view,
};

}  // namespace xcpu::plugin
