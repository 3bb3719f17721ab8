/* Kernels: their tables, and their results for arguments of all kinds that they accept.
 */
#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own.h"

void need_kernels(void) {
  if (!module.kernels) absent("no kernels: the CPU does every operator");
  const char *wrong = adopt_kernels();
  expect(!wrong, "%s", wrong);
}

static void need_a_device(void) {
  need_kernels();
  if (!module.runtime) absent("the plugin has no device");
}

bool is_own(const plug_kernel *kernel) {
  const size_t length = module.name ? strlen(module.name) : 0;
  return length > 0 && strncmp(kernel->schema, module.name, length) == 0 &&
         strncmp(kernel->schema + length, "::", 2) == 0;
}

/* ---- tables ---- */

static void check_dtypes(const plug_kernel *kernel, const char *name) {
  expect(kernel->dtypes || kernel->dtype_count == 0,
         "%s has a dtype_count of %u but no dtypes", name, kernel->dtype_count);
  for (uint32_t i = 0; i < kernel->dtype_count; i++) {
    const plug_dtype dtype = kernel->dtypes[i];
    expect(PLUG_DTYPE_BYTES(dtype) > 0, "%s lists 0x%x, which is no dtype", name, dtype);
    for (uint32_t n = 0; n < i; n++)
      expect(kernel->dtypes[n] != dtype, "%s lists the dtype 0x%x twice", name, dtype);
  }
}

static void check_accepts(const plug_kernel *kernel, const char *name, bool is_ours) {
  const uint64_t known = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_DENSE |
                         PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED |
                         PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR |
                         PLUG_ACCEPTS_LAZY_BITS | PLUG_SHAPES_OUTPUT | PLUG_ACCEPTS_HOST;
  expect((kernel->accepts & ~known) == 0, "%s accepts 0x%llx, which plug.h does not have",
         name, (unsigned long long)(kernel->accepts & ~known));
  expect(is_ours || !(kernel->accepts & PLUG_ACCEPTS_HOST),
         "%s accepts CPU tensors, which only an operator of the plugin's own may", name);
  expect(module.runtime || (is_ours && (kernel->accepts & PLUG_ACCEPTS_HOST)),
         "%s is of no use without a runtime: it must be an operator of the plugin's own "
         "with PLUG_ACCEPTS_HOST",
         name);
}

static void check_own(const plug_kernel *kernel, const struct schema *schema,
                      bool is_ours) {
  const char *name = schema->name;
  bool has_new_result = false;
  expect(
      is_ours || !(kernel->shapes || kernel->shape || kernel->gradient),
      "%s has shapes or a gradient, which are for operators of the plugin's own: PyTorch "
      "has its own for this",
      name);
  if (!is_ours) return;
  for (uint32_t i = 0; i < schema->result_count; i++) {
    has_new_result |=
        strncmp(schema->results[i].type, "Tensor", 6) == 0 && !schema->results[i].alias;
  }
  expect(!has_new_result || kernel->shapes || kernel->shape ||
             (kernel->accepts & PLUG_SHAPES_OUTPUT),
         "%s has a result that is no argument, but neither shapes nor shape", name);
  const int ways = (kernel->shapes != NULL) + (kernel->shape != NULL) +
                   ((kernel->accepts & PLUG_SHAPES_OUTPUT) != 0);
  expect(ways < 2, "%s says in more than one way what its results look like", name);
}

static void check_entry(const plug_kernel *kernel, uint32_t index) {
  struct schema schema;
  expect(kernel->schema != NULL, "kernel %u has no schema", index);
  const char *wrong = parse_schema(kernel->schema, &schema);
  expect(!wrong, "kernel %u has the schema '%s': %s", index, kernel->schema, wrong);
  expect(kernel->fn != NULL, "%s has no function", schema.name);
  check_accepts(kernel, schema.name, is_own(kernel));
  check_dtypes(kernel, schema.name);
  check_own(kernel, &schema, is_own(kernel));
  expect(kernel->prepare || !kernel->forget, "%s has forget but no prepare", schema.name);
  expect(schema.arg_count >= 64 || kernel->writes >> schema.arg_count == 0,
         "%s writes an argument behind its last", schema.name);
  for (uint32_t n = 0; n < index; n++) {
    expect(strcmp(kernels[n].schema, kernel->schema) != 0, "%s is in the list twice",
           schema.name);
  }
}

