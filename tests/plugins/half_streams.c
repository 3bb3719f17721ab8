/* Gives streams but no events: part of a group that is all or none. */
#include "base.h"

static plug_status stream_create(int32_t device, int32_t priority, plug_stream *stream) {
  (void)device, (void)priority, (void)stream;
  return PLUG_UNSUPPORTED;
}

static plug_status stream_sync(int32_t device, plug_stream stream) {
  (void)device, (void)stream;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "half_streams");
  runtime.stream_create = stream_create;
  runtime.stream_sync = stream_sync;
  *out = &module;
  return PLUG_OK;
}
