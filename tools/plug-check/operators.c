/* Operators of the plugin's own: what its table says of them. */
#include <string.h>

#include "check.h"

static plug_kernels kernels;

/* The kernel as its owner knew it. */
static plug_kernel kernel_at(uint32_t index) {
  plug_kernel kernel;
  adopt(&kernel, sizeof kernel,
        (const char *)kernels.list + (size_t)index * kernels.kernel_size,
        kernels.kernel_size);
  return kernel;
}

/* The length of "acme::" if the schema is in the plugin's namespace, else 0. */
static size_t own_prefix(const plug_kernel *kernel) {
  const size_t length = strlen(module.name);
  const bool is_own = strncmp(kernel->schema, module.name, length) == 0 &&
                      strncmp(kernel->schema + length, "::", 2) == 0;
  return is_own ? length + 2 : 0;
}

static void read_kernels(void) {
  if (!module.kernels) absent("there are no operators of its own");
  adopt(&kernels, sizeof kernels, module.kernels, module.kernels->size);
  expect(kernels.count == 0 || (kernels.list && kernels.kernel_size),
         "plug_kernels has a count of %u and no list or no kernel_size", kernels.count);
}

static void operators(void) {
  int own = 0;
  read_kernels();
  for (uint32_t i = 0; i < kernels.count; i++) {
    const plug_kernel kernel = kernel_at(i);
    expect(kernel.schema && kernel.fn, "kernel %u has no %s", i,
           kernel.schema ? "function" : "schema");
    if (!own_prefix(&kernel)) {
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
