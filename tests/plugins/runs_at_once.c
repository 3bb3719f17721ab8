/* Runs a host function on the calling thread, ahead of what its stream has to do. */
#include "on_sim.h"

static plug_status host_func(int32_t device, plug_stream stream,
                             void (*fn)(void *arg, plug_status status),
                             void (*release)(void *arg), void *arg) {
  (void)device, (void)stream;
  fn(arg, PLUG_OK);
  release(arg);
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "runs_at_once");
  if (status != PLUG_OK) return status;
  runtime.host_func = host_func;
  *out = &module;
  return PLUG_OK;
}
