/* Arguments of common operators, and their results by straightforward arithmetic in
 * double. */
#include <math.h>
#include <string.h>

#include "kernels.h"

int64_t count_of(const struct array *array) {
  int64_t count = 1;
  for (int32_t d = 0; d < array->ndim; d++) count *= array->sizes[d];
  return count;
}

/* ---- making inputs ---- */

static void shape(struct array *array, int32_t ndim, int64_t a, int64_t b, int64_t c) {
  *array = (struct array){.ndim = ndim, .sizes = {a, b, c}};
}

static void randomize(struct array *array, plug_dtype dtype) {
  for (int64_t i = 0; i < count_of(array); i++) {
    const double number = (double)random_below(4001) / 1000 - 2;
    array->at[i] = round_to(dtype, is_float(dtype) ? number : number * 4);
  }
}

static struct input *add_input(struct example *example, const char *name) {
  struct input *input = &example->inputs[example->input_count++];
  input->name = name;
  return input;
}

static struct array *add_tensor(struct example *example, const char *name,
                                plug_dtype dtype) {
  struct input *input = add_input(example, name);
  input->value.tag = PLUG_VALUE_TENSOR;
  input->value.count = 1;
  input->dtype = dtype;
  return &input->arrays[0];
}

static void add_int(struct example *example, const char *name, int64_t i) {
  add_input(example, name)->value = (plug_value){.tag = PLUG_VALUE_INT, .as.i = i};
}

static void add_bool(struct example *example, const char *name, bool is_set) {
  add_input(example, name)->value = (plug_value){.tag = PLUG_VALUE_BOOL, .as.i = is_set};
}

static void add_float(struct example *example, const char *name, double f) {
  add_input(example, name)->value = (plug_value){.tag = PLUG_VALUE_FLOAT, .as.f = f};
}

static void add_ints(struct example *example, const char *name, int64_t only) {
  struct input *input = add_input(example, name);
  input->ints[0] = only;
  input->value = (plug_value){.tag = PLUG_VALUE_INTS, .count = 1};
}

static struct array *add_result(struct example *example, plug_dtype dtype) {
  example->result_dtypes[example->result_count] = dtype;
  return &example->results[example->result_count++];
}

/* The sizes that pointwise examples have. */
static void shape_pointwise(struct array *array, int round) {
  static const int64_t sizes[ROUNDS][3] = {{5, 0, 0}, {3, 4, 0}, {2, 3, 7}};
  static const int32_t ndims[ROUNDS] = {1, 2, 3};
  shape(array, ndims[round], sizes[round][0], sizes[round][1], sizes[round][2]);
}

static bool is_plain_layout(enum variation variation) {
  return variation == PLAIN || variation == DENSE || variation == STRIDED;
}

/* ---- pointwise, one tensor ---- */

static double relu(double x) { return x < 0 ? 0 : x; }
static double negate(double x) { return -x; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }

static bool make_unary(const struct operation *operation, struct example *example,
                       plug_dtype dtype, enum variation variation, int round) {
  if (!is_plain_layout(variation) && variation != ALIAS) return false;
  struct array *x = add_tensor(example, "self", dtype);
  shape_pointwise(x, round);
  randomize(x, dtype);
  struct array *y = add_result(example, dtype);
  *y = *x;
  for (int64_t i = 0; i < count_of(x); i++) y->at[i] = operation->function(x->at[i]);
  example->compute = dtype;
  return true;
}

static bool make_gelu(const struct operation *operation, struct example *example,
                      plug_dtype dtype, enum variation variation, int round) {
  const char *how = round == 1 ? "tanh" : "none";
  (void)operation;
  if (!is_plain_layout(variation) && variation != ALIAS) return false;
  struct array *x = add_tensor(example, "self", dtype);
  shape_pointwise(x, round);
  randomize(x, dtype);
  add_input(example, "approximate")->value =
      (plug_value){.tag = PLUG_VALUE_STR, .count = 4, .as.str = how};
  struct array *y = add_result(example, dtype);
  *y = *x;
  for (int64_t i = 0; i < count_of(x); i++) {
    const double v = x->at[i];
    y->at[i] = round == 1
                   ? v / 2 * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))
                   : v / 2 * (1 + erf(v * 0.7071067811865476));
  }
  example->compute = dtype;
  return true;
}

