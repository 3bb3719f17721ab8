/* The driver of this device knows host memory that somebody else has pinned for it, and
** takes its time to copy from there: until the stream is waited for. Of other memory it
** does what plug.h says. With pinned_by_others.tells set it tells the host which it is,
** and takes no time for what the host does not call pinned. */
#include "on_sim.h"

enum { kMost = 16 };

typedef struct late_copy {
  int32_t device;
  plug_stream stream;
  plug_mem dst, src;
  uint64_t bytes;
} late_copy;

static late_copy late[kMost];
static uint64_t late_count;
static const char *pinned;
static uint64_t pinned_bytes;

PLUG_EXPORT uint64_t late_copies(void) { return late_count; }

__attribute__((visibility("default"))) void pin_for_others(const void *memory,
                                                           uint64_t bytes) {
  pinned = memory;
  pinned_bytes = bytes;
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const char *from = (const char *)src->base + src->offset;
  int is_pinned = src->device == PLUG_HOST && pinned && from >= pinned &&
                  from + bytes <= pinned + pinned_bytes;
  if (runtime.host_pinned && !(src->flags & PLUG_MEM_PINNED)) is_pinned = 0;
  if (!is_pinned || late_count == kMost) return sim.copy(device, stream, dst, src, bytes);
  late[late_count++] = (late_copy){device, stream, *dst, *src, bytes};
  return PLUG_OK;
}

static plug_status host_pinned(const void *address, int32_t *is_pinned) {
  const char *at = address;
  *is_pinned = pinned && at >= pinned && at < pinned + pinned_bytes;
  return PLUG_OK;
}

static plug_status copy_late(void) {
  for (uint64_t i = 0; i < late_count; ++i) {
    const late_copy *it = &late[i];
    plug_mem src = it->src;
    src.flags = 0; /* which sim did not allocate */
    plug_status status = sim.copy(it->device, it->stream, &it->dst, &src, it->bytes);
    if (status != PLUG_OK) return status;
  }
  late_count = 0;
  return PLUG_OK;
}

static plug_status stream_sync(int32_t device, plug_stream stream) {
  plug_status status = copy_late();
  return status == PLUG_OK ? sim.stream_sync(device, stream) : status;
}

static plug_status device_sync(int32_t device) {
  plug_status status = copy_late();
  return status == PLUG_OK ? sim.device_sync(device) : status;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "pinned_by_others");
  if (status != PLUG_OK) return status;
  if (host->option(host, "pinned_by_others.tells")) runtime.host_pinned = host_pinned;
  runtime.copy = copy;
  runtime.stream_sync = stream_sync;
  runtime.device_sync = device_sync;
  *out = &module;
  return PLUG_OK;
}
