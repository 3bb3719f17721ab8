/* Makes copy_fails.after copies, fails at the next and goes on. */
#include "base.h"

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  static int copies;
  const char *after = host->option(host, "copy_fails.after");
  if (after && copies++ == atoi(after)) return fail(PLUG_TIMEOUT, "the cable was pulled");
  return base_copy(device, stream, dst, src, bytes);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "copy_fails");
  runtime.copy = copy;
  *out = &module;
  return PLUG_OK;
}
