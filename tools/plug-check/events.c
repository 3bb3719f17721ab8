/* Events: marks in the order of a stream. */
#include <stdatomic.h>

#include "check.h"

static void never_recorded(void) {
  need_streams();
  plug_event event = new_event(0);
  ok(rt.event_query(device, event), "event_query of an event never recorded");
  doing("event_sync of an event never recorded");
  ok(rt.event_sync(device, event), "event_sync");
  plug_stream stream = new_stream();
  ok(rt.event_wait(device, event, device, stream), "event_wait");
  doing("a stream that waits for an event never recorded");
  ok(rt.stream_sync(device, stream), "stream_sync");
  ok(rt.event_destroy(device, event), "event_destroy");
}

static void query(void) {
  struct gate gate;
  need_host_func();
  plug_stream stream = new_stream();
  plug_event event = new_event(0);
  hold(stream, &gate);
  ok(rt.event_record(device, event, stream), "event_record");
  const plug_status status = rt.event_query(device, event);
  expect(status == PLUG_NOT_READY, "event_query before the work is done returned: %s",
         status_text(status));
  open_gate(&gate);
  doing("event_sync");
  ok(rt.event_sync(device, event), "event_sync");
  ok(rt.event_query(device, event), "event_query after event_sync");
}

/* What was recorded does not wait for what came after. */
static void record_is_a_moment(void) {
  struct gate gate;
  need_host_func();
  plug_stream stream = new_stream();
  plug_event event = new_event(0);
  run_on(stream, sleep_a_little, NULL);
  ok(rt.event_record(device, event, stream), "event_record");
  hold(stream, &gate);
  doing("event_sync, while work enqueued after the record is blocked");
  ok(rt.event_sync(device, event), "event_sync");
  open_gate(&gate);
  ok(rt.stream_sync(device, stream), "stream_sync");
}

static void wait_between(int32_t other, plug_stream waiting) {
  struct gate gate;
  atomic_int ran = 0;
  plug_stream stream = new_stream();
  plug_event event = new_event(0);
  hold(stream, &gate);
  ok(rt.event_record(device, event, stream), "event_record");
  const plug_status waits = rt.event_wait(device, event, other, waiting);
  if (waits == PLUG_UNSUPPORTED && other != device) {
    open_gate(&gate);
    absent("events do not cross devices: the calling thread waits for them");
  }
  ok(waits, "event_wait");
  ok(rt.host_func(other, waiting, count_up, no_release, &ran), "host_func");
  wait_for_entry(&gate);
  sleep_a_little(NULL, PLUG_OK); /* time enough for a stream that does not wait */
  expect(ran == 0, "a stream ran on although the event it waits for is not ready");
  const plug_status status = rt.stream_query(other, waiting);
  expect(status == PLUG_NOT_READY, "stream_query of a stream that waits returned: %s",
         status_text(status));
  open_gate(&gate);
  doing("a stream that waited for an event");
  ok(rt.stream_sync(other, waiting), "stream_sync");
  expect(ran == 1, "when stream_sync returned, the work had run %d times", (int)ran);
}

static void wait(void) {
  need_host_func();
  wait_between(device, new_stream());
}

static void wait_on_default(void) {
  need_host_func();
  wait_between(device, NULL);
}

static void wait_across(void) {
  plug_stream waiting = NULL;
  need_host_func();
  const int32_t other = need_other_device();
  ok(rt.stream_create(other, 0, &waiting), "stream_create");
  wait_between(other, waiting);
}

