/* Text of a trace into numbers, values and tensors. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

/* ---- memory until forget_values() ---- */

struct block {
  struct block *next;
};
static struct block *blocks;

void *keep(size_t bytes) {
  struct block *block = calloc(1, sizeof *block + 16 + bytes);
  if (!block) give_up("there is no memory left");
  block->next = blocks;
  blocks = block;
  return (char *)block + 16;
}

void forget_values(void) {
  while (blocks) {
    struct block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

/* ---- words and numbers ---- */

bool is_word(struct text text, const char *word) {
  return strlen(word) == text.length && memcmp(text.at, word, text.length) == 0;
}

/* Numbers end with the text: what follows it in the file is no part of them. */
static const char *ended(struct text text, char buffer[64]) {
  if (text.length == 0 || text.length > 63) return NULL;
  memcpy(buffer, text.at, text.length);
  buffer[text.length] = '\0';
  return buffer;
}

bool parse_number(struct text text, int64_t *number) {
  char buffer[64], *end = NULL;
  if (!ended(text, buffer)) return false;
  errno = 0;
  *number = strtoll(buffer, &end, 0);
  return *end == '\0' && errno == 0;
}

bool parse_unsigned(struct text text, uint64_t *number) {
  char buffer[64], *end = NULL;
  if (!ended(text, buffer) || buffer[0] == '-') return false;
  errno = 0;
  *number = strtoull(buffer, &end, 0);
  return *end == '\0' && errno == 0;
}

static bool parse_float(struct text text, double *number) {
  char buffer[64], *end = NULL;
  if (!ended(text, buffer)) return false;
  *number = strtod(buffer, &end);
  return *end == '\0';
}

static const struct {
  const char *word;
  plug_dtype dtype;
} dtypes[] = {
    {"i8", PLUG_I8},   {"i16", PLUG_I16}, {"i32", PLUG_I32},   {"i64", PLUG_I64},
    {"u8", PLUG_U8},   {"u16", PLUG_U16}, {"u32", PLUG_U32},   {"u64", PLUG_U64},
    {"f16", PLUG_F16}, {"f32", PLUG_F32}, {"f64", PLUG_F64},   {"bf16", PLUG_BF16},
    {"c32", PLUG_C32}, {"c64", PLUG_C64}, {"c128", PLUG_C128}, {"bool", PLUG_BOOL},
};

const char *parse_dtype(struct text text, plug_dtype *dtype) {
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    if (!is_word(text, dtypes[i].word)) continue;
    *dtype = dtypes[i].dtype;
    return NULL;
  }
  if (!parse_unsigned(text, &number) || PLUG_DTYPE_BYTES(number) == 0)
    return "there is an unknown dtype";
  *dtype = (plug_dtype)number;
  return NULL;
}

static const struct {
  const char *word;
  plug_status status;
} statuses[] = {
    {"ok", PLUG_OK},           {"not_ready", PLUG_NOT_READY},
    {"invalid", PLUG_INVALID}, {"unsupported", PLUG_UNSUPPORTED},
    {"timeout", PLUG_TIMEOUT}, {"no_memory", PLUG_NO_MEMORY},
    {"lost", PLUG_LOST},       {"internal", PLUG_INTERNAL},
};

const char *parse_status(struct text text, plug_status *status) {
  int64_t number = 0;
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    if (!is_word(text, statuses[i].word)) continue;
    *status = statuses[i].status;
    return NULL;
  }
  if (!parse_number(text, &number)) return "there is an unknown status";
  *status = (plug_status)number;
  return NULL;
}

const char *status_word(plug_status status) {
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    if (statuses[i].status == status) return statuses[i].word;
  }
  return "an unknown status";
}

const char *parse_place(struct text text, struct place *place) {
  const char *plus = memchr(text.at, '+', text.length);
  size_t name = plus ? (size_t)(plus - text.at) : text.length;
  *place = (struct place){0, 0, 0};
  if (is_word(text, "none")) return NULL;
  if (name < 2 || !strchr("mxsecpqvh", text.at[0])) return "there is an unknown name";
  place->kind = text.at[0];
  if (!parse_unsigned((struct text){text.at + 1, name - 1}, &place->number))
    return "there is a name without a number";
  if (plus &&
      !parse_unsigned((struct text){plus + 1, text.length - name - 1}, &place->offset))
    return "there is a name without an offset";
  return NULL;
}

