/* Operators of the plugin's own, called with arguments that are made up. There is no
** reference: they have to stay within their tensors, and to refuse in words what they do
** not take. First all tensors of a call look alike. What no such call satisfies, a packed
** weight, is tried with tensors that other operators of the plugin have made. */
#include "own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "torchplug/plug_element.h"

enum { MOST_WORDS = 12, MOST_MADE = 12, MOST_BYTES = 1 << 16, LOOKS = 4 };

/* What the tensors of a call look like. */
static const struct array kLooks[LOOKS] = {{2, {2, 3}, {1, -2, 3, -0.5, 0.25, 2}},
                                           {2, {2, 64}, {0}},
                                           {1, {4}, {1, 2, -1, 0.5}},
                                           {3, {2, 2, 4}, {1, -1, 0.5, 2}}};

struct made { /* a tensor that an operator gave, contiguous */
  struct look_of look;
  unsigned char *bytes;
};

/* What may be given, gathered from the plugin. */
static char words[MOST_WORDS][WORD]; /* defaults of arguments that are texts */
static uint32_t word_count;
static struct made made[MOST_MADE];
static uint32_t made_count;

/* One way to make arguments up. */
struct way {
  uint32_t look, word;
  bool gives_optional;
  int32_t replaced[2]; /* arguments that are other tensors; -1: none */
  uint32_t by[2];      /* made[by], or beyond them integers */
};
static const struct way kPlain = {.replaced = {-1, -1}};

enum outcome { TAKEN, REFUSED, UNTRIED };

/* ---- arguments ---- */

static bool is_tensor(const struct parameter *parameter) {
  return strcmp(parameter->type, "Tensor") == 0 ||
         strcmp(parameter->type, "Tensor?") == 0;
}

/* Its default without the quotes. */
static void add_word(const char *text) {
  const size_t length = strlen(text);
  if (length < 2 || (*text != '"' && *text != '\'') || word_count == MOST_WORDS) return;
  char *word = words[word_count];
  snprintf(word, WORD, "%.*s", (int)(length - 2), text + 1);
  for (uint32_t i = 0; i < word_count; i++) {
    if (strcmp(words[i], word) == 0) return;
  }
  word_count++;
}

/* A dtype that the kernel takes. */
static plug_dtype dtype_for(const plug_kernel *kernel) {
  const uint32_t count = kernel->dtypes ? kernel->dtype_count : 0;
  plug_dtype chosen = count ? kernel->dtypes[0] : PLUG_F32;
  for (uint32_t i = 0; i < count; i++) {
    if (kernel->dtypes[i] == PLUG_F32) return PLUG_F32;
    if (!plug_is_plain(chosen)) chosen = kernel->dtypes[i];
  }
  return chosen;
}

static plug_tensor place_like(const struct array *array, plug_dtype dtype,
                              bool is_written, int32_t on) {
  struct placed *placed = place(dtype, array->ndim, array->sizes, BY_ROWS, on);
  put_values(placed, array);
  placed->is_written = is_written;
  if (is_written) placed->tensor.flags = PLUG_TENSOR_WRITTEN;
  return placed->tensor;
}

/* Indices of any dimension among them. */
static plug_tensor place_integers(bool is_written, int32_t on) {
  static const struct array integers = {1, {2}, {0, 1}};
  return place_like(&integers, PLUG_I64, is_written, on);
}

static plug_tensor place_made(const struct made *from, bool is_written, int32_t on) {
  struct placed *placed =
      place(from->look.dtype, from->look.ndim, from->look.sizes, BY_ROWS, on);
  memcpy(placed->before + placed->first, from->bytes, placed->bytes - 2 * placed->first);
  placed->is_written = is_written;
  if (is_written) placed->tensor.flags = PLUG_TENSOR_WRITTEN;
  return placed->tensor;
}

static plug_tensor place_argument(const plug_kernel *kernel, const struct parameter *of,
                                  uint32_t index, const struct way *way, int32_t on) {
  static const struct array integers = {2, {2, 3}, {0, 1, 1, 0, 1, 0}};
  for (int i = 0; i < 2; i++) {
    if (way->replaced[i] != (int32_t)index) continue;
    return way->by[i] < made_count ? place_made(&made[way->by[i]], of->is_written, on)
                                   : place_integers(of->is_written, on);
  }
  const plug_dtype dtype = dtype_for(kernel);
  const bool is_first = way->look == 0 && plug_is_integral(dtype);
  return place_like(is_first ? &integers : &kLooks[way->look], dtype, of->is_written, on);
}

