/* compiler.c - a graph compiler in one file: hello's device, and torch.compile on it.
**
** A compiler is a list of the operators it knows and three functions. The host cuts a
** user's program into graphs of these operators and runs node by node what is declined.
**
**   compile         makes an engine of a graph, or says why not. It keeps nothing of the
**                   graph: constants are copied.
**   run             computes it: args are the inputs, results the outputs. Several
**                   threads may run one engine at once, so nothing in it changes.
**   engine_destroy  frees it; no thread runs it any more.
**
** These engines do pointwise float32 operators on contiguous tensors of one shape: all
** steps for a few hundred elements, which stay in the cache, then for the next. */
#include <math.h>

#include "torchplug/plug.h"

#define torchplug_plugin_v0 hello_plugin_v0 /* the device is hello's, whole */
#include "../hello/hello.c"
#undef torchplug_plugin_v0

/* What it compiles: y = f(a, b), with alpha as k. */

typedef void (*step_fn)(const float *a, const float *b, float k, float *y, int64_t n);

#define STEP(name, expression)                                                     \
  static void name(const float *a, const float *b, float k, float *y, int64_t n) { \
    (void)b, (void)k;                                                              \
    for (int64_t i = 0; i < n; i++) y[i] = (expression);                           \
  }
STEP(step_add, a[i] + k * b[i])
STEP(step_mul, a[i] * b[i])
STEP(step_relu, a[i] < 0 ? 0 : a[i])
STEP(step_sigmoid, 1 / (1 + expf(-a[i])))
STEP(step_tanh, tanhf(a[i]))
STEP(step_exp, expf(a[i]))

static const char *const schemas[] = {
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "aten::relu(Tensor self) -> Tensor",
    "aten::sigmoid(Tensor self) -> Tensor",
    "aten::tanh(Tensor self) -> Tensor",
    "aten::exp(Tensor self) -> Tensor",
};
static const step_fn functions[] = {step_add,     step_mul,  step_relu,
                                    step_sigmoid, step_tanh, step_exp};
enum { SCHEMAS = sizeof schemas / sizeof *schemas };

/* Engines. A slot is a value of the graph, or a number among the arguments of a node. */

enum { BLOCK = 512, MOST = 2048 }; /* elements in the cache at a time; slots, steps */
struct plug_engine_s {
  int64_t count; /* elements of each tensor */
  uint32_t slot_count, step_count, output_count;
  struct slot {
    int32_t input, is_one; /* argument of a run, or -1; one element for all others */
    float *constant;       /* or NULL */
  } slots[MOST];
  struct step {
    step_fn fn;
    int32_t a, b, y; /* slots */
    float k;
  } steps[MOST];         /* the last has no fn */
  int32_t outputs[MOST]; /* slots */
};

static plug_status decline(const char *why) { return fail(PLUG_UNSUPPORTED, why); }

static plug_status engine_destroy(int32_t device, plug_engine engine) {
  (void)device;
  for (uint32_t i = 0; i < engine->slot_count; i++) free(engine->slots[i].constant);
  free(engine);
  return PLUG_OK;
}

static float *copy_of(const void *data, int64_t count) {
  float *copy = malloc((size_t)count * sizeof *copy + 1);
  return copy && count > 0 ? memcpy(copy, data, (size_t)count * sizeof *copy) : copy;
}

static int64_t count_of(const plug_graph_value *value) { /* -1: only a run knows */
  int64_t count = 1;
  for (int32_t d = 0; d < value->ndim; d++) {
    if (value->sizes[d] < 0) return -1;
    count *= value->sizes[d];
  }
  return count;
}

static plug_status add_values(plug_engine engine, const plug_graph *graph) {
  const plug_graph_value *shape = graph->values[graph->outputs[0]];
  const size_t bytes = (size_t)shape->ndim * sizeof *shape->sizes;
  engine->count = count_of(shape);
  for (uint32_t v = 0; v < graph->value_count; v++) {
    const plug_graph_value *value = graph->values[v];
    const int64_t count = count_of(value);
    const int is_one = value->ndim != shape->ndim ||
                       (bytes && memcmp(value->sizes, shape->sizes, bytes));
    if (value->dtype != PLUG_F32) return decline("only float32 is compiled");
    if (count < 0 || (is_one && count != 1)) return decline("shapes differ or are open");
    engine->slots[engine->slot_count++] = (struct slot){-1, is_one, NULL};
    if (!value->data) continue;
    engine->slots[v].constant = copy_of(at(&value->data->mem), count);
    if (!engine->slots[v].constant) return fail(PLUG_NO_MEMORY, "no memory is left");
  }
  for (uint32_t i = 0; i < graph->input_count; i++)
    engine->slots[graph->inputs[i]].input = (int32_t)i;
  return PLUG_OK;
}