const char *parse_string(struct text text, const char **string) {
  *string = NULL;
  if (is_word(text, "none")) return NULL;
  if (text.length < 2 || text.at[0] != '"' || text.at[text.length - 1] != '"')
    return "there is a text without quotes";
  char *to = keep(text.length);
  *string = to;
  for (size_t i = 1; i + 1 < text.length; i++) {
    unsigned code = 0;
    if (text.at[i] == '\\' && text.at[i + 1] == 'x' && i + 4 < text.length &&
        sscanf(text.at + i + 2, "%2x", &code) == 1) {
      *to++ = (char)code;
      i += 3;
    } else {
      *to++ = text.at[i] == '\\' ? text.at[++i] : text.at[i];
    }
  }
  return NULL;
}

/* ---- lists ---- */

struct text next_item(struct text *rest, char stop) {
  struct text item = {rest->at, 0};
  int depth = 0;
  bool is_quoted = false;
  for (; item.length < rest->length; item.length++) {
    const char c = rest->at[item.length];
    if (is_quoted) {
      if (c == '\\') item.length++;
      if (c == '"') is_quoted = false;
      continue;
    }
    if (c == stop && depth == 0) break;
    is_quoted = c == '"';
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
  }
  if (item.length > rest->length) item.length = rest->length;
  const size_t taken = item.length + (item.length < rest->length);
  rest->at += taken;
  rest->length -= taken;
  return item;
}

struct text next_word(struct text *rest) { return next_item(rest, ' '); }

/* What stands between `open` and its end, which is the text's. */
static bool enclosed(struct text *text, const char *open, char close) {
  const size_t length = strlen(open);
  if (text->length < length + 1 || memcmp(text->at, open, length) != 0) return false;
  if (text->at[text->length - 1] != close) return false;
  text->at += length;
  text->length -= length + 1;
  return true;
}

static uint32_t count_items(struct text rest) {
  uint32_t count = 0;
  for (; rest.length > 0; count++) (void)next_item(&rest, ',');
  return count;
}

static const char *parse_ints(struct text list, int64_t **numbers, uint32_t *count) {
  if (!enclosed(&list, "[", ']')) return "there is a list that does not end";
  *count = count_items(list);
  *numbers = keep(*count * sizeof **numbers);
  for (uint32_t i = 0; i < *count; i++) {
    if (!parse_number(next_item(&list, ','), &(*numbers)[i]))
      return "there is no number where one should be";
  }
  return NULL;
}

static const char *parse_floats(struct text list, double **numbers, uint32_t *count) {
  if (!enclosed(&list, "[", ']')) return "there is a list that does not end";
  *count = count_items(list);
  *numbers = keep(*count * sizeof **numbers);
  for (uint32_t i = 0; i < *count; i++) {
    if (!parse_float(next_item(&list, ','), &(*numbers)[i]))
      return "there is no number where one should be";
  }
  return NULL;
}

/* ---- tensors ---- */

bool begins(struct text text, const char *with, struct text *rest) {
  const size_t length = strlen(with);
  if (text.length < length || memcmp(text.at, with, length) != 0) return false;
  *rest = (struct text){text.at + length, text.length - length};
  return true;
}

static const char *parse_detail(struct text word, struct tensor *tensor) {
  struct text rest = {NULL, 0};
  int64_t *range = NULL;
  uint32_t count = 0;
  uint64_t flags = 0;
  struct contents *holds = &tensor->holds;
  if (is_word(word, "conj")) {
    tensor->is->flags |= PLUG_TENSOR_CONJ;
  } else if (is_word(word, "neg")) {
    tensor->is->flags |= PLUG_TENSOR_NEG;
  } else if (is_word(word, "written")) {
    tensor->is->flags |= PLUG_TENSOR_WRITTEN;
  } else if (begins(word, "flags=", &rest)) {
    if (!parse_unsigned(rest, &flags)) return "there are unknown flags";
    tensor->is->flags |= (uint32_t)flags;
  } else if (begins(word, "data=", &rest)) {
    holds->given = DATA;
    holds->data = rest;
    return check_contents(tensor);
  } else if (begins(word, "fill=", &rest)) {
    holds->given = FILL;
    if (!parse_unsigned(rest, &holds->digest)) return "there is no digest behind fill=";
  } else if (begins(word, "range=", &rest)) {
    const char *wrong = parse_ints(rest, &range, &count);
    if (wrong || count != 2) return "there are no two numbers behind range=";
    holds->least = range[0];
    holds->most = range[1];
  } else if (!is_word(word, "unread")) {
    return "there is something unknown in a tensor";
  }
  return NULL;
}

