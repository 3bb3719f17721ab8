/* Calls of kernels: tensors between guards, and what has become of them. */
#include "calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torchplug/plug_element.h"

enum { GUARD = 256, PATTERN = 0xa5, MOST_TENSORS = 32 };

/* The call being made. */
static struct placed all[MOST_TENSORS];
static uint32_t placed_count;
plug_tensor lists[MOST_ARGS][MOST_ITEMS];
static plug_tensor result_lists[MOST_RESULTS][MOST_LISTED];
plug_value args[MOST_ARGS], results[MOST_RESULTS];
struct placed *result_places[MOST_RESULTS];
static uint64_t draws_made;
uint64_t sequence;
bool allocates;
char what[256];
struct shaped *shaping;
static const struct schema *calling;

/* ---- memory ---- */

static uint64_t guard_bytes(int32_t on) {
  return on != PLUG_HOST && info.alignment > GUARD ? info.alignment : GUARD;
}

static void *allocate_at(int32_t on, uint64_t bytes) {
  if (on != PLUG_HOST) return allocate_on(on, bytes);
  void *base = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!base) fail("there is no memory left");
  return base;
}

static void write_at(const plug_tensor *tensor, const void *from, uint64_t bytes) {
  plug_mem whole = tensor->mem;
  whole.offset = 0;
  if (whole.device == PLUG_HOST) {
    memcpy(whole.base, from, bytes);
  } else {
    put_in(whole, from, bytes);
  }
}

static void read_at(const plug_tensor *tensor, void *to, uint64_t bytes) {
  plug_mem whole = tensor->mem;
  whole.offset = 0;
  if (whole.device == PLUG_HOST) {
    memcpy(to, whole.base, bytes);
  } else {
    get_from(to, whole, bytes);
  }
}

static void set_strides(int32_t ndim, const int64_t *sizes, enum layout layout,
                        int64_t *strides) {
  int64_t step = layout == WITH_GAPS ? 2 : 1;
  for (int32_t n = 0; n < ndim; n++) {
    const int32_t d = layout == PERMUTED ? n : ndim - 1 - n;
    strides[d] = step;
    step *= (sizes[d] > 0 ? sizes[d] : 1) + (layout == WITH_GAPS ? 1 : 0);
  }
}

/* Elements from the first to the last. */
static int64_t lay_out(struct placed *placed, int32_t ndim, enum layout layout) {
  set_strides(ndim, placed->sizes, layout, placed->strides);
  int64_t last = 0;
  for (int32_t d = 0; d < ndim; d++) last += (placed->sizes[d] - 1) * placed->strides[d];
  return last + 1;
}

struct placed *place(plug_dtype dtype, int32_t ndim, const int64_t *sizes,
                     enum layout layout, int32_t on) {
  struct placed *placed = &all[placed_count];
  if (placed_count++ == MOST_TENSORS) fail("%s has too many tensors", what);
  memset(placed, 0, sizeof *placed);
  for (int32_t d = 0; d < ndim; d++) placed->sizes[d] = sizes[d];
  const uint64_t guard = guard_bytes(on);
  const int64_t span = lay_out(placed, ndim, layout);
  placed->first = guard;
  placed->bytes = 2 * guard + (uint64_t)span * PLUG_DTYPE_BYTES(dtype);
  placed->tensor = (plug_tensor){.mem = {allocate_at(on, placed->bytes), guard, on, 0},
                                 .dtype = dtype,
                                 .ndim = ndim,
                                 .sizes = placed->sizes,
                                 .strides = placed->strides};
  placed->before = malloc(placed->bytes);
  placed->after = malloc(placed->bytes);
  if (!placed->before || !placed->after) fail("there is no memory left");
  memset(placed->before, PATTERN, placed->bytes);
  return placed;
}

/* Where element `i`, counted row after row, lies among the bytes. */
static uint64_t place_of(const struct placed *placed, int64_t i) {
  int64_t at = 0;
  for (int32_t d = placed->tensor.ndim - 1; d >= 0; d--) {
    at += i % placed->sizes[d] * placed->strides[d];
    i /= placed->sizes[d];
  }
  return placed->first + (uint64_t)at * PLUG_DTYPE_BYTES(placed->tensor.dtype);
}