static void tables(void) {
  need_kernels();
  expect(module.kernels->size, "plug_kernels has no size");
  for (uint32_t i = 0; i < kernel_count; i++) check_entry(&kernels[i], i);
  if (!any_kernel) return;
  expect(any_kernel->fn && !any_kernel->schema, "the kernel `any` has %s",
         any_kernel->fn ? "a schema: leave it NULL" : "no function");
  expect((any_kernel->accepts & ~(uint64_t)PLUG_SHAPES_OUTPUT) == 0,
         "the kernel `any` accepts more than PLUG_SHAPES_OUTPUT: it gets all as it is");
}

/* ---- all examples ---- */

struct ask {
  enum variation variation;
  uint64_t needs; /* of accepts; 0: nothing */
  enum look look;
};

static bool is_listed(const plug_kernel *kernel, plug_dtype dtype) {
  const plug_dtype *list = kernel->dtypes ? kernel->dtypes : info.dtypes;
  const uint32_t count = kernel->dtypes ? kernel->dtype_count : info.dtype_count;
  for (uint32_t i = 0; i < count; i++) {
    if (list[i] == dtype) return true;
  }
  return false;
}

/* Whether the host would give the kernel these dtypes. */
static bool is_given(const plug_kernel *kernel, const struct example *example) {
  for (uint32_t i = 0; i < example->input_count; i++) {
    const struct input *input = &example->inputs[i];
    if (input->dtype && !is_listed(kernel, input->dtype)) return false;
  }
  for (uint32_t i = 0; i < example->result_count; i++) {
    if (!is_listed(kernel, example->result_dtypes[i])) return false;
  }
  return true;
}

/* Calls visit for every example that the host might give the kernel. */
static void for_each_example(const plug_kernel *kernel, const struct operation *operation,
                             enum variation variation,
                             void (*visit)(const struct example *example, void *context),
                             void *context) {
  static const plug_dtype dtypes[] = {PLUG_F32, PLUG_F64, PLUG_BF16,
                                      PLUG_F16, PLUG_I64, PLUG_I32};
  static struct example example;
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    if (!is_float(dtypes[d]) && !operation->takes_integers) continue;
    for (int round = 0; round < ROUNDS; round++) {
      memset(&example, 0, sizeof example);
      if (!operation->make(operation, &example, dtypes[d], variation, round)) continue;
      if (is_given(kernel, &example)) visit(&example, context);
    }
  }
}

struct visit {
  const plug_kernel *kernel;
  const struct operation *operation;
  const struct schema *schema;
  const struct ask *ask;
  int taken;
};

static void visit_call(const struct example *example, void *context) {
  struct visit *visit = context;
  visit->taken += call_with(visit->kernel, visit->operation, visit->schema, example,
                            visit->ask->variation, visit->ask->look, NULL);
}

/* Whether the operator's results and arguments are those of the kernel's schema. */
static bool fits(const struct schema *schema, const struct operation *operation) {
  struct schema whole;
  return !parse_schema(operation->schema, &whole) &&
         whole.result_count == schema->result_count;
}

static int ask_kernel(const plug_kernel *kernel, const struct ask *ask) {
  struct schema schema;
  if (!kernel->schema || !kernel->fn || kernel->prepare) return 0;
  if ((kernel->accepts & ask->needs) != ask->needs) return 0;
  if (parse_schema(kernel->schema, &schema)) return 0;
  const struct operation *operation = find_operation(schema.name);
  if (!operation || !fits(&schema, operation)) return 0;
  struct visit visit = {kernel, operation, &schema, ask, 0};
  for_each_example(kernel, operation, ask->variation, visit_call, &visit);
  return visit.taken;
}

/* Every kernel that has a reference. */
static int ask_all(enum variation variation, uint64_t needs, enum look look) {
  const struct ask ask = {variation, needs, look};
  int taken = 0;
  need_a_device();
  for (uint32_t i = 0; i < kernel_count; i++) taken += ask_kernel(&kernels[i], &ask);
  return taken;
}

static void compare(enum variation variation, uint64_t needs) {
  if (ask_all(variation, needs, LOOK_AT_VALUES) == 0)
    absent(
        "no kernel that plug-check knows takes such arguments: the host rearranges them");
}

