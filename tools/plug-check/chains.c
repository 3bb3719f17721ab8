/* Graphs of pointwise functions one after the other, which most compilers take. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compilers.h"

/* What the check says: how much of it the compiler took. */
void say_how_many(void) {
  static char none[192];
  const char *rest = what_was_left_out();
  snprintf(none, sizeof none, "the compiler declined all %d graphs%s", declined,
           *rest ? rest : ": nodes run one by one");
  if (compiled == 0) absent(declined ? none : "no schema that plug-check has graphs for");
  remark("%d of %d graphs compiled%s", compiled, compiled + declined, rest);
}

/* Functions that enlarge no error, so that a chain of them can be compared. */
static const char *const tame[TAME] = {"aten::tanh", "aten::sigmoid", "aten::sin",
                                       "aten::cos",  "aten::relu",    "aten::neg",
                                       "aten::abs",  "aten::erf"};

int32_t find_op(const char *name, uint32_t arg_count) {
  struct schema schema;
  for (uint32_t op = 0; op < compiled_count; op++) {
    if (parse_schema(compiled_schemas[op], &schema) || strcmp(schema.name, name) != 0)
      continue;
    if (schema.arg_count == arg_count && schema.result_count == 1) return (int32_t)op;
  }
  return -1;
}

static uint32_t find_tame(int32_t ops[TAME], double (*functions[TAME])(double)) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < TAME; i++) {
    const int32_t op = find_op(tame[i], 1);
    if (op < 0) continue;
    functions[count] = find_operation(tame[i])->function;
    ops[count++] = op;
  }
  return count;
}

int32_t add_unary(struct graph *graph, int32_t op, int32_t of, int32_t ndim,
                  const int64_t *sizes) {
  plug_node *node = add_graph_node(graph, op, compiled_schemas[op], 1, 1);
  *node_arg(graph, node, 0) = (plug_value){.tag = PLUG_VALUE_REF, .as.i = of};
  return add_graph_result(graph, node, 0, PLUG_F32, ndim, sizes);
}

/* aten::mul.Tensor, or -1. */
int32_t find_product(void) { return find_op("aten::mul.Tensor", 2); }

int32_t add_binary(struct graph *graph, int32_t op, int32_t a, int32_t b, int32_t ndim,
                   const int64_t *sizes) {
  struct schema schema;
  if (parse_schema(compiled_schemas[op], &schema)) fail("a schema was not found again");
  plug_node *node = add_graph_node(graph, op, compiled_schemas[op], schema.arg_count, 1);
  *node_arg(graph, node, 0) = (plug_value){.tag = PLUG_VALUE_REF, .as.i = a};
  *node_arg(graph, node, 1) = (plug_value){.tag = PLUG_VALUE_REF, .as.i = b};
  return add_graph_result(graph, node, 0, PLUG_F32, ndim, sizes);
}

int32_t add_product(struct graph *graph, int32_t a, int32_t b, int32_t ndim,
                    const int64_t *sizes) {
  return add_binary(graph, find_product(), a, b, ndim, sizes);
}

struct chain need_chain(void) {
  struct chain chain;
  chain.count = find_tame(chain.ops, chain.functions);
  if (chain.count == 0) absent("no function of one tensor that plug-check has graphs of");
  return chain;
}

int32_t add_chain(struct graph *graph, const struct chain *chain, int32_t from,
                  int32_t ndim, const int64_t *sizes) {
  for (uint32_t i = 0; i < chain->count; i++)
    from = add_unary(graph, chain->ops[i], from, ndim, sizes);
  return from;
}

double apply_chain(const struct chain *chain, double x) {
  for (uint32_t i = 0; i < chain->count; i++) x = (double)(float)chain->functions[i](x);
  return x;
}

void fill_row(struct array *array, int32_t ndim, int64_t a, int64_t b) {
  *array = (struct array){.ndim = ndim, .sizes = {a, b}};
  for (int64_t i = 0; i < count_of(array); i++)
    array->at[i] = (double)(float)((double)random_below(4001) / 1000 - 2);
}

/* x -> chain -> output, of a contiguous tensor of these sizes. */
struct graph *chain_graph(const struct chain *chain, int32_t ndim, const int64_t *sizes,
                          bool is_update) {
  struct graph *graph = new_graph();
  const int32_t x = add_graph_input(graph, PLUG_F32, ndim, sizes, NULL, 0);
  add_graph_output(graph, add_chain(graph, chain, x, ndim, sizes), NULL,
                   is_update ? 0 : -1);
  return graph;
}

void set_chain_call(struct engine_call *call, const struct chain *chain, int32_t ndim,
                    int64_t a, int64_t b) {
  memset(call, 0, sizeof *call);
  call->what = "an engine of several functions";
  call->example.compute = PLUG_F32;
  struct array *x = add_engine_input(call, PLUG_F32), *y;
  fill_row(x, ndim, a, b);
  y = add_engine_result(call, PLUG_F32);
  *y = *x;
  for (int64_t i = 0; i < count_of(y); i++) y->at[i] = apply_chain(chain, x->at[i]);
}

/* ---- rows ---- */

static void compare_row(const struct chain *chain, int64_t count, const float *x,
                        const float *y) {
  for (int64_t i = 0; i < count; i++) {
    const double want = apply_chain(chain, (double)x[i]);
    expect(fabs((double)y[i] - want) <= tolerance_of(PLUG_F32) * (1 + fabs(want)),
           "element %lld is %.9g, not %.9g", (long long)i, (double)y[i], want);
  }
}

void run_row(const struct chain *chain, plug_engine engine, int32_t on, int64_t count,
             uint32_t seed) {
  float *x = malloc((size_t)count * sizeof *x), *y = malloc((size_t)count * sizeof *y);
  if (!x || !y) fail("there is no memory left");
  for (int64_t i = 0; i < count; i++)
    x[i] = (float)((i * 37 + seed * 101) % 4001) / 1000 - 2;
  const struct plain_run run = {.engine = engine,
                                .fn = compiler.run,
                                .on = on,
                                .input_count = 1,
                                .ndim = 1,
                                .sizes = &count,
                                .inputs = {x},
                                .output = y};
  const plug_status status = run_plain(&run);
  if (status != PLUG_UNSUPPORTED) {
    ok(status, "run");
    compare_row(chain, count, x, y);
  }
  free(x);
  free(y);
}
