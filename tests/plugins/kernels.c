/* A synchronous device with kernels of many kinds, for what the host does around a
** kernel: forms, promotion, broadcasting, layouts, aliases, declining. Each call is
** recorded for the tests. */
#include "kernels.h"

#include <math.h>

#include "base.h"
#include "complex_elements.h"
#include "see.h"

static uint64_t rng_answers;
static int64_t allocations;
static int64_t copies;

int64_t kernels_copies(void) { return copies; }
uint64_t kernels_rng_answers(void) { return rng_answers; }
int64_t kernels_allocations(void) { return allocations; }

/* What a reduction of contiguous memory over one dimension walks over. */
struct walk {
  int64_t outer, length, inner;
};

static struct walk walk_over(const plug_tensor *tensor, int64_t dim) {
  struct walk walk = {1, 1, 1};
  if (dim < 0) dim += tensor->ndim;
  for (int32_t d = 0; d < tensor->ndim; d++) {
    *(d < dim ? &walk.outer : d == dim ? &walk.length : &walk.inner) *= tensor->sizes[d];
  }
  return walk;
}

static const plug_tensor *arg(const plug_call *call, uint32_t i) {
  return call->args[i].as.tensors;
}
static const plug_tensor *result(const plug_call *call, uint32_t i) {
  return call->results[i].as.tensors;
}

/* --------------------- pointwise, contiguous unless said ------------------ */

static plug_status relu(const plug_call *call) {
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++) {
    const number x = load(arg(call, 0), i);
    store(result(call, 0), i, creal(x) < 0 ? 0 : x);
  }
  return PLUG_OK;
}

static plug_status add(const plug_call *call) {
  const number alpha = scalar_of(&call->args[2]);
  for (int64_t i = 0; i < count_of(result(call, 0)); i++) {
    store(result(call, 0), i, load(arg(call, 0), i) + alpha * load(arg(call, 1), i));
  }
  return PLUG_OK;
}

/* Its schema has no alpha. */
static plug_status sub(const plug_call *call) {
  for (int64_t i = 0; i < count_of(result(call, 0)); i++) {
    store(result(call, 0), i, load(arg(call, 0), i) - load(arg(call, 1), i));
  }
  return PLUG_OK;
}

/* Takes everything as it comes: any strides, dtypes, shapes and lazy bits, a number in
 * host memory. */
static plug_status mul(const plug_call *call) {
  const plug_tensor *out = result(call, 0);
  for (int64_t i = 0; i < count_of(out); i++) {
    const number a = load(arg(call, 0), element_of(arg(call, 0), out, i));
    const number b = load(arg(call, 1), element_of(arg(call, 1), out, i));
    store(out, element_of(out, out, i), a * b);
  }
  return PLUG_OK;
}

/* Declines an odd number of elements. */
static plug_status neg(const plug_call *call) {
  if (count_of(arg(call, 0)) % 2 != 0) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++)
    store(result(call, 0), i, -load(arg(call, 0), i));
  return PLUG_OK;
}

static plug_status sinh_fails(const plug_call *call) {
  (void)call;
  return fail(PLUG_INTERNAL, "the sine unit is on fire");
}

/* Asks for more scratch than any device has. */
static plug_status cosh_is_greedy(const plug_call *call) {
  plug_mem scratch;
  return host->scratch(host, call, (uint64_t)1 << 40, &scratch);
}