static void plain(void) {
  if (ask_all(PLAIN, 0, LOOK_AT_VALUES) == 0)
    absent("no kernel that plug-check has a reference for");
}
static void dense(void) { compare(DENSE, PLUG_ACCEPTS_DENSE); }
static void strided(void) { compare(STRIDED, PLUG_ACCEPTS_STRIDED); }
static void broadcast(void) { compare(BROADCAST, PLUG_ACCEPTS_BROADCAST); }
static void mixed(void) { compare(MIXED, PLUG_ACCEPTS_MIXED); }
static void host_scalar(void) { compare(HOST_SCALAR, PLUG_ACCEPTS_HOST_SCALAR); }
static void alias(void) { compare(ALIAS, PLUG_ACCEPTS_ALIAS); }

/* In every way that the kernel accepts. */
static void look_at_all(enum look look) {
  static const struct {
    enum variation variation;
    uint64_t needs;
  } ways[] = {{PLAIN, 0},
              {DENSE, PLUG_ACCEPTS_DENSE},
              {STRIDED, PLUG_ACCEPTS_STRIDED},
              {BROADCAST, PLUG_ACCEPTS_BROADCAST},
              {MIXED, PLUG_ACCEPTS_MIXED},
              {HOST_SCALAR, PLUG_ACCEPTS_HOST_SCALAR}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    ask_all(ways[i].variation, ways[i].needs, look);
}
static void bounds(void) { look_at_all(LOOK_AT_BOUNDS); }
static void arguments(void) { look_at_all(LOOK_AT_ARGUMENTS); }
static void declines(void) { look_at_all(LOOK_AT_DECLINING); }

/* ---- dtypes ---- */

/* Whether results for it are compared with a reference. */
static bool is_compared(const struct operation *operation, plug_dtype dtype) {
  return is_float(dtype) ||
         (operation->takes_integers && (dtype == PLUG_I64 || dtype == PLUG_I32));
}

/* With every dtype that the host may give it; there is no reference for these. */
static int offer_dtypes(const plug_kernel *kernel) {
  static struct example example;
  struct schema schema;
  int offered = 0;
  const plug_dtype *list = kernel->dtypes ? kernel->dtypes : info.dtypes;
  const uint32_t count = kernel->dtypes ? kernel->dtype_count : info.dtype_count;
  if (!kernel->schema || kernel->prepare || parse_schema(kernel->schema, &schema))
    return 0;
  const struct operation *operation = find_operation(schema.name);
  if (!operation || !fits(&schema, operation)) return 0;
  for (uint32_t i = 0; i < count; i++) {
    if (is_compared(operation, list[i]) || PLUG_DTYPE_BYTES(list[i]) == 0) continue;
    memset(&example, 0, sizeof example);
    if (!operation->make(operation, &example, list[i], PLAIN, 1)) continue;
    if (!is_given(kernel, &example)) continue;
    call_with(kernel, operation, &schema, &example, PLAIN, LOOK_AT_BOUNDS, NULL);
    offered++;
  }
  return offered;
}

static void dtypes(void) {
  int offered = 0;
  need_a_device();
  for (uint32_t i = 0; i < kernel_count; i++) offered += offer_dtypes(&kernels[i]);
  if (offered == 0)
    absent("no kernel is given other dtypes than those that are compared");
}

/* ---- prepare ---- */

enum { MOST_STATES = 8 };

struct prepared {
  struct visit visit;
  void *states[MOST_STATES];
  int count, taken;
};

static void visit_prepare(const struct example *example, void *context) {
  struct prepared *prepared = context;
  const struct visit *visit = &prepared->visit;
  void *state = NULL;
  if (prepared->count == MOST_STATES) return;
  if (!prepare_for(visit->kernel, visit->operation, visit->schema, example, &state))
    return;
  for (int call = 0; call < 2; call++) {
    prepared->taken += call_with(visit->kernel, visit->operation, visit->schema, example,
                                 PLAIN, LOOK_AT_VALUES, state);
  }
  prepared->states[prepared->count++] = state;
}

static int prepare_kernel(const plug_kernel *kernel) {
  struct schema schema;
  if (!kernel->schema || !kernel->prepare || parse_schema(kernel->schema, &schema))
    return 0;
  const struct operation *operation = find_operation(schema.name);
  if (!operation || !fits(&schema, operation)) return 0;
  struct prepared prepared = {.visit = {kernel, operation, &schema, NULL, 0}};
  for_each_example(kernel, operation, PLAIN, visit_prepare, &prepared);
  doing("forget");
  for (int i = 0; i < prepared.count && kernel->forget; i++) {
    if (prepared.states[i]) kernel->forget(prepared.states[i]);
  }
  return prepared.taken;
}

static void prepare(void) {
  int taken = 0;
  need_a_device();
  for (uint32_t i = 0; i < kernel_count; i++) taken += prepare_kernel(&kernels[i]);
  if (taken == 0) absent("no kernel that plug-check has a reference for prepares");
}

/* ---- any ---- */

static void any(void) {
  static const enum look looks[] = {LOOK_AT_VALUES, LOOK_AT_BOUNDS, LOOK_AT_ARGUMENTS,
                                    LOOK_AT_DECLINING};
  int taken = 0;
  need_a_device();
  if (!any_kernel)
    absent("no kernel `any`: the CPU does what no kernel of the list does");
  for (const struct operation *operation = operations; operation->name; operation++) {
    struct schema schema;
    parse_schema(operation->schema, &schema);
    plug_kernel kernel = *any_kernel;
    kernel.accepts = 0;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
      const struct ask ask = {PLAIN, 0, looks[i]};
      struct visit visit = {&kernel, operation, &schema, &ask, 0};
      if (!kernel.prepare)
        for_each_example(&kernel, operation, PLAIN, visit_call, &visit);
      taken += visit.taken;
    }
    struct prepared prepared = {.visit = {&kernel, operation, &schema, NULL, 0}};
    if (kernel.prepare)
      for_each_example(&kernel, operation, PLAIN, visit_prepare, &prepared);
    for (int i = 0; i < prepared.count && kernel.forget; i++) {
      if (prepared.states[i]) kernel.forget(prepared.states[i]);
    }
    taken += prepared.taken;
  }
  if (taken == 0)
    absent("the kernel `any` declines every operator that plug-check knows");
}

