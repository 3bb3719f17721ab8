/* A whole device whose memory has no addresses, as that of OpenCL and Vulkan has none:
** mem_alloc gives small numbers, and only base and offset lead to the bytes. The host
** sees a range of it while it is mapped, and no longer: what host_map gave is no memory
** after host_unmap. A range mapped for reading cannot be written; one mapped for writing
** alone holds something else than the device did. What uses a range that is mapped is
** refused. It converts, fills, captures by itself and draws random numbers.
** handles.maps: "off" for a plugin without host_map, "large" for one that maps nothing
** below 256 bytes. handles.largest: bytes of one mem_alloc. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "numbers.h"

enum { kSlots = 800, kMaps = 64, kMostTasks = 256, kDims = 64, kSmall = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */

static struct slot {
  char *memory; /* the device's own way to it; NULL: free */
  int file;
  uint64_t bytes;
} slots[kSlots];

static struct map {
  plug_mem mem;
  uint64_t bytes;
  uint32_t flags;
  char *view; /* NULL: free */
  char *pages;
  uint64_t page_bytes;
} maps[kMaps];

static bool maps_large_only;
static uint64_t largest;

/* ---- memory ---- */

static plug_status device_info(int32_t device, plug_device_info *info) {
  base_info(device, info);
  info->flags = 0;
  if (PLUG_HAS(info, largest_bytes)) info->largest_bytes = largest;
  return PLUG_OK;
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  (void)device;
  if (bytes > BASE_MEMORY || (largest && bytes > largest))
    return fail(PLUG_NO_MEMORY, "that is more than the device has");
  pthread_mutex_lock(&lock);
  size_t handle = 1;
  while (handle < kSlots && slots[handle].memory) handle++;
  struct slot *slot = handle < kSlots ? &slots[handle] : NULL;
  int file = slot ? memfd_create("handles", MFD_CLOEXEC) : -1;
  void *memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, (off_t)(bytes ? bytes : 1)) == 0) {
    memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (memory != MAP_FAILED) *slot = (struct slot){memory, file, bytes};
  pthread_mutex_unlock(&lock);
  if (memory == MAP_FAILED) {
    if (file >= 0) close(file);
    return fail(PLUG_NO_MEMORY, "no handle is left, or no memory");
  }
  *base = (void *)handle;
  return PLUG_OK;
}

static plug_status mem_free(int32_t device, void *base) {
  (void)device;
  pthread_mutex_lock(&lock);
  struct slot *slot = (size_t)base < kSlots ? &slots[(size_t)base] : NULL;
  const bool is_known = slot && slot->memory;
  if (is_known) {
    munmap(slot->memory, slot->bytes ? slot->bytes : 1);
    close(slot->file);
    *slot = (struct slot){NULL, -1, 0};
  }
  pthread_mutex_unlock(&lock);
  return is_known ? PLUG_OK : fail(PLUG_INVALID, "there is no such handle");
}

/* With lock held. */
static bool is_mapped(const plug_mem *mem, uint64_t offset, uint64_t bytes) {
  for (int i = 0; i < kMaps; i++) {
    const struct map *map = &maps[i];
    if (map->view && map->mem.base == mem->base && map->mem.offset < offset + bytes &&
        offset < map->mem.offset + map->bytes)
      return true;
  }
  return false;
}

/* Where the device finds so many bytes from `first` bytes past the place on; NULL if they
** are not all there, or mapped. The error is set then. */
static char *reach(const plug_mem *mem, int64_t first, uint64_t bytes) {
  if (mem->device == PLUG_HOST) return at(mem) + first;
  const uint64_t offset = mem->offset + (uint64_t)first;
  const char *wrong = NULL;
  char *found = NULL;
  pthread_mutex_lock(&lock);
  const struct slot *slot = (size_t)mem->base < kSlots ? &slots[(size_t)mem->base] : NULL;
  if (!slot || !slot->memory)
    wrong = "there is no such handle";
  else if (bytes > slot->bytes || offset > slot->bytes - bytes)
    wrong = "the range leaves its allocation";
  else if (is_mapped(mem, offset, bytes))
    wrong = "the range is mapped for the host";
  else
    found = slot->memory + offset;
  pthread_mutex_unlock(&lock);
  if (wrong) host->set_error(host, wrong);
  return found;
}