static bool make_fill(const struct operation *operation, struct example *example,
                      plug_dtype dtype, enum variation variation, int round) {
  (void)operation;
  if (!is_plain_layout(variation)) return false;
  struct array *x = add_tensor(example, "self", dtype);
  shape_pointwise(x, round);
  randomize(x, dtype);
  const double value = is_float(dtype) ? -1.5 : -3;
  if (is_float(dtype)) {
    add_float(example, "value", value);
  } else {
    add_int(example, "value", (int64_t)value);
  }
  struct array *y = add_result(example, dtype);
  *y = *x;
  for (int64_t i = 0; i < count_of(y); i++) y->at[i] = value;
  example->compute = dtype;
  return true;
}

/* ---- pointwise, two tensors ---- */

/* The element of an array that needs expanding to `like`, for element `i` of that. */
static double expanded(const struct array *array, const struct array *like, int64_t i) {
  int64_t place = 0, step = 1;
  for (int32_t back = 1; back <= like->ndim; back++) {
    const int64_t size = like->sizes[like->ndim - back];
    const int32_t d = array->ndim - back;
    if (d >= 0) {
      if (array->sizes[d] > 1) place += i % size * step;
      step *= array->sizes[d];
    }
    i /= size;
  }
  return array->at[place];
}

static void shape_other(struct array *other, const struct array *self,
                        enum variation variation, int round) {
  *other = *self;
  if (variation == HOST_SCALAR) shape(other, 0, 0, 0, 0);
  if (variation == BROADCAST && round == 0) other->sizes[0] = 1;
  if (variation == BROADCAST && round == 1) shape(other, 1, self->sizes[1], 0, 0);
  if (variation == BROADCAST && round == 2) other->sizes[1] = 1;
}

/* Another dtype that is promoted to `dtype`. */
static plug_dtype lower_dtype(plug_dtype dtype) {
  return dtype == PLUG_F64 ? PLUG_F32 : is_float(dtype) ? PLUG_I64 : PLUG_I32;
}

static bool make_binary(const struct operation *operation, struct example *example,
                        plug_dtype dtype, enum variation variation, int round) {
  const char kind = operation->name[6]; /* aten::Add, Sub, Mul, Div */
  const double alpha = round == 2 ? 2 : 1;
  if (variation == MIXED && dtype == PLUG_I32) return false;
  struct array *x = add_tensor(example, "self", dtype);
  const plug_dtype other = variation == MIXED ? lower_dtype(dtype) : dtype;
  struct array *y = add_tensor(example, "other", other);
  shape_pointwise(x, round);
  shape_other(y, x, variation, round);
  randomize(x, dtype);
  randomize(y, other);
  example->inputs[1].is_on_host = variation == HOST_SCALAR;
  if (kind == 'a' || kind == 's') add_int(example, "alpha", (int64_t)alpha);
  struct array *z = add_result(example, dtype);
  *z = *x;
  for (int64_t i = 0; i < count_of(y) && kind == 'd'; i++) {
    if (fabs(y->at[i]) < 0.25) y->at[i] = round_to(other, 1.5);
  }
  for (int64_t i = 0; i < count_of(z); i++) {
    const double a = x->at[i], b = expanded(y, z, i);
    z->at[i] = kind == 'a'   ? a + alpha * b
               : kind == 's' ? a - alpha * b
               : kind == 'm' ? a * b
                             : a / b;
  }
  example->compute = dtype;
  return true;
}

static bool make_where(const struct operation *operation, struct example *example,
                       plug_dtype dtype, enum variation variation, int round) {
  (void)operation;
  if (!is_plain_layout(variation) && variation != BROADCAST) return false;
  struct array *chosen = add_tensor(example, "condition", PLUG_BOOL);
  struct array *x = add_tensor(example, "self", dtype);
  struct array *y = add_tensor(example, "other", dtype);
  shape_pointwise(x, round);
  *chosen = *x;
  shape_other(y, x, variation, round);
  for (int64_t i = 0; i < count_of(chosen); i++) chosen->at[i] = random_below(2);
  randomize(x, dtype);
  randomize(y, dtype);
  struct array *z = add_result(example, dtype);
  *z = *x;
  for (int64_t i = 0; i < count_of(z); i++) {
    z->at[i] = chosen->at[i] != 0 ? x->at[i] : expanded(y, z, i);
  }
  example->compute = dtype;
  return true;
}

/* ---- along one dimension ---- */

/* A tensor of three dimensions and one of them, as rows: element `n` of row `row`. */
struct rows {
  int64_t count, length, inner;
};