/* Numbers with which no sum or product of theirs overflows. */
static bool is_sane(const plug_tensor *tensor) {
  const double most = 1e15;
  double count = 1, reach = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) {
    if (tensor->sizes[d] < 0) return false;
    count *= (double)tensor->sizes[d];
    reach += fabs((double)tensor->strides[d]) * (double)tensor->sizes[d];
  }
  return count < most && reach < most;
}

/* "(f32 m1+0 [2] [1])", what follows the word. */
static const char *parse_tensor(struct text text, plug_tensor *is, struct values *all) {
  int64_t *sizes = NULL, *strides = NULL;
  uint32_t ndim = 0, stride_count = 0;
  struct text rest = {NULL, 0};
  if (!enclosed(&text, "(", ')') || all->tensor_count == all->tensor_room)
    return "there is a tensor that does not end";
  struct tensor *tensor = &all->tensors[all->tensor_count++];
  tensor->is = is;
  is->ndim = -1;
  if (is_word(text, "none")) return NULL;
  if (begins(text, "layout=", &rest)) return "there is a tensor that is not strided";
  const char *wrong = parse_dtype(next_item(&text, ' '), &is->dtype);
  if (!wrong) wrong = parse_place(next_item(&text, ' '), &tensor->place);
  if (!wrong) wrong = parse_ints(next_item(&text, ' '), &sizes, &ndim);
  if (!wrong) wrong = parse_ints(next_item(&text, ' '), &strides, &stride_count);
  if (wrong) return wrong;
  if (ndim != stride_count || ndim > 64)
    return "there is a tensor whose sizes and strides do not fit";
  is->ndim = (int32_t)ndim;
  is->sizes = sizes;
  is->strides = strides;
  if (!is_sane(is)) return "there is a tensor of an impossible size";
  while (!wrong && text.length > 0) wrong = parse_detail(next_item(&text, ' '), tensor);
  return wrong;
}

/* ---- values ---- */

static uint32_t count_tensors(struct text text) {
  static const char word[] = "tensor(";
  const size_t length = sizeof word - 1;
  uint32_t count = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.length; i++) {
    if (is_quoted && text.at[i] == '\\') {
      i++;
    } else if (text.at[i] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && i + length <= text.length &&
               memcmp(text.at + i, word, length) == 0) {
      count++;
    }
  }
  return count;
}

static const char *parse_value(struct text text, plug_value *value, struct values *all);

static const char *parse_one_tensor(struct text text, plug_value *value,
                                    struct values *all) {
  plug_tensor *tensor = keep(sizeof *tensor);
  value->count = 1;
  value->as.tensors = tensor;
  return parse_tensor(text, tensor, all);
}

static const char *parse_tensors(struct text list, plug_value *value,
                                 struct values *all) {
  if (!enclosed(&list, "[", ']')) return "there is a list that does not end";
  const char *wrong = NULL;
  value->count = count_items(list);
  plug_tensor *tensors = keep(value->count * sizeof *tensors);
  value->as.tensors = tensors;
  for (uint32_t i = 0; i < value->count && !wrong; i++) {
    struct text item = next_item(&list, ',');
    wrong = begins(item, "tensor", &item) ? parse_tensor(item, &tensors[i], all)
                                          : "there is no tensor where one should be";
  }
  return wrong;
}

static const char *parse_list(struct text list, plug_value *value, struct values *all) {
  if (!enclosed(&list, "[", ']')) return "there is a list that does not end";
  if (++all->depth > 16) return "there is a list in too many others";
  const char *wrong = NULL;
  value->count = count_items(list);
  plug_value *items = keep(value->count * sizeof *items);
  value->as.values = items;
  for (uint32_t i = 0; i < value->count && !wrong; i++) {
    wrong = parse_value(next_item(&list, ','), &items[i], all);
  }
  all->depth--;
  return wrong;
}

static const char *parse_int_list(struct text list, plug_value *value,
                                  struct values *all) {
  int64_t *ints = NULL;
  (void)all;
  const char *wrong = parse_ints(list, &ints, &value->count);
  value->as.ints = ints;
  return wrong;
}

static const char *parse_float_list(struct text list, plug_value *value,
                                    struct values *all) {
  double *floats = NULL;
  (void)all;
  const char *wrong = parse_floats(list, &floats, &value->count);
  value->as.floats = floats;
  return wrong;
}

