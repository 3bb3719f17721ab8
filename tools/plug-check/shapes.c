/* What the text `shapes` of an operator says of the results of one call, evaluated while
** it is read. docs/operators.md has the grammar. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "own.h"
#include "torchplug/plug_util.h"

enum { MOST_SIZES = 32 };

struct reading {
  const char *at;
  const struct schema *schema;
  const plug_value *args;
  const char *wrong; /* the first that was */
};

struct sizes {
  int64_t at[MOST_SIZES];
  int32_t count;
};

static int64_t read_sum(struct reading *reading);

static void refuse(struct reading *reading, const char *why) {
  if (!reading->wrong) reading->wrong = why;
}

static bool accept(struct reading *reading, const char *symbol) {
  const size_t length = strlen(symbol);
  while (isspace((unsigned char)*reading->at)) reading->at++;
  if (strncmp(reading->at, symbol, length) != 0) return false;
  reading->at += length;
  return true;
}

static void expect_symbol(struct reading *reading, const char *symbol) {
  if (!accept(reading, symbol)) refuse(reading, "its shapes cannot be read");
}

/* A name, or "". */
static void read_name(struct reading *reading, char name[WORD]) {
  size_t length = 0;
  accept(reading, "");
  while ((isalnum((unsigned char)*reading->at) || *reading->at == '_') &&
         !(length == 0 && isdigit((unsigned char)*reading->at)) && length + 1 < WORD)
    name[length++] = *reading->at++;
  name[length] = '\0';
}

static bool read_integer(struct reading *reading, int64_t *number) {
  accept(reading, "");
  const char *digits = reading->at + (*reading->at == '-');
  if (!isdigit((unsigned char)*digits)) return false;
  char *end = NULL;
  *number = strtoll(reading->at, &end, 10);
  reading->at = end;
  return true;
}

static const plug_value *find(const struct reading *reading, const char *name) {
  for (uint32_t i = 0; i < reading->schema->arg_count; i++) {
    if (strcmp(reading->schema->args[i].name, name) == 0) return &reading->args[i];
  }
  return NULL;
}

static const plug_tensor *tensor_of(struct reading *reading, const plug_value *value) {
  if (value && value->tag == PLUG_VALUE_TENSOR) return value->as.tensors;
  refuse(reading, "its shapes need an argument that is not there");
  return NULL;
}

static int64_t size_of(struct reading *reading, const plug_value *value) {
  int64_t dim = 0;
  if (value->tag == PLUG_VALUE_INT) return value->as.i;
  const plug_tensor *tensor = tensor_of(reading, value);
  expect_symbol(reading, ".");
  if (!read_integer(reading, &dim)) refuse(reading, "its shapes cannot be read");
  if (!tensor || !plug_wrap_dim(&dim, tensor->ndim)) {
    refuse(reading, "its shapes need more dimensions");
    return 0;
  }
  return tensor->sizes[dim];
}

static int64_t read_function(struct reading *reading, const char *name) {
  char list[WORD];
  expect_symbol(reading, "(");
  if (strcmp(name, "len") == 0) {
    read_name(reading, list);
    const plug_value *value = find(reading, list);
    expect_symbol(reading, ")");
    return value ? (int64_t)value->count : 0;
  }
  const int64_t a = read_sum(reading);
  expect_symbol(reading, ",");
  const int64_t b = read_sum(reading);
  expect_symbol(reading, ")");
  return (strcmp(name, "min") == 0) == (a < b) ? a : b;
}

static int64_t read_primary(struct reading *reading) {
  char name[WORD];
  int64_t number = 0;
  if (read_integer(reading, &number)) return number;
  if (accept(reading, "-")) return -read_primary(reading);
  if (accept(reading, "(")) {
    number = read_sum(reading);
    expect_symbol(reading, ")");
    return number;
  }
  read_name(reading, name);
  const plug_value *value = find(reading, name);
  if (value) return size_of(reading, value);
  if (*name && strchr("lm", *name)) return read_function(reading, name);
  refuse(reading, "its shapes cannot be read");
  return 0;
}

static int64_t floor_divided(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t read_product(struct reading *reading) {
  int64_t product = read_primary(reading);
  while (!reading->wrong) {
    const bool divides = accept(reading, "//"),
               is_rest = !divides && accept(reading, "%");
    if (!divides && !is_rest && !accept(reading, "*")) break;
    const int64_t by = read_primary(reading);
    if ((divides || is_rest) && by == 0) {
      refuse(reading, "its shapes divide by 0");
    } else if (divides) {
      product = floor_divided(product, by);
    } else {
      product = is_rest ? product - floor_divided(product, by) * by : product * by;
    }
  }
  return product;
}

static int64_t read_sum(struct reading *reading) {
  int64_t sum = read_product(reading);
  while (!reading->wrong) {
    const bool adds = accept(reading, "+");
    if (!adds && !accept(reading, "-")) break;
    const int64_t other = read_product(reading);
    sum += adds ? other : -other;
  }
  return sum;
}

static void add_size(struct reading *reading, struct sizes *sizes, int64_t size) {
  if (size < 0 || sizes->count == DIMS) {
    refuse(reading, size < 0 ? "its shapes give a negative size"
                             : "its shapes have more dimensions than plug-check makes");
  } else {
    sizes->at[sizes->count++] = size;
  }
}

/* x[1:-1] */
static void read_slice(struct reading *reading, const plug_value *value,
                       struct sizes *sizes) {
  const plug_tensor *tensor = tensor_of(reading, value);
  const int64_t count = tensor ? tensor->ndim : 0;
  int64_t begin = 0, end = count;
  if (read_integer(reading, &begin) && begin < 0) begin += count;
  expect_symbol(reading, ":");
  if (read_integer(reading, &end) && end < 0) end += count;
  expect_symbol(reading, "]");
  for (int64_t d = begin < 0 ? 0 : begin; d < end && d < count; d++)
    add_size(reading, sizes, tensor->sizes[d]);
}

static void read_dimension(struct reading *reading, struct sizes *sizes) {
  char name[WORD];
  accept(reading, "");
  const char *begin = reading->at;
  read_name(reading, name);
  const plug_value *value = find(reading, name);
  if (value && value->tag == PLUG_VALUE_INTS) {
    for (uint32_t i = 0; i < value->count; i++)
      add_size(reading, sizes, value->as.ints[i]);
  } else if (value && accept(reading, "[")) {
    read_slice(reading, value, sizes);
  } else {
    reading->at = begin;
    add_size(reading, sizes, read_sum(reading));
  }
}

static plug_dtype dtype_named(const char *name) {
  static const struct {
    const char *name;
    plug_dtype dtype;
  } known[] = {{"float32", PLUG_F32},   {"float64", PLUG_F64}, {"float16", PLUG_F16},
               {"bfloat16", PLUG_BF16}, {"int64", PLUG_I64},   {"int32", PLUG_I32},
               {"int16", PLUG_I16},     {"int8", PLUG_I8},     {"uint8", PLUG_U8},
               {"bool", PLUG_BOOL}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].name, name) == 0) return known[i].dtype;
  }
  return 0;
}