static plug_value give_text(const char *text) {
  return (plug_value){
      .tag = PLUG_VALUE_STR, .count = (uint32_t)strlen(text), .as.str = text};
}

/* A list of numbers, as many as the type says: "bool[3]". */
static bool give_list(const char *type, plug_value *value) {
  static const int64_t ints[] = {1, 2, 1, 2, 1, 2, 1, 2};
  static const double floats[] = {1.5, 2, 1.5, 2, 1.5, 2, 1.5, 2};
  static const uint8_t bools[] = {1, 1, 1, 1, 1, 1, 1, 1};
  const char *open = strchr(type, '[');
  const int said = open ? atoi(open + 1) : 0;
  *value = (plug_value){.count = said > 0 && said < 8 ? (uint32_t)said : 2};
  if (strncmp(type, "int[", 4) == 0 || strncmp(type, "SymInt[", 7) == 0) {
    value->tag = PLUG_VALUE_INTS;
    value->as.ints = ints;
  } else if (strncmp(type, "float[", 6) == 0) {
    value->tag = PLUG_VALUE_FLOATS;
    value->as.floats = floats;
  } else if (strncmp(type, "bool[", 5) == 0) {
    value->tag = PLUG_VALUE_BOOLS;
    value->as.bools = bools;
  }
  return value->tag != PLUG_NONE;
}

static bool give_one(const char *type, const struct way *way, int32_t on,
                     plug_value *value) {
  *value = (plug_value){.tag = PLUG_NONE};
  if (strncmp(type, "float", 5) == 0 || strncmp(type, "Scalar", 6) == 0)
    *value = (plug_value){.tag = PLUG_VALUE_FLOAT, .as.f = 1.5};
  if (strncmp(type, "int", 3) == 0 || strncmp(type, "SymInt", 6) == 0)
    *value = (plug_value){.tag = PLUG_VALUE_INT, .as.i = 1};
  if (strncmp(type, "bool", 4) == 0) *value = (plug_value){.tag = PLUG_VALUE_BOOL};
  if (strncmp(type, "str", 3) == 0)
    *value = give_text(way->word < word_count ? words[way->word] : "");
  if (strncmp(type, "ScalarType", 10) == 0)
    *value = (plug_value){.tag = PLUG_VALUE_DTYPE, .as.u = PLUG_F32};
  if (strncmp(type, "Layout", 6) == 0) *value = (plug_value){.tag = PLUG_VALUE_LAYOUT};
  if (strncmp(type, "MemoryFormat", 12) == 0)
    *value = (plug_value){.tag = PLUG_VALUE_FORMAT};
  if (strncmp(type, "Device", 6) == 0)
    *value = (plug_value){.tag = PLUG_VALUE_DEVICE, .as.i = on};
  if (strncmp(type, "Generator", 9) == 0)
    *value = (plug_value){.tag = PLUG_VALUE_GENERATOR};
  return value->tag != PLUG_NONE;
}

/* A value of the parameter's type; the reason why there is none, or NULL. */
static const char *make_up(const plug_kernel *kernel, const struct parameter *parameter,
                           uint32_t index, const struct way *way, int32_t on) {
  const char *type = parameter->type;
  const bool is_list =
      strncmp(type, "Tensor[", 7) == 0 || strncmp(type, "Tensor?[", 8) == 0;
  const bool is_optional = type[strlen(type) - 1] == '?';
  const bool is_replaced =
      way->replaced[0] == (int32_t)index || way->replaced[1] == (int32_t)index;
  const size_t text = strlen(parameter->value);
  plug_value *value = &args[index];
  if (!is_replaced && !(is_optional && way->gives_optional)) {
    if (text >= 2 && (*parameter->value == '"' || *parameter->value == '\'')) {
      static char defaults[MOST_ARGS][WORD];
      snprintf(defaults[index], WORD, "%.*s", (int)(text - 2), parameter->value + 1);
      *value = give_text(defaults[index]);
      return NULL;
    }
    if (take_default(parameter, value)) return NULL;
  }
  if (is_tensor(parameter) || is_list) {
    const uint32_t count = is_list ? 2 : 1;
    for (uint32_t i = 0; i < count; i++)
      lists[index][i] = place_argument(kernel, parameter, index, way, on);
    *value = (plug_value){.tag = is_list ? PLUG_VALUE_TENSORS : PLUG_VALUE_TENSOR,
                          .count = count,
                          .as.tensors = lists[index]};
    return NULL;
  }
  if (strchr(type, '[') ? give_list(type, value) : give_one(type, way, on, value))
    return NULL;
  return "plug-check makes up no value of the type of one of its arguments";
}