/* ---- a host view for a while ---- */

/* With lock held. The pages are those of the range, or, for writing alone, others. */
static char *map_pages(struct map *map, const struct slot *slot) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t begin = map->mem.offset / page * page;
  const uint64_t before = map->mem.offset - begin;
  map->page_bytes = before + map->bytes;
  if (map->flags == PLUG_MAP_WRITE) {
    map->pages = mmap(NULL, map->page_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map->pages != MAP_FAILED) memset(map->pages, 0xA5, map->page_bytes);
  } else {
    const int rights = map->flags & PLUG_MAP_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
    map->pages =
        mmap(NULL, map->page_bytes, rights, MAP_SHARED, slot->file, (off_t)begin);
  }
  return map->pages == MAP_FAILED ? NULL : map->pages + before;
}

static plug_status host_map(int32_t device, const plug_mem *mem, uint64_t bytes,
                            uint32_t flags, void **view) {
  (void)device;
  if (maps_large_only && bytes < kSmall) return PLUG_UNSUPPORTED;
  if (flags & ~(uint32_t)(PLUG_MAP_READ | PLUG_MAP_WRITE)) return PLUG_UNSUPPORTED;
  if (!reach(mem, 0, bytes)) return PLUG_INVALID;
  pthread_mutex_lock(&lock);
  struct map *map = NULL;
  for (int i = 0; i < kMaps && !map; i++) map = maps[i].view ? NULL : &maps[i];
  if (map) {
    *map = (struct map){*mem, bytes, flags, NULL, NULL, 0};
    map->view = map_pages(map, &slots[(size_t)mem->base]);
    if (map->view) *view = map->view;
  }
  const bool is_done = map && map->view;
  pthread_mutex_unlock(&lock);
  return is_done ? PLUG_OK : PLUG_UNSUPPORTED;
}

static plug_status host_unmap(int32_t device, const plug_mem *mem, uint64_t bytes,
                              void *view) {
  (void)device;
  pthread_mutex_lock(&lock);
  struct map *map = NULL;
  for (int i = 0; i < kMaps; i++) {
    if (maps[i].view == view && maps[i].bytes == bytes && maps[i].mem.base == mem->base)
      map = &maps[i];
  }
  if (map && map->flags == PLUG_MAP_WRITE)
    memcpy(slots[(size_t)mem->base].memory + mem->offset, view, bytes);
  if (map) {
    munmap(map->pages, map->page_bytes);
    map->view = NULL;
  }
  pthread_mutex_unlock(&lock);
  return map ? PLUG_OK : fail(PLUG_INVALID, "the range is not mapped");
}

/* ---- work: done at once, or kept by the capture ---- */

struct task {
  enum { kCopy, kFill, kStrided, kUniform, kRelu, kAdd } kind;
  plug_mem dst, src, other;
  uint64_t bytes;
  uint8_t byte;
  plug_tensor to, from;
  int64_t numbers[4][kDims]; /* sizes and strides of both */
  plug_rng rng;
  char *kept; /* host memory that was good at the capture only */
};

struct plug_capture_s {
  struct task *tasks[kMostTasks];
  int count;
  int32_t mode;
  bool is_spoilt;
};

static plug_capture capturing;

struct extent {
  int64_t first;
  uint64_t bytes;
};

