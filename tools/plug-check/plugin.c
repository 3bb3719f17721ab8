/* The plugin under test: loaded as the host loads it, with the kernels' services of the
** checks. */
#include <string.h>

#include "check.h"
#include "kernels.h"

plug_device_info info;
int32_t device;
int32_t device_total;
int32_t wire = -1;
const char *plugin_path;

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

const char *load_plugin(void) {
  static const plug_host services = {
      .scratch = scratch, .output = output, .rng = rng, .report = report};
  const char *reason = load_library(plugin_path, "plug-check", &services);
  if (reason) return reason;
  if (!module.runtime && !module.kernels && !module.compiler)
    return "it has neither a runtime table nor kernels nor a compiler";
  if (!module.runtime) return NULL;
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

#define GROUP(name, first, last)                                               \
  {name, offsetof(plug_runtime, first),                                        \
   (uint32_t)((offsetof(plug_runtime, last) - offsetof(plug_runtime, first)) / \
              sizeof(void *)) +                                                \
       1}
const struct function_group function_groups[] = {
    GROUP("streams and events", stream_create, event_sync),
    GROUP("pinned host memory", host_alloc, host_free),
    GROUP("capture", capture_begin, capture_destroy),
    GROUP("sharing between processes", ipc_export, ipc_import_event),
    GROUP("memory that grows in place", mem_reserve, mem_unmap),
    GROUP("a host view for a while", host_map, host_unmap),
};
#undef GROUP

static void **members_of(const struct function_group *group) {
  return (void **)(void *)((char *)&rt + group->first);
}

uint32_t functions_there(const struct function_group *group) {
  uint32_t there = 0;
  for (uint32_t i = 0; i < group->count; i++) there += members_of(group)[i] != NULL;
  return there;
}

static void leave_out(const struct function_group *group) {
  memset(members_of(group), 0, group->count * sizeof(void *));
}

/* As the host does for a single device. What is left of a group of which some is missing,
** which `tables` says, is not called either. */
static void leave_out_what_it_lacks(void) {
  if (info.flags & PLUG_LACKS_HOST_VIEW) rt.host_view = NULL;
  if (info.flags & PLUG_LACKS_HOST_FUNC) rt.host_func = NULL;
  if (info.flags & PLUG_LACKS_CAPTURE) rt.capture_begin = NULL; /* hence its group */
  for (size_t i = 0; i < FUNCTION_GROUPS; i++) {
    if (functions_there(&function_groups[i]) < function_groups[i].count)
      leave_out(&function_groups[i]);
  }
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
