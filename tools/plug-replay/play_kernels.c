/* Kernels: each call with its arguments as they were, whatever was played before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

/* ---- which kernel ---- */

static const plug_kernel *find_kernel(const char *schema) {
  for (uint32_t i = 0; schema && i < kernel_count; i++) {
    if (kernels[i].schema && strcmp(kernels[i].schema, schema) == 0) return &kernels[i];
  }
  return any_kernel;
}

/* ---- where tensors are ---- */

struct host_buffer {
  uint64_t number, bytes;
  void *base;
};

/* How far each address of host memory is used by the call. */
static void note_host(const struct values *values, struct host_buffer *buffers,
                      size_t *count) {
  for (size_t i = 0; i < values->tensor_count; i++) {
    const struct tensor *tensor = &values->tensors[i];
    int64_t first = 0;
    size_t n = 0;
    if (tensor->place.kind != 'h') continue;
    const uint64_t end =
        span_of(tensor->is, &first) + tensor->place.offset + (uint64_t)first;
    while (n < *count && buffers[n].number != tensor->place.number) n++;
    if (n == *count)
      buffers[(*count)++] = (struct host_buffer){tensor->place.number, 0, NULL};
    if (end > buffers[n].bytes) buffers[n].bytes = end;
  }
}

static bool place_tensors(struct values *values, const struct host_buffer *buffers,
                          int32_t device) {
  for (size_t i = 0; i < values->tensor_count; i++) {
    struct tensor *tensor = &values->tensors[i];
    const struct host_buffer *buffer = buffers;
    if (tensor->place.kind == 0) continue;
    if (tensor->place.kind == 'h') {
      while (buffer->number != tensor->place.number) buffer++;
      tensor->is->mem = (plug_mem){buffer->base, tensor->place.offset, PLUG_HOST, 0};
    } else if (!locate(tensor->place, device, &tensor->is->mem)) {
      return false;
    }
  }
  return true;
}

/* Gives the tensors of a call memory; false if some of it is not there. */
static bool place_all(struct values *args, struct values *results, int32_t device) {
  struct host_buffer *buffers =
      keep((args->tensor_count + results->tensor_count + 1) * sizeof *buffers);
  size_t count = 0;
  note_host(args, buffers, &count);
  note_host(results, buffers, &count);
  for (size_t i = 0; i < count; i++) buffers[i].base = keep(buffers[i].bytes);
  return place_tensors(args, buffers, device) && place_tensors(results, buffers, device);
}

/* Whether all that the arguments hold is as it was: only then are results too. */
static bool is_exact(const struct values *args) {
  for (size_t i = 0; i < args->tensor_count; i++) {
    const struct tensor *tensor = &args->tensors[i];
    if (element_count(tensor->is) > 0 && tensor->holds.given != DATA) return false;
  }
  return true;
}

/* ---- results ---- */

static void compare_value(const struct record *record, uint32_t index,
                          const plug_value *want, const struct values *wanted,
                          const plug_call *call, bool is_exact_call) {
  const plug_value *have = &call->results[index];
  const char *difference = NULL;
  if (want->tag != PLUG_VALUE_TENSOR && want->tag != PLUG_VALUE_TENSORS) {
    if (is_exact_call) difference = compare_numbers(want, have);
    if (difference) differs(record, "result %u: %s", index, difference);
    return;
  }
  if (have->tag != want->tag ||
      (want->tag == PLUG_VALUE_TENSORS && have->count != want->count)) {
    differs(record, "result %u: there are other tensors than in the trace", index);
    return;
  }
  for (size_t i = 0; i < wanted->tensor_count && !difference; i++) {
    struct tensor tensor = wanted->tensors[i];
    const ptrdiff_t at = tensor.is - want->as.tensors;
    if (at < 0 || at >= (ptrdiff_t)want->count) continue;
    if (!is_exact_call) tensor.holds.given = UNKNOWN;
    difference =
        compare_contents(&tensor, &have->as.tensors[at], call->device, call->stream);
    if (difference) differs(record, "result %u: %s", index, difference);
  }
}

/* Arguments that are written, in the order in which the trace lists them. */
static void compare_written(const struct record *record, const struct values *args,
                            const struct values *wanted, const plug_call *call) {
  size_t next = 0;
  for (size_t i = 0; i < args->tensor_count && next < wanted->tensor_count; i++) {
    const plug_tensor *tensor = args->tensors[i].is;
    if (tensor->ndim < 0 || !(tensor->flags & PLUG_TENSOR_WRITTEN)) continue;
    const char *difference =
        compare_contents(&wanted->tensors[next++], tensor, call->device, call->stream);
    if (difference) differs(record, "a written argument: %s", difference);
  }
}

static void compare_results(const struct record *record, const struct values *args,
                            const plug_call *call, const struct values *wanted,
                            bool is_exact_call) {
  struct values written;
  if (wanted->count != call->result_count) return;
  for (uint32_t i = 0; i < wanted->count; i++) {
    compare_value(record, i, &wanted->list[i], wanted, call, is_exact_call);
  }
  const struct text text = out_field(record, "written");
  if (is_exact_call && text.length > 0 && !parse_values(text, &written))
    compare_written(record, args, &written, call);
}

/* ---- the calls ---- */

static plug_stream stream_of(const struct record *record) {
  const struct place place = in_place(record, "stream");
  const struct handle *handle = find_handle(place);
  return place.number == 0 || !handle ? NULL : handle->pointer;
}

static const char *string_of(const struct record *record, const char *key) {
  const char *string = NULL;
  const struct text text = in_field(record, key);
  if (text.length > 0) (void)parse_string(text, &string);
  return string;
}

