/* What a plugin says to what it cannot know. */
#include <string.h>

#include "check.h"

/* A host gives no such index; a plugin that is given one all the same may refuse it, or
** take it for the device it has, but it may not fall over. */
static void unknown_device(void) {
  const int32_t unknown[] = {device_total, device_total + 1000, -2};
  for (int i = 0; i < 3; i++) {
    const int32_t index = unknown[i];
    plug_device_info other = {.size = sizeof other, .alignment = 1};
    void *base = NULL;
    well_formed(rt.device_info(index, &other), "device_info of an unknown device");
    if (rt.device_open) {
      well_formed(rt.device_open(index), "device_open of an unknown device");
    }
    well_formed(rt.device_sync(index), "device_sync of an unknown device");
    well_formed(rt.mem_alloc(index, 64, &base), "mem_alloc on an unknown device");
    if (!rt.stream_create) continue;
    plug_stream stream = NULL;
    plug_event event = NULL;
    well_formed(rt.stream_create(index, 0, &stream),
                "stream_create on an unknown device");
    well_formed(rt.event_create(index, 0, &event), "event_create on an unknown device");
    well_formed(rt.stream_sync(index, NULL), "stream_sync on an unknown device");
  }
}

static void memory_flags(void) {
  unsigned char bytes[64];
  void *base = allocate(sizeof bytes);
  plug_mem known = on_device(base, 0), unknown = on_host(bytes);
  unknown.flags = (uint32_t)1 << 30;
  refused(rt.copy(device, NULL, &known, &unknown, sizeof bytes),
          "copy with an unknown memory flag");
  known.flags = (uint32_t)1 << 30;
  if (rt.mem_fill) {
    refused(rt.mem_fill(device, NULL, &known, 0, sizeof bytes),
            "mem_fill with an unknown memory flag");
  }
}

static void event_flags(void) {
  plug_event event = NULL;
  need_streams();
  refused(rt.event_create(device, (uint32_t)1 << 30, &event),
          "event_create with an unknown flag");
  expect(event == NULL, "event_create wrote its output though it failed");
}

static void tensor_kinds(void) {
  const int64_t sizes[] = {4}, strides[] = {1};
  if (!rt.copy_strided) absent("no copy_strided: the CPU copies between strides");
  void *base = allocate(64);
  plug_tensor plain = {.mem = on_device(base, 0),
                       .dtype = PLUG_F32,
                       .ndim = 1,
                       .sizes = sizes,
                       .strides = strides};
  plug_tensor odd = plain;
  plain.mem.offset = 32;
  odd.layout = 99;
  refused(rt.copy_strided(device, NULL, &plain, &odd),
          "copy_strided of an unknown layout");
  odd.layout = 0;
  odd.flags = (uint32_t)1 << 30;
  refused(rt.copy_strided(device, NULL, &plain, &odd),
          "copy_strided of an unknown tensor flag");
}

const struct check error_checks[] = {
    {.name = "error-device",
     .promise = "an unknown device index fails with a message and does not crash",
     .run = unknown_device},
    {.name = "error-memory-flags",
     .promise = "unknown memory flags are refused",
     .run = memory_flags},
    {.name = "error-event-flags",
     .promise = "unknown event flags are refused",
     .run = event_flags},
    {.name = "error-tensor",
     .promise = "unknown layouts and tensor flags are refused",
     .run = tensor_kinds},
    {0},
};