/* Recording again leaves those who wait with what they waited for. */
static void record_again(void) {
  struct gate first, second;
  atomic_int ran = 0;
  need_host_func();
  plug_stream a = new_stream(), b = new_stream(), c = new_stream();
  plug_event event = new_event(0);
  hold(a, &first);
  hold(c, &second);
  ok(rt.event_record(device, event, a), "event_record");
  ok(rt.event_wait(device, event, device, b), "event_wait");
  run_on(b, count_up, &ran);
  ok(rt.event_record(device, event, c), "event_record");
  open_gate(&first);
  doing("a stream that waits for an event, recorded again elsewhere since");
  ok(rt.stream_sync(device, b), "stream_sync");
  expect(ran == 1, "when stream_sync returned, the work had run %d times", (int)ran);
  const plug_status status = rt.event_query(device, event);
  expect(status == PLUG_NOT_READY,
         "event_query is for the latest record, but it returned: %s",
         status_text(status));
  open_gate(&second);
  doing("event_sync of an event recorded twice");
  ok(rt.event_sync(device, event), "event_sync");
}

static void destroy(void) {
  struct gate gate;
  atomic_int ran = 0;
  need_host_func();
  plug_stream a = new_stream(), b = new_stream();
  plug_event event = new_event(0);
  hold(a, &gate);
  ok(rt.event_record(device, event, a), "event_record");
  ok(rt.event_wait(device, event, device, b), "event_wait");
  run_on(b, count_up, &ran);
  doing("event_destroy, which does not wait");
  ok(rt.event_destroy(device, event), "event_destroy");
  wait_for_entry(&gate);
  sleep_a_little(NULL, PLUG_OK);
  expect(ran == 0, "a stream no longer waits for an event that has been destroyed");
  open_gate(&gate);
  doing("a stream that waited for an event, destroyed since");
  ok(rt.stream_sync(device, b), "stream_sync");
}

static void elapsed(void) {
  int64_t ns = -1;
  need_streams();
  if (!rt.event_elapsed) absent("no event_elapsed: Event.elapsed_time is an error");
  plug_stream stream = new_stream();
  plug_event start = new_event(PLUG_EVENT_TIMING), end = new_event(PLUG_EVENT_TIMING);
  ok(rt.event_record(device, start, stream), "event_record");
  if (rt.host_func) run_on(stream, sleep_a_little, NULL);
  ok(rt.event_record(device, end, stream), "event_record");
  ok(rt.stream_sync(device, stream), "stream_sync");
  ok(rt.event_elapsed(device, start, end, &ns), "event_elapsed");
  const int64_t least = rt.host_func ? 20 * 1000 * 1000 * 9 / 10 : 0;
  expect(ns >= least, "event_elapsed returns %lld ns around work of 20 ms",
         (long long)ns);
  plug_event plain = new_event(0);
  ok(rt.event_record(device, plain, stream), "event_record");
  ok(rt.stream_sync(device, stream), "stream_sync");
  ns = -77;
  const plug_status status = rt.event_elapsed(device, start, plain, &ns);
  well_formed(status, "event_elapsed of an event without a time");
  expect(status == PLUG_INVALID, "event_elapsed of an event without a time returned: %s",
         status_text(status));
  expect(ns == -77, "event_elapsed wrote its output though it failed");
}

const struct check event_checks[] = {
    {.name = "event-never-recorded",
     .promise = "a never recorded event is ready",
     .run = never_recorded},
    {.name = "event-query",
     .promise = "an event is ready when the work before it is done, not earlier",
     .run = query},
    {.name = "event-moment",
     .promise = "an event does not wait for work that follows it",
     .run = record_is_a_moment},
    {.name = "event-wait", .promise = "a stream waits for an event", .run = wait},
    {.name = "event-wait-default",
     .promise = "the default stream waits for an event",
     .run = wait_on_default},
    {.name = "event-wait-peer",
     .promise = "a stream waits for an event of another device",
     .run = wait_across},
    {.name = "event-record-again",
     .promise = "a wait is for the record made before it",
     .run = record_again},
    {.name = "event-destroy",
     .promise = "event_destroy does not wait, and pending waits stay valid",
     .run = destroy},
    {.name = "event-elapsed",
     .promise =
         "elapsed times increase; without PLUG_EVENT_TIMING the result is PLUG_INVALID",
     .run = elapsed},
    {0},
};
