/* The sim device without host views, and on request (unseen.pageable) without pinned
** memory. Tells how its copies to and from the host were made. */
#include <stdatomic.h>

#include "on_sim.h"

static _Atomic uint64_t pinned, pageable;

PLUG_EXPORT uint64_t unseen_pinned(void) { return pinned; }
PLUG_EXPORT uint64_t unseen_pageable(void) { return pageable; }

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const plug_mem *place = dst->device == PLUG_HOST ? dst : src;
  if (place->device == PLUG_HOST)
    *(place->flags & PLUG_MEM_PINNED ? &pinned : &pageable) += bytes;
  return sim.copy(device, stream, dst, src, bytes);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "unseen");
  if (status != PLUG_OK) return status;
  runtime.host_view = NULL;
  runtime.copy = copy;
  if (host->option(host, "unseen.pageable")) {
    runtime.host_alloc = NULL;
    runtime.host_free = NULL;
  }
  *out = &module;
  return PLUG_OK;
}
