/* direct.c - the device that small operators are measured on: synchronous, with memory that the host can
** reach, kernels for relu and add, and the same two as operators of its own. What remains of a call is what
** torchplug itself costs. With DIRECT_ANY it is the device `direct_any`: it has a kernel for any operator,
** and takes neg and sub by it. */
#include <stdlib.h>
#include <string.h>

#include "torchplug/plug.h"

static const plug_host* host;

static plug_status device_count(int32_t* count) {
  *count = 1;
  return PLUG_OK;
}

static plug_status device_info(int32_t device, plug_device_info* info) {
  static const plug_dtype dtypes[] = {PLUG_F32};
  (void)device;
  info->flags = PLUG_ADDRESSABLE | PLUG_INTEGRATED;
  info->name = "Direct";
  info->total_bytes = (uint64_t)1 << 32;
  info->alignment = 64;
  info->dtypes = dtypes;
  info->dtype_count = 1;
  return PLUG_OK;
}

static plug_status device_sync(int32_t device) {
  (void)device;
  return PLUG_OK;
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void** base) {
  (void)device;
  *base = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*base) return PLUG_OK;
  host->set_error(host, "the host has no memory left");
  return PLUG_NO_MEMORY;
}

static plug_status mem_free(int32_t device, void* base) {
  (void)device;
  free(base);
  return PLUG_OK;
}

static char* at(const plug_mem* mem) { return (char*)mem->base + mem->offset; }

static plug_status copy(int32_t device, plug_stream stream, const plug_mem* dst, const plug_mem* src,
                        uint64_t bytes) {
  (void)device, (void)stream;
  memmove(at(dst), at(src), bytes);
  return PLUG_OK;
}

static plug_status host_view(int32_t device, void* base, void** view) {
  (void)device;
  *view = base;
  return PLUG_OK;
}

static int64_t count(const plug_tensor* tensor) {
  int64_t n = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) n *= tensor->sizes[d];
  return n;
}

static plug_status relu(const plug_call* call) {
  const plug_tensor* in = call->args[0].as.tensors;
  const float* x = (const float*)at(&in->mem);
  float* y = (float*)at(&call->results[0].as.tensors->mem);
  const int64_t n = count(in);
  for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
  return PLUG_OK;
}

static plug_status add(const plug_call* call) {
  const plug_tensor* in = call->args[0].as.tensors;
  const float* x = (const float*)at(&in->mem);
  const float* y = (const float*)at(&call->args[1].as.tensors->mem);
  float* z = (float*)at(&call->results[0].as.tensors->mem);
  const int64_t n = count(in);
  if (call->args[2].tag != PLUG_VALUE_INT || call->args[2].as.i != 1) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < n; i++) z[i] = x[i] + y[i];
  return PLUG_OK;
}

#ifdef DIRECT_ANY
#define NAME "direct_any"

static plug_status neg(const plug_call* call) {
  const plug_tensor* in = call->args[0].as.tensors;
  const float* x = (const float*)at(&in->mem);
  float* y = (float*)at(&call->results[0].as.tensors->mem);
  const int64_t n = count(in);
  for (int64_t i = 0; i < n; i++) y[i] = -x[i];
  return PLUG_OK;
}

static plug_status sub(const plug_call* call) {
  const plug_tensor* in = call->args[0].as.tensors;
  const float* x = (const float*)at(&in->mem);
  const float* y = (const float*)at(&call->args[1].as.tensors->mem);
  float* z = (float*)at(&call->results[0].as.tensors->mem);
  const int64_t n = count(in);
  if (call->args[2].tag != PLUG_VALUE_INT || call->args[2].as.i != 1) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < n; i++) z[i] = x[i] - y[i];
  return PLUG_OK;
}

struct program {
  const char* name;
  plug_kernel_fn run;
};

/* What was made of a call, once for all that look like it. The benchmark's tensors are contiguous. */
static plug_status prepare_any(const plug_call* call, void** state) {
  static struct program programs[] = {{"aten::neg", neg}, {"aten::sub.Tensor", sub}};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    if (strcmp(call->name, programs[i].name) != 0) continue;
    *state = &programs[i];
    return PLUG_OK;
  }
  return PLUG_UNSUPPORTED;
}

static plug_status run_any(const plug_call* call) { return ((const struct program*)call->state)->run(call); }

static const plug_kernel any_kernel = {.fn = run_any, .prepare = prepare_any};
#define ANY (&any_kernel)
#else
#define NAME "direct"
#define ANY NULL
#endif

static const plug_kernel kernel_list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu, .accepts = PLUG_ACCEPTS_ALIAS},
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .fn = add,
     .accepts = PLUG_ACCEPTS_ALIAS},
    {.schema = NAME "::relu(Tensor self) -> Tensor", .fn = relu, .shapes = "self"},
    {.schema = NAME "::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .fn = add,
     .shapes = "self"},
};

static const plug_runtime runtime = {
    .size = sizeof runtime,
    .device_count = device_count,
    .device_info = device_info,
    .device_sync = device_sync,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .copy = copy,
    .host_view = host_view,
};

static const plug_kernels kernels = {
    .size = sizeof kernels,
    .kernel_size = sizeof(plug_kernel),
    .count = sizeof kernel_list / sizeof *kernel_list,
    .list = kernel_list,
    .any = ANY,
};

static const plug_module module = {
    .size = sizeof module,
    .abi_minor = PLUG_ABI_MINOR,
    .name = NAME,
    .version = "0.1",
    .runtime = &runtime,
    .kernels = &kernels,
};

plug_status torchplug_plugin_v0(const plug_host* h, const plug_module** out) {
  host = h;
  *out = &module;
  return PLUG_OK;
}