static struct rows rows_of(const struct array *array, int64_t dim) {
  struct rows rows = {1, array->sizes[dim], 1};
  for (int32_t d = 0; d < array->ndim; d++) {
    if (d != dim) rows.count *= array->sizes[d];
    if (d > dim) rows.inner *= array->sizes[d];
  }
  return rows;
}

static int64_t place_in(struct rows rows, int64_t row, int64_t n) {
  return (row / rows.inner * rows.length + n) * rows.inner + row % rows.inner;
}

/* The shape of what is left of `x`. */
static void shape_reduced(struct array *y, const struct array *x, int64_t dim,
                          bool keeps) {
  *y = (struct array){.ndim = 0};
  for (int32_t d = 0; d < x->ndim; d++) {
    if (d != dim || keeps) y->sizes[y->ndim++] = d == dim ? 1 : x->sizes[d];
  }
}

static struct array *start_reduction(struct example *example, plug_dtype dtype,
                                     const char *name) {
  struct array *x = add_tensor(example, name, dtype);
  shape(x, 3, 2, 5, 3);
  randomize(x, dtype);
  return x;
}

static bool make_sum(const struct operation *operation, struct example *example,
                     plug_dtype dtype, enum variation variation, int round) {
  const bool keeps = round == 1;
  (void)operation;
  if (!is_plain_layout(variation) || dtype == PLUG_I32) return false;
  const struct array *x = start_reduction(example, dtype, "self");
  add_ints(example, "dim", round == 2 ? -1 : round);
  add_bool(example, "keepdim", keeps);
  add_input(example, "dtype");
  struct array *y = add_result(example, dtype);
  shape_reduced(y, x, round, keeps);
  const struct rows rows = rows_of(x, round);
  for (int64_t row = 0; row < rows.count; row++) {
    for (int64_t n = 0; n < rows.length; n++) y->at[row] += x->at[place_in(rows, row, n)];
  }
  return true;
}

static bool make_max(const struct operation *operation, struct example *example,
                     plug_dtype dtype, enum variation variation, int round) {
  (void)operation;
  if (!is_plain_layout(variation)) return false;
  struct array *x = start_reduction(example, dtype, "self");
  for (int64_t i = 0; i < count_of(x); i++) x->at[i] = (double)((i * 7) % 31) - 15;
  add_int(example, "dim", round == 2 ? -1 : round);
  add_bool(example, "keepdim", round == 1);
  struct array *values = add_result(example, dtype),
               *places = add_result(example, PLUG_I64);
  shape_reduced(values, x, round, round == 1);
  shape_reduced(places, x, round, round == 1);
  const struct rows rows = rows_of(x, round);
  for (int64_t row = 0; row < rows.count; row++) {
    values->at[row] = -INFINITY;
    for (int64_t n = 0; n < rows.length; n++) {
      const double v = x->at[place_in(rows, row, n)];
      if (v <= values->at[row]) continue;
      values->at[row] = v;
      places->at[row] = (double)n;
    }
  }
  return true;
}

static bool make_softmax(const struct operation *operation, struct example *example,
                         plug_dtype dtype, enum variation variation, int round) {
  (void)operation;
  if (!is_plain_layout(variation)) return false;
  const struct array *x = start_reduction(example, dtype, "self");
  add_int(example, "dim", round == 2 ? -1 : round);
  add_bool(example, "half_to_float", false);
  struct array *y = add_result(example, dtype);
  *y = *x;
  const struct rows rows = rows_of(x, round);
  for (int64_t row = 0; row < rows.count; row++) {
    double sum = 0;
    for (int64_t n = 0; n < rows.length; n++) sum += exp(x->at[place_in(rows, row, n)]);
    for (int64_t n = 0; n < rows.length; n++) {
      const int64_t at = place_in(rows, row, n);
      y->at[at] = exp(x->at[at]) / sum;
    }
  }
  return true;
}

