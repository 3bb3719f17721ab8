/* Asks the host for one call at a time and counts calls that overlap all the same. A
** call made from inside another by the same thread (a kernel's scratch) is no
** overlap. */
#include "serial.h"

#include <sched.h>
#include <stdatomic.h>

#include "base.h"

static atomic_ullong calls;
static atomic_ullong overlaps;
static atomic_int inside;
static _Thread_local int depth;

uint64_t serial_calls(void) { return calls; }
uint64_t serial_overlaps(void) { return overlaps; }
const plug_runtime *serial_runtime(void) { return &runtime; }

static void enter(void) {
  calls++;
  if (depth++ == 0 && atomic_fetch_add(&inside, 1) != 0) overlaps++;
  sched_yield(); /* an overlap is likelier if the others get their turn here */
}

static plug_status leave(plug_status status) {
  if (--depth == 0) atomic_fetch_sub(&inside, 1);
  return status;
}

static plug_status device_count(int32_t *number) {
  enter();
  return leave(base_count(number));
}

static plug_status device_info(int32_t device, plug_device_info *filled) {
  enter();
  return leave(base_info(device, filled));
}

static plug_status device_sync(int32_t device) {
  enter();
  return leave(base_sync(device));
}

static plug_status device_open(int32_t device) {
  enter();
  return leave(base_sync(device));
}

static plug_status shut_down(void) {
  enter();
  return leave(PLUG_OK);
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  enter();
  return leave(base_alloc(device, bytes, base));
}

static plug_status mem_free(int32_t device, void *base) {
  enter();
  return leave(base_free(device, base));
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  enter();
  return leave(base_copy(device, stream, dst, src, bytes));
}

static plug_status relu(const plug_call *call) {
  enter();
  return leave(base_relu(call));
}

/* Negates by way of scratch memory, which may take the host back into mem_alloc. */
static plug_status neg(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  const int64_t n = count_of(in);
  plug_mem scratch;
  enter();
  if (in->dtype != PLUG_F32) return leave(PLUG_UNSUPPORTED);
  if (host->scratch(host, call, (uint64_t)n * sizeof(float), &scratch) != PLUG_OK)
    return leave(PLUG_NO_MEMORY);
  float *row = (float *)at(&scratch);
  memcpy(row, at(&in->mem), (size_t)n * sizeof(float));
  float *y = (float *)at(&call->results[0].as.tensors->mem);
  for (int64_t i = 0; i < n; i++) y[i] = -row[i];
  return leave(PLUG_OK);
}

static const plug_kernel list[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu},
    {.schema = "aten::neg(Tensor self) -> Tensor", .fn = neg},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "serial");
  runtime.device_count = device_count;
  runtime.device_info = device_info;
  runtime.device_sync = device_sync;
  runtime.device_open = device_open;
  runtime.shutdown = shut_down;
  runtime.mem_alloc = mem_alloc;
  runtime.mem_free = mem_free;
  runtime.copy = copy;
  module.flags = PLUG_SERIALIZE;
  add_kernels(list, sizeof list / sizeof *list);
  *out = &module;
  return PLUG_OK;
}
