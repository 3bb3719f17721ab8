/* Fills at once, whatever its stream still has to do. */
#include "on_sim.h"

static plug_status mem_fill(int32_t device, plug_stream stream, const plug_mem *dst,
                            uint8_t byte, uint64_t bytes) {
  (void)stream;
  plug_stream own = own_stream(device);
  return finish(device, own, sim.mem_fill(device, own, dst, byte, bytes));
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "fills_at_once");
  if (status != PLUG_OK) return status;
  runtime.mem_fill = mem_fill;
  *out = &module;
  return PLUG_OK;
}