/* ---- random numbers ---- */

/* One large enough for its mean and variance to be near. */
static void judge_draws(const char *name, const struct array *drawn, double mean,
                        double variance, double least, double most) {
  double sum = 0, squares = 0;
  const double n = (double)count_of(drawn);
  for (int64_t i = 0; i < count_of(drawn); i++) {
    expect(drawn->at[i] >= least && drawn->at[i] <= most, "%s drew %g", name,
           drawn->at[i]);
    sum += drawn->at[i];
    squares += drawn->at[i] * drawn->at[i];
  }
  const double found = squares / n - sum / n * (sum / n);
  expect(fabs(sum / n - mean) < 6 * sqrt(variance / n), "the mean of %s is %g, not %g",
         name, sum / n, mean);
  expect(found > variance / 2 && found < variance * 2, "the variance of %s is %g, not %g",
         name, found, variance);
}

/* Of tensors of 1,000 float32, in memory of their own. */
static bool draw(const plug_kernel *kernel, const struct schema *schema,
                 struct array *drawn) {
  static float buffer[MOST_VALUES];
  static const int64_t one = 1, size = 1000;
  void *base = allocate(sizeof buffer), *other = allocate(sizeof buffer);
  const bool is_in_place = schema->args[0].is_written;
  memset(buffer, 0, sizeof buffer);
  put(base, 0, buffer, sizeof buffer);
  put(other, 0, buffer, sizeof buffer);
  const plug_tensor self = {.mem = on_device(base, 0),
                            .dtype = PLUG_F32,
                            .ndim = 1,
                            .sizes = &size,
                            .strides = &one,
                            .flags = is_in_place ? PLUG_TENSOR_WRITTEN : 0};
  plug_tensor result = self;
  result.flags = PLUG_TENSOR_WRITTEN;
  if (!is_in_place) result.mem.base = other;
  const plug_value args[] = {{.tag = PLUG_VALUE_TENSOR, .count = 1, .as.tensors = &self},
                             {.tag = PLUG_VALUE_FLOAT, .as.f = 0},
                             {.tag = PLUG_VALUE_FLOAT, .as.f = 1},
                             {.tag = PLUG_NONE}};
  plug_value results[] = {{.tag = PLUG_VALUE_TENSOR, .count = 1, .as.tensors = &result}};
  const plug_call call = {.size = sizeof call,
                          .device = device,
                          .user = kernel->user,
                          .args = args,
                          .results = results,
                          .arg_count = 4,
                          .result_count = 1,
                          .sequence = 1,
                          .name = schema->name,
                          .schema = kernel->schema};
  doing(schema->name);
  const plug_status status = kernel->fn(&call);
  well_formed(status, schema->name);
  ok(rt.device_sync(device), "device_sync");
  get(buffer, result.mem.base, 0, sizeof buffer);
  release(base);
  release(other);
  *drawn = (struct array){.ndim = 1, .sizes = {size}};
  for (int64_t i = 0; i < size; i++) drawn->at[i] = (double)buffer[i];
  return status == PLUG_OK;
}