static plug_status uniform(const plug_call *call) {
  const double from = call->args[1].as.f, to = call->args[2].as.f;
  const int64_t n = count_of(result(call, 0));
  plug_rng rng = {.size = sizeof rng};
  const plug_status status = host->rng(host, call, (uint64_t)n, &rng);
  rng_answers++;
  if (status != PLUG_OK) return status;
  for (int64_t i = 0; i < n; i++) {
    uint64_t z = rng.seed + 0x9e3779b97f4a7c15u * (rng.offset + (uint64_t)i + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    store(result(call, 0), i, from + (to - from) * (double)(z >> 41) / (double)(1 << 23));
  }
  return PLUG_OK;
}

/* ------------------------------ the others ------------------------------- */

/* Over no dimensions, or the ones given one after the other, as keepdim's shape tells. */
static plug_status sum(const plug_call *call) {
  const plug_tensor *in = arg(call, 0);
  const plug_tensor *out = result(call, 0);
  const plug_value *dims = &call->args[1];
  int reduced[SEEN_DIMS] = {0};
  if (in->ndim > SEEN_DIMS || call->args[3].tag != PLUG_NONE) return PLUG_UNSUPPORTED;
  for (uint32_t i = 0; i < dims->count; i++)
    reduced[(dims->as.ints[i] + in->ndim) % in->ndim] = 1;
  for (int64_t o = 0; o < count_of(out); o++) store(out, o, 0);
  for (int64_t i = 0; i < count_of(in); i++) {
    int64_t rest = i, target = 0, step = 1;
    for (int32_t d = in->ndim - 1; d >= 0; d--) {
      const int64_t at_d = rest % in->sizes[d];
      rest /= in->sizes[d];
      if (dims->tag == PLUG_NONE || dims->count == 0 || reduced[d]) continue;
      target += at_d * step;
      step *= in->sizes[d];
    }
    store(out, target, load(out, target) + load(in, i));
  }
  return PLUG_OK;
}

/* Sums in a row of scratch memory. */
static plug_status cumsum(const plug_call *call) {
  const plug_tensor *in = arg(call, 0);
  const struct walk walk = walk_over(in, call->args[1].as.i);
  plug_mem scratch;
  if (call->args[2].tag != PLUG_NONE) return PLUG_UNSUPPORTED;
  const plug_status status =
      host->scratch(host, call, (uint64_t)walk.inner * sizeof(double), &scratch);
  if (status != PLUG_OK) return status;
  double *row = (double *)at(&scratch);
  for (int64_t o = 0; o < walk.outer; o++) {
    for (int64_t i = 0; i < walk.inner; i++) row[i] = 0;
    for (int64_t l = 0; l < walk.length; l++) {
      for (int64_t i = 0; i < walk.inner; i++) {
        const int64_t element = (o * walk.length + l) * walk.inner + i;
        row[i] += creal(load(in, element));
        store(result(call, 0), element, row[i]);
      }
    }
  }
  return PLUG_OK;
}

/* Its schema has `int dim` where PyTorch's has `int? dim`. */
static plug_status argmax(const plug_call *call) {
  const plug_tensor *in = arg(call, 0);
  const struct walk walk = walk_over(in, call->args[1].as.i);
  for (int64_t o = 0; o < walk.outer; o++) {
    for (int64_t i = 0; i < walk.inner; i++) {
      int64_t best = 0;
      for (int64_t l = 1; l < walk.length; l++) {
        const int64_t first = o * walk.length * walk.inner + i;
        if (creal(load(in, first + l * walk.inner)) >
            creal(load(in, first + best * walk.inner)))
          best = l;
      }
      store(result(call, 0), o * walk.inner + i, (double)best);
    }
  }
  return PLUG_OK;
}

static plug_status dot(const plug_call *call) {
  number sum = 0;
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++)
    sum += load(arg(call, 0), i) * load(arg(call, 1), i);
  store(result(call, 0), 0, sum);
  return PLUG_OK;
}

/* Takes transposed and conjugated matrices as they are. */
static plug_status mm(const plug_call *call) {
  const plug_tensor *a = arg(call, 0), *b = arg(call, 1), *out = result(call, 0);
  for (int64_t i = 0; i < out->sizes[0]; i++) {
    for (int64_t j = 0; j < out->sizes[1]; j++) {
      number sum = 0;
      for (int64_t k = 0; k < a->sizes[1]; k++) {
        sum += load(a, i * a->strides[0] + k * a->strides[1]) *
               load(b, k * b->strides[0] + j * b->strides[1]);
      }
      store(out, i * out->strides[0] + j * out->strides[1], sum);
    }
  }
  return PLUG_OK;
}

/* Along the first dimension, of one dtype. */
static plug_status cat(const plug_call *call) {
  const plug_value *list = &call->args[0];
  int64_t written = 0;
  if (call->args[1].as.i != 0) return PLUG_UNSUPPORTED;
  for (uint32_t t = 0; t < list->count; t++) {
    if (list->as.tensors[t].dtype != result(call, 0)->dtype) return PLUG_UNSUPPORTED;
  }
  for (uint32_t t = 0; t < list->count; t++) {
    for (int64_t i = 0; i < count_of(&list->as.tensors[t]); i++) {
      store(result(call, 0), written++, load(&list->as.tensors[t], i));
    }
  }
  return PLUG_OK;
}

