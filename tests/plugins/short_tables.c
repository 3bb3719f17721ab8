/* A device whose tables end where they are told to, as those of an earlier header did:
** short_tables.runtime is how many bytes the runtime table has, likewise module, kernels,
** kernel, profiler, autocast, rule and compiler. What lies behind is poison. */
#include <stdio.h>

#include "on_sim.h"

enum { kKernels = 64 };

static plug_kernels kernels;
static plug_profiler profiler;
static plug_autocast autocast;
static plug_compiler compiler;
static char list[kKernels * sizeof(plug_kernel)];
static char rules[2 * sizeof(plug_autocast_rule)];

static uint32_t wanted(const char *table, size_t whole) {
  char key[64];
  snprintf(key, sizeof key, "short_tables.%s", table);
  const char *given = host->option(host, key);
  return given ? (uint32_t)strtoul(given, NULL, 10) : (uint32_t)whole;
}

static void poison(void *table, size_t whole, uint32_t size) {
  if (size < whole) memset((char *)table + size, 0x5a, whole - size);
}

static void shorten(const char *name, void *table, size_t whole) {
  const uint32_t size = wanted(name, whole);
  memcpy(table, &size, sizeof size);
  poison(table, whole, size);
}

/* Each item as long as it is told to be, the next right behind it. */
static void pack(char *to, const void *items, size_t item, uint32_t count,
                 uint32_t size) {
  for (uint32_t i = 0; i < count; i++)
    memcpy(to + (size_t)i * size, (const char *)items + i * item, size);
}

static void make_kernels(const plug_kernels *given) {
  kernels = *given;
  if (kernels.count > kKernels) kernels.count = kKernels;
  kernels.kernel_size = wanted("kernel", sizeof(plug_kernel));
  memset(list, 0x5a, sizeof list);
  pack(list, given->list, given->kernel_size, kernels.count, kernels.kernel_size);
  kernels.list = (const plug_kernel *)(void *)list;
  shorten("kernels", &kernels, sizeof kernels);
}

static void make_autocast(void) {
  static const plug_autocast_rule given[] = {
      {"aten::softmax.int", PLUG_AUTOCAST_LOWER, 0}};
  const uint32_t size = wanted("rule", sizeof *given);
  pack(rules, given, sizeof *given, 1, size);
  const int is_whole = wanted("autocast", sizeof autocast) == sizeof autocast;
  autocast = (plug_autocast){.rule_size = size,
                             .rule_count = is_whole ? 1 : 0,
                             .dtype = PLUG_F32,
                             .rules = (const plug_autocast_rule *)(void *)rules};
  shorten("autocast", &autocast, sizeof autocast);
}

/* Where the table ends before device_open. */
static plug_status open_and_tell(int32_t device, plug_device_info *info) {
  const plug_status status = sim.device_open(device);
  return status == PLUG_OK ? sim.device_info(device, info) : status;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  const plug_status status = make_sim(given, "short_tables");
  if (status != PLUG_OK) return status;
  make_kernels(module.kernels);
  make_autocast();
  profiler = *module.profiler;
  compiler = *module.compiler;
  module.kernels = &kernels;
  module.profiler = &profiler;
  module.autocast = &autocast;
  module.compiler = &compiler;
  module.abi_minor = wanted("minor", PLUG_ABI_MINOR);
  if (wanted("runtime", sizeof runtime) <= offsetof(plug_runtime, device_open))
    runtime.device_info = open_and_tell;
  shorten("runtime", &runtime, sizeof runtime);
  shorten("profiler", &profiler, sizeof profiler);
  shorten("compiler", &compiler, sizeof compiler);
  shorten("module", &module, sizeof module);
  *out = &module;
  return PLUG_OK;
}