static int64_t elements_in(const struct placed *placed) {
  int64_t count = 1;
  for (int32_t d = 0; d < placed->tensor.ndim; d++) count *= placed->sizes[d];
  return count;
}

void put_values(struct placed *placed, const struct array *array) {
  for (int64_t i = 0; i < count_of(array); i++) {
    store_number(placed->tensor.dtype, placed->before + place_of(placed, i),
                 array->at[i]);
  }
}

void release_all(void) {
  for (uint32_t i = 0; i < placed_count; i++) {
    struct placed *placed = &all[i];
    if (placed->tensor.mem.device == PLUG_HOST) {
      free(placed->tensor.mem.base);
    } else {
      ok(rt.mem_free(placed->tensor.mem.device, placed->tensor.mem.base), "mem_free");
    }
    free(placed->before);
    free(placed->after);
  }
  placed_count = 0;
}

/* ---- results, and what the host does for a kernel ---- */

plug_status kernel_scratch(const plug_call *call, uint64_t bytes, plug_mem *mem) {
  *mem = (plug_mem){allocate_at(call->device, bytes ? bytes : 1), 0, call->device, 0};
  return PLUG_OK;
}

void add_result(uint32_t index, struct placed *placed, bool is_list) {
  placed->is_result = true;
  placed->tensor.flags = PLUG_TENSOR_WRITTEN;
  result_places[index] = placed;
  const uint32_t count = is_list ? results[index].count : 0;
  expect(count < MOST_LISTED, "%s gives more tensors than plug-check keeps", what);
  result_lists[index][count] = placed->tensor;
  results[index] = (plug_value){.tag = is_list ? PLUG_VALUE_TENSORS : PLUG_VALUE_TENSOR,
                                .count = count + 1,
                                .as.tensors = result_lists[index]};
}

/* A list of numbers, in host memory; false for what is none. */
static bool add_numbers(uint32_t index, const struct placed *placed) {
  const plug_dtype dtype = placed->tensor.dtype;
  const char *type = calling->results[index].type;
  const plug_dtype wanted = strncmp(type, "float", 5) == 0  ? PLUG_F64
                            : strncmp(type, "bool", 4) == 0 ? PLUG_BOOL
                                                            : PLUG_I64;
  if (placed->tensor.ndim != 1 || dtype != wanted || results[index].tag != PLUG_NONE)
    return false;
  results[index] = (plug_value){
      .tag = dtype == PLUG_I64   ? PLUG_VALUE_INTS
             : dtype == PLUG_F64 ? PLUG_VALUE_FLOATS
                                 : PLUG_VALUE_BOOLS,
      .count = (uint32_t)placed->sizes[0],
      .as.ints =
          (const int64_t *)((const char *)placed->tensor.mem.base + placed->first)};
  return true;
}

plug_status kernel_output(const plug_call *call, uint32_t index, plug_dtype dtype,
                          int32_t ndim, const int64_t *sizes, const int64_t *strides) {
  expect(index < call->result_count && ndim >= 0 && ndim <= DIMS,
         "%s shapes result %u as one of %d dimensions", what, index, ndim);
  (void)strides; /* what is asked for is read as any other result is */
  for (int32_t d = 0; d < ndim; d++) {
    if (sizes[d] >= 0) continue;
    note_error("host->output was called with a negative size");
    return PLUG_INVALID;
  }
  if (shaping) {
    struct shaped *shaped = &shaping[index];
    expect(shaped->count < MOST_LISTED, "%s gives more tensors than plug-check keeps",
           what);
    struct look_of *look = &shaped->looks[shaped->count++];
    *look = (struct look_of){.dtype = dtype, .ndim = ndim};
    memcpy(look->sizes, sizes, (size_t)ndim * sizeof *sizes);
    return PLUG_OK;
  }
  const char *type =
      calling && index < calling->result_count ? calling->results[index].type : "";
  const bool is_list = strncmp(type, "Tensor[", 7) == 0;
  const bool is_numbers = strchr(type, '[') && !is_list;
  struct placed *placed = place(dtype, ndim, sizes, BY_ROWS,
                                allocates && !is_numbers ? call->device : PLUG_HOST);
  write_at(&placed->tensor, placed->before, placed->bytes);
  if (is_numbers) {
    placed->is_result = true;
    if (!add_numbers(index, placed)) {
      note_error("a list of numbers has one dimension and the dtype of its type, once");
      return PLUG_INVALID;
    }
  } else {
    add_result(index, placed, is_list);
  }
  return PLUG_OK;
}

