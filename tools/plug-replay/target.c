/* The plugin that a trace is played against, and what its kernels are given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

const struct trace *played;

/* What calls were given beside the memory of the trace. */
static plug_mem *given_out;
static size_t given_count;

void release_scratch(void) {
  if (is_capturing || given_count == 0) return;
  for (size_t i = 0; i < given_count; i++) {
    const plug_mem *mem = &given_out[i];
    if (mem->device == PLUG_HOST) {
      free(mem->base);
    } else if (rt.device_sync(mem->device) == PLUG_OK) {
      (void)rt.mem_free(mem->device, mem->base);
    }
  }
  given_count = 0;
}

static plug_status allocate(const plug_call *call, uint64_t bytes, plug_mem *mem) {
  void *base = NULL;
  *mem = (plug_mem){NULL, 0, call->device, 0};
  if (call->device == PLUG_HOST) {
    base = calloc(1, bytes ? bytes : 1);
    if (!base) return PLUG_NO_MEMORY;
  } else {
    const plug_status status = rt.mem_alloc(call->device, bytes ? bytes : 1, &base);
    if (status != PLUG_OK) return status;
  }
  mem->base = base;
  given_out = realloc(given_out, (given_count + 1) * sizeof *given_out);
  if (!given_out) give_up("there is no memory left");
  given_out[given_count++] = *mem;
  return PLUG_OK;
}

static plug_status scratch(const plug_host *host, const plug_call *call, uint64_t bytes,
                           plug_mem *mem) {
  (void)host;
  return allocate(call, bytes, mem);
}

/* ---- results that the kernel shapes ---- */

/* What the schema returns: "Tensor, int[]". */
static struct text returned_types(const struct record *record) {
  const char *schema = NULL;
  (void)parse_string(in_field(record, "schema"), &schema);
  const char *arrow = schema ? strrchr(schema, '>') : NULL;
  if (!arrow) return (struct text){"", 0};
  struct text types = {arrow + 1, strlen(arrow + 1)};
  (void)begins(types, " ", &types);
  if (begins(types, "(", &types) && types.length > 0) types.length--;
  return types;
}

/* Of a list that the kernel asks for; PLUG_VALUE_TENSOR for all else. */
static int32_t tag_of_result(const struct record *record, uint32_t index) {
  static const struct {
    const char *item;
    int32_t tag;
  } lists[] = {{"Tensor", PLUG_VALUE_TENSORS},
               {"int", PLUG_VALUE_INTS},
               {"SymInt", PLUG_VALUE_INTS},
               {"float", PLUG_VALUE_FLOATS},
               {"bool", PLUG_VALUE_BOOLS}};
  struct text types = returned_types(record), type = {"", 0}, rest;
  for (uint32_t i = 0; i <= index; i++) type = next_item(&types, ',');
  (void)begins(type, " ", &type);
  if (!memchr(type.at, '[', type.length)) return PLUG_VALUE_TENSOR;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (begins(type, lists[i].item, &rest)) return lists[i].tag;
  }
  return PLUG_VALUE_TENSOR;
}

/* Tensor `n` of the result as the trace has it, if it looks the same. */
static const struct tensor *recorded_result(const struct service *service, uint32_t index,
                                            uint32_t n, const plug_tensor *like) {
  const struct values *recorded = service->recorded;
  if (!recorded || index >= recorded->count) return NULL;
  const plug_value *value = &recorded->list[index];
  if (value->tag != PLUG_VALUE_TENSOR && value->tag != PLUG_VALUE_TENSORS) return NULL;
  for (size_t i = 0; n < value->count && i < recorded->tensor_count; i++) {
    const struct tensor *tensor = &recorded->tensors[i];
    if (tensor->is != &value->as.tensors[n]) continue;
    const bool is_alike =
        tensor->is->dtype == like->dtype && tensor->is->ndim == like->ndim &&
        memcmp(tensor->is->sizes, like->sizes, (size_t)like->ndim * sizeof(int64_t)) == 0;
    return is_alike ? tensor : NULL;
  }
  return NULL;
}

static plug_tensor shape_result(plug_dtype dtype, int32_t ndim, const int64_t *sizes,
                                const int64_t *strides) {
  int64_t *own = keep(2 * (size_t)ndim * sizeof *own), next = 1;
  for (int32_t d = ndim - 1; d >= 0; d--) {
    own[d] = sizes[d];
    own[ndim + d] = strides ? strides[d] : next;
    next *= sizes[d] > 0 ? sizes[d] : 1;
  }
  return (plug_tensor){.dtype = dtype,
                       .ndim = ndim,
                       .sizes = own,
                       .strides = own + ndim,
                       .flags = PLUG_TENSOR_WRITTEN};
}

