#include "memory/memory_source.h"

#include "base/immortal.h"
#include "runtime/host_map.h"

namespace torchplug::memory {
namespace {

class PluginMemory final : public MemorySource {
 public:
  plug_status allocate(const Stream& stream, size_t bytes, void** base) override {
    return ask_plugin<&plug_runtime::mem_alloc>(stream.device(), bytes, base);
  }
  void release(const Stream& stream, void* base, size_t /*bytes*/) override {
    HostMaps::unmap_left(stream.device());
    call_plugin<&plug_runtime::mem_free>(stream.device(), base);
  }
};

class PluggableMemory final : public MemorySource {
 public:
  PluggableMemory(AllocateFunction allocate, ReleaseFunction release)
      : allocate_(allocate), release_(release) {}

  plug_status allocate(const Stream& stream, size_t bytes, void** base) override {
    void* memory = allocate_(static_cast<ssize_t>(bytes), stream.device(), stream.handle());
    if (memory == nullptr) return PLUG_NO_MEMORY;
    *base = memory;
    return PLUG_OK;
  }
  void release(const Stream& stream, void* base, size_t bytes) override {
    release_(base, static_cast<ssize_t>(bytes), stream.device(), stream.handle());
  }
  bool orders_frees() const override { return true; }

 private:
  AllocateFunction allocate_;
  ReleaseFunction release_;
};

}  // namespace

std::shared_ptr<MemorySource> plugin_memory() {
  static auto& source = *immortal<std::shared_ptr<MemorySource>>(std::make_shared<PluginMemory>());
  return source;
}

std::shared_ptr<MemorySource> pluggable_memory(AllocateFunction allocate, ReleaseFunction release) {
  return std::make_shared<PluggableMemory>(allocate, release);
}

}  // namespace torchplug::memory