plug_status kernel_rng(const plug_call *call, uint64_t draws, plug_rng *rng) {
  const plug_rng whole = {.size = rng->size, .seed = 20260117, .offset = draws_made};
  (void)call;
  expect(rng->size >= 4 && rng->size <= 4096, "%s calls host->rng without rng->size",
         what);
  draws_made += (draws + 3) / 4 * 4;
  memcpy(rng, &whole, rng->size < sizeof whole ? rng->size : sizeof whole);
  return PLUG_OK;
}

/* ---- arguments ---- */

static enum layout layout_of(enum variation variation, uint32_t tensor,
                             bool is_pointwise) {
  if (variation == STRIDED) return tensor == 0 ? PERMUTED : WITH_GAPS;
  if (variation == DENSE) return is_pointwise || tensor == 0 ? PERMUTED : BY_ROWS;
  return BY_ROWS;
}

static enum layout layout_of_results(enum variation variation, bool is_pointwise) {
  if (variation == STRIDED) return WITH_GAPS;
  return variation == DENSE && is_pointwise ? PERMUTED : BY_ROWS;
}

void strides_of_input(const struct array *array, enum variation variation,
                      uint32_t tensor, bool is_pointwise, int64_t *strides) {
  set_strides(array->ndim, array->sizes, layout_of(variation, tensor, is_pointwise),
              strides);
}

void strides_of_result(const struct array *array, enum variation variation,
                       bool is_pointwise, int64_t *strides) {
  set_strides(array->ndim, array->sizes, layout_of_results(variation, is_pointwise),
              strides);
}

bool take_default(const struct parameter *parameter, plug_value *value) {
  char *end = NULL;
  const char *text = parameter->value;
  const bool is_bool = strcmp(text, "True") == 0 || strcmp(text, "False") == 0;
  *value = (plug_value){.tag = PLUG_NONE};
  if (strcmp(text, "None") == 0 || (!*text && strchr(parameter->type, '?'))) return true;
  if (is_bool) {
    *value = (plug_value){.tag = PLUG_VALUE_BOOL, .as.i = *text == 'T'};
    return true;
  }
  if (!*text) return false;
  const bool is_whole = strncmp(parameter->type, "float", 5) != 0 && !strpbrk(text, ".e");
  if (is_whole) {
    *value = (plug_value){.tag = PLUG_VALUE_INT, .as.i = strtoll(text, &end, 10)};
  } else {
    *value = (plug_value){.tag = PLUG_VALUE_FLOAT, .as.f = strtod(text, &end)};
  }
  return *end == '\0';
}

const struct input *find_input(const struct example *example, const char *name) {
  for (uint32_t i = 0; i < example->input_count; i++) {
    if (strcmp(example->inputs[i].name, name) == 0) return &example->inputs[i];
  }
  return NULL;
}

static void place_input(const struct input *input, uint32_t index, bool is_written,
                        enum variation variation, bool is_pointwise) {
  plug_value *value = &args[index];
  *value = input->value;
  if (value->tag == PLUG_VALUE_INTS) value->as.ints = input->ints;
  if (value->tag != PLUG_VALUE_TENSOR && value->tag != PLUG_VALUE_TENSORS) return;
  value->as.tensors = lists[index];
  for (uint32_t n = 0; n < value->count; n++) {
    const struct array *array = &input->arrays[n];
    const enum layout layout = layout_of(variation, placed_count, is_pointwise);
    struct placed *placed = place(input->dtype, array->ndim, array->sizes, layout,
                                  input->is_on_host ? PLUG_HOST : device);
    put_values(placed, array);
    placed->is_written = is_written;
    if (is_written) placed->tensor.flags = PLUG_TENSOR_WRITTEN;
    lists[index][n] = placed->tensor;
  }
}

/* Whether an example is for a kernel whose schema lacks some of the operator's arguments:
** they have their defaults then. */
static bool is_default(const struct operation *operation, const struct input *input) {
  struct schema whole;
  plug_value value;
  if (parse_schema(operation->schema, &whole)) return false;
  for (uint32_t i = 0; i < whole.arg_count; i++) {
    if (strcmp(whole.args[i].name, input->name) != 0) continue;
    return take_default(&whole.args[i], &value) && value.tag == input->value.tag &&
           value.as.i == input->value.as.i;
  }
  return false;
}