static plug_status nonzero(const plug_call *call) {
  const plug_tensor *in = arg(call, 0);
  int64_t sizes[2] = {0, in->ndim};
  int64_t row = 0;
  for (int64_t i = 0; i < count_of(in); i++) sizes[0] += load(in, i) != 0;
  const plug_status status = host->output(host, call, 0, PLUG_I64, 2, sizes, NULL);
  if (status != PLUG_OK) return status;
  for (int64_t i = 0; i < count_of(in); i++) {
    int64_t rest = i;
    if (load(in, i) == 0) continue;
    for (int32_t d = in->ndim - 1; d >= 0; d--) {
      store(result(call, 0), row * in->ndim + d, (double)(rest % in->sizes[d]));
      rest /= in->sizes[d];
    }
    row++;
  }
  return PLUG_OK;
}

static plug_status equal(const plug_call *call) {
  const plug_tensor *a = arg(call, 0), *b = arg(call, 1);
  int same = a->ndim == b->ndim;
  for (int32_t d = 0; same && d < a->ndim; d++) same = a->sizes[d] == b->sizes[d];
  for (int64_t i = 0; same && i < count_of(a); i++) same = load(a, i) == load(b, i);
  call->results[0].tag = PLUG_VALUE_BOOL;
  call->results[0].as.i = same;
  return PLUG_OK;
}

/* ------------------------------ batch norm ------------------------------- */

struct moments {
  double mean, variance;
};

static struct moments moments_of(const plug_tensor *in, struct walk walk,
                                 int64_t channel) {
  const double n = (double)(walk.outer * walk.inner);
  struct moments found = {0, 0};
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < walk.outer * walk.inner; i++) {
      const int64_t element =
          (i / walk.inner * walk.length + channel) * walk.inner + i % walk.inner;
      const double x = creal(load(in, element));
      if (pass == 0)
        found.mean += x / n;
      else
        found.variance += (x - found.mean) * (x - found.mean) / n;
    }
  }
  return found;
}

static void blend(const plug_value *running, int64_t channel, double value,
                  double momentum) {
  if (running->tag == PLUG_NONE) return;
  const double before = creal(load(running->as.tensors, channel));
  store(running->as.tensors, channel, (1 - momentum) * before + momentum * value);
}

/* Training only. Writes running_mean and running_var, which its schema does not say. */
static plug_status batch_norm(const plug_call *call) {
  const plug_value *args = call->args;
  const plug_tensor *in = arg(call, 0);
  const struct walk walk = walk_over(in, 1);
  const double n = (double)(walk.outer * walk.inner);
  if (!args[5].as.i) return PLUG_UNSUPPORTED;
  for (int64_t c = 0; c < walk.length; c++) {
    const struct moments found = moments_of(in, walk, c);
    const double scale = sqrt(1 / (found.variance + args[7].as.f));
    const double weight = args[1].tag == PLUG_NONE ? 1 : creal(load(arg(call, 1), c));
    const double bias = args[2].tag == PLUG_NONE ? 0 : creal(load(arg(call, 2), c));
    for (int64_t i = 0; i < walk.outer * walk.inner; i++) {
      const int64_t element =
          (i / walk.inner * walk.length + c) * walk.inner + i % walk.inner;
      store(result(call, 0), element,
            (creal(load(in, element)) - found.mean) * scale * weight + bias);
    }
    store(result(call, 1), c, found.mean);
    store(result(call, 2), c, scale);
    blend(&args[3], c, found.mean, args[6].as.f);
    blend(&args[4], c, found.variance * n / (n - 1), args[6].as.f);
  }
  return PLUG_OK;
}

/* ------------------------- numbers, lists, dtypes ------------------------- */

/* Of one dtype, with a number in host memory. */
static plug_status divide(const plug_call *call) {
  const plug_tensor *a = arg(call, 0), *b = arg(call, 1), *out = result(call, 0);
  for (int64_t i = 0; i < count_of(out); i++)
    store(out, i, load(a, a->ndim == 0 ? 0 : i) / load(b, b->ndim == 0 ? 0 : i));
  return PLUG_OK;
}

