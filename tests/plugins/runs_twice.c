/* Runs every host function twice. */
#include "on_sim.h"

struct job {
  void (*fn)(void *arg, plug_status status);
  void (*release)(void *arg);
  void *arg;
};

static void run_twice(void *arg, plug_status status) {
  const struct job *job = arg;
  job->fn(job->arg, status);
  job->fn(job->arg, status);
}

static void release_once(void *arg) {
  struct job *job = arg;
  job->release(job->arg);
  free(job);
}

static plug_status host_func(int32_t device, plug_stream stream,
                             void (*fn)(void *arg, plug_status status),
                             void (*release)(void *arg), void *arg) {
  struct job *job = malloc(sizeof *job);
  *job = (struct job){fn, release, arg};
  return sim.host_func(device, stream, run_twice, release_once, job);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "runs_twice");
  if (status != PLUG_OK) return status;
  runtime.host_func = host_func;
  *out = &module;
  return PLUG_OK;
}
