#include "loaded.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

plug_module module;
plug_runtime rt;
plug_kernel* kernels;
uint32_t kernel_count;
plug_kernel* any_kernel;

static const char* program_name;
static _Thread_local char last_error[1024];
static _Thread_local bool has_error;

const char* take_error(void) {
  const bool had = has_error;
  has_error = false;
  return had ? last_error : NULL;
}

const char* status_text(plug_status status) {
  switch (status) {
    case PLUG_OK: return "ok";
    case PLUG_NOT_READY: return "not ready";
    case PLUG_UNSUPPORTED: return "unsupported";
    case PLUG_INVALID: return "invalid use";
    case PLUG_NO_MEMORY: return "out of memory";
    case PLUG_TIMEOUT: return "timeout";
    case PLUG_LOST: return "device lost";
    case PLUG_INTERNAL: return "internal error";
    default: return "an unknown status";
  }
}

/* ---- the host ---- */

void note_error(const char* message) {
  has_error = message != NULL && *message != '\0';
  snprintf(last_error, sizeof last_error, "%s", message ? message : "");
}
static void set_error(const plug_host* host, const char* message) {
  (void)host;
  note_error(message);
}

static void log_line(const plug_host* host, int32_t level, const char* message) {
  (void)host;
  if (level >= 2) fprintf(stderr, "%s: the plugin says: %s\n", program_name, message);
}

static const char* option(const plug_host* host, const char* key) {
  char name[256] = "TORCHPLUG_";
  size_t length = strlen(name);
  (void)host;
  for (; *key && length + 1 < sizeof name; key++) {
    name[length++] = (char)(*key == '.' ? '_' : toupper((unsigned char)*key));
  }
  name[length] = '\0';
  return getenv(name);
}

static void team(const plug_host* host, void (*fn)(void* arg, int32_t index, int32_t count), void* arg) {
  (void)host;
  fn(arg, 0, 1);
}

/* ---- loading ---- */

void adopt(void* to, size_t whole, const void* from, uint32_t size) {
  const size_t known = size / sizeof(void*) * sizeof(void*);
  memset(to, 0, whole);
  memcpy(to, from, known < whole ? known : whole);
}

static plug_host make_host(const plug_host* services) {
  plug_host host = *services;
  host.size = sizeof host;
  host.abi_minor = PLUG_ABI_MINOR;
  host.set_error = set_error;
  host.log = log_line;
  host.option = option;
  host.team = team;
  return host;
}

const char* load_library(const char* path, const char* program, const plug_host* services) {
  static char reason[2048];
  static plug_host host;
  plug_status (*entry)(const plug_host*, const plug_module**) = NULL;
  const plug_module* given = NULL;
  program_name = program;
  host = make_host(services);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(reason, sizeof reason, "it cannot be loaded: %s", dlerror());
    return reason;
  }
  void* symbol = dlsym(library, "torchplug_plugin_v0");
  if (!symbol) return "it is not a plugin: it does not export torchplug_plugin_v0()";
  memcpy(&entry, &symbol, sizeof entry);
  const plug_status status = entry(&host, &given);
  if (status == PLUG_OK && !given) return "its entry point returned PLUG_OK but no plug_module";
  if (status != PLUG_OK) {
    const char* said = take_error();
    snprintf(reason, sizeof reason, "its entry point failed (%s): %s", status_text(status),
             said ? said : "no reason given");
    return reason;
  }
  adopt(&module, sizeof module, given, given->size);
  if (module.runtime) adopt(&rt, sizeof rt, module.runtime, module.runtime->size);
  return NULL;
}

const char* adopt_kernels(void) {
  static char reason[128];
  plug_kernels table;
  adopt(&table, sizeof table, module.kernels, module.kernels->size);
  if (table.kernel_size == 0 && (table.count > 0 || table.any))
    return "plug_kernels.kernel_size is 0: set it to sizeof(plug_kernel)";
  if (!table.list && table.count > 0) {
    snprintf(reason, sizeof reason, "plug_kernels.count is %u, but there is no list", table.count);
    return reason;
  }
  kernel_count = table.count;
  kernels = calloc(kernel_count + 1, sizeof *kernels);
  if (!kernels) return "there is no memory left";
  for (uint32_t i = 0; i < kernel_count; i++) {
    adopt(&kernels[i], sizeof *kernels, (const char*)table.list + (size_t)i * table.kernel_size,
          table.kernel_size);
  }
  if (!table.any) return NULL;
  any_kernel = &kernels[kernel_count];
  adopt(any_kernel, sizeof *any_kernel, table.any, table.kernel_size);
  return NULL;
}
