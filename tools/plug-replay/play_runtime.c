/* The functions of plug_runtime, each with what stands here for the handles of the trace.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay.h"

bool is_capturing;

static int32_t device_of(const struct record *record) {
  return device_for(in_number(record, "device"));
}

/* The handle that the record names, or NULL. */
static void *handle_of(const struct record *record, const char *key) {
  const struct handle *handle = find_handle(in_place(record, key));
  return handle ? handle->pointer : NULL;
}

static bool has_handle(const struct record *record, const char *key) {
  return find_handle(in_place(record, key)) != NULL;
}

static plug_stream stream_of(const struct record *record) {
  return in_place(record, "stream").number == 0 ? NULL : handle_of(record, "stream");
}

static bool has_stream(const struct record *record) {
  return in_place(record, "stream").number == 0 || has_handle(record, "stream");
}

/* What a call gave is known by the name that it had in the trace. */
static enum verdict give(const struct record *record, plug_status status, const char *key,
                         void *pointer, uint64_t bytes) {
  compare_status(record, status);
  if (status != PLUG_OK || !record->is_answered || record->status != PLUG_OK)
    return PLAYED;
  const bool has_device = in_field(record, "device").length > 0;
  set_handle(out_place(record, key), has_device ? device_of(record) : PLUG_HOST, pointer,
             bytes);
  return PLAYED;
}

static enum verdict took(const struct record *record, plug_status status,
                         const char *key) {
  compare_status(record, status);
  struct handle *handle = find_handle(in_place(record, key));
  if (handle && status == PLUG_OK) handle->is_live = false;
  return PLAYED;
}

static enum verdict done(const struct record *record, plug_status status) {
  compare_status(record, status);
  return PLAYED;
}

static const char not_there[] = "it names something that is not there";

/* ---- devices ---- */

static enum verdict play_device_count(const struct record *record) {
  int32_t count = 0;
  return done(record, rt.device_count(&count));
}

static enum verdict play_device_info(const struct record *record) {
  plug_device_info info = {.size = sizeof info, .alignment = 1};
  return done(record, rt.device_info(device_of(record), &info));
}

static enum verdict play_device_open(const struct record *record) {
  return done(record, rt.device_open(device_of(record)));
}

static enum verdict play_shutdown(const struct record *record) {
  return done(record, rt.shutdown());
}

static enum verdict play_peer_access(const struct record *record) {
  int32_t can_copy = 0;
  const int32_t peer = device_for(in_number(record, "peer"));
  return done(record, rt.peer_access(device_of(record), peer, &can_copy));
}

/* ---- memory ---- */

static enum verdict play_mem_alloc(const struct record *record) {
  void *base = NULL;
  const uint64_t bytes = in_unsigned(record, "bytes");
  const plug_status status = rt.mem_alloc(device_of(record), bytes, &base);
  return give(record, status, "base", base, bytes);
}

static enum verdict play_mem_free(const struct record *record) {
  if (!has_handle(record, "base")) return leave_out(record, not_there);
  return took(record, rt.mem_free(device_of(record), handle_of(record, "base")), "base");
}

static enum verdict play_mem_info(const struct record *record) {
  uint64_t free_bytes = 0, total = 0;
  return done(record, rt.mem_info(device_of(record), &free_bytes, &total));
}

static enum verdict play_mem_fill(const struct record *record) {
  plug_mem dst;
  if (!locate(in_place(record, "dst"), device_of(record), &dst) || !has_stream(record))
    return leave_out(record, not_there);
  return done(record, rt.mem_fill(device_of(record), stream_of(record), &dst,
                                  (uint8_t)in_unsigned(record, "byte"),
                                  in_unsigned(record, "bytes")));
}

/* Hexadecimal bytes, or those that the digest stands for. */
static void put_bytes(const struct record *record, unsigned char *to, uint64_t bytes) {
  const struct text data = in_field(record, "data");
  uint64_t digest = 0;
  (void)parse_unsigned(in_field(record, "fill"), &digest);
  fill_bytes(to, bytes, digest);
  for (uint64_t i = 0; i < bytes && 2 * i + 1 < data.length; i++) {
    const char digits[3] = {data.at[2 * i], data.at[2 * i + 1], '\0'};
    to[i] = (unsigned char)strtoul(digits, NULL, 16);
  }
}

/* Pinned memory that copies were given; a capture uses it at every replay. */
static void **pinned;
static size_t pinned_count;
static bool has_captured;

static void release_pinned(void) {
  for (; pinned_count > 0 && !has_captured; pinned_count--)
    (void)rt.host_free(pinned[pinned_count - 1]);
}