/* ---- results ---- */

/* A result that is an argument. */
static bool take_alias(const struct schema *schema, uint32_t index) {
  for (uint32_t i = 0; schema->results[index].alias && i < schema->arg_count; i++) {
    if (schema->args[i].alias != schema->results[index].alias) continue;
    results[index] = args[i];
    return true;
  }
  return false;
}

/* A number has the tag of its type, a Scalar that of the first tensor's. */
static void open_number(const struct schema *schema, uint32_t index) {
  const char *type = schema->results[index].type;
  bool is_whole = strcmp(type, "int") == 0 || strcmp(type, "SymInt") == 0;
  if (strcmp(type, "Scalar") == 0 && schema->arg_count > 0 &&
      args[0].tag == PLUG_VALUE_TENSOR)
    is_whole = plug_is_integral(args[0].as.tensors->dtype);
  if (strchr(type, '[') || strncmp(type, "Tensor", 6) == 0) return;
  results[index].tag = strcmp(type, "bool") == 0 ? PLUG_VALUE_BOOL
                       : is_whole                ? PLUG_VALUE_INT
                                                 : PLUG_VALUE_FLOAT;
}

/* By the function `shape`, whose arguments have no memory. */
static plug_status shape_by_function(const plug_kernel *kernel,
                                     const struct schema *schema, struct shaped *shaped,
                                     int32_t on) {
  plug_tensor with_memory[MOST_ARGS][MOST_ITEMS];
  memcpy(with_memory, lists, sizeof lists);
  for (uint32_t i = 0; i < schema->arg_count; i++) {
    for (uint32_t n = 0; n < MOST_ITEMS; n++) lists[i][n].mem.base = NULL;
  }
  shaping = shaped;
  const plug_call call = start_call(kernel, schema, kernel->schema, on);
  const plug_status status = kernel->shape(&call);
  shaping = NULL;
  memcpy(lists, with_memory, sizeof lists);
  return status;
}

static void place_shaped(const struct schema *schema, const struct shaped *shaped,
                         int32_t on) {
  for (uint32_t i = 0; i < schema->result_count; i++) {
    const bool is_list = strncmp(schema->results[i].type, "Tensor[", 7) == 0;
    if (is_list && !schema->results[i].alias) results[i].tag = PLUG_VALUE_TENSORS;
    for (uint32_t n = 0; n < shaped[i].count; n++) {
      const struct look_of *look = &shaped[i].looks[n];
      add_result(i, place(look->dtype, look->ndim, look->sizes, BY_ROWS, on), is_list);
    }
  }
}

/* ---- what becomes of a call ---- */

/* Keeps a result for calls of other operators. */
static void keep(const struct placed *placed) {
  const plug_tensor *tensor = &placed->tensor;
  const uint64_t bytes = placed->bytes - 2 * placed->first;
  if (made_count == MOST_MADE || bytes == 0 || bytes > MOST_BYTES) return;
  struct look_of look = {.dtype = tensor->dtype, .ndim = tensor->ndim};
  memcpy(look.sizes, tensor->sizes, (size_t)tensor->ndim * sizeof *look.sizes);
  for (uint32_t i = 0; i < made_count; i++) {
    if (memcmp(&made[i].look, &look, sizeof look) == 0) return;
  }
  unsigned char *copy = malloc(bytes);
  if (!copy) fail("there is no memory left");
  memcpy(copy, placed->after + placed->first, bytes);
  made[made_count++] = (struct made){look, copy};
}

static void keep_results(const struct schema *schema) {
  for (uint32_t i = 0; i < schema->result_count; i++) {
    const bool is_new = !schema->results[i].alias && result_places[i];
    if (is_new && strcmp(schema->results[i].type, "Tensor") == 0) keep(result_places[i]);
  }
}

