/* examples/compiler on memory without addresses: mem_alloc gives small numbers, and only
** base and offset lead to the bytes. */
#include <pthread.h>

#include "on_fuse.h"

enum { kSlots = 4096, kMost = 64 };

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static void *slots[kSlots];
static plug_runtime open_runtime; /* the example's own */
static plug_host open_host;       /* what the example sees: with addresses */

static plug_status device_info(int32_t device, plug_device_info *info) {
  const plug_status status = open_runtime.device_info(device, info);
  info->flags &= ~(uint32_t)PLUG_ADDRESSABLE;
  return status;
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  void *memory = NULL;
  const plug_status status = open_runtime.mem_alloc(device, bytes, &memory);
  if (status != PLUG_OK) return status;
  pthread_mutex_lock(&slots_lock);
  size_t handle = 1;
  while (handle < kSlots && slots[handle]) handle++;
  if (handle < kSlots) slots[handle] = memory;
  pthread_mutex_unlock(&slots_lock);
  if (handle == kSlots) {
    open_runtime.mem_free(device, memory);
    return fail(PLUG_NO_MEMORY, "no handle is left");
  }
  *base = (void *)handle;
  return PLUG_OK;
}

static plug_status mem_free(int32_t device, void *base) {
  pthread_mutex_lock(&slots_lock);
  void *memory = slots[(size_t)base];
  slots[(size_t)base] = NULL;
  pthread_mutex_unlock(&slots_lock);
  return open_runtime.mem_free(device, memory);
}

/* The same place with an address. */
static plug_mem opened(plug_mem mem) {
  if (mem.device == PLUG_HOST || !mem.base) return mem;
  pthread_mutex_lock(&slots_lock);
  mem.base = (size_t)mem.base < kSlots ? slots[(size_t)mem.base] : NULL;
  pthread_mutex_unlock(&slots_lock);
  return mem;
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const plug_mem to = opened(*dst), from = opened(*src);
  return open_runtime.copy(device, stream, &to, &from, bytes);
}

static void open_values(const plug_value *from, uint32_t count, plug_value *to,
                        plug_tensor *tensors) {
  for (uint32_t i = 0; i < count; i++) {
    to[i] = from[i];
    if (from[i].tag != PLUG_VALUE_TENSOR) continue;
    tensors[i] = *from[i].as.tensors;
    tensors[i].mem = opened(tensors[i].mem);
    to[i].as.tensors = &tensors[i];
  }
}

static plug_status run(const plug_call *call) {
  plug_value args[kMost], results[kMost];
  plug_tensor given[kMost], made[kMost];
  plug_call inside = *call;
  if (call->arg_count > kMost || call->result_count > kMost)
    return fail(PLUG_UNSUPPORTED, "there are too many tensors");
  open_values(call->args, call->arg_count, args, given);
  open_values(call->results, call->result_count, results, made);
  inside.args = args;
  inside.results = results;
  return fuse.run(&inside);
}

static plug_status scratch(const plug_host *given, const plug_call *call, uint64_t bytes,
                           plug_mem *mem) {
  (void)given;
  const plug_status status = host->scratch(host, call, bytes, mem);
  if (status == PLUG_OK) *mem = opened(*mem);
  return status;
}

static void set_error(const plug_host *given, const char *message) {
  (void)given;
  host->set_error(host, message);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  host = given;
  open_host = *given;
  open_host.scratch = scratch;
  open_host.set_error = set_error;
  const plug_status status = make_fuse(&open_host, "opaque_fuse");
  if (status != PLUG_OK) return status;
  open_runtime = runtime;
  runtime.device_info = device_info;
  runtime.mem_alloc = mem_alloc;
  runtime.mem_free = mem_free;
  runtime.copy = copy;
  module.kernels = NULL; /* they want addresses */
  compiler.run = run;
  *out = &module;
  return PLUG_OK;
}