static bool make_layer_norm(const struct operation *operation, struct example *example,
                            plug_dtype dtype, enum variation variation, int round) {
  const double eps = 1e-5;
  (void)operation;
  if (!is_plain_layout(variation)) return false;
  const struct array *x = start_reduction(example, dtype, "input");
  add_ints(example, "normalized_shape", x->sizes[2]);
  struct array *weight = round == 0 ? NULL : add_tensor(example, "weight", dtype);
  struct array *bias = round == 0 ? NULL : add_tensor(example, "bias", dtype);
  if (round == 0) {
    add_input(example, "weight");
    add_input(example, "bias");
  } else {
    shape(weight, 1, x->sizes[2], 0, 0);
    shape(bias, 1, x->sizes[2], 0, 0);
    randomize(weight, dtype);
    randomize(bias, dtype);
  }
  add_float(example, "eps", eps);
  struct array *y = add_result(example, dtype), *mean = add_result(example, dtype),
               *rstd = add_result(example, dtype);
  *y = *x;
  shape_reduced(mean, x, 2, true);
  shape_reduced(rstd, x, 2, true);
  const struct rows rows = rows_of(x, 2);
  for (int64_t row = 0; row < rows.count; row++) {
    const double *in = x->at + row * rows.length;
    double variance = 0, sum = 0;
    for (int64_t n = 0; n < rows.length; n++) sum += in[n];
    mean->at[row] = sum / (double)rows.length;
    for (int64_t n = 0; n < rows.length; n++)
      variance += pow(in[n] - mean->at[row], 2) / (double)rows.length;
    rstd->at[row] = 1 / sqrt(variance + eps);
    for (int64_t n = 0; n < rows.length; n++) {
      y->at[row * rows.length + n] =
          (in[n] - mean->at[row]) * rstd->at[row] * (weight ? weight->at[n] : 1) +
          (bias ? bias->at[n] : 0);
    }
  }
  return true;
}

/* ---- matrices ---- */

/* z += a b, of matrices that lie so many matrices behind the beginning. */
static void multiply(const struct array *a, const struct array *b, struct array *z,
                     int64_t rows, int64_t inner, int64_t columns, int64_t batch) {
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      double *sum = &z->at[(batch * rows + i) * columns + j];
      for (int64_t k = 0; k < inner; k++) {
        *sum += a->at[(batch * rows + i) * inner + k] *
                b->at[(batch * inner + k) * columns + j];
      }
    }
  }
}

enum { ROWS = 4, INNER = 6, COLUMNS = 5 };

static bool make_mm(const struct operation *operation, struct example *example,
                    plug_dtype dtype, enum variation variation, int round) {
  const bool is_batched = strcmp(operation->name, "aten::bmm") == 0;
  const int64_t inner = round == 2 ? 1 : INNER;
  if (!is_plain_layout(variation)) return false;
  struct array *a = add_tensor(example, "self", dtype),
               *b = add_tensor(example, "mat2", dtype);
  struct array *z = add_result(example, dtype);
  if (is_batched) {
    shape(a, 3, 2, ROWS, inner);
    shape(b, 3, 2, inner, COLUMNS);
    shape(z, 3, 2, ROWS, COLUMNS);
  } else {
    shape(a, 2, ROWS, inner, 0);
    shape(b, 2, inner, COLUMNS, 0);
    shape(z, 2, ROWS, COLUMNS, 0);
  }
  randomize(a, dtype);
  randomize(b, dtype);
  for (int64_t batch = 0; batch < (is_batched ? 2 : 1); batch++)
    multiply(a, b, z, ROWS, inner, COLUMNS, batch);
  return true;
}

static bool make_addmm(const struct operation *operation, struct example *example,
                       plug_dtype dtype, enum variation variation, int round) {
  const int64_t beta = round == 1 ? 3 : 1, alpha = round == 1 ? 2 : 1;
  (void)operation;
  if (!is_plain_layout(variation)) return false;
  struct array *c = add_tensor(example, "self", dtype),
               *a = add_tensor(example, "mat1", dtype),
               *b = add_tensor(example, "mat2", dtype), *z = add_result(example, dtype);
  if (round == 2) {
    shape(c, 1, COLUMNS, 0, 0);
  } else {
    shape(c, 2, ROWS, COLUMNS, 0);
  }
  shape(a, 2, ROWS, INNER, 0);
  shape(b, 2, INNER, COLUMNS, 0);
  shape(z, 2, ROWS, COLUMNS, 0);
  randomize(a, dtype);
  randomize(b, dtype);
  randomize(c, dtype);
  add_int(example, "beta", beta);
  add_int(example, "alpha", alpha);
  multiply(a, b, z, ROWS, INNER, COLUMNS, 0);
  for (int64_t i = 0; i < count_of(z); i++)
    z->at[i] = (double)alpha * z->at[i] + (double)beta * expanded(c, z, i);
  return true;
}

/* ---- places ---- */

