/* kernels.h - what the checks of kernels (L1) share: a plugin's kernels as adopted, their
** schemas, and calls of them with arguments whose results are known. */
#ifndef PLUG_CHECK_KERNELS_H
#define PLUG_CHECK_KERNELS_H

#include "check.h"

/* ---- The plugin's kernels (kernels.c). ---- */

/* Adopts them; ends the check if there are none. */
void need_kernels(void);
/* Of a schema whose name begins with the plugin's. */
bool is_own(const plug_kernel *kernel);

/* ---- Schemas (schema.c). ---- */

enum { MOST_ARGS = 32, MOST_RESULTS = 16, WORD = 96 };

struct parameter {
  char type[WORD]; /* "Tensor", "int[]", "Tensor?"; without an alias annotation */
  char name[WORD];
  char value[WORD]; /* its default, or "" */
  bool is_written;  /* Tensor(a!) */
  char alias;       /* the letter of the annotation, or 0 */
};

struct schema {
  char name[WORD]; /* "aten::add.Tensor" */
  struct parameter args[MOST_ARGS], results[MOST_RESULTS];
  uint32_t arg_count, result_count;
};
/* The reason why it is none, or NULL. */
const char *parse_schema(const char *text, struct schema *schema);

/* ---- Numbers (numbers.c). ---- */

/* As an element of that type holds it; 0 for what is no type of numbers. */
double round_to(plug_dtype dtype, double number);
void store_number(plug_dtype dtype, void *at, double number);
double load_number(plug_dtype dtype, const void *at);
bool is_float(plug_dtype dtype);
double tolerance_of(plug_dtype dtype);

/* ---- Examples (examples.c). ---- */

enum { DIMS = 4, MOST_VALUES = 1024, MOST_INPUTS = 8, MOST_ITEMS = 3 };

struct array { /* row after row */
  int32_t ndim;
  int64_t sizes[DIMS];
  double at[MOST_VALUES];
};
int64_t count_of(const struct array *array);

struct input {
  const char *name; /* in the operator's schema */
  plug_value value; /* of what is no tensor */
  int64_t ints[DIMS];
  struct array arrays[MOST_ITEMS]; /* of a tensor, or of a list of them */
  plug_dtype dtype;
  bool is_on_host;
};

struct example {
  struct input inputs[MOST_INPUTS];
  uint32_t input_count;
  struct array results[MOST_ITEMS];
  plug_dtype result_dtypes[MOST_ITEMS];
  uint32_t result_count;
  plug_dtype compute; /* 0: not pointwise */
};

/* In which way arguments differ from what every kernel takes. */
enum variation { PLAIN, DENSE, STRIDED, BROADCAST, MIXED, HOST_SCALAR, ALIAS };
enum { ROUNDS = 3 }; /* examples of each, of different sizes */

struct operation {
  const char *name; /* "aten::relu" */
  const char *schema;
  bool takes_integers;
  double (*function)(double x); /* of a pointwise operator of one tensor */
  /* Fills in inputs and the results they have, computed in double; false if there is no
  ** such example. */
  bool (*make)(const struct operation *operation, struct example *example,
               plug_dtype dtype, enum variation variation, int round);
};
extern const struct operation operations[]; /* ended by one without a name */
const struct operation *find_operation(const char *name);

/* ---- Calls (calls.c). ---- */

/* What is looked at when the call has returned. */
enum look { LOOK_AT_VALUES, LOOK_AT_BOUNDS, LOOK_AT_ARGUMENTS, LOOK_AT_DECLINING };

/* Calls a kernel with an example and ends the check if something is wrong with what is
** looked at. Whether the kernel took it. */
bool call_with(const plug_kernel *kernel, const struct operation *operation,
               const struct schema *schema, const struct example *example,
               enum variation variation, enum look look, void *state);
/* The same for `prepare`; false if it declined. */
bool prepare_for(const plug_kernel *kernel, const struct operation *operation,
                 const struct schema *schema, const struct example *example,
                 void **state);
/* The default of an argument of which an example says nothing; false if it has none. */
bool take_default(const struct parameter *parameter, plug_value *value);
const struct input *find_input(const struct example *example, const char *name);
/* Whether the example says nothing that the schema has no argument for. */
bool suits(const struct operation *operation, const struct schema *schema,
           const struct example *example);
/* The strides that call_with gives the tensors of an example, counted from 0. */
void strides_of_input(const struct array *array, enum variation variation,
                      uint32_t tensor, bool is_pointwise, int64_t *strides);
void strides_of_result(const struct array *array, enum variation variation,
                       bool is_pointwise, int64_t *strides);

/* Called by the host's table (plugin.c). */
plug_status kernel_scratch(const plug_call *call, uint64_t bytes, plug_mem *mem);
plug_status kernel_output(const plug_call *call, uint32_t index, plug_dtype dtype,
                          int32_t ndim, const int64_t *sizes, const int64_t *strides);
plug_status kernel_rng(const plug_call *call, uint64_t draws, plug_rng *rng);

#endif
