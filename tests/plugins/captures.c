/* A synchronous device that captures by itself: copies, and a random kernel that finds
** its seed and offset in device memory, as plug_rng says. Kernels run on the caller's
** thread. */
#include "base.h"

enum { kMostTasks = 256 };

struct task {
  plug_mem dst, src; /* a copy, if src.base is not NULL */
  uint64_t bytes;
  plug_rng rng;
};

struct plug_capture_s {
  struct task tasks[kMostTasks];
  int count;
};

static plug_capture capturing;

static void draw(float *out, int64_t n, const plug_rng *rng) {
  const uint64_t *replayed =
      rng->location.base ? (const uint64_t *)at(&rng->location) : NULL;
  const uint64_t seed = replayed ? replayed[0] : rng->seed;
  const uint64_t offset = rng->offset + (replayed ? replayed[1] : 0);
  for (int64_t i = 0; i < n; i++) {
    uint64_t z = seed + 0x9e3779b97f4a7c15u * (offset + (uint64_t)i + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    out[i] = (float)(z >> 41) / (float)(1 << 23);
  }
}

static plug_status run(const struct task *task) {
  if (task->src.base) return base_copy(0, NULL, &task->dst, &task->src, task->bytes);
  draw((float *)at(&task->dst), (int64_t)(task->bytes / sizeof(float)), &task->rng);
  return PLUG_OK;
}

static plug_status run_or_keep(const struct task *task) {
  if (!capturing) return run(task);
  if (capturing->count == kMostTasks) return fail(PLUG_INVALID, "too much to capture");
  capturing->tasks[capturing->count++] = *task;
  return PLUG_OK;
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  const struct task task = {.dst = *dst, .src = *src, .bytes = bytes};
  (void)device, (void)stream;
  if (capturing && (dst->device == PLUG_HOST || src->device == PLUG_HOST))
    return fail(PLUG_INVALID, "host memory is not captured");
  return run_or_keep(&task);
}

static plug_status uniform(const plug_call *call) {
  const plug_tensor *out = call->results[0].as.tensors;
  struct task task = {.dst = out->mem,
                      .bytes = (uint64_t)count_of(out) * sizeof(float),
                      .rng = {.size = sizeof(plug_rng)}};
  if (out->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  const plug_status status = host->rng(host, call, (uint64_t)count_of(out), &task.rng);
  if (status != PLUG_OK) return status;
  if (capturing && !task.rng.location.base) return fail(PLUG_INVALID, "no location");
  return run_or_keep(&task);
}

static plug_status capture_begin(int32_t device, plug_stream stream, int32_t mode) {
  (void)device, (void)stream, (void)mode;
  capturing = calloc(1, sizeof *capturing);
  return PLUG_OK;
}

static plug_status capture_end(int32_t device, plug_stream stream, plug_capture *out) {
  (void)device, (void)stream;
  *out = capturing;
  capturing = NULL;
  return PLUG_OK;
}

static plug_status capture_replay(int32_t device, plug_capture capture,
                                  plug_stream stream) {
  (void)device, (void)stream;
  for (int i = 0; i < capture->count; i++) run(&capture->tasks[i]);
  return PLUG_OK;
}

static plug_status capture_destroy(int32_t device, plug_capture capture) {
  (void)device;
  free(capture);
  return PLUG_OK;
}

static const plug_kernel list[] = {
    {.schema = "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? "
               "generator=None) -> Tensor",
     .fn = uniform}};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "captures");
  runtime.copy = copy;
  runtime.capture_begin = capture_begin;
  runtime.capture_end = capture_end;
  runtime.capture_replay = capture_replay;
  runtime.capture_destroy = capture_destroy;
  add_kernels(list, 1);
  *out = &module;
  return PLUG_OK;
}