/* The slot of a value, or a new one for the number that stands in its place; or -1. */
static int32_t take_operand(plug_engine engine, const plug_value *arg) {
  if (arg->tag == PLUG_VALUE_REF) return (int32_t)arg->as.i;
  if (arg->tag != PLUG_VALUE_INT && arg->tag != PLUG_VALUE_FLOAT) return -1;
  const float number = arg->tag == PLUG_VALUE_INT ? (float)arg->as.i : (float)arg->as.f;
  float *constant = copy_of(&number, 1);
  engine->slots[engine->slot_count] = (struct slot){-1, 1, constant};
  return constant ? (int32_t)engine->slot_count++ : -1;
}

static plug_status add_node(plug_engine engine, const plug_node *node) {
  if (node->op < 0 || node->op >= SCHEMAS) return decline("an operator is not listed");
  const int32_t a = take_operand(engine, &node->args[0]), y = node->results[0];
  const int32_t b = node->arg_count > 1 ? take_operand(engine, &node->args[1]) : a;
  const int32_t k = node->arg_count > 2 ? take_operand(engine, &node->args[2]) : -1;
  if (a < 0 || b < 0 || (node->arg_count > 2 && (k < 0 || !engine->slots[k].constant)))
    return decline("an argument is neither a value nor a number");
  if (y < 0 || engine->slots[y].is_one) return decline("shapes differ");
  engine->steps[engine->step_count++] =
      (struct step){functions[node->op], a, b, y, k < 0 ? 1 : *engine->slots[k].constant};
  return PLUG_OK;
}

static plug_status compile(const plug_compile *wish, plug_engine *made) {
  const plug_graph *graph = wish->graph;
  if (graph->output_count == 0 || graph->output_count > MOST ||
      graph->value_count > MOST || graph->node_count > (MOST - graph->value_count) / 3)
    return decline("the graph is empty or too large");
  plug_engine engine = calloc(1, sizeof *engine);
  if (!engine) return fail(PLUG_NO_MEMORY, "no memory is left");
  plug_status status = add_values(engine, graph);
  for (uint32_t i = 0; status == PLUG_OK && i < graph->node_count; i++)
    status = wish->progress(wish, (double)i / graph->node_count)
                 ? fail(PLUG_TIMEOUT, "nobody wants the engine any more")
                 : add_node(engine, graph->nodes[i]);
  for (uint32_t i = 0; status == PLUG_OK && i < graph->output_count; i++) {
    engine->outputs[engine->output_count++] = graph->outputs[i];
    if (engine->slots[graph->outputs[i]].is_one) status = decline("shapes differ");
  }
  if (status != PLUG_OK) return engine_destroy(wish->device, engine), status;
  *made = engine;
  return PLUG_OK;
}

static plug_status run(const plug_call *call) {
  const struct plug_engine_s *engine = call->user;
  float *whole[MOST], *block[MOST]; /* of each slot: all of it, and what is at hand */
  plug_mem mem;
  if (host->scratch(host, call, engine->slot_count * BLOCK * sizeof(float), &mem))
    return fail(PLUG_NO_MEMORY, "there is no memory for the blocks");
  for (uint32_t s = 0; s < engine->slot_count; s++) {
    const struct slot *slot = &engine->slots[s];
    const plug_value *arg = slot->input < 0 ? NULL : &call->args[slot->input];
    whole[s] = arg ? (float *)at(&arg->as.tensors->mem) : slot->constant;
    block[s] = (float *)at(&mem) + (size_t)s * BLOCK;
    for (int i = 0; slot->is_one && i < BLOCK; i++) block[s][i] = *whole[s];
  }
  for (int64_t start = 0; start < engine->count; start += BLOCK) {
    const int64_t n = engine->count - start < BLOCK ? engine->count - start : BLOCK;
    for (uint32_t s = 0; s < engine->slot_count; s++)
      if (whole[s] && !engine->slots[s].is_one) block[s] = whole[s] + start;
    for (const struct step *step = engine->steps; step->fn; step++)
      step->fn(block[step->a], block[step->b], step->k, block[step->y], n);
    for (uint32_t i = 0; i < engine->output_count; i++)
      memcpy(at(&call->results[i].as.tensors->mem) + start * (int64_t)sizeof(float),
             block[engine->outputs[i]], (size_t)n * sizeof(float));
  }
  return PLUG_OK;
}

static const plug_compiler compiler = {
    .size = sizeof compiler,
    .schema_count = SCHEMAS,
    .schemas = schemas,
    .compile = compile,
    .run = run,
    .engine_destroy = engine_destroy,
};

plug_status torchplug_plugin_v0(const plug_host *h, const plug_module **out) {
  static plug_module with_compiler;
  hello_plugin_v0(h, out);
  with_compiler = **out;
  with_compiler.name = "fuse";
  with_compiler.compiler = &compiler;
  *out = &with_compiler;
  return PLUG_OK;
}
