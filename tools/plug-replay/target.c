/* The plugin that a trace is played against, and the host it sees. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

plug_module module;
plug_runtime rt;
plug_kernel *kernels;
uint32_t kernel_count;
plug_kernel *any_kernel;
const struct trace *played;

static char last_error[1024];
static bool has_error;

const char *take_error(void) {
  const bool had = has_error;
  has_error = false;
  return had ? last_error : NULL;
}

/* ---- the host ---- */

static void set_error(const plug_host *host, const char *message) {
  (void)host;
  has_error = message != NULL && *message != '\0';
  snprintf(last_error, sizeof last_error, "%s", message ? message : "");
}

static void log_line(const plug_host *host, int32_t level, const char *message) {
  (void)host;
  if (level >= 2) fprintf(stderr, "plug-replay: the plugin says: %s\n", message);
}

static const char *option(const plug_host *host, const char *key) {
  char name[256] = "TORCHPLUG_";
  size_t length = strlen(name);
  (void)host;
  for (; *key && length + 1 < sizeof name; key++) {
    name[length++] = (char)(*key == '.' ? '_' : toupper((unsigned char)*key));
  }
  name[length] = '\0';
  return getenv(name);
}

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

/* The result as the trace has it, if it looks the same. */
static const struct tensor *recorded_result(const struct service *service, uint32_t index,
                                            const plug_tensor *like) {
  const struct values *recorded = service->recorded;
  if (!recorded || index >= recorded->count) return NULL;
  if (recorded->list[index].tag != PLUG_VALUE_TENSOR) return NULL;
  for (size_t i = 0; i < recorded->tensor_count; i++) {
    const struct tensor *tensor = &recorded->tensors[i];
    if (tensor->is != recorded->list[index].as.tensors) continue;
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

static plug_status output(const plug_host *host, const plug_call *call, uint32_t index,
                          plug_dtype dtype, int32_t ndim, const int64_t *sizes,
                          const int64_t *strides) {
  struct service *service = call->host_private;
  int64_t first = 0;
  if (index >= call->result_count || ndim < 0) {
    set_error(host, "host->output was called for a result that there is not");
    return PLUG_INVALID;
  }
  plug_value *result = &call->results[index];
  const bool is_list = result->tag == PLUG_VALUE_TENSORS;
  plug_tensor made = shape_result(dtype, ndim, sizes, strides);
  const uint64_t bytes = span_of(&made, &first);
  const struct tensor *recorded = recorded_result(service, index, &made);
  if (service->allocates && bytes > 0 &&
      !(recorded && locate(recorded->place, call->device, &made.mem))) {
    const plug_status status = allocate(call, bytes, &made.mem);
    if (status != PLUG_OK) return status;
  }
  const uint32_t before = is_list ? result->count : 0;
  plug_tensor *tensors = keep((before + 1) * sizeof *tensors);
  if (before > 0) memcpy(tensors, result->as.tensors, before * sizeof *tensors);
  tensors[before] = made;
  result->tag = is_list ? PLUG_VALUE_TENSORS : PLUG_VALUE_TENSOR;
  result->count = before + 1;
  result->as.tensors = tensors;
  return PLUG_OK;
}

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

static void team(const plug_host *host,
                 void (*fn)(void *arg, int32_t index, int32_t count), void *arg) {
  (void)host;
  fn(arg, 0, 1);
}

static const plug_host host_table = {
    .size = sizeof host_table,
    .abi_minor = PLUG_ABI_MINOR,
    .set_error = set_error,
    .log = log_line,
    .option = option,
    .scratch = scratch,
    .output = output,
    .rng = rng,
    .report = report,
    .team = team,
};

/* ---- loading ---- */

/* As much of a table as its owner knew: the rest is zero. */
static void adopt(void *to, size_t whole, const void *from, uint32_t size) {
  const size_t known = size / sizeof(void *) * sizeof(void *);
  memset(to, 0, whole);
  memcpy(to, from, known < whole ? known : whole);
}

static void adopt_kernels(void) {
  plug_kernels table;
  if (!module.kernels) return;
  adopt(&table, sizeof table, module.kernels, module.kernels->size);
  kernel_count = table.list ? table.count : 0;
  kernels = calloc(kernel_count + 1, sizeof *kernels);
  if (!kernels) give_up("there is no memory left");
  for (uint32_t i = 0; i < kernel_count; i++) {
    adopt(&kernels[i], sizeof *kernels,
          (const char *)table.list + (size_t)i * table.kernel_size, table.kernel_size);
  }
  if (!table.any) return;
  any_kernel = &kernels[kernel_count];
  adopt(any_kernel, sizeof *any_kernel, table.any, table.kernel_size);
}

const char *load_target(void) {
  static char reason[2048];
  plug_status (*entry)(const plug_host *, const plug_module **) = NULL;
  const plug_module *given = NULL;
  void *library = dlopen(options.plugin, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(reason, sizeof reason, "it cannot be loaded: %s", dlerror());
    return reason;
  }
  void *symbol = dlsym(library, "torchplug_plugin_v0");
  if (!symbol) return "it is not a plugin: it does not export torchplug_plugin_v0()";
  memcpy(&entry, &symbol, sizeof entry);
  const plug_status status = entry(&host_table, &given);
  if (status != PLUG_OK || !given) {
    const char *said = take_error();
    snprintf(reason, sizeof reason, "its entry point failed (%s): %s",
             status_word(status), said ? said : "no reason given");
    return reason;
  }
  adopt(&module, sizeof module, given, given->size);
  if (module.runtime) adopt(&rt, sizeof rt, module.runtime, module.runtime->size);
  adopt_kernels();
  return NULL;
}
