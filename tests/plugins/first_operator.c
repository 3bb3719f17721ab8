/* The plugin of docs/operators.md: no device, two operators. */
#include <stddef.h>

#include "torchplug/plug.h"

static const plug_host *host;

static int64_t count_of(const plug_tensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= tensor->sizes[d];
  return count;
}

static float *data_of(const plug_tensor *tensor) {
  return (float *)((char *)tensor->mem.base + tensor->mem.offset);
}

/* y = x * by */
static plug_status scale(const plug_call *call) {
  const plug_tensor *x = call->args[0].as.tensors, *y = call->results[0].as.tensors;
  if (x->dtype != PLUG_F32) {
    host->set_error(host, "scale is for float32");
    return PLUG_UNSUPPORTED;
  }
  for (int64_t i = 0; i < count_of(x); i++)
    data_of(y)[i] = data_of(x)[i] * (float)call->args[1].as.f;
  return PLUG_OK;
}

/* cache[at] = x */
static plug_status store(const plug_call *call) {
  const plug_tensor *cache = call->args[0].as.tensors, *x = call->args[1].as.tensors;
  const int64_t at = call->args[2].as.i, rows = cache->ndim > 0 ? cache->sizes[0] : 0;
  if (at < 0 || at >= rows || count_of(x) * rows != count_of(cache)) {
    host->set_error(host, "store needs a row of the cache, and where it is");
    return PLUG_INVALID;
  }
  float *row = data_of(cache) + at * count_of(x);
  for (int64_t i = 0; i < count_of(x); i++) row[i] = data_of(x)[i];
  return PLUG_OK;
}

static const plug_kernel operators[] = {
    {.schema = "first::scale(Tensor x, float by=1.0) -> Tensor",
     .fn = scale,
     .accepts = PLUG_ACCEPTS_HOST,
     .shapes = "x",
     .gradient = "x: first::scale(grad, by)"},
    {.schema = "first::store(Tensor(a!) cache, Tensor x, int at) -> ()",
     .fn = store,
     .accepts = PLUG_ACCEPTS_HOST},
};

static const plug_kernels kernels = {
    .size = sizeof kernels,
    .kernel_size = sizeof(plug_kernel),
    .count = sizeof operators / sizeof *operators,
    .list = operators,
};

static const plug_module module = {
    .size = sizeof module,
    .abi_minor = PLUG_ABI_MINOR,
    .name = "first", /* the namespace */
    .version = "0.1",
    .kernels = &kernels, /* and no .runtime */
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  host = given;
  *out = &module;
  return PLUG_OK;
}
