/* The plugin under test: loaded as the host loads it, with a host that keeps what it is
** told. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels.h"

plug_module module;
plug_runtime rt;
plug_device_info info;
int32_t device;
int32_t device_total;
int32_t wire = -1;
const char *plugin_path;

static _Thread_local char last_error[1024];
static _Thread_local bool has_error;

const char *take_error(void) {
  bool had = has_error;
  has_error = false;
  return had ? last_error : NULL;
}

static void set_error(const plug_host *host, const char *message) {
  (void)host;
  has_error = message != NULL && *message != '\0';
  snprintf(last_error, sizeof last_error, "%s", message ? message : "");
}

static void log_line(const plug_host *host, int32_t level, const char *message) {
  (void)host;
  if (level >= 2) fprintf(stderr, "plug-check: the plugin says: %s\n", message);
}

static const char *option(const plug_host *host, const char *key) {
  char name[256] = "TORCHPLUG_";
  size_t length = strlen(name);
  (void)host;
  for (; *key && length + 1 < sizeof name; key++) {
    name[length++] = (char)(*key == '.' ? '_' : toupper((unsigned char)*key));
  }
  name[length] = '\0';
  return getenv(name);
}

static plug_status scratch(const plug_host *host, const plug_call *call, uint64_t bytes,
                           plug_mem *mem) {
  (void)host;
  return kernel_scratch(call, bytes, mem);
}

static plug_status output(const plug_host *host, const plug_call *call, uint32_t index,
                          plug_dtype dtype, int32_t ndim, const int64_t *sizes,
                          const int64_t *strides) {
  (void)host;
  return kernel_output(call, index, dtype, ndim, sizes, strides);
}

static plug_status rng(const plug_host *host, const plug_call *call, uint64_t draws,
                       plug_rng *given) {
  (void)host;
  return kernel_rng(call, draws, given);
}

static void report(const plug_host *host, int32_t index, plug_stream stream,
                   uint64_t sequence, plug_status status, const char *message) {
  (void)host, (void)stream, (void)sequence;
  fail("the plugin reports for device %d (%s): %s", index, status_text(status),
       message ? message : "nothing");
}

static void team(const plug_host *host,
                 void (*fn)(void *arg, int32_t index, int32_t count), void *arg) {
  (void)host;
  fn(arg, 0, 1);
}

static const plug_host host = {
    .size = sizeof host,
    .abi_minor = PLUG_ABI_MINOR,
    .set_error = set_error,
    .log = log_line,
    .option = option,
    .scratch = scratch,
    .output = output,
    .rng = rng,
    .report = report,
    .team = team,
};

void adopt(void *to, size_t whole, const void *from, uint32_t size) {
  size_t known = size / sizeof(void *) * sizeof(void *);
  memset(to, 0, whole);
  memcpy(to, from, known < whole ? known : whole);
}

const char *load_plugin(void) {
  static char reason[2048];
  plug_status (*entry)(const plug_host *, const plug_module **) = NULL;
  const plug_module *given = NULL;
  void *library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(reason, sizeof reason, "it cannot be loaded: %s", dlerror());
    return reason;
  }
  void *symbol = dlsym(library, "torchplug_plugin_v0");
  if (!symbol) return "it is not a plugin: it does not export torchplug_plugin_v0()";
  memcpy(&entry, &symbol, sizeof entry);
  plug_status status = entry(&host, &given);
  if (status == PLUG_OK && !given)
    return "its entry point returned PLUG_OK but no plug_module";
  if (status != PLUG_OK) {
    const char *said = take_error();
    snprintf(reason, sizeof reason, "its entry point failed (%s): %s",
             status_text(status), said ? said : "no reason given");
    return reason;
  }
  adopt(&module, sizeof module, given, given->size);
  if (!module.runtime && !module.kernels)
    return "it has neither a runtime table nor kernels";
  if (!module.runtime) return NULL;
  adopt(&rt, sizeof rt, module.runtime, module.runtime->size);
  if (!rt.device_count || !rt.device_info || !rt.device_sync || !rt.mem_alloc ||
      !rt.mem_free || !rt.copy) {
    return "it lacks some of the six mandatory functions";
  }
  return NULL;
}

void open_device(int32_t index) {
  doing("device_open");
  if (rt.device_open) ok(rt.device_open(index), "device_open");
}

/* As the host does for a single device. */
static void leave_out_what_it_lacks(void) {
  if (info.flags & PLUG_LACKS_HOST_VIEW) rt.host_view = NULL;
  if (info.flags & PLUG_LACKS_HOST_FUNC) rt.host_func = NULL;
  if (!(info.flags & PLUG_LACKS_CAPTURE)) return;
  rt.capture_begin = NULL;
  rt.capture_end = NULL;
  rt.capture_replay = NULL;
  rt.capture_destroy = NULL;
}

void open_plugin(void) {
  if (!module.runtime) return;
  doing("device_count");
  ok(rt.device_count(&device_total), "device_count");
  expect(device < device_total, "there is no device %d: the plugin has %d", device,
         device_total);
  doing("device_info");
  info = (plug_device_info){.size = sizeof info, .alignment = 1};
  ok(rt.device_info(device, &info), "device_info");
  leave_out_what_it_lacks();
  open_device(device);
}
