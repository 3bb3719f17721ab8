/* on_fuse.h - examples/compiler under another name, for plugins that differ from it in
** one thing. A variant includes this, calls make_fuse() in its entry point and changes
** what it is about; `fuse` is what its compiler was. */
#ifndef TORCHPLUG_TESTS_ON_FUSE_H
#define TORCHPLUG_TESTS_ON_FUSE_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "torchplug/plug.h"

static const plug_host *host;
static plug_compiler fuse;
static plug_compiler compiler;
static plug_runtime runtime;
static plug_module module;

static inline plug_status fail(plug_status status, const char *why) {
  host->set_error(host, why);
  return status;
}

/* `given` is what the example sees as its host. */
static inline plug_status make_fuse(const plug_host *given, const char *name) {
  plug_status (*entry)(const plug_host *, const plug_module **) = NULL;
  const plug_module *original = NULL;
  void *library = dlopen(FUSE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, "torchplug_plugin_v0") : NULL;
  if (!host) host = given;
  if (!symbol) return fail(PLUG_INTERNAL, dlerror());
  memcpy(&entry, &symbol, sizeof entry);
  const plug_status status = entry(given, &original);
  if (status != PLUG_OK) return status;
  module = *original;
  runtime = *original->runtime;
  fuse = compiler = *original->compiler;
  module.name = name;
  module.runtime = &runtime;
  module.compiler = &compiler;
  return PLUG_OK;
}

#endif
