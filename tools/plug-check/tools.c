/* What checks are made of. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "verdict.h"

/* ---- judging ---- */

static void give_verdict(char state, const char *format, va_list words) {
  if (atomic_fetch_add(&verdict->claims, 1) > 0) {
    sleep(1); /* whoever was first is about to end this process, or has ended its own */
    _exit(0);
  }
  vsnprintf(verdict->reason, sizeof verdict->reason, format, words);
  verdict->state = state;
  _exit(0);
}

void fail(const char *format, ...) {
  va_list words;
  va_start(words, format);
  give_verdict(VERDICT_FAIL, format, words);
  va_end(words);
  abort();
}

static void skip(const char *format, ...) PRINTF_LIKE(1, 2);
static void skip(const char *format, ...) {
  va_list words;
  va_start(words, format);
  give_verdict(VERDICT_ABSENT, format, words);
  va_end(words);
}

void absent(const char *what_the_host_does) {
  skip("%s", what_the_host_does);
  abort();
}

void remark(const char *format, ...) {
  va_list words;
  va_start(words, format);
  vsnprintf(verdict->reason, sizeof verdict->reason, format, words);
  va_end(words);
}

void expect(bool condition, const char *format, ...) {
  va_list words;
  if (condition) return;
  va_start(words, format);
  give_verdict(VERDICT_FAIL, format, words);
  va_end(words);
}

void doing(const char *what) {
  snprintf(verdict->doing, sizeof verdict->doing, "%s", what);
}

const char *well_formed(plug_status status, const char *call) {
  const char *said = take_error();
  bool known = (status >= PLUG_OK && status <= PLUG_UNSUPPORTED) ||
               (status >= PLUG_INVALID && status <= PLUG_INTERNAL);
  expect(known, "%s returned the unknown status %d", call, status);
  expect(status < PLUG_INVALID || said, "%s failed (%s) without calling set_error", call,
         status_text(status));
  return said;
}

void ok(plug_status status, const char *call) {
  const char *said = take_error();
  expect(status == PLUG_OK, "%s failed (%d, %s): %s", call, status, status_text(status),
         said ? said : "no reason given");
}

void refused(plug_status status, const char *call) {
  well_formed(status, call);
  expect(status >= PLUG_UNSUPPORTED, "%s did not fail, but returned: %s", call,
         status_text(status));
  expect(status == PLUG_UNSUPPORTED || status == PLUG_INVALID,
         "%s returned: %s; PLUG_UNSUPPORTED was wanted, or PLUG_INVALID with a sentence",
         call, status_text(status));
}

/* ---- what is there ---- */

void need_streams(void) {
  if (!rt.stream_create) absent("no streams: the host takes the device for synchronous");
}

void need_host_func(void) {
  need_streams();
  if (!rt.host_func) {
    absent("no host_func: the host synchronises the stream around operators on the CPU");
  }
}

int32_t need_other_device(void) {
  if (device_total < 2) absent("the plugin has one device");
  int32_t other = device == 0 ? 1 : 0;
  open_device(other);
  return other;
}

/* ---- memory ---- */

void *allocate_on(int32_t index, uint64_t bytes) {
  void *base = NULL;
  doing("mem_alloc");
  ok(rt.mem_alloc(index, bytes, &base), "mem_alloc");
  return base;
}

void *allocate(uint64_t bytes) { return allocate_on(device, bytes); }

void release(void *base) {
  doing("device_sync");
  ok(rt.device_sync(device), "device_sync");
  doing("mem_free");
  ok(rt.mem_free(device, base), "mem_free");
}

plug_mem on_device(void *base, uint64_t offset) {
  return (plug_mem){base, offset, device, 0};
}

plug_mem on_host(const void *address) {
  return (plug_mem){(void *)(uintptr_t)address, 0, PLUG_HOST, 0};
}

void put_in(plug_mem dst, const void *from, uint64_t bytes) {
  plug_mem src = on_host(from);
  doing("a copy from the host");
  ok(rt.copy(device, NULL, &dst, &src, bytes), "copy");
  ok(rt.device_sync(device), "device_sync");
}

