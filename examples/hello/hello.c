/* hello.c - a whole device in one file: one synchronous device made of RAM.
** cc -std=c11 -shared -fPIC -Iinclude hello.c -o libhello.so */
#include <stdlib.h>
#include <string.h>

#include "torchplug/plug.h"

static const plug_host *host;

static plug_status fail(plug_status status, const char *why) {
  host->set_error(host, why);
  return status;
}

/* The six functions that make a device. */

static plug_status device_count(int32_t *count) {
  *count = 1;
  return PLUG_OK;
}

static plug_status device_info(int32_t device, plug_device_info *info) {
  static const plug_dtype dtypes[] = {PLUG_F32};
  (void)device;
  info->flags = PLUG_ADDRESSABLE;
  info->name = "Hello";
  info->total_bytes = (uint64_t)1 << 32;
  info->alignment = 64;
  info->dtypes = dtypes;
  info->dtype_count = 1;
  return PLUG_OK;
}

static plug_status device_sync(int32_t device) {
  (void)device;
  return PLUG_OK; /* all work is done when a call returns */
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  void *memory = NULL;
  (void)device;
  if (bytes <= SIZE_MAX - 63) memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) return fail(PLUG_NO_MEMORY, "the host has no memory left");
  *base = memory;
  return PLUG_OK;
}

static plug_status mem_free(int32_t device, void *base) {
  (void)device;
  free(base);
  return PLUG_OK;
}

static char *at(const plug_mem *mem) { return (char *)mem->base + mem->offset; }

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const uint32_t known = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;
  (void)device, (void)stream;
  if ((dst->flags | src->flags) & ~known) return PLUG_UNSUPPORTED;
  memmove(at(dst), at(src), bytes);
  return PLUG_OK;
}

/* A kernel makes one operator fast; every other one still works. This serves
** relu(x), relu_(x) and relu(x, out=y). */

static plug_status relu(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const plug_tensor *out = call->results[0].as.tensors;
  const float *x = (const float *)at(&in->mem);
  float *y = (float *)at(&out->mem);
  int64_t n = 1;
  for (int32_t d = 0; d < in->ndim; d++) n *= in->sizes[d];
  for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
  return PLUG_OK;
}

static const plug_kernel kernel_list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .fn = relu,
     .accepts = PLUG_ACCEPTS_ALIAS},
};

/* The tables. */

static const plug_runtime runtime = {
    .size = sizeof runtime,
    .device_count = device_count,
    .device_info = device_info,
    .device_sync = device_sync,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .copy = copy,
};

static const plug_kernels kernels = {
    .size = sizeof kernels,
    .kernel_size = sizeof(plug_kernel),
    .count = sizeof kernel_list / sizeof *kernel_list,
    .list = kernel_list,
};

static const plug_module module = {
    .size = sizeof module,
    .abi_minor = PLUG_ABI_MINOR,
    .name = "hello",
    .version = "0.1",
    .runtime = &runtime,
    .kernels = &kernels,
};

plug_status torchplug_plugin_v0(const plug_host *h, const plug_module **out) {
  host = h;
  *out = &module;
  return PLUG_OK;
}