static bool make_cat(const struct operation *operation, struct example *example,
                     plug_dtype dtype, enum variation variation, int round) {
  const int64_t dim = round % 2, parts[MOST_ITEMS] = {2, 1, 3};
  int64_t done = 0;
  (void)operation;
  if (!is_plain_layout(variation)) return false;
  struct input *list = add_input(example, "tensors");
  list->value = (plug_value){.tag = PLUG_VALUE_TENSORS, .count = MOST_ITEMS};
  list->dtype = dtype;
  add_int(example, "dim", round == 2 ? -2 : dim);
  struct array *y = add_result(example, dtype);
  shape(y, 2, 4, 4, 0);
  y->sizes[dim] = 6;
  for (int n = 0; n < MOST_ITEMS; n++) {
    struct array *x = &list->arrays[n];
    shape(x, 2, 4, 4, 0);
    x->sizes[dim] = parts[n];
    randomize(x, dtype);
    for (int64_t i = 0; i < count_of(x); i++) {
      const int64_t row = i / x->sizes[1], column = i % x->sizes[1];
      y->at[(row + (dim == 0 ? done : 0)) * y->sizes[1] + column +
            (dim == 1 ? done : 0)] = x->at[i];
    }
    done += parts[n];
  }
  return true;
}

static bool make_embedding(const struct operation *operation, struct example *example,
                           plug_dtype dtype, enum variation variation, int round) {
  (void)operation;
  if (!is_plain_layout(variation)) return false;
  struct array *weight = add_tensor(example, "weight", dtype);
  struct array *indices = add_tensor(example, "indices", PLUG_I64);
  shape(weight, 2, 7, 3, 0);
  randomize(weight, dtype);
  if (round == 1) {
    shape(indices, 2, 2, 4, 0);
  } else {
    shape(indices, 1, 5, 0, 0);
  }
  add_int(example, "padding_idx", -1);
  add_bool(example, "scale_grad_by_freq", false);
  add_bool(example, "sparse", false);
  struct array *y = add_result(example, dtype);
  *y = *indices;
  y->sizes[y->ndim++] = 3;
  for (int64_t i = 0; i < count_of(indices); i++) {
    const int64_t row = random_below(7);
    indices->at[i] = (double)row;
    memcpy(&y->at[i * 3], &weight->at[row * 3], 3 * sizeof(double));
  }
  return true;
}

/* ---- all of them ---- */

#define UNARY(name, function) \
  {"aten::" name, "aten::" name "(Tensor self) -> Tensor", false, function, make_unary}

const struct operation operations[] = {
    {"aten::relu", "aten::relu(Tensor self) -> Tensor", true, relu, make_unary},
    {"aten::neg", "aten::neg(Tensor self) -> Tensor", true, negate, make_unary},
    {"aten::abs", "aten::abs(Tensor self) -> Tensor", true, fabs, make_unary},
    UNARY("exp", exp),
    UNARY("sin", sin),
    UNARY("cos", cos),
    UNARY("tanh", tanh),
    UNARY("erf", erf),
    UNARY("sigmoid", sigmoid),
    UNARY("silu", silu),
    {"aten::gelu", "aten::gelu(Tensor self, *, str approximate='none') -> Tensor", false,
     NULL, make_gelu},
    {"aten::fill.Scalar", "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", true,
     NULL, make_fill},
    {"aten::add.Tensor",
     "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", true,
     NULL, make_binary},
    {"aten::sub.Tensor",
     "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", true,
     NULL, make_binary},
    {"aten::mul.Tensor", "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", true,
     NULL, make_binary},
    {"aten::div.Tensor", "aten::div.Tensor(Tensor self, Tensor other) -> Tensor", false,
     NULL, make_binary},
    {"aten::where.self",
     "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", true,
     NULL, make_where},
    {"aten::sum.dim_IntList",
     "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     true, NULL, make_sum},
    {"aten::max.dim",
     "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
     "indices)",
     true, NULL, make_max},
    {"aten::_softmax",
     "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", false, NULL,
     make_softmax},
    {"aten::native_layer_norm",
     "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
     "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     false, NULL, make_layer_norm},
    {"aten::mm", "aten::mm(Tensor self, Tensor mat2) -> Tensor", false, NULL, make_mm},
    {"aten::bmm", "aten::bmm(Tensor self, Tensor mat2) -> Tensor", false, NULL, make_mm},
    {"aten::addmm",
     "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
     "alpha=1) "
     "-> Tensor",
     false, NULL, make_addmm},
    {"aten::cat", "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", true, NULL,
     make_cat},
    {"aten::embedding",
     "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     true, NULL, make_embedding},
    {0},
};

const struct operation *find_operation(const char *name) {
  for (const struct operation *operation = operations; operation->name; operation++) {
    if (strcmp(operation->name, name) == 0) return operation;
  }
  return NULL;
}
