/* Graphs as the host gives them to a compiler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compilers.h"

enum { MOST_GRAPH_VALUES = 64, MOST_NODES = 16, MOST_SYMBOLS = 4, MOST_CONSTANTS = 4 };

struct graph {
  plug_graph view;
  plug_symbol symbols[MOST_SYMBOLS];
  plug_graph_value values[MOST_GRAPH_VALUES];
  plug_node nodes[MOST_NODES];
  const plug_symbol *symbol_places[MOST_SYMBOLS];
  const plug_graph_value *value_places[MOST_GRAPH_VALUES];
  const plug_node *node_places[MOST_NODES];
  int32_t inputs[MOST_GRAPH_VALUES], outputs[MOST_GRAPH_VALUES],
      updates[MOST_GRAPH_VALUES];
  int64_t sizes[MOST_GRAPH_VALUES][DIMS], strides[MOST_GRAPH_VALUES][DIMS];
  plug_value args[MOST_NODES][MOST_ARGS];
  int32_t results[MOST_NODES][MOST_RESULTS];
  int64_t refs[MOST_NODES * MOST_ITEMS];
  uint32_t ref_count, constant_count;
  plug_tensor constants[MOST_CONSTANTS];
  unsigned char content[MOST_CONSTANTS][MOST_VALUES * sizeof(double)];
  char name[64];
};

struct graph *new_graph(void) {
  static unsigned number;
  struct graph *graph = calloc(1, sizeof *graph);
  if (!graph) fail("there is no memory left");
  /* No two graphs of a check have the same bytes. */
  snprintf(graph->name, sizeof graph->name, "plug-check's graph %u", ++number);
  graph->view = (plug_graph){.size = sizeof(plug_graph),
                             .symbols = graph->symbol_places,
                             .values = graph->value_places,
                             .nodes = graph->node_places,
                             .inputs = graph->inputs,
                             .outputs = graph->outputs,
                             .updates = graph->updates,
                             .bytes = graph->name,
                             .byte_count = strlen(graph->name)};
  return graph;
}

void free_graph(struct graph *graph) {
  memset(graph, 0xdd, sizeof *graph);
  free(graph);
}

const plug_graph *graph_of(struct graph *graph) { return &graph->view; }

static void set_contiguous(const plug_graph_value *value, int64_t *strides) {
  int64_t step = 1;
  for (int32_t d = value->ndim - 1; d >= 0; d--) {
    strides[d] = step;
    if (value->sizes[d] > 0) step *= value->sizes[d];
  }
}

static int32_t add_value(struct graph *graph, plug_dtype dtype, int32_t ndim,
                         const int64_t *sizes) {
  const uint32_t number = graph->view.value_count++;
  if (number == MOST_GRAPH_VALUES) fail("plug-check's graph is too large");
  if (ndim > 0) memcpy(graph->sizes[number], sizes, (size_t)ndim * sizeof *sizes);
  graph->values[number] = (plug_graph_value){.size = sizeof(plug_graph_value),
                                             .dtype = dtype,
                                             .ndim = ndim,
                                             .sizes = graph->sizes[number]};
  graph->value_places[number] = &graph->values[number];
  return (int32_t)number;
}

static void set_value_strides(struct graph *graph, int32_t value,
                              const int64_t *strides) {
  plug_graph_value *described = &graph->values[value];
  int64_t *place = graph->strides[value];
  if (!strides) set_contiguous(described, place);
  for (int32_t d = 0; strides && d < described->ndim; d++) place[d] = strides[d];
  described->strides = place;
}

int32_t add_graph_input(struct graph *graph, plug_dtype dtype, int32_t ndim,
                        const int64_t *sizes, const int64_t *strides, uint32_t flags) {
  const int32_t value = add_value(graph, dtype, ndim, sizes);
  set_value_strides(graph, value, strides);
  graph->values[value].flags = flags;
  graph->inputs[graph->view.input_count++] = value;
  return value;
}

int32_t add_graph_constant(struct graph *graph, plug_dtype dtype,
                           const struct array *array) {
  const int32_t value = add_value(graph, dtype, array->ndim, array->sizes);
  const uint32_t number = graph->constant_count++;
  if (number == MOST_CONSTANTS) fail("plug-check's graph has too many constants");
  for (int64_t i = 0; i < count_of(array); i++)
    store_number(dtype, &graph->content[number][(size_t)i * PLUG_DTYPE_BYTES(dtype)],
                 array->at[i]);
  set_contiguous(&graph->values[value], graph->strides[value]);
  graph->constants[number] = (plug_tensor){.mem = on_host(graph->content[number]),
                                           .dtype = dtype,
                                           .ndim = array->ndim,
                                           .sizes = graph->sizes[value],
                                           .strides = graph->strides[value]};
  graph->values[value].data = &graph->constants[number];
  graph->values[value].flags = PLUG_GRAPH_CONSTANT;
  return value;
}

int32_t add_graph_symbol(struct graph *graph, int64_t min, int64_t max, int64_t hint) {
  const uint32_t number = graph->view.symbol_count++;
  if (number == MOST_SYMBOLS) fail("plug-check's graph has too many symbols");
  graph->symbols[number] =
      (plug_symbol){.size = sizeof(plug_symbol), .min = min, .max = max, .hint = hint};
  graph->symbols[number].text = number == 0 ? "s0" : "s1";
  graph->symbol_places[number] = &graph->symbols[number];
  return (int32_t)number;
}

plug_node *add_graph_node(struct graph *graph, int32_t op, const char *schema,
                          uint32_t arg_count, uint32_t result_count) {
  const uint32_t number = graph->view.node_count++;
  if (number == MOST_NODES) fail("plug-check's graph has too many nodes");
  graph->nodes[number] = (plug_node){.size = sizeof(plug_node),
                                     .op = op,
                                     .schema = schema,
                                     .args = graph->args[number],
                                     .results = graph->results[number],
                                     .arg_count = arg_count,
                                     .result_count = result_count,
                                     .source = "check.py:1"};
  for (uint32_t i = 0; i < result_count; i++) graph->results[number][i] = -1;
  graph->node_places[number] = &graph->nodes[number];
  return &graph->nodes[number];
}

plug_value *node_arg(struct graph *graph, const plug_node *node, uint32_t index) {
  return &graph->args[node - graph->nodes][index];
}

void set_refs(struct graph *graph, plug_value *value, const int64_t *values,
              uint32_t count) {
  int64_t *refs = graph->refs + graph->ref_count;
  memcpy(refs, values, count * sizeof *refs);
  graph->ref_count += count;
  *value = (plug_value){.tag = PLUG_VALUE_REFS, .count = count, .as.ints = refs};
}

int32_t add_graph_result(struct graph *graph, const plug_node *node, uint32_t index,
                         plug_dtype dtype, int32_t ndim, const int64_t *sizes) {
  const int32_t value = add_value(graph, dtype, ndim, sizes);
  graph->results[node - graph->nodes][index] = value;
  return value;
}

void add_graph_output(struct graph *graph, int32_t value, const int64_t *strides,
                      int32_t updates) {
  const uint32_t number = graph->view.output_count++;
  set_value_strides(graph, value, strides);
  graph->outputs[number] = value;
  graph->updates[number] = updates;
}
