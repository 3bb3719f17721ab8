/* Streams: order within one, independence of the others. */
#include <stdatomic.h>
#include <string.h>

#include "check.h"

static void order(void) {
  enum { STEPS = 200, BYTES = 4096 };
  static unsigned char want[BYTES], got[BYTES];
  need_streams();
  plug_stream stream = new_stream();
  void *first = allocate(BYTES), *second = allocate(BYTES);
  fill_random(want, BYTES);
  plug_mem a = on_device(first, 0), b = on_device(second, 0), host = on_host(want);
  ok(rt.copy(device, stream, &a, &host, BYTES), "copy");
  /* Each step moves everything one byte on: out of order, the bytes would be others. */
  for (int i = 0; i < STEPS; i++) {
    plug_mem from = a, to = b;
    from.offset = 1;
    ok(rt.copy(device, stream, &to, &from, BYTES - 1), "copy");
    from.offset = 0, to.offset = BYTES - 1;
    ok(rt.copy(device, stream, &to, &from, 1), "copy");
    plug_mem swap = a;
    a = b, b = swap;
    unsigned char head = want[0];
    memmove(want, want + 1, BYTES - 1);
    want[BYTES - 1] = head;
  }
  doing("stream_sync");
  ok(rt.stream_sync(device, stream), "stream_sync");
  get(got, a.base, 0, BYTES);
  expect(first_difference(got, want, BYTES) < 0,
         "copies on one stream did not run in the order given");
}

/* Behind a gate nothing happens, and nobody waits for it. */
static void behind(void) {
  enum { BYTES = 2000 };
  static unsigned char want[BYTES], got[BYTES], old[BYTES];
  struct gate gate;
  need_host_func();
  plug_stream stream = new_stream(), other = new_stream();
  void *source = allocate(BYTES), *copied = allocate(BYTES), *filled = allocate(BYTES);
  memset(want, 7, BYTES);
  put(source, 0, want, BYTES), put(copied, 0, old, BYTES), put(filled, 0, old, BYTES);
  hold(stream, &gate);
  wait_for_entry(&gate);
  plug_mem from = on_device(source, 0), to = on_device(copied, 0);
  doing("a copy of device memory, which does not wait for its stream");
  ok(rt.copy(device, stream, &to, &from, BYTES), "copy");
  to = on_device(filled, 0);
  doing("mem_fill, which does not wait for its stream");
  if (rt.mem_fill) ok(rt.mem_fill(device, stream, &to, 7, BYTES), "mem_fill");
  sleep_a_little(NULL, PLUG_OK);
  get_on(other, got, copied, BYTES);
  expect(first_difference(got, old, BYTES) < 0,
         "a copy was done before the earlier work on its stream");
  get_on(other, got, filled, BYTES);
  expect(first_difference(got, old, BYTES) < 0,
         "mem_fill was done before the earlier work on its stream");
  open_gate(&gate);
  get_on(stream, got, copied, BYTES);
  expect(first_difference(got, want, BYTES) < 0, "a copy behind other work was not done");
  get_on(stream, got, filled, BYTES);
  expect(!rt.mem_fill || first_difference(got, want, BYTES) < 0,
         "mem_fill behind other work was not done");
}

/* While one stream is held, the work of the other is done. */
static void one_beside_the_other(plug_stream held, plug_stream other, const char *what) {
  struct gate gate;
  atomic_int ran = 0;
  hold(held, &gate);
  wait_for_entry(&gate);
  run_on(other, count_up, &ran);
  doing(what);
  ok(rt.stream_sync(device, other), "stream_sync");
  expect(ran == 1, "%s: when stream_sync returned, it had run %d times", what, (int)ran);
  open_gate(&gate);
  ok(rt.stream_sync(device, held), "stream_sync");
}

static void independent(void) {
  need_host_func();
  plug_stream a = new_stream(), b = new_stream();
  one_beside_the_other(a, b, "work on a stream while another is blocked");
}

static void default_stream(void) {
  need_host_func();
  plug_stream stream = new_stream();
  one_beside_the_other(stream, NULL,
                       "work on the default stream while another is blocked");
  one_beside_the_other(NULL, stream,
                       "work on a stream while the default stream is blocked");
}

static void query(void) {
  struct gate gate;
  need_host_func();
  plug_stream streams[] = {NULL, new_stream()};
  for (int i = 0; i < 2; i++) {
    ok(rt.stream_query(device, streams[i]), "stream_query of an idle stream");
    hold(streams[i], &gate);
    plug_status status = rt.stream_query(device, streams[i]);
    expect(status == PLUG_NOT_READY, "stream_query of a stream with work returned: %s",
           status_text(status));
    wait_for_entry(&gate);
    status = rt.stream_query(device, streams[i]);
    expect(status == PLUG_NOT_READY, "stream_query while work runs returned: %s",
           status_text(status));
    open_gate(&gate);
    ok(rt.stream_sync(device, streams[i]), "stream_sync");
    ok(rt.stream_query(device, streams[i]), "stream_query after a sync");
  }
}

