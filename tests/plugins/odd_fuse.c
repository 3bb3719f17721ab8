/* examples/compiler, odd in one way or in none: odd_fuse.how says in which, at each
** call. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <time.h>

#include "on_fuse.h"

static int is(const char *how) {
  const char *given = host->option(host, "odd_fuse.how");
  return given && !strcmp(given, how);
}

static void nap(void) {
  const struct timespec while_ = {0, 2 * 1000 * 1000};
  nanosleep(&while_, NULL);
}

/* Until nobody wants the engine any more, or it is told to end. */
static plug_status take_long(const plug_compile *wish) {
  while (is("compile takes long")) {
    if (wish->progress(wish, 0.25)) return fail(PLUG_TIMEOUT, "nobody wants it any more");
    nap();
  }
  return PLUG_OK;
}

static plug_status compile(const plug_compile *wish, plug_engine *engine) {
  if (is("compile gives no engine")) return PLUG_OK;
  if (is("compile fails")) return fail(PLUG_INTERNAL, "the chip has no such unit");
  if (take_long(wish) != PLUG_OK) return PLUG_TIMEOUT;
  if (is("compile is silent")) return PLUG_INTERNAL;
  if (is("compile is more than done")) wish->progress(wish, 1.5);
  if (is("compile writes on error")) {
    static int dummy;
    *engine = (plug_engine)(void *)&dummy;
    return fail(PLUG_INTERNAL, "the chip has no such unit");
  }
  return fuse.compile(wish, engine);
}

static plug_status run(const plug_call *call) {
  if (is("run declines")) return fail(PLUG_UNSUPPORTED, "not at this hour");
  if (is("run fails")) return fail(PLUG_INTERNAL, "the unit has overheated");
  if (is("run reports")) {
    host->report(host, call->device, call->stream, call->sequence, PLUG_INTERNAL,
                 "a fuse blew");
  }
  return fuse.run(call);
}

static plug_status partition(int32_t device, const plug_graph *graph,
                             void (*take)(void *context, uint32_t node, int32_t group,
                                          const char *why),
                             void *context) {
  (void)device;
  if (is("partition declines")) return fail(PLUG_UNSUPPORTED, "the host may group them");
  if (is("partition fails")) return fail(PLUG_INTERNAL, "there are too many nodes");
  if (is("partition names nothing")) return PLUG_OK;
  for (uint32_t i = 0; i < graph->node_count; i++)
    take(context, i, graph->nodes[i]->op < 0 ? -1 : 0, NULL);
  if (is("partition names a node that is not there"))
    take(context, graph->node_count + 4, 0, NULL);
  return PLUG_OK;
}

static plug_status engine_info(int32_t device, plug_engine engine,
                               plug_engine_info *info) {
  (void)device, (void)engine;
  if (is("engine_info fails")) return fail(PLUG_INTERNAL, "the engine is shy");
  info->text = "steps";
  return PLUG_OK;
}

static plug_status pack(const plug_call *call) {
  (void)call;
  return PLUG_OK;
}

static plug_status list_schemas(int32_t device, const char *const **schemas,
                                uint32_t *count) {
  (void)device;
  *schemas = is("list_schemas gives no list") ? NULL : fuse.schemas;
  *count = is("list_schemas gives nothing") ? 0 : fuse.schema_count;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  const plug_status status = make_fuse(given, "odd_fuse");
  if (status != PLUG_OK) return status;
  compiler.compile = compile;
  compiler.run = run;
  if (!is("no partition")) compiler.partition = partition;
  if (!is("no engine_info")) compiler.engine_info = engine_info;
  if (is("engine_info fails")) compiler.engine_pack = pack;
  compiler.list_schemas = list_schemas;
  *out = &module;
  return PLUG_OK;
}
