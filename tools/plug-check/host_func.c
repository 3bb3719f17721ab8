/* Functions of the host's in stream order. */
#include <stdatomic.h>

#include "check.h"

struct job {
  atomic_int ran, released;
  atomic_int place; /* among all that ran */
  atomic_int status;
  bool released_early; /* before it ran */
};

static atomic_int next_place;

static void run_job(void *arg, plug_status status) {
  struct job *job = arg;
  atomic_store(&job->place, atomic_fetch_add(&next_place, 1));
  atomic_store(&job->status, status);
  atomic_fetch_add(&job->ran, 1);
}

static void release_job(void *arg) {
  struct job *job = arg;
  if (atomic_load(&job->ran) == 0) job->released_early = true;
  atomic_fetch_add(&job->released, 1);
}

enum { JOBS = 500 };
static struct job jobs[JOBS];

static void run_jobs(void) {
  need_host_func();
  plug_stream stream = new_stream();
  for (int i = 0; i < JOBS; i++) {
    ok(rt.host_func(device, stream, run_job, release_job, &jobs[i]), "host_func");
  }
  doing("stream_sync");
  ok(rt.stream_sync(device, stream), "stream_sync");
}

static void order(void) {
  run_jobs();
  for (int i = 0; i < JOBS; i++) {
    expect(jobs[i].ran, "function %d had not run when stream_sync returned", i);
    expect(jobs[i].place == i, "function %d ran as number %d", i, (int)jobs[i].place);
  }
}

static void once(void) {
  run_jobs();
  sleep_a_little(NULL, PLUG_OK); /* time enough for a second run */
  for (int i = 0; i < JOBS; i++) {
    expect(jobs[i].ran == 1, "function %d ran %d times", i, (int)jobs[i].ran);
    expect(jobs[i].status == PLUG_OK, "function %d was told: %s", i,
           status_text(jobs[i].status));
  }
}

static void released(void) {
  run_jobs();
  for (int i = 0; i < JOBS; i++) {
    expect(jobs[i].released,
           "argument %d had not been released when stream_sync returned", i);
    expect(!jobs[i].released_early, "argument %d was released before its function ran",
           i);
  }
  sleep_a_little(NULL, PLUG_OK);
  for (int i = 0; i < JOBS; i++) {
    expect(jobs[i].released == 1, "argument %d was released %d times", i,
           (int)jobs[i].released);
  }
}

/* A copy, whose bytes it looks at through the host view. */
static void sees_the_work_before(void) {
  enum { BYTES = 1 << 20 };
  static unsigned char want[BYTES];
  void *view = NULL;
  struct gate gate;
  need_host_func();
  if (!rt.host_view) absent("no host_view: operators on the CPU work on copies");
  plug_stream stream = new_stream();
  void *a = allocate(BYTES), *b = allocate(BYTES);
  ok(rt.host_view(device, b, &view), "host_view");
  fill_random(want, BYTES);
  put(a, 0, want, BYTES);
  plug_mem dst = on_device(b, 0), src = on_device(a, 0);
  ok(rt.copy(device, stream, &dst, &src, BYTES), "copy");
  hold(stream, &gate);
  wait_for_entry(&gate);
  expect(first_difference(view, want, BYTES) < 0,
         "a host function ran before the copy before it was done");
  open_gate(&gate);
  ok(rt.stream_sync(device, stream), "stream_sync");
}

static void refusal(void) {
  static struct job job;
  need_host_func();
  const plug_status status = rt.host_func(device_total, NULL, run_job, release_job, &job);
  well_formed(status, "host_func on a device that does not exist");
  if (status == PLUG_OK) absent("the plugin takes any device index for its one device");
  sleep_a_little(NULL, PLUG_OK);
  expect(job.ran == 0 && job.released == 0,
         "host_func failed, but ran its function %d times and its release %d times",
         (int)job.ran, (int)job.released);
}

const struct check host_func_checks[] = {
    {.name = "host-func-order",
     .promise = "host functions run in the order given, before a sync returns",
     .run = order},
    {.name = "host-func-once",
     .promise =
         "each host function runs exactly once, with PLUG_OK if earlier work succeeded",
     .run = once},
    {.name = "host-func-release",
     .promise =
         "each argument is released exactly once, after it ran, before a sync returns",
     .run = released},
    {.name = "host-func-after",
     .promise = "a host function sees the earlier work done",
     .run = sees_the_work_before},
    {.name = "host-func-refused",
     .promise = "a host_func that fails calls neither function",
     .run = refusal},
    {0},
};
