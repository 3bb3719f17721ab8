/* Everything at once. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 60, BYTES = 20011 };

static pthread_barrier_t together;

static void one_round(plug_stream stream, int seed) {
  unsigned char want[BYTES], got[BYTES];
  atomic_int ran = 0;
  memset(want, seed, BYTES);
  want[seed % BYTES] ^= 0xff;
  void *a = allocate(BYTES), *b = allocate(BYTES);
  plug_mem first = on_device(a, 0), second = on_device(b, 0);
  plug_mem in = on_host(want), out = on_host(got);
  ok(rt.copy(device, stream, &first, &in, BYTES), "copy");
  ok(rt.copy(device, stream, &second, &first, BYTES), "copy");
  if (rt.stream_create) {
    plug_event event = new_event(0);
    ok(rt.event_record(device, event, stream), "event_record");
    ok(rt.event_wait(device, event, device, stream), "event_wait");
    if (rt.host_func) run_on(stream, count_up, &ran);
    ok(rt.event_sync(device, event), "event_sync");
    ok(rt.event_destroy(device, event), "event_destroy");
  }
  ok(rt.copy(device, stream, &out, &second, BYTES), "copy");
  if (rt.stream_create) ok(rt.stream_sync(device, stream), "stream_sync");
  expect(!rt.host_func || !rt.stream_create || ran == 1, "a host function ran %d times",
         (int)ran);
  expect(first_difference(got, want, BYTES) < 0, "bytes of one thread reached another's");
  release(a), release(b);
}

static void *work(void *arg) {
  const int number = (int)(intptr_t)arg;
  pthread_barrier_wait(&together);
  plug_stream stream = rt.stream_create ? new_stream() : NULL;
  for (int i = 0; i < ROUNDS; i++) one_round(stream, number * ROUNDS + i);
  if (rt.stream_create) ok(rt.stream_destroy(device, stream), "stream_destroy");
  return NULL;
}

static void all_at_once(void) {
  pthread_t threads[THREADS];
  if (module.flags & PLUG_SERIALIZE) {
    absent("PLUG_SERIALIZE: the host takes one lock around every call");
  }
  pthread_barrier_init(&together, NULL, THREADS);
  for (intptr_t i = 0; i < THREADS; i++) {
    pthread_create(&threads[i], NULL, work, (void *)i);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

const struct check thread_checks[] = {
    {.name = "threads",
     .promise = "eight threads use the device concurrently",
     .run = all_at_once},
    {0},
};