/* "dtype|x": the first that is given. */
static plug_dtype read_dtype(struct reading *reading) {
  plug_dtype dtype = 0;
  do {
    char name[WORD];
    read_name(reading, name);
    const plug_value *value = find(reading, name);
    if (dtype) continue;
    if (!value) dtype = dtype_named(name);
    if (value && value->tag == PLUG_VALUE_TENSOR) dtype = value->as.tensors->dtype;
    if (value && value->tag == PLUG_VALUE_DTYPE) dtype = (plug_dtype)value->as.u;
  } while (accept(reading, "|"));
  if (!dtype) refuse(reading, "its shapes name a dtype that is not given");
  return dtype;
}

static void take_look(struct reading *reading, const plug_tensor *tensor,
                      struct look_of *look) {
  if (!tensor) return;
  if (tensor->ndim > DIMS) {
    refuse(reading, "its shapes have more dimensions than plug-check makes");
    return;
  }
  *look = (struct look_of){.dtype = tensor->dtype, .ndim = tensor->ndim};
  memcpy(look->sizes, tensor->sizes, (size_t)tensor->ndim * sizeof *tensor->sizes);
}

static void read_shape(struct reading *reading, struct look_of *look) {
  char name[WORD];
  struct sizes sizes = {.count = 0};
  if (!accept(reading, "[")) {
    read_name(reading, name);
    take_look(reading, tensor_of(reading, find(reading, name)), look);
    return;
  }
  while (!reading->wrong && !accept(reading, "]")) {
    read_dimension(reading, &sizes);
    accept(reading, ",");
  }
  *look = (struct look_of){.dtype = read_dtype(reading), .ndim = sizes.count};
  memcpy(look->sizes, sizes.at, sizeof look->sizes);
}

/* "if flag", "if wanted.1" */
static bool read_condition(struct reading *reading) {
  char name[WORD];
  int64_t item = 0;
  if (!accept(reading, "if ")) return true;
  read_name(reading, name);
  const plug_value *value = find(reading, name);
  if (!value) refuse(reading, "its shapes cannot be read");
  if (!value || value->tag == PLUG_VALUE_BOOL) return value && value->as.i != 0;
  expect_symbol(reading, ".");
  const bool is_there = read_integer(reading, &item) && item >= 0 && item < value->count;
  if (!is_there) refuse(reading, "its shapes need a longer list");
  return is_there && value->as.bools[item] != 0;
}

static void read_list(struct reading *reading, struct shaped *shaped) {
  char name[WORD];
  shaped->is_list = true;
  if (accept(reading, "each ")) {
    read_name(reading, name);
    const plug_value *value = find(reading, name);
    if (!value || value->tag != PLUG_VALUE_TENSORS || value->count > MOST_LISTED) {
      refuse(reading, "its shapes need a list that is not there");
      return;
    }
    shaped->count = value->count;
    for (uint32_t i = 0; i < value->count; i++)
      take_look(reading, &value->as.tensors[i], &shaped->looks[i]);
    return;
  }
  const int64_t count = read_primary(reading);
  expect_symbol(reading, "*");
  read_shape(reading, &shaped->looks[0]);
  if (count < 0 || count > MOST_LISTED) {
    refuse(reading, "its shapes give more tensors than plug-check makes");
    return;
  }
  shaped->count = (uint32_t)count;
  for (uint32_t i = 1; i < shaped->count; i++) shaped->looks[i] = shaped->looks[0];
}

const char *evaluate_shapes(const char *text, const struct schema *schema,
                            const plug_value *args, struct shaped *results) {
  struct reading reading = {text, schema, args, NULL};
  bool is_first = true;
  for (uint32_t i = 0; i < schema->result_count && !reading.wrong; i++) {
    const struct parameter *result = &schema->results[i];
    results[i] = (struct shaped){.count = 0};
    if (result->alias || strncmp(result->type, "Tensor", 6) != 0) continue;
    if (!is_first) expect_symbol(&reading, ";");
    is_first = false;
    if (strcmp(result->type, "Tensor") != 0) {
      read_list(&reading, &results[i]);
    } else {
      read_shape(&reading, &results[i].looks[0]);
      results[i].count = read_condition(&reading);
    }
  }
  return reading.wrong;
}
