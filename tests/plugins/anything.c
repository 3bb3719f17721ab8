/* A synchronous device with one kernel for any operator: a dozen of them by name, in
** the form they are called, of tensors of any strides. It counts what it was asked.
** With anything.listed set, relu is also in the list, for float32; with
** anything.shapes set, `any` shapes results itself, and does nonzero. */
#include <math.h>
#include <stdio.h>

#include "base.h"
#include "elements.h"

typedef plug_status (*operation)(const plug_call *call);

struct entry {
  const char *name;
  operation run;
  int64_t asked;
};

static int64_t asked, prepared, forgotten, as_expected;
static char last_schema[512];

static const plug_tensor *arg(const plug_call *call, uint32_t i) {
  return call->args[i].as.tensors;
}
static const plug_tensor *result(const plug_call *call, uint32_t i) {
  return call->results[i].as.tensors;
}

/* Where element i of a tensor of `out`'s shape lies in `in`, which may need expanding. */
static double expanded(const plug_tensor *in, const plug_tensor *out, int64_t i) {
  int64_t element = 0, step = 1;
  for (int32_t back = 1; back <= out->ndim; back++) {
    const int64_t at_d = i % out->sizes[out->ndim - back];
    const int32_t d = in->ndim - back;
    i /= out->sizes[out->ndim - back];
    if (d < 0) continue;
    if (in->sizes[d] > 1) element += at_d * step;
    step *= in->sizes[d];
  }
  return get(in, element);
}

static plug_status negate(const plug_call *call) {
  for (int64_t i = 0; i < elements_of(result(call, 0)); i++)
    set(result(call, 0), i, -get(arg(call, 0), i));
  return PLUG_OK;
}

static plug_status positive(const plug_call *call) {
  for (int64_t i = 0; i < elements_of(result(call, 0)); i++)
    set(result(call, 0), i, fmax(0, get(arg(call, 0), i)));
  return PLUG_OK;
}

/* Functional, in place and out=; numbers where they are. */
static plug_status multiply(const plug_call *call) {
  const plug_tensor *out = result(call, 0);
  for (int64_t i = 0; i < elements_of(out); i++)
    set(out, i, expanded(arg(call, 0), out, i) * expanded(arg(call, 1), out, i));
  return PLUG_OK;
}

static plug_status copy_any(const plug_call *call) {
  for (int64_t i = 0; i < elements_of(arg(call, 0)); i++)
    set(arg(call, 0), i, get(arg(call, 1), i));
  return PLUG_OK;
}

static plug_status read_number(const plug_call *call) {
  const double number = get(arg(call, 0), 0);
  plug_value *out = &call->results[0];
  as_expected += out->tag == (is_float(arg(call, 0)) ? PLUG_VALUE_FLOAT : PLUG_VALUE_INT);
  if (out->tag == PLUG_VALUE_FLOAT)
    out->as.f = number;
  else
    out->as.i = (int64_t)number;
  return PLUG_OK;
}

static plug_status add_lists(const plug_call *call) {
  const plug_value *into = &call->args[0], *other = &call->args[1];
  const double alpha = number_of(&call->args[2]);
  for (uint32_t t = 0; t < into->count; t++) {
    const plug_tensor *a = &into->as.tensors[t], *b = &other->as.tensors[t];
    as_expected += (a->flags & PLUG_TENSOR_WRITTEN) != 0;
    for (int64_t i = 0; i < elements_of(a); i++) set(a, i, get(a, i) + alpha * get(b, i));
  }
  return PLUG_OK;
}

/* Drops nothing, and says so. */
static plug_status dropout(const plug_call *call) {
  if (!is_float(arg(call, 0))) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < elements_of(arg(call, 0)); i++) {
    set(result(call, 0), i, get(arg(call, 0), i));
    set(result(call, 1), i, 1);
  }
  return PLUG_OK;
}

/* One channel, no padding; all else the CPU does. */
static plug_status convolution(const plug_call *call) {
  const plug_tensor *in = arg(call, 0), *weight = arg(call, 1), *out = result(call, 0);
  const int64_t length = in->sizes[2], taps = weight->sizes[2];
  if (in->ndim != 3 || in->sizes[1] != 1 || weight->sizes[0] != 1 || !is_float(in) ||
      call->args[2].tag != PLUG_NONE || call->args[4].as.ints[0] != 0 ||
      call->args[3].as.ints[0] != 1 || call->args[6].as.i)
    return fail(PLUG_UNSUPPORTED, "only plain convolutions of one channel");
  for (int64_t b = 0; b < in->sizes[0]; b++) {
    for (int64_t o = 0; o < length - taps + 1; o++) {
      double sum = 0;
      for (int64_t t = 0; t < taps; t++)
        sum += get(in, b * length + o + t) * get(weight, t);
      set(out, b * (length - taps + 1) + o, sum);
    }
  }
  return PLUG_OK;
}