static plug_status run(const plug_kernel *kernel, const struct schema *schema, int32_t on,
                       const char **said) {
  void *state = NULL;
  plug_call call = start_call(kernel, schema, kernel->schema, on);
  plug_status status = kernel->prepare ? kernel->prepare(&call, &state) : PLUG_OK;
  if (status == PLUG_OK) {
    call.state = state;
    call.sequence = ++sequence;
    status = kernel->fn(&call);
  }
  *said = well_formed(status, what);
  look_at(status, NULL, LOOK_AT_BOUNDS);
  look_at(status, NULL, LOOK_AT_ARGUMENTS);
  look_at(status, NULL, LOOK_AT_DECLINING);
  if (state && kernel->forget) kernel->forget(state);
  return status;
}

/* With its arguments and results made up; `reason` says why it is not TAKEN. */
static enum outcome call_own(const plug_kernel *kernel, const struct schema *schema,
                             const struct way *way, int32_t on, char *reason,
                             size_t room) {
  struct shaped shaped[MOST_RESULTS] = {{.count = 0}};
  const char *said = NULL;
  enum outcome outcome = UNTRIED;
  memset(results, 0, sizeof(plug_value) * MOST_RESULTS);
  memset(result_places, 0, sizeof(struct placed *) * MOST_RESULTS);
  allocates = true;
  for (uint32_t i = 0; i < schema->arg_count && !said; i++)
    said = make_up(kernel, &schema->args[i], i, way, on);
  plug_status status = PLUG_OK;
  if (!said && kernel->shape) {
    status = shape_by_function(kernel, schema, shaped, on);
    if (status != PLUG_OK) said = well_formed(status, what);
  } else if (!said && kernel->shapes) {
    said = evaluate_shapes(kernel->shapes, schema, args, shaped);
  }
  if (!said && status == PLUG_OK) {
    place_shaped(schema, shaped, on);
    for (uint32_t i = 0; i < schema->result_count; i++) {
      if (!take_alias(schema, i)) open_number(schema, i);
    }
    status = run(kernel, schema, on, &said);
    outcome = status == PLUG_OK ? TAKEN : REFUSED;
    if (outcome == TAKEN) keep_results(schema);
  } else if (status != PLUG_OK) {
    outcome = REFUSED;
  }
  snprintf(reason, room, "%s", said ? said : status_text(status));
  release_all();
  return outcome;
}

/* ---- all ways ---- */

struct trial {
  const plug_kernel *kernel;
  const struct schema *schema;
  int32_t on;
  enum outcome outcome; /* of the first way that was taken, else of the first */
  bool has_begun;
  char reason[WORD * 2];
};

static bool try_way(struct trial *trial, const struct way *way) {
  char reason[sizeof trial->reason];
  const enum outcome outcome =
      call_own(trial->kernel, trial->schema, way, trial->on, reason, sizeof reason);
  const bool is_better = outcome < trial->outcome;
  if (!trial->has_begun || is_better) {
    trial->outcome = outcome;
    memcpy(trial->reason, reason, sizeof reason);
  }
  trial->has_begun = true;
  return outcome == TAKEN;
}

static bool takes_words(const struct schema *schema) {
  for (uint32_t i = 0; i < schema->arg_count; i++) {
    if (strncmp(schema->args[i].type, "str", 3) == 0 && !*schema->args[i].value)
      return true;
  }
  return false;
}

/* Each tensor, and each two, one that was made or integers. */
static bool try_replacing(struct trial *trial, struct way way) {
  const struct schema *schema = trial->schema;
  const uint32_t choices = made_count + 1;
  for (uint32_t i = 0; i < schema->arg_count; i++) {
    if (strcmp(schema->args[i].type, "Tensor") != 0) continue;
    way.replaced[0] = (int32_t)i;
    for (way.by[0] = 0; way.by[0] < choices; way.by[0]++) {
      way.replaced[1] = -1;
      if (try_way(trial, &way)) return true;
      for (uint32_t n = 0; n < i; n++) {
        if (strcmp(schema->args[n].type, "Tensor") != 0) continue;
        way.replaced[1] = (int32_t)n;
        for (way.by[1] = 0; way.by[1] < choices; way.by[1]++) {
          if (try_way(trial, &way)) return true;
        }
      }
    }
  }
  return false;
}