void get_from(void *to, plug_mem src, uint64_t bytes) {
  plug_mem dst = on_host(to);
  doing("a copy to the host");
  ok(rt.copy(device, NULL, &dst, &src, bytes), "copy");
}

void get_on(plug_stream stream, void *to, void *base, uint64_t bytes) {
  plug_mem dst = on_host(to), src = on_device(base, 0);
  doing("a copy to the host, on an idle stream");
  ok(rt.copy(device, stream, &dst, &src, bytes), "copy");
  ok(rt.stream_sync(device, stream), "stream_sync");
}

void put(void *base, uint64_t offset, const void *from, uint64_t bytes) {
  put_in(on_device(base, offset), from, bytes);
}

void get(void *to, void *base, uint64_t offset, uint64_t bytes) {
  get_from(to, on_device(base, offset), bytes);
}

/* ---- streams ---- */

plug_stream new_stream(void) {
  plug_stream stream = NULL;
  doing("stream_create");
  ok(rt.stream_create(device, 0, &stream), "stream_create");
  expect(stream != NULL, "stream_create returned NULL, which is the default stream");
  return stream;
}

plug_event new_event(uint32_t flags) {
  plug_event event = NULL;
  doing("event_create");
  ok(rt.event_create(device, flags, &event), "event_create");
  return event;
}

void no_release(void *arg) { (void)arg; }

void run_on(plug_stream stream, void (*fn)(void *arg, plug_status status), void *arg) {
  doing("host_func");
  ok(rt.host_func(device, stream, fn, no_release, arg), "host_func");
}

static void stand_at_gate(void *arg, plug_status status) {
  struct gate *gate = arg;
  (void)status;
  pthread_mutex_lock(&gate->lock);
  gate->entered = true;
  pthread_cond_broadcast(&gate->changed);
  while (!gate->open) pthread_cond_wait(&gate->changed, &gate->lock);
  pthread_mutex_unlock(&gate->lock);
}

void hold_on(int32_t index, plug_stream stream, struct gate *gate) {
  pthread_mutex_init(&gate->lock, NULL);
  pthread_cond_init(&gate->changed, NULL);
  gate->entered = gate->open = false;
  doing("host_func, which must not run its function before it returns");
  ok(rt.host_func(index, stream, stand_at_gate, no_release, gate), "host_func");
}

void hold(plug_stream stream, struct gate *gate) { hold_on(device, stream, gate); }

void wait_for_entry(struct gate *gate) {
  doing("a stream to run a host function with nothing before it");
  pthread_mutex_lock(&gate->lock);
  while (!gate->entered) pthread_cond_wait(&gate->changed, &gate->lock);
  pthread_mutex_unlock(&gate->lock);
}

void open_gate(struct gate *gate) {
  pthread_mutex_lock(&gate->lock);
  gate->open = true;
  pthread_cond_broadcast(&gate->changed);
  pthread_mutex_unlock(&gate->lock);
}

void sleep_a_little(void *arg, plug_status status) {
  struct timespec nap = {0, 20 * 1000 * 1000};
  (void)arg, (void)status;
  nanosleep(&nap, NULL);
}

void count_up(void *counter, plug_status status) {
  (void)status;
  atomic_fetch_add((atomic_int *)counter, 1);
}

/* ---- values ---- */

/* Marsaglia's xorshift: the same numbers in every run. */
uint32_t random_below(uint32_t limit) {
  static _Thread_local uint32_t state = 2463534242u;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state % limit;
}

void fill_random(void *to, uint64_t bytes) {
  unsigned char *at = to;
  for (uint64_t i = 0; i < bytes; i++) at[i] = (unsigned char)random_below(256);
}

int64_t first_difference(const void *a, const void *b, uint64_t bytes) {
  const unsigned char *x = a, *y = b;
  for (uint64_t i = 0; i < bytes; i++) {
    if (x[i] != y[i]) return (int64_t)i;
  }
  return -1;
}