static plug_status equal_to(const plug_call *call) {
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++)
    store(result(call, 0), i, load(arg(call, 0), i) == scalar_of(&call->args[1]));
  return PLUG_OK;
}

/* Of float64 alone. */
static plug_status exponential(const plug_call *call) {
  for (int64_t i = 0; i < count_of(arg(call, 0)); i++)
    store(result(call, 0), i, cexp(load(arg(call, 0), i)));
  return PLUG_OK;
}

/* Into tensors that are there, along the first dimension. */
static plug_status split(const plug_call *call) {
  const plug_value *list = &call->results[0];
  int64_t read = 0;
  if (call->args[2].as.i != 0)
    return fail(PLUG_UNSUPPORTED, "only the first dimension is split");
  for (uint32_t t = 0; t < list->count; t++) {
    for (int64_t i = 0; i < count_of(&list->as.tensors[t]); i++)
      store(&list->as.tensors[t], i, load(arg(call, 0), read++));
  }
  return PLUG_OK;
}

/* Into tensors that it shapes one by one, each with room between its elements. */
static plug_status unbind(const plug_call *call) {
  const plug_tensor *in = arg(call, 0);
  const int64_t stride = 2;
  if (call->args[1].as.i != 0 || in->ndim != 2) return PLUG_UNSUPPORTED;
  for (int64_t t = 0; t < in->sizes[0]; t++) {
    plug_status status =
        host->output(host, call, 0, in->dtype, 1, &in->sizes[1], &stride);
    if (status != PLUG_OK) return status;
    for (int64_t i = 0; i < in->sizes[1]; i++)
      store(&result(call, 0)[t], i * stride, load(in, t * in->sizes[1] + i));
  }
  return PLUG_OK;
}

/* Results that are shaped twice, or wrongly. */
static plug_status misshape(const plug_call *call) {
  const int64_t size = 1, negative = -1;
  plug_status status = host->output(host, call, 1, PLUG_F32, 1, &size, NULL);
  if (status == PLUG_INVALID)
    status = host->output(host, call, 0, PLUG_F32, 1, &negative, NULL);
  if (status == PLUG_INVALID)
    status = host->output(host, call, 0, PLUG_F32, 1, &size, &negative);
  if (status != PLUG_INVALID) return fail(PLUG_INTERNAL, "it was not refused");
  status = host->output(host, call, 0, PLUG_F32, 1, &size, NULL);
  if (status != PLUG_OK) return status;
  return host->output(host, call, 0, PLUG_F32, 1, &size, NULL);
}

/* Declines every call: for looking at the arguments. */
static plug_status look(const plug_call *call) {
  (void)call;
  return PLUG_UNSUPPORTED;
}

/* With kernels.float_only set, the kernels take float32 alone. */
static plug_status device_info(int32_t device, plug_device_info *info) {
  const plug_status status = base_info(device, info);
  if (host->option(host, "kernels.float_only")) info->dtype_count = 1;
  return status;
}

static plug_status copy(int32_t device, plug_stream stream, const plug_mem *dst,
                        const plug_mem *src, uint64_t bytes) {
  copies++;
  return base_copy(device, stream, dst, src, bytes);
}

static plug_status mem_alloc(int32_t device, uint64_t bytes, void **base) {
  const plug_status status = base_alloc(device, bytes, base);
  allocations += status == PLUG_OK;
  return status;
}

static plug_status mem_free(int32_t device, void *base) {
  allocations--;
  return base_free(device, base);
}

/* -------------------------------- tables --------------------------------- */

#define EVERYTHING                                                      \
  (PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED | \
   PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR | PLUG_ACCEPTS_LAZY_BITS)

static const plug_dtype doubles[] = {PLUG_F64};

