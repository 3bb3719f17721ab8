/* Operators of the plugin's own whose results are lists that the kernel asks for: the
** rows of a matrix, and own_operators.h's lists of numbers. */
#define NAME "lists"
#include "own_operators.h"

static plug_status rows(const plug_call *call) {
  const plug_tensor *x = arg(call, 0);
  const int64_t length = x->sizes[1];
  for (int64_t r = 0; r < x->sizes[0]; r++) {
    const plug_status status = host->output(host, call, 0, PLUG_F32, 1, &length, NULL);
    if (status != PLUG_OK) return status;
    memcpy(data_of(&call->results[0].as.tensors[r]), data_of(x) + r * length,
           (size_t)length * sizeof(float));
  }
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static plug_kernel list[2] = {{.schema = NAME "::rows(Tensor x) -> Tensor[]",
                                 .fn = rows,
                                 .accepts = PLUG_SHAPES_OUTPUT}};
  make_device(given, NAME);
  for (size_t i = 0; i < sizeof own_operators / sizeof *own_operators; i++) {
    if (own_operators[i].fn == positives) list[1] = own_operators[i];
  }
  list[1].accepts |= PLUG_SHAPES_OUTPUT;
  add_kernels(list, 2);
  *out = &module;
  return PLUG_OK;
}
