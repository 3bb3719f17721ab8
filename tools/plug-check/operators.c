/* Operators of the plugin's own: what its table says of them. */
#include "kernels.h"

static void operators(void) {
  int own = 0;
  if (!module.kernels) absent("there are no operators of its own");
  need_kernels();
  for (uint32_t i = 0; i < kernel_count; i++) {
    const plug_kernel kernel = kernels[i];
    expect(kernel.schema && kernel.fn, "kernel %u has no %s", i,
           kernel.schema ? "function" : "schema");
    if (!is_own(&kernel)) {
      expect(module.runtime != NULL,
             "%s is not in the namespace '%s', and the plugin has no device",
             kernel.schema, module.name);
      expect(!(kernel.accepts & PLUG_ACCEPTS_HOST),
             "%s has PLUG_ACCEPTS_HOST, which is for operators of its own",
             kernel.schema);
      continue;
    }
    own++;
    expect(module.runtime || (kernel.accepts & PLUG_ACCEPTS_HOST),
           "%s lacks PLUG_ACCEPTS_HOST, and the plugin has no device", kernel.schema);
    const int ways = (kernel.shapes != NULL) + (kernel.shape != NULL) +
                     ((kernel.accepts & PLUG_SHAPES_OUTPUT) != 0);
    expect(ways < 2, "%s says in more than one way what its results look like",
           kernel.schema);
    expect(!kernel.forget || kernel.prepare, "%s has forget and no prepare",
           kernel.schema);
  }
  if (!own) absent("there are no operators of its own");
}

const struct check operator_checks[] = {
    {.name = "operators",
     .promise = "operators of its own are described as the header says",
     .run = operators,
     .begins = LOADED},
    {.name = NULL},
};