static struct entry {
  const char *schema;
  plug_kernel_fn fn;
  uint64_t accepts;
  uint64_t writes;
  const plug_dtype *dtypes;
  seen_calls seen;
} entries[] = {
    {.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu},
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .fn = add},
    {.schema = "aten::sub.Tensor(Tensor self, Tensor other) -> Tensor", .fn = sub},
    {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
     .fn = mul,
     .accepts = EVERYTHING},
    {.schema = "aten::neg(Tensor self) -> Tensor", .fn = neg},
    {.schema = "aten::sinh(Tensor self) -> Tensor", .fn = sinh_fails},
    {.schema = "aten::cosh(Tensor self) -> Tensor", .fn = cosh_is_greedy},
    {.schema = "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? "
               "generator=None) -> Tensor",
     .fn = uniform},
    {.schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
               "ScalarType? dtype=None)"
               " -> Tensor",
     .fn = sum},
    {.schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .fn = cumsum},
    {.schema = "aten::argmax(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .fn = argmax},
    {.schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor", .fn = dot},
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
     .fn = mm,
     .accepts = PLUG_ACCEPTS_DENSE | PLUG_ACCEPTS_LAZY_BITS},
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", .fn = cat},
    {.schema = "aten::nonzero(Tensor self) -> Tensor",
     .fn = nonzero,
     .accepts = PLUG_SHAPES_OUTPUT},
    {.schema = "aten::equal(Tensor self, Tensor other) -> bool", .fn = equal},
    {.schema = "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, "
               "Tensor? running_mean,"
               " Tensor? running_var, bool training, float momentum, float eps) -> "
               "(Tensor, Tensor, Tensor)",
     .fn = batch_norm,
     .writes = 1 << 3 | 1 << 4},
    {.schema = "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
     .fn = look},
    {.schema = "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? "
               "dtype=None, Layout? layout=None,"
               " Device? device=None, bool? pin_memory=None, MemoryFormat? "
               "memory_format=None) -> Tensor",
     .fn = look},
    {.schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .fn = look},
    {.schema = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
     .fn = divide,
     .accepts = PLUG_ACCEPTS_HOST_SCALAR},
    {.schema = "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", .fn = equal_to},
    {.schema = "aten::exp(Tensor self) -> Tensor", .fn = exponential, .dtypes = doubles},
    {.schema = "aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> "
               "Tensor[]",
     .fn = split},
    {.schema = "aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
     .fn = unbind,
     .accepts = PLUG_SHAPES_OUTPUT},
    {.schema = "aten::frac(Tensor self) -> Tensor",
     .fn = misshape,
     .accepts = PLUG_SHAPES_OUTPUT},
    /* With kernels.unfit set, also what fits no operator: unknown, an argument too many,
       no schema at all. */
    {.schema = "aten::an_operator_of_tomorrow(Tensor self) -> Tensor", .fn = look},
    {.schema = "aten::tanh(Tensor self, int precision) -> Tensor", .fn = look},
    {.schema = "atan of a tensor", .fn = look},
};

enum { kEntries = sizeof entries / sizeof *entries, kUnfit = 3 };
static plug_kernel list[kEntries];

const seen_calls *kernels_seen(const char *beginning) {
  for (int i = 0; i < kEntries; i++) {
    if (strncmp(entries[i].schema, beginning, strlen(beginning)) == 0)
      return &entries[i].seen;
  }
  return NULL;
}

static plug_status record(const plug_call *call) {
  struct entry *entry = &entries[(const plug_kernel *)call->user - list];
  seen_calls *seen = &entry->seen;
  seen->count++;
  seen->flags = call->flags;
  seen->sequence = call->sequence;
  seen->arg_count = call->arg_count;
  seen->compute = call->compute;
  strncpy(seen->schema, call->schema, sizeof seen->schema - 1);
  seen->result_count = call->result_count;
  for (uint32_t i = 0; i < call->arg_count && i < SEEN_ARGS; i++)
    see_value(&call->args[i], &seen->args[i]);
  seen->status = entry->fn(call);
  for (uint32_t i = 0; i < call->result_count && i < SEEN_RESULTS; i++) {
    see_value(&call->results[i], &seen->results[i]);
  }
  return seen->status;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "kernels");
  runtime.device_info = device_info;
  runtime.mem_alloc = mem_alloc;
  runtime.mem_free = mem_free;
  runtime.copy = copy;
  for (int i = 0; i < kEntries; i++) {
    list[i] = (plug_kernel){.schema = entries[i].schema,
                            .fn = record,
                            .user = &list[i],
                            .accepts = entries[i].accepts,
                            .writes = entries[i].writes,
                            .dtypes = entries[i].dtypes,
                            .dtype_count = entries[i].dtypes ? 1 : 0};
  }
  add_kernels(list, host->option(host, "kernels.unfit") ? kEntries : kEntries - kUnfit);
  *out = &module;
  return PLUG_OK;
}
