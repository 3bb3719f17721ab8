/* Only one thread may be inside, but it does not say so. */
#include <pthread.h>
#include <sched.h>

#include "base.h"

static char *volatile staging; /* one for all threads */

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  static char lines[1 << 20];
  const uint32_t known = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;
  if (bytes > sizeof lines || ((dst->flags | src->flags) & ~known))
    return base_copy(device, stream, dst, src, bytes);
  staging = lines;
  memcpy(staging, at(src), bytes);
  sched_yield();
  memcpy(at(dst), staging, bytes);
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "not_threadsafe");
  runtime.copy = copy;
  *out = &module;
  return PLUG_OK;
}
