/* Has no memory for anything. With alloc_fails.once set, it is the first allocation
** alone that fails, and not for want of memory. */
#include "base.h"

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  static int failures;
  if (!host->option(host, "alloc_fails.once"))
    return fail(PLUG_NO_MEMORY, "the board is full");
  if (failures++ == 0) return fail(PLUG_INTERNAL, "the memory controller hiccuped");
  return base_alloc(device, bytes, base);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "alloc_fails");
  runtime.mem_alloc = mem_alloc;
  *out = &module;
  return PLUG_OK;
}