static void keep_pinned(void *base) {
  pinned = realloc(pinned, (pinned_count + 1) * sizeof *pinned);
  if (!pinned) give_up("there is no memory left");
  pinned[pinned_count++] = base;
}

/* Host memory for one end of a copy. */
static bool host_end(const struct record *record, bool is_pinned, uint64_t bytes,
                     plug_mem *mem) {
  void *base = NULL;
  *mem = (plug_mem){NULL, 0, PLUG_HOST, 0};
  if (is_pinned && rt.host_alloc) {
    if (rt.host_alloc(bytes ? bytes : 1, &base) != PLUG_OK) return false;
    mem->flags = PLUG_MEM_PINNED;
    keep_pinned(base);
  } else {
    base = keep(bytes);
  }
  mem->base = base;
  put_bytes(record, base, bytes);
  return true;
}

static bool copy_end(const struct record *record, const char *key, uint64_t bytes,
                     plug_mem *mem) {
  const struct text text = in_field(record, key);
  if (is_word(text, "host") || is_word(text, "pinned"))
    return host_end(record, text.at[0] == 'p', bytes, mem);
  return locate(in_place(record, key), device_of(record), mem);
}

static enum verdict play_copy(const struct record *record) {
  plug_mem dst, src;
  const uint64_t bytes = in_unsigned(record, "bytes");
  if (!copy_end(record, "dst", bytes, &dst) || !copy_end(record, "src", bytes, &src) ||
      !has_stream(record))
    return leave_out(record, not_there);
  compare_status(record,
                 rt.copy(device_of(record), stream_of(record), &dst, &src, bytes));
  return PLAYED;
}

/* Of several devices another may still use pinned memory: there it is kept to the end. */
static enum verdict play_device_sync(const struct record *record) {
  int32_t count = 0;
  bool is_idle = !is_capturing && rt.device_count(&count) == PLUG_OK && count == 1;
  const plug_status status = rt.device_sync(device_of(record));
  if (status == PLUG_OK && is_idle) release_pinned();
  return done(record, status);
}

static enum verdict play_mem_reserve(const struct record *record) {
  void *base = NULL;
  const uint64_t bytes = in_unsigned(record, "bytes");
  const plug_status status = rt.mem_reserve(device_of(record), bytes, &base);
  return give(record, status, "base", base, bytes);
}

static enum verdict play_mem_unreserve(const struct record *record) {
  if (!has_handle(record, "base")) return leave_out(record, not_there);
  return took(record, rt.mem_unreserve(device_of(record), handle_of(record, "base")),
              "base");
}

static enum verdict play_mapping(const struct record *record) {
  if (!has_handle(record, "base")) return leave_out(record, not_there);
  return done(record, (is_call(record, "mem_map") ? rt.mem_map : rt.mem_unmap)(
                          device_of(record), handle_of(record, "base"),
                          in_unsigned(record, "offset"), in_unsigned(record, "bytes")));
}

/* ---- host memory ---- */

static enum verdict play_host_view(const struct record *record) {
  void *view = NULL;
  if (!has_handle(record, "base")) return leave_out(record, not_there);
  return done(record, rt.host_view(device_of(record), handle_of(record, "base"), &view));
}

static enum verdict play_host_alloc(const struct record *record) {
  void *base = NULL;
  const uint64_t bytes = in_unsigned(record, "bytes");
  const plug_status status = rt.host_alloc(bytes, &base);
  return give(record, status, "pinned", base, bytes);
}

static enum verdict play_host_free(const struct record *record) {
  if (!has_handle(record, "pinned")) return leave_out(record, not_there);
  return took(record, rt.host_free(handle_of(record, "pinned")), "pinned");
}

static enum verdict play_host_map(const struct record *record) {
  void *view = NULL;
  plug_mem mem;
  if (!locate(in_place(record, "mem"), device_of(record), &mem))
    return leave_out(record, not_there);
  const plug_status status =
      rt.host_map(device_of(record), &mem, in_unsigned(record, "bytes"),
                  (uint32_t)in_unsigned(record, "flags"), &view);
  return give(record, status, "mapped", view, 0);
}

static enum verdict play_host_unmap(const struct record *record) {
  plug_mem mem;
  if (!locate(in_place(record, "mem"), device_of(record), &mem) ||
      !has_handle(record, "mapped"))
    return leave_out(record, not_there);
  return took(record,
              rt.host_unmap(device_of(record), &mem, in_unsigned(record, "bytes"),
                            handle_of(record, "mapped")),
              "mapped");
}