static plug_status nonzero(const plug_call *call) {
  const plug_tensor *in = arg(call, 0);
  int64_t sizes[2] = {0, 1}, row = 0;
  if (in->ndim != 1 || call->results[0].tag != PLUG_NONE) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < in->sizes[0]; i++) sizes[0] += get(in, i) != 0;
  plug_status status = host->output(host, call, 0, PLUG_I64, 2, sizes, NULL);
  for (int64_t i = 0; status == PLUG_OK && i < in->sizes[0]; i++) {
    if (get(in, i) != 0) set(result(call, 0), row++, (double)i);
  }
  return status;
}

/* Another library's: x doubled. */
static plug_status twice(const plug_call *call) {
  if (call->results[0].tag == PLUG_NONE) return PLUG_UNSUPPORTED;
  for (int64_t i = 0; i < elements_of(arg(call, 0)); i++)
    set(result(call, 0), i, 2 * get(arg(call, 0), i));
  return PLUG_OK;
}

/* Fills a range that the operator has been given room for. */
static plug_status range(const plug_call *call) {
  const plug_tensor *out = result(call, 0);
  as_expected += out->mem.base == arg(call, 3)->mem.base;
  for (int64_t i = 0; i < elements_of(out); i++)
    set(out, i, number_of(&call->args[0]) + (double)i * number_of(&call->args[2]));
  return PLUG_OK;
}

static struct entry table[] = {
    {"aten::neg", negate, 0},
    {"aten::neg_", negate, 0},
    {"aten::relu", positive, 0},
    {"aten::relu_", positive, 0},
    {"aten::mul.Tensor", multiply, 0},
    {"aten::mul_.Tensor", multiply, 0},
    {"aten::mul.out", multiply, 0},
    {"aten::copy_", copy_any, 0},
    {"aten::_local_scalar_dense", read_number, 0},
    {"aten::_foreach_add_.List", add_lists, 0},
    {"aten::native_dropout", dropout, 0},
    {"aten::convolution", convolution, 0},
    {"aten::arange.start_out", range, 0},
    {"aten::nonzero", nonzero, 0},
    {"other::twice", twice, 0},
};
enum { kEntries = sizeof table / sizeof *table };

PLUG_EXPORT int64_t any_asked(const char *name) {
  for (int i = 0; name && i < kEntries; i++) {
    if (strcmp(table[i].name, name) == 0) return table[i].asked;
  }
  return name ? -1 : asked;
}
PLUG_EXPORT void any_reset(void) {
  asked = prepared = forgotten = as_expected = 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) table[i].asked = 0;
}
PLUG_EXPORT int64_t any_prepared(void) { return prepared; }
PLUG_EXPORT int64_t any_forgotten(void) { return forgotten; }
PLUG_EXPORT int64_t any_as_expected(void) { return as_expected; }
PLUG_EXPORT const char *any_last_schema(void) { return last_schema; }

static struct entry *find(const plug_call *call) {
  for (int i = 0; i < kEntries; i++) {
    if (strcmp(table[i].name, call->name) == 0) return &table[i];
  }
  return NULL;
}

/* Finds the operator once for all calls that look alike. */
static plug_status prepare(const plug_call *call, void **state) {
  *state = find(call);
  if (*state) {
    prepared++;
    return PLUG_OK;
  }
  char why[128];
  snprintf(why, sizeof why, "no entry for %s", call->name);
  return fail(PLUG_UNSUPPORTED, why);
}

static void forget(void *state) {
  (void)state;
  forgotten++;
}

static plug_status any(const plug_call *call) {
  struct entry *entry = call->state ? call->state : find(call);
  asked++;
  if (!entry) return PLUG_UNSUPPORTED;
  entry->asked++;
  strncpy(last_schema, call->schema, sizeof last_schema - 1);
  return entry->run(call);
}

static const void *extension(const char *name) {
  return strcmp(name, "anything.table.1") == 0 ? table : NULL;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static plug_kernel one = {.fn = any};
  static const plug_kernel list[] = {
      {.schema = "aten::relu(Tensor self) -> Tensor", .fn = base_relu}};
  make_device(given, "anything");
  add_kernels(list, host->option(host, "anything.listed") ? 1 : 0);
  if (host->option(host, "anything.shapes"))
    one.accepts = PLUG_SHAPES_OUTPUT;
  else
    one.prepare = prepare, one.forget = forget;
  kernels.any = &one;
  module.extension = extension;
  *out = &module;
  return PLUG_OK;
}
