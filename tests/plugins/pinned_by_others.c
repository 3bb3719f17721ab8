/* The driver of this device knows host memory that somebody else has pinned for it, and
** takes its time to copy from there: until the stream is waited for. Of other memory it
** does what plug.h says. */
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

__attribute__((visibility("default"))) void pin_for_others(const void *memory,
                                                           uint64_t bytes) {
  pinned = memory;
  pinned_bytes = bytes;
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const char *from = (const char *)src->base + src->offset;
  const int is_pinned = src->device == PLUG_HOST && pinned && from >= pinned &&
                        from + bytes <= pinned + pinned_bytes;
  if (!is_pinned || late_count == kMost) return sim.copy(device, stream, dst, src, bytes);
  late[late_count++] = (late_copy){device, stream, *dst, *src, bytes};
  return PLUG_OK;
}

static plug_status copy_late(void) {
  for (uint64_t i = 0; i < late_count; ++i) {
    const late_copy *it = &late[i];
    plug_status status = sim.copy(it->device, it->stream, &it->dst, &it->src, it->bytes);
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
  runtime.copy = copy;
  runtime.stream_sync = stream_sync;
  runtime.device_sync = device_sync;
  *out = &module;
  return PLUG_OK;
}
