/* base.h - a tiny synchronous device made of RAM, for plugins that differ from it in
** one thing. A variant includes this, calls make_device() in its entry point and
** changes what it is about. */
#ifndef TORCHPLUG_TESTS_BASE_H
#define TORCHPLUG_TESTS_BASE_H

#include <stdlib.h>
#include <string.h>

#include "torchplug/plug.h"

#define BASE_MEMORY \
  ((uint64_t)1 << 30) /* bytes; more in one allocation is PLUG_NO_MEMORY */

static const plug_host *host;
static plug_runtime runtime;
static plug_kernels kernels;
static plug_module module;

static inline plug_status fail(plug_status status, const char *why) {
  host->set_error(host, why);
  return status;
}

static inline plug_status base_count(int32_t *count) {
  *count = 1;
  return PLUG_OK;
}

static inline plug_status base_info(int32_t device, plug_device_info *info) {
  static const plug_dtype dtypes[] = {PLUG_F32, PLUG_F64,  PLUG_I32,
                                      PLUG_I64, PLUG_BOOL, PLUG_C64};
  (void)device;
  info->flags = PLUG_ADDRESSABLE;
  info->name = "A test's device";
  info->total_bytes = BASE_MEMORY;
  info->alignment = 64;
  info->dtypes = dtypes;
  info->dtype_count = sizeof dtypes / sizeof *dtypes;
  return PLUG_OK;
}

static inline plug_status base_sync(int32_t device) {
  (void)device;
  return PLUG_OK;
}

static inline plug_status base_alloc(int32_t device, uint64_t bytes, void **base) {
  void *memory = NULL;
  (void)device;
  if (bytes <= BASE_MEMORY) memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) return fail(PLUG_NO_MEMORY, "the device has no memory left");
  *base = memory;
  return PLUG_OK;
}

static inline plug_status base_free(int32_t device, void *base) {
  (void)device;
  free(base);
  return PLUG_OK;
}

static inline char *at(const plug_mem *mem) { return (char *)mem->base + mem->offset; }

static inline plug_status base_copy(int32_t device, plug_stream stream,
                                    const plug_mem *dst, const plug_mem *src,
                                    uint64_t bytes) {
  const uint32_t known = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;
  (void)device, (void)stream;
  if ((dst->flags | src->flags) & ~known) return PLUG_UNSUPPORTED;
  memmove(at(dst), at(src), bytes);
  return PLUG_OK;
}

static inline int64_t count_of(const plug_tensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= tensor->sizes[d];
  return count;
}

/* Of contiguous float tensors. */
static inline plug_status base_relu(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const float *x = (const float *)at(&in->mem);
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  if (in->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(in); i++) y[i] = x[i] < 0 ? 0 : x[i];
  return PLUG_OK;
}

/* Fills the tables: a whole device called `name`, without kernels. */
static inline void make_device(const plug_host *given, const char *name) {
  host = given;
  runtime.size = sizeof runtime;
  runtime.device_count = base_count;
  runtime.device_info = base_info;
  runtime.device_sync = base_sync;
  runtime.mem_alloc = base_alloc;
  runtime.mem_free = base_free;
  runtime.copy = base_copy;
  module.size = sizeof module;
  module.abi_minor = PLUG_ABI_MINOR;
  module.name = name;
  module.version = "1.2.3";
  module.runtime = &runtime;
}

static inline void add_kernels(const plug_kernel *list, uint32_t count) {
  kernels.size = sizeof kernels;
  kernels.kernel_size = sizeof(plug_kernel);
  kernels.count = count;
  kernels.list = list;
  module.kernels = &kernels;
}

#endif
