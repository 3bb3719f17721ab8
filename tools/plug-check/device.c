/* Loading a plugin and asking what it is. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int count_entries(const char *folder) {
  int count = 0;
  DIR *listing = opendir(folder);
  if (!listing) fail("%s cannot be read", folder);
  while (readdir(listing)) count++;
  closedir(listing);
  return count;
}

/* device_info and device_open are called when a device is asked about or used, not
 * before. */
#define COUNT_WITHOUT_DRIVER                                                           \
  "count without the driver (files under /sys or /dev, a management library, a child " \
  "process that ends), and start it in device_info or device_open"

static void entry(void) {
  const int threads = count_entries("/proc/self/task");
  const int files = count_entries("/proc/self/fd");
  const char *reason = load_plugin();
  if (reason) fail("%s", reason);
  int32_t count = -1;
  ok(rt.device_count(&count), "device_count");
  expect(count >= 0, "device_count returned %d", count);
  const int more_threads = count_entries("/proc/self/task") - threads;
  const int more_files = count_entries("/proc/self/fd") - files;
  expect(more_threads == 0,
         "the entry point and device_count started %d threads, which no forked child "
         "has; " COUNT_WITHOUT_DRIVER,
         more_threads);
  expect(more_files == 0,
         "the entry point and device_count opened %d files; " COUNT_WITHOUT_DRIVER,
         more_files);
}

static void whole_groups(void) {
  for (size_t i = 0; i < FUNCTION_GROUPS; i++) {
    const struct function_group *group = &function_groups[i];
    const uint32_t there = functions_there(group);
    expect(there == 0 || there == group->count,
           "the group '%s' has %u of its %u functions: it takes all or none", group->name,
           there, group->count);
  }
}

static void profiler(const plug_profiler *given) {
  plug_profiler table;
  adopt(&table, sizeof table, given, given->size);
  expect(given->size && table.start && table.stop && table.clock && table.label &&
             table.drain,
         "plug_profiler has a function missing, or no size: give all of it, or none");
}

/* PyTorch's own devices; `torchplug devices` also knows the other names that torch uses.
 */
static bool is_pytorchs(const char *name) {
  static const char *const names[] = {
      "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
      "fpga", "maia", "xla",    "mps",    "vulkan", "metal", "xpu",
      "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  return false;
}

static void tables(void) {
  expect(module.name && module.name[0] >= 'a' && module.name[0] <= 'z' &&
             strspn(module.name, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
                 strlen(module.name),
         "the device is called '%s': a name is lower-case letters, digits and '_'",
         module.name ? module.name : "");
  expect(!is_pytorchs(module.name),
         "the device is called '%s', as one of PyTorch's own: take another name",
         module.name);
  expect(module.version != NULL, "the plugin has no version");
  expect(module.abi_minor != 0, "plug_module.abi_minor is 0: set it to PLUG_ABI_MINOR");
  expect((module.flags & ~(uint64_t)(PLUG_SERIALIZE | PLUG_DECOMPOSE | PLUG_FORKS)) == 0,
         "plug_module.flags has bits that the header does not know: %llu",
         (unsigned long long)module.flags);
  expect(module.runtime->reserved == 0, "plug_runtime.reserved is not 0");
  if (module.profiler) profiler(module.profiler);
  whole_groups();
}

static void device_info(void) {
  struct {
    plug_device_info info;
    unsigned char beyond[64];
  } given;
  memset(&given, 0x5c, sizeof given);
  given.info = (plug_device_info){.size = sizeof given.info, .alignment = 1};
  ok(rt.device_info(device, &given.info), "device_info");
  for (size_t i = 0; i < sizeof given.beyond; i++) {
    expect(given.beyond[i] == 0x5c, "device_info wrote %zu bytes beyond info->size",
           i + 1);
  }
  const plug_device_info *got = &given.info;
  expect(got->name && *got->name, "device_info has no name");
  expect(got->total_bytes > 0, "device_info has total_bytes of 0");
  expect(got->alignment && (got->alignment & (got->alignment - 1)) == 0,
         "device_info has an alignment of %llu, which is not a power of two",
         (unsigned long long)got->alignment);
  const uint32_t known = PLUG_ADDRESSABLE | PLUG_INTEGRATED | PLUG_LACKS_HOST_VIEW |
                         PLUG_LACKS_HOST_FUNC | PLUG_LACKS_CAPTURE;
  expect((got->flags & ~known) == 0, "device_info has flags the header does not know: %u",
         got->flags);
  expect(got->dtype_count == 0 || got->dtypes,
         "device_info counts %u dtypes and has none", got->dtype_count);
  expect(got->priority_high <= got->priority_low && got->priority_high <= 0,
         "device_info has priorities from %d (high) to %d (low): high is the smaller "
         "number, 0 or less",
         got->priority_high, got->priority_low);
  expect(!rt.mem_reserve || got->map_bytes > 0, "mem_map is there but map_bytes is 0");
}

static void sync_when_idle(void) {
  for (int i = 0; i < 3; i++) ok(rt.device_sync(device), "device_sync");
}

static void shut_down(void) {
  if (!rt.shutdown) absent("no shutdown: the host skips it");
  void *base = allocate(1000);
  const char word[] = "work before the end";
  put(base, 0, word, sizeof word);
  doing("shutdown");
  ok(rt.shutdown(), "shutdown");
}

const struct check device_checks[] = {
    {.name = "entry",
     .promise = "the entry point and device_count start no thread and open nothing",
     .run = entry,
     .begins = UNLOADED},
    {.name = "tables",
     .promise = "name and flags are valid, groups and tables are complete",
     .run = tables,
     .begins = LOADED},
    {.name = "device-info",
     .promise = "device_info is valid and writes nothing beyond info->size",
     .run = device_info},
    {.name = "device-sync",
     .promise = "an idle device can be synchronised",
     .run = sync_when_idle},
    {.name = "shutdown", .promise = "shutdown after work returns", .run = shut_down},
    {0},
};