static bool has_parameter(const struct schema *schema, const char *name) {
  for (uint32_t i = 0; i < schema->arg_count; i++) {
    if (strcmp(schema->args[i].name, name) == 0) return true;
  }
  return false;
}

bool suits(const struct operation *operation, const struct schema *schema,
           const struct example *example) {
  for (uint32_t i = 0; i < example->input_count; i++) {
    const struct input *input = &example->inputs[i];
    if (!has_parameter(schema, input->name) && !is_default(operation, input))
      return false;
  }
  return true;
}

static bool place_inputs(const plug_kernel *kernel, const struct schema *schema,
                         const struct example *example, enum variation variation) {
  for (uint32_t i = 0; i < schema->arg_count; i++) {
    const struct input *input = find_input(example, schema->args[i].name);
    const bool is_written =
        schema->args[i].is_written || (i < 64 && kernel->writes >> i & 1);
    if (input) {
      place_input(input, i, is_written, variation, example->compute != 0);
    } else if (!take_default(&schema->args[i], &args[i])) {
      return false;
    }
  }
  return true;
}

static void place_results(const plug_kernel *kernel, const struct example *example,
                          enum variation variation) {
  memset(results, 0, sizeof results);
  memset(result_places, 0, sizeof result_places);
  if (kernel->accepts & PLUG_SHAPES_OUTPUT) return;
  for (uint32_t i = 0; i < example->result_count; i++) {
    const struct array *array = &example->results[i];
    struct placed *placed = &all[0];
    if (variation != ALIAS) {
      const enum layout layout = layout_of_results(variation, example->compute != 0);
      placed =
          place(example->result_dtypes[i], array->ndim, array->sizes, layout, device);
    }
    placed->is_result = true;
    placed->tensor.flags = PLUG_TENSOR_WRITTEN;
    result_places[i] = placed;
    results[i] =
        (plug_value){.tag = PLUG_VALUE_TENSOR, .count = 1, .as.tensors = &placed->tensor};
  }
}

plug_call start_call(const plug_kernel *kernel, const struct schema *schema,
                     const char *operator_schema, int32_t on) {
  calling = schema;
  for (uint32_t i = 0; i < placed_count; i++)
    write_at(&all[i].tensor, all[i].before, all[i].bytes);
  return (plug_call){.size = sizeof(plug_call),
                     .device = on,
                     .user = kernel->user,
                     .args = args,
                     .results = results,
                     .arg_count = schema->arg_count,
                     .result_count = schema->result_count,
                     .name = schema->name,
                     .schema = operator_schema};
}

/* ---- what has become of them ---- */

static void read_all(void) {
  if (module.runtime) ok(rt.device_sync(device), "device_sync");
  for (uint32_t i = 0; i < placed_count; i++)
    read_at(&all[i].tensor, all[i].after, all[i].bytes);
}

/* Which bytes belong to elements. */
static unsigned char *mark_elements(const struct placed *placed) {
  unsigned char *marks = calloc(1, placed->bytes);
  if (!marks) fail("there is no memory left");
  for (int64_t i = 0; i < elements_in(placed); i++) {
    memset(marks + place_of(placed, i), 1, PLUG_DTYPE_BYTES(placed->tensor.dtype));
  }
  return marks;
}

static void expect_bounds(const struct placed *placed) {
  unsigned char *marks = mark_elements(placed);
  const uint64_t end = placed->bytes - placed->first;
  for (uint64_t i = 0; i < placed->bytes; i++) {
    if (marks[i] || placed->before[i] == placed->after[i]) continue;
    fail("%s wrote outside of %s, %s", what,
         placed->is_result ? "a result" : "an argument",
         i < placed->first ? "before its beginning"
         : i >= end        ? "behind its end"
                           : "between its elements");
  }
  free(marks);
}

static void expect_unchanged(const struct placed *placed, const char *name) {
  unsigned char *marks = mark_elements(placed);
  for (uint64_t i = 0; i < placed->bytes; i++) {
    if (!marks[i] || placed->before[i] == placed->after[i]) continue;
    fail("%s changed %s", what, name);
  }
  free(marks);
}

