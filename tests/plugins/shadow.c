/* Another plugin, named by shadow.sim, behind a wall that counts what passes and breaks
** what it is told to. With shadow.opaque set the host gets no view of the memory; with
** shadow.plain, streams have no handles of another library's. */
#include "shadow.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kKernels = 64, kSentence = 128 };

static const plug_host *host;
static plug_runtime inner;
static plug_runtime runtime;
static plug_kernel list[kKernels];
static plug_kernels kernels;
static plug_module module;

static struct function {
  const char *name;
  atomic_ullong calls;
  atomic_int broken; /* the plug_status of the next call; 0: none */
  char sentence[kSentence];
} functions[] = {
    {"device_open", 0, 0, ""},  {"device_sync", 0, 0, ""},   {"mem_alloc", 0, 0, ""},
    {"mem_free", 0, 0, ""},     {"copy", 0, 0, ""},          {"stream_create", 0, 0, ""},
    {"stream_query", 0, 0, ""}, {"stream_sync", 0, 0, ""},   {"event_create", 0, 0, ""},
    {"event_record", 0, 0, ""}, {"event_wait", 0, 0, ""},    {"event_query", 0, 0, ""},
    {"event_sync", 0, 0, ""},   {"event_destroy", 0, 0, ""}, {"host_func", 0, 0, ""},
    {"copy_strided", 0, 0, ""}, {"mem_fill", 0, 0, ""},      {"kernel", 0, 0, ""},
};
enum {
  kOpen,
  kSync,
  kAlloc,
  kFree,
  kCopy,
  kStream,
  kStreamQuery,
  kStreamSync,
  kEvent,
  kRecord,
  kWait,
  kEventQuery,
  kEventSync,
  kEventDestroy,
  kHostFunc,
  kCopyStrided,
  kFill,
  kKernel
};

static atomic_int last_priority;
static _Atomic(const char *) last_name;
static atomic_ullong last_sequence;
static atomic_int report_status;
static char report_sentence[kSentence];

static struct function *find(const char *name) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(functions[i].name, name) == 0) return &functions[i];
  }
  abort(); /* a test asks for what is not there */
}

/* Counts the call. Not PLUG_OK: it is to fail so. */
static plug_status enter(int which) {
  struct function *function = &functions[which];
  atomic_fetch_add(&function->calls, 1);
  plug_status status = atomic_exchange(&function->broken, PLUG_OK);
  if (status >= PLUG_INVALID) host->set_error(host, function->sentence);
  return status;
}

uint64_t shadow_count(const char *function) { return find(function)->calls; }

void shadow_break(const char *function, plug_status status, const char *sentence) {
  struct function *broken = find(function);
  snprintf(broken->sentence, kSentence, "%s", sentence);
  atomic_store(&broken->broken, status);
}

void shadow_report_next(plug_status status, const char *sentence) {
  snprintf(report_sentence, kSentence, "%s", sentence);
  atomic_store(&report_status, status);
}

int32_t shadow_priority(void) { return last_priority; }
const char *shadow_name(void) { return last_name; }
uint64_t shadow_sequence(void) { return last_sequence; }

void *shadow_make_stream(int32_t device) {
  plug_stream stream = NULL;
  void *native = NULL;
  if (inner.stream_create(device, 0, &stream) != PLUG_OK) return NULL;
  if (!runtime.stream_native) return stream;
  return inner.stream_native(device, stream, &native) == PLUG_OK ? native : NULL;
}

static plug_status device_open(int32_t device) {
  plug_status status = enter(kOpen);
  return status ? status : inner.device_open(device);
}

static plug_status device_sync(int32_t device) {
  plug_status status = enter(kSync);
  return status ? status : inner.device_sync(device);
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  plug_status status = enter(kAlloc);
  return status ? status : inner.mem_alloc(device, bytes, base);
}

static plug_status mem_free(int32_t device, void *base) {
  plug_status status = enter(kFree);
  return status ? status : inner.mem_free(device, base);
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  plug_status status = enter(kCopy);
  return status ? status : inner.copy(device, stream, dst, src, bytes);
}

static plug_status copy_strided(int32_t device, plug_stream stream,
                                const plug_tensor *dst, const plug_tensor *src) {
  plug_status status = enter(kCopyStrided);
  return status ? status : inner.copy_strided(device, stream, dst, src);
}

static plug_status mem_fill(int32_t device, plug_stream stream, const plug_mem *dst,
                            uint8_t byte, uint64_t bytes) {
  plug_status status = enter(kFill);
  return status ? status : inner.mem_fill(device, stream, dst, byte, bytes);
}

static plug_status stream_create(int32_t device, int32_t priority, plug_stream *stream) {
  plug_status status = enter(kStream);
  last_priority = priority;
  return status ? status : inner.stream_create(device, priority, stream);
}

static plug_status stream_query(int32_t device, plug_stream stream) {
  plug_status status = enter(kStreamQuery);
  return status ? status : inner.stream_query(device, stream);
}