static int judge_random(const plug_kernel *kernel) {
  static struct array first, second;
  struct schema schema;
  if (!kernel->schema || kernel->prepare || (kernel->accepts & PLUG_SHAPES_OUTPUT))
    return 0;
  if (parse_schema(kernel->schema, &schema) || schema.arg_count != 4) return 0;
  const bool is_uniform = strncmp(schema.name, "aten::uniform", 13) == 0;
  const bool is_normal = strcmp(schema.name, "aten::normal_") == 0 ||
                         strcmp(schema.name, "aten::normal_functional") == 0;
  if ((!is_uniform && !is_normal) || !is_listed(kernel, PLUG_F32)) return 0;
  if (!draw(kernel, &schema, &first) || !draw(kernel, &schema, &second)) return 0;
  if (is_uniform) {
    judge_draws(schema.name, &first, 0.5, 1.0 / 12, 0, 1);
  } else {
    judge_draws(schema.name, &first, 0, 1, -7, 7);
  }
  expect(memcmp(first.at, second.at, sizeof first.at) != 0,
         "%s draws the same numbers from another offset of host->rng", schema.name);
  return 1;
}

static void random_numbers(void) {
  int judged = 0;
  need_a_device();
  for (uint32_t i = 0; i < kernel_count; i++) judged += judge_random(&kernels[i]);
  if (judged == 0) absent("no kernel for uniform_ or normal_");
}

const struct check kernel_checks[] = {
    {.name = "kernel-tables",
     .promise = "every kernel has a schema, known bits and what belongs to them",
     .run = tables,
     .begins = LOADED},
    {.name = "kernel-results",
     .promise =
         "kernels of common operators give the results that arithmetic in double does",
     .run = plain},
    {.name = "kernel-dense",
     .promise =
         "so they do for tensors of another order of dimensions, if they accept them",
     .run = dense},
    {.name = "kernel-strided",
     .promise = "so they do for tensors of any strides, if they accept them",
     .run = strided},
    {.name = "kernel-broadcast",
     .promise = "so they do for inputs that need expanding, if they accept them",
     .run = broadcast},
    {.name = "kernel-mixed",
     .promise = "so they do for inputs of several dtypes, if they accept them",
     .run = mixed},
    {.name = "kernel-host-scalar",
     .promise = "so they do for a number in host memory, if they accept it",
     .run = host_scalar},
    {.name = "kernel-alias",
     .promise = "so they do where the result is an input, if they accept that",
     .run = alias},
    {.name = "kernel-bounds",
     .promise = "kernels write nothing outside of their tensors, nor between elements",
     .run = bounds},
    {.name = "kernel-arguments",
     .promise = "kernels leave arguments unchanged that they do not say they write",
     .run = arguments},
    {.name = "kernel-declines",
     .promise = "a kernel that returns PLUG_UNSUPPORTED has written nothing",
     .run = declines},
    {.name = "kernel-dtypes",
     .promise = "every listed dtype is computed, declined or refused with a message",
     .run = dtypes},
    {.name = "kernel-prepare",
     .promise = "calls with what prepare kept are right, and forget takes it back",
     .run = prepare},
    {.name = "kernel-any",
     .promise = "the kernel any gives right results, or declines and writes nothing",
     .run = any},
    {.name = "kernel-random",
     .promise = "random numbers have their mean and variance, and differ by offset",
     .run = random_numbers},
    {.name = "kernel-own",
     .promise = "operators of the plugin's own stay within their tensors",
     .run = try_own_operators},
    {0},
};