static enum verdict play_host_pinned(const struct record *record) {
  int32_t is_pinned = 0;
  return done(record, rt.host_pinned(&is_pinned, &is_pinned));
}

/* What the CPU did in it is not played: arguments of kernels are as they were anyhow. */
static void do_nothing(void *arg, plug_status status) { (void)arg, (void)status; }
static void release_nothing(void *arg) { (void)arg; }

static enum verdict play_host_func(const struct record *record) {
  if (!has_stream(record)) return leave_out(record, not_there);
  return done(record, rt.host_func(device_of(record), stream_of(record), do_nothing,
                                   release_nothing, NULL));
}

/* ---- streams and events ---- */

static enum verdict play_stream_create(const struct record *record) {
  plug_stream stream = NULL;
  const int32_t priority = (int32_t)in_number(record, "priority");
  const plug_status status = rt.stream_create(device_of(record), priority, &stream);
  return give(record, status, "stream", stream, 0);
}

static enum verdict play_stream_destroy(const struct record *record) {
  if (!has_stream(record)) return leave_out(record, not_there);
  return took(record, rt.stream_destroy(device_of(record), stream_of(record)), "stream");
}

/* A stream of the vendor's own libraries: one of ours stands for it. */
static enum verdict play_stream_import(const struct record *record) {
  plug_stream stream = NULL;
  if (!rt.stream_create) return leave_out(record, "there are no streams");
  const plug_status status = rt.stream_create(device_of(record), 0, &stream);
  return give(record, status, "stream", stream, 0);
}

static enum verdict play_stream_native(const struct record *record) {
  void *native = NULL;
  if (!has_stream(record)) return leave_out(record, not_there);
  return done(record, rt.stream_native(device_of(record), stream_of(record), &native));
}

static enum verdict play_stream(const struct record *record) {
  if (!has_stream(record)) return leave_out(record, not_there);
  return done(record, (is_call(record, "stream_sync") ? rt.stream_sync : rt.stream_query)(
                          device_of(record), stream_of(record)));
}

static enum verdict play_event_create(const struct record *record) {
  plug_event event = NULL;
  const uint32_t flags = (uint32_t)in_unsigned(record, "flags");
  const plug_status status = rt.event_create(device_of(record), flags, &event);
  return give(record, status, "event", event, 0);
}

/* An event of another process: one of ours, never recorded, stands for it. */
static enum verdict play_ipc_import_event(const struct record *record) {
  plug_event event = NULL;
  const plug_status status = rt.event_create(device_of(record), 0, &event);
  return give(record, status, "event", event, 0);
}

static enum verdict play_event_destroy(const struct record *record) {
  if (!has_handle(record, "event")) return leave_out(record, not_there);
  return took(record, rt.event_destroy(device_of(record), handle_of(record, "event")),
              "event");
}

static enum verdict play_event_record(const struct record *record) {
  if (!has_handle(record, "event") || !has_stream(record))
    return leave_out(record, not_there);
  return done(record, rt.event_record(device_of(record), handle_of(record, "event"),
                                      stream_of(record)));
}

static enum verdict play_event_wait(const struct record *record) {
  if (!has_handle(record, "event") || !has_stream(record))
    return leave_out(record, not_there);
  const int32_t owner = device_for(in_number(record, "event_device"));
  return done(record, rt.event_wait(owner, handle_of(record, "event"), device_of(record),
                                    stream_of(record)));
}

static enum verdict play_event(const struct record *record) {
  if (!has_handle(record, "event")) return leave_out(record, not_there);
  return done(record, (is_call(record, "event_sync") ? rt.event_sync : rt.event_query)(
                          device_of(record), handle_of(record, "event")));
}

static enum verdict play_event_elapsed(const struct record *record) {
  int64_t ns = 0;
  if (!has_handle(record, "start") || !has_handle(record, "end"))
    return leave_out(record, not_there);
  return done(record, rt.event_elapsed(device_of(record), handle_of(record, "start"),
                                       handle_of(record, "end"), &ns));
}

/* ---- captures ---- */

static enum verdict play_capture_begin(const struct record *record) {
  if (!has_stream(record)) return leave_out(record, not_there);
  const plug_status status = rt.capture_begin(device_of(record), stream_of(record),
                                              (int32_t)in_number(record, "mode"));
  is_capturing = status == PLUG_OK;
  has_captured |= is_capturing;
  return done(record, status);
}

static enum verdict play_capture_end(const struct record *record) {
  plug_capture capture = NULL;
  if (!has_stream(record)) return leave_out(record, not_there);
  is_capturing = false;
  const plug_status status =
      rt.capture_end(device_of(record), stream_of(record), &capture);
  return give(record, status, "capture", capture, 0);
}