static plug_status stream_sync(int32_t device, plug_stream stream) {
  plug_status status = enter(kStreamSync);
  return status ? status : inner.stream_sync(device, stream);
}

static plug_status event_create(int32_t device, uint32_t flags, plug_event *event) {
  plug_status status = enter(kEvent);
  return status ? status : inner.event_create(device, flags, event);
}

static plug_status event_destroy(int32_t device, plug_event event) {
  plug_status status = enter(kEventDestroy);
  return status ? status : inner.event_destroy(device, event);
}

static plug_status event_record(int32_t device, plug_event event, plug_stream stream) {
  plug_status status = enter(kRecord);
  return status ? status : inner.event_record(device, event, stream);
}

static plug_status event_wait(int32_t event_device, plug_event event,
                              int32_t stream_device, plug_stream stream) {
  plug_status status = enter(kWait);
  return status ? status : inner.event_wait(event_device, event, stream_device, stream);
}

static plug_status event_query(int32_t device, plug_event event) {
  plug_status status = enter(kEventQuery);
  return status ? status : inner.event_query(device, event);
}

static plug_status event_sync(int32_t device, plug_event event) {
  plug_status status = enter(kEventSync);
  return status ? status : inner.event_sync(device, event);
}

static plug_status host_func(int32_t device, plug_stream stream,
                             void (*fn)(void *arg, plug_status status),
                             void (*release)(void *arg), void *arg) {
  plug_status status = enter(kHostFunc);
  return status ? status : inner.host_func(device, stream, fn, release, arg);
}

/* A piece of work that fails on the device. */
struct failing {
  int32_t device;
  plug_stream stream;
  uint64_t sequence;
  plug_status status;
};

static void fail_now(void *arg, plug_status status) {
  const struct failing *work = arg;
  (void)status;
  host->report(host, work->device, work->stream, work->sequence, work->status,
               report_sentence);
}

static plug_status neg(const plug_call *call) {
  plug_status broken = enter(kKernel);
  plug_status status = atomic_exchange(&report_status, PLUG_OK);
  last_name = call->name;
  last_sequence = call->sequence;
  if (broken) return broken;
  if (status == PLUG_OK) return PLUG_UNSUPPORTED;
  struct failing *work = malloc(sizeof *work);
  if (!work) return PLUG_NO_MEMORY;
  *work = (struct failing){call->device, call->stream, call->sequence, status};
  return inner.host_func(call->device, call->stream, fail_now, free, work);
}

static void wrap(void) {
  runtime = inner;
  runtime.device_open = device_open;
  runtime.device_sync = device_sync;
  runtime.mem_alloc = mem_alloc;
  runtime.mem_free = mem_free;
  runtime.copy = copy;
  runtime.copy_strided = copy_strided;
  runtime.mem_fill = mem_fill;
  runtime.stream_create = stream_create;
  runtime.stream_query = stream_query;
  runtime.stream_sync = stream_sync;
  runtime.event_create = event_create;
  runtime.event_destroy = event_destroy;
  runtime.event_record = event_record;
  runtime.event_wait = event_wait;
  runtime.event_query = event_query;
  runtime.event_sync = event_sync;
  runtime.host_func = host_func;
  if (host->option(host, "shadow.opaque")) runtime.host_view = NULL;
  if (host->option(host, "shadow.plain")) {
    runtime.stream_native = NULL;
    runtime.stream_import = NULL;
  }
}

/* PyTorch's operators only: sim's own are of another namespace than this plugin's. */
static void add_kernels(const plug_kernels *given) {
  uint32_t count = 0;
  list[count++] = (plug_kernel){.schema = "aten::neg(Tensor self) -> Tensor", .fn = neg};
  for (uint32_t i = 0; i < given->count && count < kKernels; i++) {
    const char *schema = given->list[i].schema;
    const int is_other = strncmp(schema, "aten::", 6) != 0;
    if (!is_other && strncmp(schema, "aten::neg(", 10) != 0)
      list[count++] = given->list[i];
  }
  kernels = *given;
  kernels.count = count;
  kernels.list = list;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status (*entry)(const plug_host *, const plug_module **) = NULL;
  const plug_module *wrapped = NULL;
  host = given;
  const char *path = host->option(host, "shadow.sim");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *symbol = library ? dlsym(library, "torchplug_plugin_v0") : NULL;
  if (!symbol) {
    host->set_error(host, "set TORCHPLUG_SHADOW_SIM to the path of a plugin");
    return PLUG_INVALID;
  }
  memcpy(&entry, &symbol, sizeof entry);
  plug_status status = entry(host, &wrapped);
  if (status != PLUG_OK) return status;
  inner = *wrapped->runtime;
  wrap();
  add_kernels(wrapped->kernels);
  module = *wrapped;
  module.name = "shadow";
  module.runtime = &runtime;
  module.kernels = &kernels;
  *out = &module;
  return PLUG_OK;
}
