/* The sim device with kernels that prepare: relu keeps how many elements there are, and
** its work, which a stream does, looks whether the state is still there. It declines
** seven elements, with a reason. trace is shaped in prepare where PyTorch cannot. */
#include "prepare.h"

#include <pthread.h>

#include "elements.h"
#include "on_sim.h"

enum { kAlive = 0x51a7e, kGone = 0xdead };

struct state {
  int64_t elements;
  int life;
  struct state *next; /* forgotten ones are kept: to look at one is no crash */
};

struct work {
  struct state *state;
  const float *from;
  float *to;
  int64_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static prepare_counts counts;
static struct state *forgotten;

const prepare_counts *prepare_seen(void) { return &counts; }

static void count(int64_t *what) {
  pthread_mutex_lock(&lock);
  ++*what;
  pthread_mutex_unlock(&lock);
}

static float *address(const plug_tensor *tensor) {
  void *view = NULL;
  if (!tensor->mem.base || sim.host_view(tensor->mem.device, tensor->mem.base, &view))
    return NULL;
  return (float *)((char *)view + tensor->mem.offset);
}

static plug_status prepare(const plug_call *call, void **kept) {
  const plug_tensor *in = call->args[0].as.tensors;
  counts.flags = call->flags;
  if (elements_of(in) == 7) {
    count(&counts.declined);
    host->set_error(host, "seven elements are too many or too few");
    return PLUG_UNSUPPORTED;
  }
  if (call->sequence != 0 || !call->results[0].as.tensors->mem.base) {
    host->set_error(host, "prepare has a number, or no result");
    return PLUG_INTERNAL;
  }
  struct state *state = calloc(1, sizeof *state);
  state->elements = elements_of(in);
  state->life = kAlive;
  *kept = state;
  count(&counts.prepared);
  return PLUG_OK;
}

static void forget(void *kept) {
  struct state *state = kept;
  pthread_mutex_lock(&lock);
  state->life = kGone;
  state->next = forgotten;
  forgotten = state;
  ++counts.forgotten;
  pthread_mutex_unlock(&lock);
}

static void do_work(void *arg, plug_status status) {
  struct work *work = arg;
  (void)status;
  if (work->state->life != kAlive || work->state->elements != work->count) {
    count(&counts.wrong);
  } else {
    count(&counts.done);
  }
  for (int64_t i = 0; i < work->count; i++)
    work->to[i] = work->from[i] < 0 ? 0 : work->from[i];
}

static plug_status relu(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  struct state *state = call->state;
  __atomic_store_n(&counts.called_flags, call->flags, __ATOMIC_RELAXED);
  count(&counts.called);
  if (!state || state->life != kAlive || state->elements != elements_of(in)) {
    count(&counts.wrong);
    host->set_error(host, "relu came with a wrong state");
    return PLUG_INTERNAL;
  }
  struct work *work = malloc(sizeof *work);
  *work = (struct work){state, address(in), address(call->results[0].as.tensors),
                        elements_of(in)};
  return sim.host_func(call->device, call->stream, do_work, free, work);
}

/* Keeps nothing; gives the one number that trace is. */
static plug_status shape_trace(const plug_call *call, void **kept) {
  (void)kept;
  count(&counts.prepared);
  if (call->results[0].tag != PLUG_NONE) return PLUG_OK;
  return host->output(host, call, 0, call->args[0].as.tensors->dtype, 0, NULL, NULL);
}

static plug_status trace(const plug_call *call) {
  const plug_tensor *in = call->args[0].as.tensors;
  float sum = 0;
  sim.stream_sync(call->device, call->stream);
  for (int64_t i = 0; i < in->sizes[0] && i < in->sizes[1]; i++)
    sum += address(in)[i * in->strides[0] + i * in->strides[1]];
  address(call->results[0].as.tensors)[0] = sum;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static const plug_kernel list[] = {
      {.schema = "aten::relu(Tensor self) -> Tensor",
       .fn = relu,
       .prepare = prepare,
       .forget = forget},
      {.schema = "aten::trace(Tensor self) -> Tensor",
       .fn = trace,
       .prepare = shape_trace},
  };
  static plug_kernels kernels = {sizeof kernels, sizeof(plug_kernel), 2, 0, list, NULL};
  plug_status status = make_sim(given, "prepare");
  if (status != PLUG_OK) return status;
  module.kernels = &kernels;
  *out = &module;
  return PLUG_OK;
}
