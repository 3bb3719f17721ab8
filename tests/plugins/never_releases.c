/* Never releases the argument of a host function. */
#include "on_sim.h"

static void keep(void *arg) { (void)arg; }

static plug_status host_func(int32_t device, plug_stream stream,
                             void (*fn)(void *arg, plug_status status),
                             void (*release)(void *arg), void *arg) {
  (void)release;
  return sim.host_func(device, stream, fn, keep, arg);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "never_releases");
  if (status != PLUG_OK) return status;
  runtime.host_func = host_func;
  *out = &module;
  return PLUG_OK;
}