static plug_call call_of(const struct record *record, const plug_kernel *kernel,
                         const struct values *args, const struct values *results) {
  plug_call call = {.size = sizeof call, .user = kernel->user};
  const char *name = string_of(record, "operator");
  call.device = device_for(in_number(record, "device"));
  call.stream = stream_of(record);
  call.args = args->list;
  call.arg_count = args->count;
  call.results = results->list;
  call.result_count = results->count;
  call.flags = in_unsigned(record, "flags");
  call.sequence = in_unsigned(record, "sequence");
  call.name = string_of(record, "name");
  call.schema = name ? name : string_of(record, "schema");
  (void)parse_dtype(in_field(record, "compute"), &call.compute);
  const struct place state = in_place(record, "state");
  const struct handle *kept = find_handle(state);
  call.state = kept ? kept->pointer : NULL;
  return call;
}

static plug_status run_once(const plug_kernel *kernel, plug_call *call,
                            const struct record *record) {
  void *state = NULL;
  if (is_call(record, "shape")) return kernel->shape(call);
  if (!is_call(record, "prepare")) return kernel->fn(call);
  const plug_status status = kernel->prepare(call, &state);
  const struct text name = out_field(record, "state");
  if (status == PLUG_OK && state && name.length > 0) {
    const struct place place = out_place(record, "state");
    if (place.kind) set_handle(place, call->device, state, 0)->kernel = kernel;
  }
  return status;
}

static enum verdict play_call(const struct record *record, const plug_kernel *kernel) {
  struct values args, results, wanted = {0};
  const bool is_run = is_call(record, "kernel") || is_call(record, "any");
  if (parse_values(in_field(record, "args"), &args) ||
      parse_values(in_field(record, "results"), &results))
    return leave_out(record, "it has no arguments");
  plug_call call = call_of(record, kernel, &args, &results);
  const bool is_set = is_run && !is_capturing && !(call.flags & PLUG_CALL_CAPTURED);
  if (!is_call(record, "shape") && !place_all(&args, &results, call.device))
    return leave_out(record, "it uses memory that is not there");
  const bool has_results = record->is_answered &&
                           out_field(record, "results").length > 0 &&
                           !parse_values(out_field(record, "results"), &wanted);
  for (size_t i = 0; is_set && i < args.tensor_count; i++) {
    if (!put_contents(&args.tensors[i], call.device, call.stream))
      return leave_out(record, "what its arguments held cannot be copied there");
  }
  struct service service = {record, &call, has_results ? &wanted : NULL, is_run, 0};
  call.host_private = &service;
  const plug_status status = run_once(kernel, &call, record);
  compare_status(record, status);
  if (status == PLUG_OK && record->status == PLUG_OK && has_results && is_set)
    compare_results(record, &args, &call, &wanted, is_exact(&args));
  return PLAYED;
}

static enum verdict play_schema(const struct record *record) {
  const char *schema = string_of(record, "schema");
  const plug_kernel *kernel = find_kernel(schema);
  enum verdict verdict = PLAYED;
  if (options.only && (!schema || !strstr(schema, options.only))) return LEFT_OUT;
  if (!kernel) return leave_out(record, "the plugin has no kernel of this schema");
  if ((is_call(record, "prepare") && !kernel->prepare) ||
      (is_call(record, "shape") && !kernel->shape))
    return leave_out(record, "the plugin's kernel has no such function");
  const bool is_run = is_call(record, "kernel") || is_call(record, "any");
  for (int64_t i = 0; i < (is_run ? options.repeat : 1) && verdict == PLAYED; i++) {
    begin_call();
    verdict = play_call(record, kernel);
    release_scratch();
  }
  return verdict;
}

static enum verdict play_forget(const struct record *record) {
  struct handle *state = find_handle(in_place(record, "state"));
  if (!state) return LEFT_OUT;
  state->is_live = false;
  if (state->kernel->forget) state->kernel->forget(state->pointer);
  return PLAYED;
}

static enum verdict play_strided(const struct record *record) {
  struct values args, results, wanted;
  if (!rt.copy_strided) return leave_out(record, "the plugin has no such function");
  if (parse_values(in_field(record, "args"), &args) || args.tensor_count != 1 ||
      parse_values(in_field(record, "results"), &results) || results.tensor_count != 1)
    return leave_out(record, "it has no tensors");
  const int32_t device = device_for(in_number(record, "device"));
  const plug_stream stream = stream_of(record);
  if (!place_all(&args, &results, device))
    return leave_out(record, "it uses memory that is not there");
  if (!is_capturing && !put_contents(&args.tensors[0], device, stream))
    return leave_out(record, "what its arguments held cannot be copied there");
  const plug_status status =
      rt.copy_strided(device, stream, results.tensors[0].is, args.tensors[0].is);
  compare_status(record, status);
  if (status != PLUG_OK || record->status != PLUG_OK || !record->is_answered)
    return PLAYED;
  if (is_capturing || !is_exact(&args) ||
      parse_values(out_field(record, "results"), &wanted) || wanted.tensor_count != 1)
    return PLAYED;
  const char *difference =
      compare_contents(&wanted.tensors[0], results.tensors[0].is, device, stream);
  if (difference) differs(record, "dst: %s", difference);
  return PLAYED;
}

bool play_kernel(const struct record *record, enum verdict *verdict) {
  if (is_call(record, "kernel") || is_call(record, "any") || is_call(record, "prepare") ||
      is_call(record, "shape")) {
    *verdict = play_schema(record);
  } else if (is_call(record, "forget")) {
    *verdict = play_forget(record);
  } else if (is_call(record, "copy_strided")) {
    *verdict = play_strided(record);
  } else {
    return false;
  }
  return true;
}
