/* compilers.h - what the checks of a compiler (L2) share: graphs that are built
** and given to it, and engines that are run on the examples of kernels.h. */
#ifndef PLUG_CHECK_COMPILERS_H
#define PLUG_CHECK_COMPILERS_H

#include "kernels.h"

/* ---- Graphs (graphs.c). ---- */

struct graph; /* all of it in one piece of memory, which is overwritten when it is freed:
              ** a compiler keeps nothing of it */

struct graph *new_graph(void);
void free_graph(struct graph *graph);
/* Sizes and strides as in plug.h; strides NULL: contiguous. */
int32_t add_graph_input(struct graph *graph, plug_dtype dtype, int32_t ndim,
                        const int64_t *sizes, const int64_t *strides, uint32_t flags);
int32_t add_graph_constant(struct graph *graph, plug_dtype dtype,
                           const struct array *array);
int32_t add_graph_symbol(struct graph *graph, int64_t min, int64_t max, int64_t hint);
/* A call of schema `op` with nothing as arguments yet. */
plug_node *add_graph_node(struct graph *graph, int32_t op, const char *schema,
                          uint32_t arg_count, uint32_t result_count);
plug_value *node_arg(struct graph *graph, const plug_node *node, uint32_t index);
/* Result `index` of the node as a value. */
int32_t add_graph_result(struct graph *graph, const plug_node *node, uint32_t index,
                         plug_dtype dtype, int32_t ndim, const int64_t *sizes);
void set_refs(struct graph *graph, plug_value *value, const int64_t *values,
              uint32_t count);
/* strides NULL: contiguous; updates: an input, or -1. */
void add_graph_output(struct graph *graph, int32_t value, const int64_t *strides,
                      int32_t updates);
const plug_graph *graph_of(struct graph *graph);

/* ---- Engines (engines.c). ---- */

extern plug_compiler compiler; /* the plugin's, as adopted */
extern const char *const *compiled_schemas;
extern uint32_t compiled_count;
extern int compiled, declined; /* graphs so far, for the check's note */

/* Adopts the compiler; ends the check if there is none. */
void adopt_compiler(void);
bool has_mandatory_functions(void);
plug_status ask_for_schemas(void);
/* All of it, for a check that is not about the table: one that cannot be used ends it. */
void need_compiler(void);
/* The same, with a device to run on. */
void need_compiler_on_device(void);

/* Whether there is time for another graph: a compiler may take seconds for each, and all
** of them together get a sixth of the check's time. */
bool has_time(void);
/* Seconds after which has_time left graphs out; 0: never. */
extern double left_out_after;
/* ", the rest left out after ...", or "". */
const char *what_was_left_out(void);

/* What the host's progress answers, and what it was asked. */
extern int32_t cancels;
extern int progress_calls;

/* Compiles and frees the graph. NULL: declined. */
plug_engine compile_graph(struct graph *graph, const char *what);
plug_engine compile_for(int32_t on, struct graph *graph, const char *what);
/* The status of a compile with which something is wrong, for the caller to judge. */
plug_status compile_wrong(struct graph *graph, const char *what);
void destroy_engine(plug_engine engine);

/* What the engine is given and gives, by way of call_with: example inputs named x0, x1
** and so on, and s0 and so on for symbols. */
struct engine_call {
  const char *what;
  struct example example;
  uint32_t tensor_count, symbol_count;
};
struct array *add_engine_input(struct engine_call *call, plug_dtype dtype);
void add_engine_symbol(struct engine_call *call, int64_t value);
struct array *add_engine_result(struct engine_call *call, plug_dtype dtype);
/* Runs it; ends the check if what is looked at is wrong. Whether it ran. */
bool run_engine(plug_engine engine, const struct engine_call *call,
                enum variation variation, enum look look);
/* In every respect, several times. */
bool run_engine_in_all_ways(plug_engine engine, const struct engine_call *call,
                            enum variation variation);

/* Contiguous float32, for what call_with has no way for: weights that are packed,
** threads, host memory. All tensors are of one shape. */
struct plain_run {
  plug_engine engine;
  plug_kernel_fn fn;
  int32_t on; /* device or PLUG_HOST */
  uint32_t input_count;
  int32_t ndim; /* at most 2 */
  const int64_t *sizes;
  const float *inputs[2]; /* NULL: an absent tensor */
  float *output;          /* NULL: none */
};
plug_status run_plain(const struct plain_run *run);

/* ---- Chains (chains.c). ---- */

enum { TAME = 8, ROW = 3001 };

/* Functions of the compiler's list, one after the other. */
struct chain {
  int32_t ops[TAME];
  double (*functions[TAME])(double);
  uint32_t count;
};

/* Ends the check if the compiler lists none of them. */
struct chain need_chain(void);
double apply_chain(const struct chain *chain, double x);
/* The value that the function, the chain or the product gives. */
int32_t add_unary(struct graph *graph, int32_t op, int32_t of, int32_t ndim,
                  const int64_t *sizes);
int32_t add_chain(struct graph *graph, const struct chain *chain, int32_t from,
                  int32_t ndim, const int64_t *sizes);
/* Where the schema of that name with so many arguments stands; -1: the compiler does not
** list it. */
int32_t find_op(const char *name, uint32_t arg_count);
/* The value that it gives of two others, which it begins with; other arguments are
 * absent. */
int32_t add_binary(struct graph *graph, int32_t op, int32_t a, int32_t b, int32_t ndim,
                   const int64_t *sizes);
int32_t find_product(void); /* of elements */
int32_t add_product(struct graph *graph, int32_t a, int32_t b, int32_t ndim,
                    const int64_t *sizes);
/* A graph of one input and one output, contiguous, and a run of its engine. */
struct graph *chain_graph(const struct chain *chain, int32_t ndim, const int64_t *sizes,
                          bool is_update);
void set_chain_call(struct engine_call *call, const struct chain *chain, int32_t ndim,
                    int64_t a, int64_t b);
void fill_row(struct array *array, int32_t ndim, int64_t a, int64_t b);
/* Runs an engine of a chain for `count` elements and compares; any thread. */
void run_row(const struct chain *chain, plug_engine engine, int32_t on, int64_t count,
             uint32_t seed);
/* What the check says at its end: how many graphs the compiler took. */
void say_how_many(void);

#endif
