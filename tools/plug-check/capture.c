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

/* A synchronous device captures on the one stream it has. */
static plug_stream capture_stream(void) { return rt.stream_create ? new_stream() : NULL; }

static void finish(plug_stream stream) {
  ok(rt.stream_create ? rt.stream_sync(device, stream) : rt.device_sync(device),
     "a sync of the stream");
}

static void replay(void) {
  static unsigned char want[BYTES], got[BYTES];
  plug_capture capture = NULL;
  atomic_int ran = 0;
  need_capture();
  plug_stream stream = capture_stream(), other = capture_stream();
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
  expect(capture != NULL, "capture_end returned NULL");
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
    finish(on);
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

/* The capture of a copy, ended. */
static plug_capture capture_copy(plug_stream stream, void *to, void *from) {
  plug_capture capture = NULL;
  plug_mem dst = on_device(to, 0), src = on_device(from, 0);
  ok(rt.capture_begin(device, stream, PLUG_CAPTURE_THREAD), "capture_begin");
  ok(rt.copy(device, stream, &dst, &src, BYTES), "copy while capturing");
  ok(rt.capture_end(device, stream, &capture), "capture_end");
  return capture;
}

static void behind(void) {
  static unsigned char want[BYTES], got[BYTES], old[BYTES];
  struct gate gate;
  need_capture();
  need_host_func();
  plug_stream stream = new_stream(), other = new_stream();
  void *a = allocate(BYTES), *b = allocate(BYTES);
  fill_random(want, BYTES);
  put(a, 0, want, BYTES), put(b, 0, old, BYTES);
  plug_capture capture = capture_copy(stream, b, a);
  hold(stream, &gate);
  wait_for_entry(&gate);
  doing("capture_replay, which does not wait for its stream");
  ok(rt.capture_replay(device, capture, stream), "capture_replay");
  sleep_a_little(NULL, PLUG_OK);
  get_on(other, got, b, BYTES);
  expect(first_difference(got, old, BYTES) < 0,
         "a replay was done before the earlier work on its stream");
  open_gate(&gate);
  get_on(stream, got, b, BYTES);
  expect(first_difference(got, want, BYTES) < 0,
         "a replay behind other work was not done");
  ok(rt.capture_destroy(device, capture), "capture_destroy");
}

/* Work goes from one stream to another and back: a copy on each. */
static void join(void) {
  static unsigned char want[BYTES], got[BYTES];
  plug_capture capture = NULL;
  need_capture();
  need_streams();
  plug_stream stream = new_stream(), side = new_stream();
  plug_event there = new_event(0), back = new_event(0);
  void *base[3];
  for (int i = 0; i < 3; i++) {
    base[i] = allocate(BYTES);
    put(base[i], 0, want, BYTES);
  }
  plug_mem a = on_device(base[0], 0), b = on_device(base[1], 0),
           c = on_device(base[2], 0);
  doing("a capture that another stream joins");
  ok(rt.capture_begin(device, stream, PLUG_CAPTURE_THREAD), "capture_begin");
  ok(rt.event_record(device, there, stream), "event_record while capturing");
  ok(rt.event_wait(device, there, device, side), "event_wait, which joins a capture");
  ok(rt.copy(device, side, &b, &a, BYTES), "copy on a stream that joined a capture");
  ok(rt.event_record(device, back, side),
     "event_record on a stream that joined a capture");
  ok(rt.event_wait(device, back, device, stream), "event_wait while capturing");
  ok(rt.copy(device, stream, &c, &b, BYTES), "copy while capturing");
  ok(rt.capture_end(device, stream, &capture), "capture_end");
  for (int i = 0; i < 3; i++) {
    fill_random(want, BYTES);
    put(base[0], 0, want, BYTES);
    get(got, base[1], 0, BYTES);
    expect(first_difference(got, want, BYTES) >= 0,
           "work of a stream that joined a capture ran before the replay");
    ok(rt.capture_replay(device, capture, stream), "capture_replay");
    get_on(stream, got, base[2], BYTES);
    expect(first_difference(got, want, BYTES) < 0,
           "a replay left out the work of a stream that had joined the capture");
  }
  ok(rt.capture_destroy(device, capture), "capture_destroy");
}

static void waits(void) {
  plug_capture capture = NULL;
  need_capture();
  plug_stream stream = capture_stream();
  for (int i = rt.stream_create ? 0 : 1; i < 2; i++) {
    ok(rt.capture_begin(device, stream, PLUG_CAPTURE_GLOBAL), "capture_begin");
    doing("a wait while a stream captures, which is refused");
    refused(i == 0 ? rt.stream_sync(device, stream) : rt.device_sync(device),
            i == 0 ? "stream_sync of a stream that captures"
                   : "device_sync while a stream captures in the global mode");
    refused(rt.capture_end(device, stream, &capture),
            "the end of a capture that was spoilt");
    finish(stream);
  }
}

static void empty(void) {
  plug_capture capture = NULL;
  need_capture();
  plug_stream stream = capture_stream();
  ok(rt.capture_begin(device, stream, PLUG_CAPTURE_THREAD), "capture_begin");
  ok(rt.capture_end(device, stream, &capture), "capture_end");
  ok(rt.capture_replay(device, capture, stream), "capture_replay of nothing");
  finish(stream);
  ok(rt.capture_destroy(device, capture), "capture_destroy");
}

static void misuse(void) {
  plug_capture capture = NULL;
  need_capture();
  plug_stream stream = capture_stream();
  refused(rt.capture_end(device, stream, &capture),
          "capture_end of a stream that captures nothing");
  refused(rt.capture_begin(device, stream, 77), "capture_begin in an unknown mode");
}

const struct check capture_checks[] = {
    {.name = "capture-replay",
     .promise = "what a stream captured runs at each replay and not before",
     .run = replay},
    {.name = "capture-behind",
     .promise =
         "a replay runs after earlier work on its stream, without blocking the caller",
     .run = behind},
    {.name = "capture-join",
     .promise = "a stream that waits for an event of a capture takes part in it",
     .run = join},
    {.name = "capture-wait",
     .promise = "synchronising with a capturing stream fails and invalidates the capture",
     .run = waits},
    {.name = "capture-empty",
     .promise = "an empty capture can be replayed",
     .run = empty},
    {.name = "capture-misuse",
     .promise = "capture_end without capture_begin and unknown modes fail",
     .run = misuse},
    {0},
};