static struct extent extent_of(const plug_tensor *tensor) {
  const int64_t item = PLUG_DTYPE_BYTES(tensor->dtype);
  int64_t first = 0, last = 0;
  for (int32_t d = 0; d < tensor->ndim; d++) {
    const int64_t step = (tensor->sizes[d] - 1) * tensor->strides[d] * item;
    if (tensor->sizes[d] == 0) return (struct extent){0, 0};
    *(step < 0 ? &first : &last) += step;
  }
  return (struct extent){first, (uint64_t)(last - first + item)};
}

static void copy_element(const plug_tensor *to, char *dst, const plug_tensor *from,
                         const char *src) {
  const uint32_t lazy = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG;
  if (to->dtype == from->dtype && ((to->flags ^ from->flags) & lazy) == 0) {
    memcpy(dst, src, PLUG_DTYPE_BYTES(to->dtype));
    return;
  }
  const number meant = apply_lazy_bits(read_number(from->dtype, src), from->flags);
  if ((to->flags & lazy) == 0) {
    write_number(to->dtype, dst, &meant);
    return;
  }
  char converted[16];
  write_number(to->dtype, converted, &meant);
  const number held = apply_lazy_bits(read_number(to->dtype, converted), to->flags);
  write_number(to->dtype, dst, &held);
}

static plug_status run_strided(const plug_tensor *to, const plug_tensor *from) {
  const struct extent of_to = extent_of(to), of_from = extent_of(from);
  int64_t index[kDims] = {0};
  if (of_to.bytes == 0) return PLUG_OK;
  char *dst = reach(&to->mem, of_to.first, of_to.bytes);
  const char *src = reach(&from->mem, of_from.first, of_from.bytes);
  if (!dst || !src) return PLUG_INVALID;
  dst -= of_to.first;
  src -= of_from.first;
  for (;;) {
    int64_t there = 0, here = 0;
    for (int32_t d = 0; d < to->ndim; d++) {
      there += index[d] * to->strides[d];
      here += index[d] * from->strides[d];
    }
    copy_element(to, dst + there * (int64_t)PLUG_DTYPE_BYTES(to->dtype), from,
                 src + here * (int64_t)PLUG_DTYPE_BYTES(from->dtype));
    int32_t d = to->ndim - 1;
    while (d >= 0 && ++index[d] == to->sizes[d]) index[d--] = 0;
    if (d < 0) return PLUG_OK;
  }
}

static void draw(float *out, uint64_t n, const plug_rng *rng, const uint64_t *replayed) {
  const uint64_t seed = replayed ? replayed[0] : rng->seed;
  const uint64_t offset = rng->offset + (replayed ? replayed[1] : 0);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t z = seed + 0x9e3779b97f4a7c15u * (offset + i + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    out[i] = (float)(z >> 41) / (float)(1 << 23);
  }
}

static plug_status run(const struct task *task) {
  const uint64_t n = task->bytes / sizeof(float);
  if (task->kind == kStrided) return run_strided(&task->to, &task->from);
  char *to = reach(&task->dst, 0, task->bytes);
  if (!to) return PLUG_INVALID;
  if (task->kind == kFill) {
    memset(to, task->byte, task->bytes);
    return PLUG_OK;
  }
  float *out = (float *)to;
  if (task->kind == kUniform) {
    const uint64_t *where = NULL;
    if (task->rng.location.base) {
      where = (const uint64_t *)reach(&task->rng.location, 0, 2 * sizeof *where);
      if (!where) return PLUG_INVALID;
    }
    draw(out, n, &task->rng, where);
    return PLUG_OK;
  }
  const char *from = task->kept ? task->kept : reach(&task->src, 0, task->bytes);
  if (!from) return PLUG_INVALID;
  if (task->kind == kCopy) {
    memmove(to, from, task->bytes);
    return PLUG_OK;
  }
  const float *x = (const float *)from;
  const float *y =
      task->kind == kAdd ? (const float *)reach(&task->other, 0, task->bytes) : x;
  if (!y) return PLUG_INVALID;
  for (uint64_t i = 0; i < n; i++)
    out[i] = task->kind == kAdd ? x[i] + y[i] : (x[i] < 0 ? 0 : x[i]);
  return PLUG_OK;
}

