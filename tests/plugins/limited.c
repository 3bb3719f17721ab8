/* A device with little memory (limited.memory bytes, 64 MiB if not set) that counts
** what it is asked for. Its functions limited_take and limited_give are a pluggable
** allocator. */
#include <stdatomic.h>
#include <sys/types.h>

#include "base.h"

enum { kHeader = 4096 };

static _Atomic uint64_t used, allocations, frees, syncs, taken, given;

static uint64_t option(const char *key, uint64_t otherwise) {
  const char *value = host->option(host, key);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

static uint64_t limit(void) { return option("limited.memory", (uint64_t)64 << 20); }

static plug_status device_info(int32_t device, plug_device_info *info) {
  base_info(device, info);
  info->total_bytes = limit();
  info->alignment = option("limited.alignment", 64);
  return PLUG_OK;
}

static plug_status device_sync(int32_t device) {
  (void)device;
  syncs++;
  return PLUG_OK;
}

/* The size lies on the page before the memory. */
static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  (void)device;
  allocations++;
  if (bytes > limit() - used) return fail(PLUG_NO_MEMORY, "the limit is reached");
  char *memory = aligned_alloc(kHeader, (bytes + 2 * kHeader - 1) / kHeader * kHeader);
  if (!memory) return fail(PLUG_NO_MEMORY, "the host has no memory left");
  memcpy(memory, &bytes, sizeof bytes);
  used += bytes;
  *base = memory + kHeader;
  return PLUG_OK;
}

static plug_status mem_free(int32_t device, void *base) {
  uint64_t bytes = 0;
  (void)device;
  frees++;
  memcpy(&bytes, (char *)base - kHeader, sizeof bytes);
  used -= bytes;
  free((char *)base - kHeader);
  return PLUG_OK;
}

static plug_status mem_info(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes) {
  (void)device;
  *total_bytes = limit();
  *free_bytes = *total_bytes - used;
  return PLUG_OK;
}

PLUG_EXPORT uint64_t limited_used(void) { return used; }
PLUG_EXPORT uint64_t limited_allocations(void) { return allocations; }
PLUG_EXPORT uint64_t limited_frees(void) { return frees; }
PLUG_EXPORT uint64_t limited_syncs(void) { return syncs; }
PLUG_EXPORT uint64_t limited_taken(void) { return taken; }
PLUG_EXPORT uint64_t limited_given(void) { return given; }

PLUG_EXPORT void *limited_take(ssize_t bytes, int device, void *stream) {
  void *base = NULL;
  (void)stream;
  if (mem_alloc(device, (uint64_t)bytes, &base) != PLUG_OK) return NULL;
  taken += (uint64_t)bytes;
  return base;
}

PLUG_EXPORT void limited_give(void *base, ssize_t bytes, int device, void *stream) {
  (void)stream;
  given += (uint64_t)bytes;
  mem_free(device, base);
}

plug_status torchplug_plugin_v0(const plug_host *asked, const plug_module **out) {
  make_device(asked, "limited");
  runtime.device_info = device_info;
  runtime.device_sync = device_sync;
  runtime.mem_alloc = mem_alloc;
  runtime.mem_free = mem_free;
  runtime.mem_info = mem_info;
  *out = &module;
  return PLUG_OK;
}
