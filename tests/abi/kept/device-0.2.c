/* A small whole device as its vendor built it with plug.h 0.2: it never changes, and
** every later torchplug loads and runs it. Built against plug-0.2.h beside it; what its
** tables held is in device-0.2.sha256. */
#include <stdlib.h>
#include <string.h>

#include "plug-0.2.h"

static const plug_host *host;

static plug_status fail(plug_status status, const char *why) {
  host->set_error(host, why);
  return status;
}

static plug_status device_count(int32_t *count) {
  *count = 2;
  return PLUG_OK;
}

static plug_status device_info(int32_t device, plug_device_info *info) {
  static const plug_dtype dtypes[] = {PLUG_F32, PLUG_F64, PLUG_I64, PLUG_BOOL};
  plug_device_info filled = {.size = info->size,
                             .flags = PLUG_ADDRESSABLE,
                             .name = "Kept 0.2",
                             .total_bytes = (uint64_t)1 << 30,
                             .alignment = 64,
                             .dtypes = dtypes,
                             .dtype_count = 4,
                             .processor_count = 1,
                             .largest_bytes = (uint64_t)1 << 29,
                             .cache_bytes = 1 << 20,
                             .shared_bytes = 1 << 14,
                             .simd_width = 8};
  if (device == 1) filled.flags |= PLUG_LACKS_HOST_VIEW;
  memcpy(info, &filled, info->size < sizeof filled ? info->size : sizeof filled);
  return PLUG_OK;
}

static plug_status device_sync(int32_t device) {
  (void)device;
  return PLUG_OK;
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  void *memory = NULL;
  (void)device;
  if (bytes <= (uint64_t)1 << 29) memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!memory) return fail(PLUG_NO_MEMORY, "the device has no memory left");
  *base = memory;
  return PLUG_OK;
}

static plug_status mem_free(int32_t device, void *base) {
  (void)device;
  free(base);
  return PLUG_OK;
}

static char *at(const plug_mem *mem) { return (char *)mem->base + mem->offset; }

static const uint32_t known_flags = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  (void)device, (void)stream;
  if ((dst->flags | src->flags) & ~known_flags) return PLUG_UNSUPPORTED;
  memmove(at(dst), at(src), bytes);
  return PLUG_OK;
}

static plug_status mem_fill(int32_t device, plug_stream stream, const plug_mem *dst,
                            uint8_t byte, uint64_t bytes) {
  (void)device, (void)stream;
  if (dst->flags & ~known_flags) return PLUG_UNSUPPORTED;
  memset(at(dst), byte, bytes);
  return PLUG_OK;
}

/* Contiguous, of one type, or float32 to float64 and back; the CPU does all else. */
static plug_status copy_strided(int32_t device, plug_stream stream,
                                const plug_tensor *dst, const plug_tensor *src) {
  int64_t count = 1;
  (void)device, (void)stream;
  for (int32_t d = dst->ndim - 1; d >= 0; d--) {
    if (dst->strides[d] != count || src->strides[d] != count) return PLUG_UNSUPPORTED;
    count *= dst->sizes[d];
  }
  if (dst->flags | src->flags | dst->layout | src->layout) return PLUG_UNSUPPORTED;
  if (dst->dtype == src->dtype) {
    memcpy(at(&dst->mem), at(&src->mem), (size_t)count * PLUG_DTYPE_BYTES(dst->dtype));
    return PLUG_OK;
  }
  if (dst->dtype == PLUG_F64 && src->dtype == PLUG_F32) {
    for (int64_t i = 0; i < count; i++)
      ((double *)at(&dst->mem))[i] = ((const float *)at(&src->mem))[i];
    return PLUG_OK;
  }
  if (dst->dtype == PLUG_F32 && src->dtype == PLUG_F64) {
    for (int64_t i = 0; i < count; i++)
      ((float *)at(&dst->mem))[i] = (float)((const double *)at(&src->mem))[i];
    return PLUG_OK;
  }
  return PLUG_UNSUPPORTED;
}

static plug_status host_view(int32_t device, void *base, void **view) {
  (void)device;
  *view = base;
  return PLUG_OK;
}

static plug_status host_map(int32_t device, const plug_mem *mem, uint64_t bytes,
                            uint32_t flags, void **view) {
  (void)device, (void)bytes, (void)flags;
  *view = at(mem);
  return PLUG_OK;
}

static plug_status host_unmap(int32_t device, const plug_mem *mem, uint64_t bytes,
                              void *view) {
  (void)device, (void)mem, (void)bytes, (void)view;
  return PLUG_OK;
}

static const plug_runtime runtime = {.size = sizeof(plug_runtime),
                                     .device_count = device_count,
                                     .device_info = device_info,
                                     .device_sync = device_sync,
                                     .mem_alloc = mem_alloc,
                                     .mem_free = mem_free,
                                     .copy = copy,
                                     .mem_fill = mem_fill,
                                     .copy_strided = copy_strided,
                                     .host_view = host_view,
                                     .host_map = host_map,
                                     .host_unmap = host_unmap};

static int64_t count_of(const plug_tensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= tensor->sizes[d];
  return count;
}

static plug_status relu(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const float *x = (const float *)at(&in->mem);
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  if (in->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(in); i++) y[i] = x[i] < 0 ? 0 : x[i];
  return PLUG_OK;
}

static plug_status uniform(const plug_call *call) {
  const plug_tensor *out = call->results[0].as.tensors;
  float *y = (float *)at(&out->mem);
  plug_rng rng = {.size = sizeof rng};
  if (out->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  const plug_status status = host->rng(host, call, (uint64_t)count_of(out), &rng);
  if (status != PLUG_OK) return status;
  for (int64_t i = 0; i < count_of(out); i++) {
    const uint64_t z = (rng.seed + 1) * 0x9e3779b97f4a7c15u +
                       (rng.offset + (uint64_t)i) * 0xbf58476d1ce4e5b9u;
    y[i] = (float)(z >> 40) / (float)(1 << 24);
  }
  return PLUG_OK;
}

static const plug_dtype kFloat[] = {PLUG_F32};
static const plug_kernel list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .fn = relu,
     .accepts = PLUG_ACCEPTS_DENSE | PLUG_ACCEPTS_ALIAS,
     .dtypes = kFloat,
     .dtype_count = 1},
    {.schema = "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? "
               "generator=None) -> Tensor",
     .fn = uniform},
};
static const plug_kernels kernels = {.size = sizeof(plug_kernels),
                                     .kernel_size = sizeof(plug_kernel),
                                     .count = 2,
                                     .list = list};

static const plug_autocast_rule rules[] = {{"aten::relu", PLUG_AUTOCAST_F32, 0}};
static const plug_dtype lower[] = {PLUG_BF16, PLUG_F32};
static const plug_autocast autocast = {.size = sizeof(plug_autocast),
                                       .rule_size = sizeof(plug_autocast_rule),
                                       .rule_count = 1,
                                       .dtype = PLUG_BF16,
                                       .dtypes = lower,
                                       .dtype_count = 2,
                                       .rules = rules};

static const plug_module module = {.size = sizeof(plug_module),
                                   .abi_minor = 2,
                                   .name = "kept",
                                   .version = "0.2",
                                   .runtime = &runtime,
                                   .kernels = &kernels,
                                   .autocast = &autocast};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  host = given;
  *out = &module;
  return PLUG_OK;
}