static void own_shape(struct task *task, plug_tensor *tensor, int place) {
  const size_t bytes = (size_t)tensor->ndim * sizeof(int64_t);
  if (bytes) memcpy(task->numbers[place], tensor->sizes, bytes);
  if (bytes) memcpy(task->numbers[place + 1], tensor->strides, bytes);
  tensor->sizes = task->numbers[place];
  tensor->strides = task->numbers[place + 1];
}

static plug_status run_or_keep(const struct task *given) {
  if (!capturing) return run(given);
  if (given->dst.device == PLUG_HOST)
    return fail(PLUG_INVALID, "host memory is not captured");
  struct task *task = malloc(sizeof *task);
  if (!task || capturing->count == kMostTasks) {
    free(task);
    return fail(PLUG_INVALID, "too much to capture");
  }
  *task = *given;
  if (task->kind == kStrided) {
    own_shape(task, &task->to, 0);
    own_shape(task, &task->from, 2);
  }
  if (task->kind == kCopy && task->src.device == PLUG_HOST) {
    task->kept = malloc(task->bytes);
    if (task->kept) memcpy(task->kept, at(&task->src), task->bytes);
  }
  capturing->tasks[capturing->count++] = task;
  return PLUG_OK;
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const uint32_t known = PLUG_MEM_PINNED | PLUG_MEM_FOREIGN;
  const struct task task = {.kind = kCopy, .dst = *dst, .src = *src, .bytes = bytes};
  (void)device, (void)stream;
  if ((dst->flags | src->flags) & ~known) return PLUG_UNSUPPORTED;
  return run_or_keep(&task);
}

static plug_status mem_fill(int32_t device, plug_stream stream, const plug_mem *dst,
                            uint8_t byte, uint64_t bytes) {
  const struct task task = {.kind = kFill, .dst = *dst, .byte = byte, .bytes = bytes};
  const uint32_t known = PLUG_MEM_FOREIGN;
  (void)device, (void)stream;
  if (dst->flags & ~known) return PLUG_UNSUPPORTED;
  return run_or_keep(&task);
}

static plug_status copy_strided(int32_t device, plug_stream stream,
                                const plug_tensor *dst, const plug_tensor *src) {
  const uint32_t known = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG | PLUG_TENSOR_WRITTEN;
  const bool is_plain = dst->dtype == src->dtype ||
                        (is_plain_type(dst->dtype) && is_plain_type(src->dtype));
  struct task task = {.kind = kStrided, .to = *dst, .from = *src, .dst = dst->mem};
  (void)device, (void)stream;
  if (dst->layout || src->layout || ((dst->flags | src->flags) & ~known) || !is_plain)
    return PLUG_UNSUPPORTED;
  if (((dst->flags ^ src->flags) & (PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG)) &&
      !is_plain_type(dst->dtype))
    return PLUG_UNSUPPORTED;
  return run_or_keep(&task);
}

/* ---- kernels: contiguous float32 ---- */

