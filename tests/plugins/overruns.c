/* Rounds every copy up to whole lines of 64 bytes, and so writes beyond it. Asks for room
** enough that nothing of the process is hit. */
#include "base.h"

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  return base_alloc(device, bytes > BASE_MEMORY ? bytes : bytes + 128, base);
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const plug_status status = base_copy(device, stream, dst, src, bytes);
  if (dst->device != PLUG_HOST) memset(at(dst) + bytes, 0, 64 - bytes % 64);
  return status;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "overruns");
  runtime.mem_alloc = mem_alloc;
  runtime.copy = copy;
  *out = &module;
  return PLUG_OK;
}