static const char *parse_bool_list(struct text list, plug_value *value,
                                   struct values *all) {
  int64_t *numbers = NULL;
  (void)all;
  const char *wrong = parse_ints(list, &numbers, &value->count);
  uint8_t *bools = keep(value->count);
  for (uint32_t i = 0; i < value->count && !wrong; i++) bools[i] = numbers[i] != 0;
  value->as.bools = bools;
  return wrong;
}

static const char *parse_complex(struct text list, plug_value *value,
                                 struct values *all) {
  const char *wrong = parse_float_list(list, value, all);
  if (!wrong && value->count != 2) wrong = "there is a complex number of other than two";
  value->count = 0;
  return wrong;
}

static const char *parse_code(struct text text, plug_value *value, struct values *all) {
  (void)all;
  return parse_number(text, &value->as.i) ? NULL : "there is an unknown value";
}

static const char *parse_dtype_value(struct text text, plug_value *value,
                                     struct values *all) {
  plug_dtype dtype = 0;
  (void)all;
  const char *wrong = parse_dtype(text, &dtype);
  value->as.u = dtype;
  return wrong;
}

/* Values that begin with a word which says what follows: "ints[1,2]", "dtype:f32". The
** first that fits is meant. */
static const struct {
  const char *word;
  int32_t tag;
  const char *(*parse)(struct text rest, plug_value *value, struct values *all);
} kinds[] = {
    {"tensors", PLUG_VALUE_TENSORS, parse_tensors},
    {"tensor", PLUG_VALUE_TENSOR, parse_one_tensor},
    {"list", PLUG_VALUE_LIST, parse_list},
    {"ints", PLUG_VALUE_INTS, parse_int_list},
    {"floats", PLUG_VALUE_FLOATS, parse_float_list},
    {"bools", PLUG_VALUE_BOOLS, parse_bool_list},
    {"complex", PLUG_VALUE_COMPLEX, parse_complex},
    {"dtype:", PLUG_VALUE_DTYPE, parse_dtype_value},
    {"layout:", PLUG_VALUE_LAYOUT, parse_code},
    {"format:", PLUG_VALUE_FORMAT, parse_code},
    {"device:", PLUG_VALUE_DEVICE, parse_code},
};

static const char *parse_scalar(struct text text, plug_value *value) {
  const bool is_hexadecimal = memchr(text.at, 'x', text.length) != NULL;
  value->tag = PLUG_VALUE_INT;
  if (text.length > 1 && text.at[text.length - 1] == 'u') {
    value->tag = PLUG_VALUE_UINT;
    text.length--;
    return parse_unsigned(text, &value->as.u) ? NULL : "there is an unknown value";
  }
  if (!is_hexadecimal && parse_number(text, &value->as.i)) return NULL;
  value->tag = PLUG_VALUE_FLOAT;
  return parse_float(text, &value->as.f) ? NULL : "there is an unknown value";
}

static const char *parse_value(struct text text, plug_value *value, struct values *all) {
  struct text rest = {NULL, 0};
  if (is_word(text, "none")) return NULL;
  if (is_word(text, "generator")) {
    value->tag = PLUG_VALUE_GENERATOR;
    return NULL;
  }
  if (is_word(text, "true") || is_word(text, "false")) {
    value->tag = PLUG_VALUE_BOOL;
    value->as.i = text.length == 4;
    return NULL;
  }
  if (begins(text, "\"", &rest)) {
    value->tag = PLUG_VALUE_STR;
    const char *wrong = parse_string(text, &value->as.str);
    if (!wrong) value->count = (uint32_t)strlen(value->as.str);
    return wrong;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!begins(text, kinds[i].word, &rest)) continue;
    value->tag = kinds[i].tag;
    return kinds[i].parse(rest, value, all);
  }
  return parse_scalar(text, value);
}

const char *parse_values(struct text text, struct values *values) {
  const char *wrong = NULL;
  *values = (struct values){0};
  values->tensor_room = count_tensors(text);
  values->tensors = keep(values->tensor_room * sizeof *values->tensors);
  if (!enclosed(&text, "[", ']')) return "there is a list that does not end";
  values->count = count_items(text);
  values->list = keep(values->count * sizeof *values->list);
  for (uint32_t i = 0; i < values->count && !wrong; i++) {
    wrong = parse_value(next_item(&text, ','), &values->list[i], values);
  }
  return wrong;
}
