/* Loses its device with the first host function that it is given, and tells the function.
 */
#include "base.h"

static plug_status host_func(int32_t device, plug_stream stream,
                             void (*fn)(void *arg, plug_status status),
                             void (*release)(void *arg), void *arg) {
  (void)device, (void)stream;
  fn(arg, PLUG_LOST);
  release(arg);
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "lost_jobs");
  runtime.host_func = host_func;
  *out = &module;
  return PLUG_OK;
}