static enum verdict play_capture_replay(const struct record *record) {
  if (!has_handle(record, "capture") || !has_stream(record))
    return leave_out(record, not_there);
  return done(record, rt.capture_replay(device_of(record), handle_of(record, "capture"),
                                        stream_of(record)));
}

static enum verdict play_capture_destroy(const struct record *record) {
  if (!has_handle(record, "capture")) return leave_out(record, not_there);
  return took(record, rt.capture_destroy(device_of(record), handle_of(record, "capture")),
              "capture");
}

/* ---- other processes ---- */

static enum verdict play_ipc_export(const struct record *record) {
  unsigned char handle[4096];
  uint64_t bytes = 0;
  int32_t fd = -1;
  const bool is_event = is_call(record, "ipc_export_event");
  if (!has_handle(record, is_event ? "event" : "base"))
    return leave_out(record, not_there);
  void *exported = handle_of(record, is_event ? "event" : "base");
  const plug_status status = is_event
                                 ? rt.ipc_export_event(device_of(record), exported,
                                                       handle, sizeof handle, &bytes, &fd)
                                 : rt.ipc_export(device_of(record), exported, handle,
                                                 sizeof handle, &bytes, &fd);
  if (status == PLUG_OK && fd >= 0) close(fd);
  return done(record, status);
}

/* Memory of another process is allocated here when it is first used. */
static enum verdict play_ipc_memory(const struct record *record) {
  return leave_out(record, "there is no other process");
}

/* ---- all of them ---- */

typedef void (*any_function)(void);

static const struct {
  const char *name;
  enum verdict (*play)(const struct record *record);
  size_t needs; /* of plug_runtime, or 0 */
} functions[] = {
#define FUNCTION(name, play) {#name, play, offsetof(plug_runtime, name)}
    FUNCTION(device_count, play_device_count),
    FUNCTION(device_info, play_device_info),
    FUNCTION(device_sync, play_device_sync),
    FUNCTION(mem_alloc, play_mem_alloc),
    FUNCTION(mem_free, play_mem_free),
    FUNCTION(copy, play_copy),
    FUNCTION(device_open, play_device_open),
    FUNCTION(shutdown, play_shutdown),
    FUNCTION(stream_create, play_stream_create),
    FUNCTION(stream_destroy, play_stream_destroy),
    FUNCTION(stream_query, play_stream),
    FUNCTION(stream_sync, play_stream),
    FUNCTION(event_create, play_event_create),
    FUNCTION(event_destroy, play_event_destroy),
    FUNCTION(event_record, play_event_record),
    FUNCTION(event_wait, play_event_wait),
    FUNCTION(event_query, play_event),
    FUNCTION(event_sync, play_event),
    FUNCTION(event_elapsed, play_event_elapsed),
    FUNCTION(mem_info, play_mem_info),
    FUNCTION(mem_fill, play_mem_fill),
    FUNCTION(host_func, play_host_func),
    FUNCTION(peer_access, play_peer_access),
    FUNCTION(host_view, play_host_view),
    FUNCTION(host_alloc, play_host_alloc),
    FUNCTION(host_free, play_host_free),
    FUNCTION(capture_begin, play_capture_begin),
    FUNCTION(capture_end, play_capture_end),
    FUNCTION(capture_replay, play_capture_replay),
    FUNCTION(capture_destroy, play_capture_destroy),
    FUNCTION(ipc_export, play_ipc_export),
    FUNCTION(ipc_import, play_ipc_memory),
    FUNCTION(ipc_close, play_ipc_memory),
    FUNCTION(ipc_export_event, play_ipc_export),
    FUNCTION(ipc_import_event, play_ipc_import_event),
    FUNCTION(stream_native, play_stream_native),
    FUNCTION(stream_import, play_stream_import),
    FUNCTION(mem_reserve, play_mem_reserve),
    FUNCTION(mem_unreserve, play_mem_unreserve),
    FUNCTION(mem_map, play_mapping),
    FUNCTION(mem_unmap, play_mapping),
    FUNCTION(host_map, play_host_map),
    FUNCTION(host_unmap, play_host_unmap),
    FUNCTION(host_pinned, play_host_pinned),
#undef FUNCTION
};

bool play_runtime(const struct record *record, enum verdict *verdict) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    any_function function = NULL;
    if (!is_call(record, functions[i].name)) continue;
    memcpy(&function, (const char *)&rt + functions[i].needs, sizeof function);
    *verdict = function ? functions[i].play(record)
                        : leave_out(record, "the plugin has no such function");
    return true;
  }
  return false;
}