static void try_on(struct trial *trial, int32_t on) {
  const uint32_t most = takes_words(trial->schema) ? word_count + 1 : 1;
  struct way way = kPlain;
  trial->on = on;
  snprintf(what, sizeof what, "%s%s", trial->schema->name,
           on == PLUG_HOST ? " of CPU tensors" : "");
  doing(what);
  bool is_taken = false;
  for (way.look = 0; way.look < LOOKS && !is_taken; way.look++) {
    for (way.word = 0; way.word < most && !is_taken; way.word++)
      is_taken = try_way(trial, &way);
  }
  for (way.look = 0; way.look < LOOKS && !is_taken; way.look++) {
    for (way.word = 0; way.word < most && !is_taken; way.word++)
      is_taken = try_replacing(trial, way);
  }
  if (!is_taken) return;
  way.look -= way.look > 0; /* where the loops ended */
  way.word -= way.word > 0;
  way.gives_optional = true;
  (void)try_way(trial, &way);
}

static void try_everywhere(struct trial *trial) {
  if (module.runtime) try_on(trial, device);
  if (trial->kernel->accepts & PLUG_ACCEPTS_HOST) try_on(trial, PLUG_HOST);
}

/* ---- the check ---- */

enum { MOST_OPERATORS = 256 };

struct list { /* of names, with reasons */
  char text[1500];
  size_t length;
  int more; /* for which there is no room */
};

static void add_to(struct list *list, const char *name, const char *reason) {
  char *end = list->text + list->length;
  const size_t room = sizeof list->text - list->length;
  const int length = snprintf(end, room, "%s%s%s%s", list->length ? "; " : "", name,
                              reason ? ": " : "", reason ? reason : "");
  if (length >= 0 && (size_t)length < room) {
    list->length += (size_t)length;
  } else {
    *end = '\0';
    list->more++;
  }
}

static void gather_words(void) {
  for (uint32_t i = 0; i < kernel_count; i++) {
    struct schema schema;
    if (!kernels[i].schema || parse_schema(kernels[i].schema, &schema)) continue;
    for (uint32_t n = 0; n < schema.arg_count; n++) {
      if (strncmp(schema.args[n].type, "str", 3) == 0) add_word(schema.args[n].value);
    }
  }
}

/* Those that were not taken once more: others may have made what they take. */
static void try_all(struct trial *trials, struct schema *schemas, uint32_t count) {
  for (int round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < count; i++) {
      if (trials[i].has_begun && trials[i].outcome != REFUSED) continue;
      trials[i].schema = &schemas[i];
      try_everywhere(&trials[i]);
    }
  }
}

static void tell(const struct trial *trials, uint32_t count) {
  static struct list lists_of[3]; /* by outcome */
  static const char *const titles[] = {"", "refused what was made up: ", "not tried: "};
  char text[3800] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < count; i++) {
    const enum outcome outcome = trials[i].outcome;
    add_to(&lists_of[outcome], trials[i].schema->name,
           outcome == TAKEN ? NULL : trials[i].reason);
  }
  for (int outcome = TAKEN; outcome <= UNTRIED; outcome++) {
    const struct list *list = &lists_of[outcome];
    if (list->length == 0) continue;
    length += (size_t)snprintf(
        text + length, sizeof text - length, "%s%s%s", length ? " | " : "",
        outcome == TAKEN ? "called: " : titles[outcome], list->text);
    if (list->more > 0)
      length += (size_t)snprintf(text + length, sizeof text - length, "; and %d more",
                                 list->more);
    if (length >= sizeof text) break;
  }
  if (lists_of[TAKEN].length == 0) absent(text);
  remark("%s", text);
}

void try_own_operators(void) {
  static struct trial trials[MOST_OPERATORS];
  static struct schema schemas[MOST_OPERATORS];
  uint32_t count = 0;
  need_kernels();
  gather_words();
  for (uint32_t i = 0; i < kernel_count && count < MOST_OPERATORS; i++) {
    const bool is_ours = kernels[i].schema && is_own(&kernels[i]);
    if (!is_ours || parse_schema(kernels[i].schema, &schemas[count])) continue;
    trials[count++] = (struct trial){.kernel = &kernels[i], .outcome = UNTRIED};
  }
  if (count == 0) absent("no operators of the plugin's own");
  try_all(trials, schemas, count);
  tell(trials, count);
}
