/* Recording a stream and playing it back. */
#include <stdatomic.h>
#include <string.h>

#include "check.h"

enum { BYTES = 3000 };

static atomic_int released;
static void count_release(void *arg) {
  (void)arg;
  atomic_fetch_add(&released, 1);
}

static void need_capture(void) {
  if (!rt.capture_begin)
    absent("no capture: the host keeps a list of commands of its own");
}

static void replay(void) {
  static unsigned char want[BYTES], got[BYTES];
  plug_capture capture = NULL;
  atomic_int ran = 0;
  need_capture();
  plug_stream stream = new_stream(), other = new_stream();
  void *a = allocate(BYTES), *b = allocate(BYTES);
  fill_random(want, BYTES);
  put(a, 0, want, BYTES);
  memset(got, 0, BYTES);
  put(b, 0, got, BYTES);
  ok(rt.capture_begin(device, stream, PLUG_CAPTURE_THREAD), "capture_begin");
  plug_mem dst = on_device(b, 0), src = on_device(a, 0);
  ok(rt.copy(device, stream, &dst, &src, BYTES), "copy while capturing");
  if (rt.host_func) {
    ok(rt.host_func(device, stream, count_up, count_release, &ran),
       "host_func while capturing");
  }
  void *beside = allocate(100); /* works while a stream captures */
  ok(rt.capture_end(device, stream, &capture), "capture_end");
  expect(capture != NULL, "capture_end gave NULL");
  ok(rt.device_sync(device), "device_sync");
  get(got, b, 0, BYTES);
  expect(first_difference(got, want, BYTES) >= 0 && ran == 0,
         "what was captured ran before it was replayed");
  for (int i = 0; i < 3; i++) {
    fill_random(want, BYTES);
    put(a, 0, want, BYTES);
    plug_stream on = i == 1 ? other : stream;
    doing("capture_replay");
    ok(rt.capture_replay(device, capture, on), "capture_replay");
    ok(rt.stream_sync(device, on), "stream_sync");
    get(got, b, 0, BYTES);
    expect(first_difference(got, want, BYTES) < 0, "replay %d did not copy anew", i);
    expect(!rt.host_func || ran == i + 1,
           "after %d replays a host function has run %d times", i + 1, (int)ran);
  }
  expect(released == 0, "an argument was released while its capture can be replayed");
  ok(rt.capture_destroy(device, capture), "capture_destroy");
  ok(rt.device_sync(device), "device_sync");
  expect(!rt.host_func || released == 1,
         "after capture_destroy the argument had been released %d times", (int)released);
  release(beside), release(a), release(b);
}

static void empty(void) {
  plug_capture capture = NULL;
  need_capture();
  plug_stream stream = new_stream();
  ok(rt.capture_begin(device, stream, PLUG_CAPTURE_THREAD), "capture_begin");
  ok(rt.capture_end(device, stream, &capture), "capture_end");
  ok(rt.capture_replay(device, capture, stream), "capture_replay of nothing");
  ok(rt.stream_sync(device, stream), "stream_sync");
  ok(rt.capture_destroy(device, capture), "capture_destroy");
}

static void misuse(void) {
  plug_capture capture = NULL;
  need_capture();
  plug_stream stream = new_stream();
  refused(rt.capture_end(device, stream, &capture),
          "capture_end of a stream that captures nothing");
  refused(rt.capture_begin(device, stream, 77), "capture_begin in an unknown mode");
}

const struct check capture_checks[] = {
    {.name = "capture-replay",
     .promise = "what a stream captured runs at each replay and not before",
     .run = replay},
    {.name = "capture-empty",
     .promise = "nothing can be captured and replayed",
     .run = empty},
    {.name = "capture-misuse",
     .promise = "an end without a beginning and an unknown mode are refused",
     .run = misuse},
    {0},
};