static void destroy(void) {
  struct gate gate;
  atomic_int ran = 0;
  need_host_func();
  plug_stream stream = new_stream();
  hold(stream, &gate);
  run_on(stream, count_up, &ran);
  wait_for_entry(&gate);
  doing("stream_destroy, which does not wait");
  ok(rt.stream_destroy(device, stream), "stream_destroy");
  open_gate(&gate);
  doing("device_sync");
  ok(rt.device_sync(device), "device_sync");
  expect(ran == 1, "work that a stream had when it was destroyed ran %d times", (int)ran);
  for (int i = 0; i < 300; i++) {
    ok(rt.stream_destroy(device, new_stream()), "stream_destroy");
  }
}

static void sync_waits(void) {
  /* Several: on a busy machine a call that does not wait may still come back late. */
  enum { ROUNDS = 5 };
  atomic_int ran = 0;
  need_host_func();
  plug_stream streams[] = {NULL, new_stream()};
  for (int i = 0; i < 2 * ROUNDS; i++) {
    run_on(streams[i % 2], sleep_a_little, NULL);
    run_on(streams[i % 2], count_up, &ran);
    doing("stream_sync");
    ok(rt.stream_sync(device, streams[i % 2]), "stream_sync");
    expect(ran == i + 1, "when stream_sync returned, work of the stream had not run");
  }
}

static void device_sync_waits(void) {
  enum { STREAMS = 4 };
  atomic_int ran = 0;
  need_host_func();
  for (int i = 0; i < STREAMS; i++) {
    plug_stream stream = i == 0 ? NULL : new_stream();
    run_on(stream, sleep_a_little, NULL);
    run_on(stream, count_up, &ran);
  }
  doing("device_sync");
  ok(rt.device_sync(device), "device_sync");
  expect(ran == STREAMS, "%d streams had work, but when device_sync returned, %d had run",
         STREAMS, (int)ran);
}

static void priorities(void) {
  need_streams();
  for (int32_t priority = info.priority_high; priority <= info.priority_low; priority++) {
    plug_stream stream = NULL;
    ok(rt.stream_create(device, priority, &stream), "stream_create");
    ok(rt.stream_sync(device, stream), "stream_sync");
    ok(rt.stream_destroy(device, stream), "stream_destroy");
  }
}

static void native(void) {
  void *name = NULL;
  need_streams();
  if (!rt.stream_native)
    absent("no stream_native: the host shows the plug_stream itself");
  plug_stream stream = new_stream();
  ok(rt.stream_native(device, stream, &name), "stream_native");
  ok(rt.stream_native(device, NULL, &name), "stream_native of the default stream");
}

static void import(void) {
  plug_stream imported = NULL, again = NULL;
  void *name = NULL;
  need_streams();
  if (!rt.stream_import || !rt.stream_native) {
    absent("no stream_import: the host takes a native stream for a plug_stream");
  }
  plug_stream stream = new_stream();
  ok(rt.stream_native(device, stream, &name), "stream_native");
  ok(rt.stream_import(device, name, &imported), "stream_import");
  ok(rt.stream_sync(device, imported), "stream_sync of an imported stream");
  ok(rt.stream_import(device, name, &again), "stream_import of the same stream");
  expect(again == imported, "a stream that is imported twice has two handles");
}

const struct check stream_checks[] = {
    {.name = "stream-order",
     .promise = "work given to one stream runs in the order given",
     .run = order},
    {.name = "stream-behind",
     .promise = "copies and fills run after earlier work on their stream, without "
                "blocking the caller",
     .run = behind},
    {.name = "stream-independent",
     .promise = "a blocked stream does not block another",
     .run = independent},
    {.name = "stream-default",
     .promise = "the default stream is independent of other streams",
     .run = default_stream},
    {.name = "stream-query",
     .promise = "a stream with work is not ready, and ready after it",
     .run = query},
    {.name = "stream-destroy",
     .promise = "stream_destroy does not wait, and pending work still completes",
     .run = destroy},
    {.name = "stream-sync",
     .promise = "stream_sync waits for the work of its stream",
     .run = sync_waits},
    {.name = "stream-device-sync",
     .promise = "device_sync waits for every stream",
     .run = device_sync_waits},
    {.name = "stream-priority",
     .promise = "a stream can be created with every priority in device_info",
     .run = priorities},
    {.name = "stream-native", .promise = "every stream has a native name", .run = native},
    {.name = "stream-import",
     .promise = "an imported stream works and does not affect the original",
     .run = import},
    {0},
};
