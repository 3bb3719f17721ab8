/* on_sim.h - the sim device under another name, for plugins that differ from it in one
** thing: it has what base.h has not, streams and all that goes with them.
** A variant includes this, calls make_sim() in its entry point and changes what it is
** about; `sim` is what it was. */
#ifndef TORCHPLUG_TESTS_ON_SIM_H
#define TORCHPLUG_TESTS_ON_SIM_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "torchplug/plug.h"

static const plug_host *host;
static plug_runtime sim;
static plug_runtime runtime;
static plug_module module;
static plug_kernels sim_kernels;

/* sim's own operators come last in its table, and are of another namespace than the
** variant's. */
static inline const plug_kernels *without_own(const plug_kernels *given) {
  if (!given) return NULL;
  sim_kernels = *given;
  while (sim_kernels.count > 0 &&
         strncmp(given->list[sim_kernels.count - 1].schema, "aten::", 6) != 0)
    sim_kernels.count--;
  return &sim_kernels;
}

static inline plug_status make_sim(const plug_host *given, const char *name) {
  plug_status (*entry)(const plug_host *, const plug_module **) = NULL;
  const plug_module *original = NULL;
  void *library = dlopen(SIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, "torchplug_plugin_v0") : NULL;
  host = given;
  if (!symbol) {
    host->set_error(host, dlerror());
    return PLUG_INTERNAL;
  }
  memcpy(&entry, &symbol, sizeof entry);
  plug_status status = entry(given, &original);
  if (status != PLUG_OK) return status;
  module = *original;
  sim = runtime = *original->runtime;
  module.name = name;
  module.runtime = &runtime;
  module.kernels = without_own(module.kernels);
  return PLUG_OK;
}

/* For variants that do work at once, on a stream of its own, whatever else their
** stream still has to do. */
static inline plug_stream own_stream(int32_t device) {
  plug_stream own = NULL;
  return sim.stream_create(device, 0, &own) == PLUG_OK ? own : NULL;
}

static inline plug_status finish(int32_t device, plug_stream own, plug_status status) {
  if (status == PLUG_OK) status = sim.stream_sync(device, own);
  sim.stream_destroy(device, own);
  return status;
}

#endif