/* A tensor, or the next of a list. */
static plug_status give_tensor(const plug_call *call, uint32_t index, int32_t tag,
                               plug_tensor made) {
  const struct service *service = call->host_private;
  plug_value *result = &call->results[index];
  const uint32_t before = result->tag == PLUG_VALUE_TENSORS ? result->count : 0;
  int64_t first = 0;
  const uint64_t bytes = span_of(&made, &first);
  const struct tensor *recorded = recorded_result(service, index, before, &made);
  if (service->allocates && bytes > 0 &&
      !(recorded && locate(recorded->place, call->device, &made.mem))) {
    const plug_status status = allocate(call, bytes, &made.mem);
    if (status != PLUG_OK) return status;
  }
  plug_tensor *tensors = keep((before + 1) * sizeof *tensors);
  if (before > 0) memcpy(tensors, result->as.tensors, before * sizeof *tensors);
  tensors[before] = made;
  *result = (plug_value){.tag = tag, .count = before + 1, .as.tensors = tensors};
  return PLUG_OK;
}

/* A list of numbers, in host memory. */
static plug_status give_numbers(const plug_host *host, plug_value *result, int32_t tag,
                                const plug_tensor *asked) {
  const plug_dtype dtype = tag == PLUG_VALUE_INTS     ? PLUG_I64
                           : tag == PLUG_VALUE_FLOATS ? PLUG_F64
                                                      : PLUG_BOOL;
  if (asked->dtype != dtype || asked->ndim != 1) {
    host->set_error(host,
                    "host->output was called for a list of numbers with another dtype, "
                    "or not with one dimension");
    return PLUG_INVALID;
  }
  *result = (plug_value){.tag = tag, .count = (uint32_t)asked->sizes[0]};
  result->as.ints = keep(result->count * PLUG_DTYPE_BYTES(dtype));
  return PLUG_OK;
}

static plug_status output(const plug_host *host, const plug_call *call, uint32_t index,
                          plug_dtype dtype, int32_t ndim, const int64_t *sizes,
                          const int64_t *strides) {
  const struct service *service = call->host_private;
  bool is_possible = index < call->result_count && ndim >= 0;
  for (int32_t d = 0; is_possible && d < ndim; d++) is_possible = sizes[d] >= 0;
  if (!is_possible) {
    host->set_error(host,
                    "host->output was called for a result that there is not, or with a "
                    "negative size");
    return PLUG_INVALID;
  }
  const int32_t tag = tag_of_result(service->record, index);
  const plug_tensor made = shape_result(dtype, ndim, sizes, strides);
  return tag == PLUG_VALUE_TENSOR || tag == PLUG_VALUE_TENSORS
             ? give_tensor(call, index, tag, made)
             : give_numbers(host, &call->results[index], tag, &made);
}

/* ---- random numbers ---- */

/* The seed that the call was given when it was traced. */
static plug_status rng(const plug_host *host, const plug_call *call, uint64_t draws,
                       plug_rng *given) {
  struct service *service = call->host_private;
  plug_rng whole = {.size = given->size, .seed = 1};
  size_t asked = 0;
  uint64_t number = 0;
  (void)host, (void)draws;
  for (size_t i = (size_t)(service->record - played->records); i < played->count; i++) {
    const struct record *record = &played->records[i];
    if (!is_call(record, "rng")) continue;
    if (!parse_unsigned(in_field(record, "call"), &number) ||
        number != service->record->number)
      continue;
    if (asked++ < service->draws) continue;
    (void)parse_unsigned(out_field(record, "seed"), &whole.seed);
    (void)parse_unsigned(out_field(record, "offset"), &whole.offset);
    break;
  }
  service->draws++;
  memcpy(given, &whole, given->size < sizeof whole ? given->size : sizeof whole);
  return PLUG_OK;
}

static void report(const plug_host *host, int32_t device, plug_stream stream,
                   uint64_t sequence, plug_status status, const char *message) {
  (void)host, (void)stream;
  printf("the plugin reports for device %d, sequence %llu: %s: %s\n", device,
         (unsigned long long)sequence, status_word(status), message ? message : "");
  fflush(stdout);
}

const char *load_target(void) {
  static const plug_host services = {
      .scratch = scratch, .output = output, .rng = rng, .report = report};
  const char *reason = load_library(options.plugin, "plug-replay", &services);
  if (!reason && module.kernels) reason = adopt_kernels();
  return reason;
}
