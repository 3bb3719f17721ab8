/* Asked what a device is, it opens a context, which a forked child cannot use. */
#include <sys/types.h>
#include <unistd.h>

#include "base.h"

static pid_t opened_by;

static plug_status info(int32_t device, plug_device_info *given) {
  if (!opened_by) opened_by = getpid();
  if (opened_by != getpid()) return fail(PLUG_INTERNAL, "the context is the parent's");
  return base_info(device, given);
}

static plug_status allocate(int32_t device, uint64_t bytes, void **base) {
  if (opened_by != getpid()) return fail(PLUG_INTERNAL, "the context is the parent's");
  return base_alloc(device, bytes, base);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "no_fork");
  runtime.device_info = info;
  runtime.mem_alloc = allocate;
  *out = &module;
  return PLUG_OK;
}
