/* Gives no host view of device 1, and on device 0 of every second allocation; with
** some_views.none set, of nothing at all. */
#include <stdatomic.h>

#include "on_sim.h"

static plug_status host_view(int32_t device, void *base, void **view) {
  static _Atomic uint64_t asked;
  if (device == 1 || asked++ % 2 == 1 || host->option(host, "some_views.none"))
    return PLUG_UNSUPPORTED;
  return sim.host_view(device, base, view);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "some_views");
  if (status != PLUG_OK) return status;
  runtime.host_view = host_view;
  *out = &module;
  return PLUG_OK;
}