static plug_status launch(const plug_call *call, struct task *task) {
  const plug_tensor *out = call->results[0].as.tensors;
  if (out->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  task->dst = out->mem;
  task->bytes = (uint64_t)count_of(out) * sizeof(float);
  return task->bytes ? run_or_keep(task) : PLUG_OK;
}

static plug_status relu(const plug_call *call) {
  struct task task = {.kind = kRelu, .src = call->args[0].as.tensors->mem};
  return launch(call, &task);
}

static plug_status add(const plug_call *call) {
  struct task task = {.kind = kAdd,
                      .src = call->args[0].as.tensors->mem,
                      .other = call->args[1].as.tensors->mem};
  const plug_value *alpha = &call->args[2];
  if (alpha->tag != PLUG_VALUE_INT || alpha->as.i != 1) return PLUG_UNSUPPORTED;
  return launch(call, &task);
}

static plug_status uniform(const plug_call *call) {
  struct task task = {.kind = kUniform, .rng = {.size = sizeof(plug_rng)}};
  const plug_value *from = &call->args[1], *to = &call->args[2];
  const plug_tensor *out = call->results[0].as.tensors;
  if (from->as.f != 0 || to->as.f != 1 || out->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  const plug_status status = host->rng(host, call, (uint64_t)count_of(out), &task.rng);
  if (status != PLUG_OK) return status;
  if (capturing && !task.rng.location.base) return fail(PLUG_INVALID, "no location");
  return launch(call, &task);
}

/* ---- capture ---- */

static plug_status device_sync(int32_t device) {
  (void)device;
  if (!capturing || capturing->mode == PLUG_CAPTURE_RELAXED) return PLUG_OK;
  capturing->is_spoilt = true;
  return fail(PLUG_INVALID, "the device cannot be waited for while it captures");
}

static plug_status capture_begin(int32_t device, plug_stream stream, int32_t mode) {
  (void)device, (void)stream;
  if (mode < PLUG_CAPTURE_GLOBAL || mode > PLUG_CAPTURE_RELAXED) return PLUG_UNSUPPORTED;
  if (capturing) return fail(PLUG_INVALID, "a capture has begun already");
  capturing = calloc(1, sizeof *capturing);
  if (!capturing) return fail(PLUG_NO_MEMORY, "no memory is left");
  capturing->mode = mode;
  return PLUG_OK;
}

static plug_status capture_destroy(int32_t device, plug_capture capture) {
  (void)device;
  for (int i = 0; i < capture->count; i++) {
    free(capture->tasks[i]->kept);
    free(capture->tasks[i]);
  }
  free(capture);
  return PLUG_OK;
}

static plug_status capture_end(int32_t device, plug_stream stream, plug_capture *out) {
  (void)device, (void)stream;
  if (!capturing) return fail(PLUG_INVALID, "no capture has begun");
  plug_capture ended = capturing;
  capturing = NULL;
  if (ended->is_spoilt) {
    capture_destroy(device, ended);
    return fail(PLUG_INVALID, "somebody waited for the device while it captured");
  }
  *out = ended;
  return PLUG_OK;
}

static plug_status capture_replay(int32_t device, plug_capture capture,
                                  plug_stream stream) {
  (void)device, (void)stream;
  for (int i = 0; i < capture->count; i++) {
    const plug_status status = run(capture->tasks[i]);
    if (status != PLUG_OK) return status;
  }
  return PLUG_OK;
}

static const plug_dtype kFloat[] = {PLUG_F32};
static const plug_kernel list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .fn = relu,
     .dtypes = kFloat,
     .dtype_count = 1},
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .fn = add,
     .dtypes = kFloat,
     .dtype_count = 1},
    {.schema = "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? "
               "generator=None) -> Tensor",
     .fn = uniform,
     .dtypes = kFloat,
     .dtype_count = 1},
};

static void add_maps(void) {
  const char *wish = host->option(host, "handles.maps");
  if (wish && strcmp(wish, "off") == 0) return;
  maps_large_only = wish && strcmp(wish, "large") == 0;
  runtime.host_map = host_map;
  runtime.host_unmap = host_unmap;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "handles");
  const char *limit = host->option(host, "handles.largest");
  largest = limit ? strtoull(limit, NULL, 10) : 0;
  runtime.device_info = device_info;
  runtime.device_sync = device_sync;
  runtime.mem_alloc = mem_alloc;
  runtime.mem_free = mem_free;
  runtime.copy = copy;
  runtime.mem_fill = mem_fill;
  runtime.copy_strided = copy_strided;
  runtime.capture_begin = capture_begin;
  runtime.capture_end = capture_end;
  runtime.capture_replay = capture_replay;
  runtime.capture_destroy = capture_destroy;
  add_maps();
  add_kernels(list, sizeof list / sizeof *list);
  *out = &module;
  return PLUG_OK;
}