static void expect_values(uint32_t index, const struct array *want) {
  const struct placed *placed = result_places[index];
  expect(placed != NULL, "%s returned PLUG_OK without result %u", what, index);
  expect(elements_in(placed) == count_of(want), "%s gave result %u another shape", what,
         index);
  const plug_dtype dtype = placed->tensor.dtype;
  for (int64_t i = 0; i < count_of(want); i++) {
    const double x = round_to(dtype, want->at[i]);
    const double y = load_number(dtype, placed->after + place_of(placed, i));
    expect(fabs(x - y) <= tolerance_of(dtype) * (1 + fabs(x)),
           "%s: element %lld of result %u is %.9g, not %.9g", what, (long long)i, index,
           y, x);
  }
}

void look_at(plug_status status, const struct example *example, enum look look) {
  read_all();
  for (uint32_t i = 0; i < placed_count; i++) {
    const bool may_change = all[i].is_result || all[i].is_written;
    if (look == LOOK_AT_BOUNDS && status == PLUG_OK) expect_bounds(&all[i]);
    if (look == LOOK_AT_ARGUMENTS && status == PLUG_OK && !may_change)
      expect_unchanged(&all[i], "an argument that it may only read");
    if (look == LOOK_AT_DECLINING && status == PLUG_UNSUPPORTED)
      expect_unchanged(&all[i], all[i].is_result
                                    ? "a result and then returned PLUG_UNSUPPORTED"
                                    : "an argument and then returned PLUG_UNSUPPORTED");
  }
  for (uint32_t i = 0; look == LOOK_AT_VALUES && status == PLUG_OK && example &&
                       i < example->result_count;
       i++) {
    expect_values(i, &example->results[i]);
  }
}

/* ---- the calls ---- */

static const char *dtype_name(plug_dtype dtype) {
  return dtype == PLUG_F64    ? "float64"
         : dtype == PLUG_F32  ? "float32"
         : dtype == PLUG_F16  ? "float16"
         : dtype == PLUG_BF16 ? "bfloat16"
         : dtype == PLUG_I64  ? "int64"
         : dtype == PLUG_I32  ? "int32"
         : dtype == PLUG_BOOL ? "bool"
                              : "another dtype";
}

static void describe(const struct operation *operation, const struct example *example,
                     enum variation variation) {
  static const char *const words[] = {"",
                                      ", permuted",
                                      ", strided",
                                      ", broadcast",
                                      ", of mixed dtypes",
                                      ", a number on the host",
                                      ", its result an input"};
  snprintf(what, sizeof what, "%s (%s, %d dimensions%s)", operation->name,
           dtype_name(example->result_dtypes[0]), example->results[0].ndim,
           words[variation]);
  doing(what);
}

bool call_with(const plug_kernel *kernel, const struct operation *operation,
               const struct schema *schema, const struct example *example,
               enum variation variation, enum look look, void *state) {
  describe(operation, example, variation);
  allocates = true;
  bool is_taken = false;
  if (suits(operation, schema, example) &&
      place_inputs(kernel, schema, example, variation)) {
    place_results(kernel, example, variation);
    plug_call call = start_call(kernel, schema, operation->schema, device);
    call.compute = example->compute;
    call.sequence = ++sequence;
    call.state = state;
    doing(what);
    const plug_status status = kernel->fn(&call);
    if (status >= PLUG_INVALID && look == LOOK_AT_VALUES) ok(status, what);
    expect(status != PLUG_NOT_READY, "%s returned: not ready, which is for queries",
           what);
    well_formed(status, what);
    look_at(status, example, look);
    is_taken = status == PLUG_OK;
  }
  release_all();
  return is_taken;
}

bool prepare_for(const plug_kernel *kernel, const struct operation *operation,
                 const struct schema *schema, const struct example *example,
                 void **state) {
  describe(operation, example, PLAIN);
  allocates = false;
  plug_status status = PLUG_UNSUPPORTED;
  if (suits(operation, schema, example) && place_inputs(kernel, schema, example, PLAIN)) {
    place_results(kernel, example, PLAIN);
    plug_call call = start_call(kernel, schema, operation->schema, device);
    call.compute = example->compute;
    doing(what);
    status = kernel->prepare(&call, state);
    well_formed(status, "prepare");
    expect(status <= PLUG_UNSUPPORTED, "prepare of %s failed: %s", what,
           status_text(status));
  }
  release_all();
  return status == PLUG_OK;
}
