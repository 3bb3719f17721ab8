/* A trace, read and checked as a whole before anything is played. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

static const char magic[] = "torchplug-trace ";

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) give_up("there is no trace at %s: %s", path, strerror(errno));
  size_t room = 1 << 16, got = 0;
  char *text = malloc(room);
  *length = 0;
  while (text && (got = fread(text + *length, 1, room - *length - 1, file)) > 0) {
    *length += got;
    if (*length + 1 == room) text = realloc(text, room *= 2);
  }
  if (!text) give_up("there is no memory left for %s", path);
  if (ferror(file)) give_up("%s cannot be read: %s", path, strerror(errno));
  fclose(file);
  text[*length] = '\0';
  return text;
}

/* ---- one line ---- */

static const char *add_field(struct text word, struct field **fields, size_t *count) {
  const char *equals = memchr(word.at, '=', word.length);
  if (!equals || equals == word.at) return "there is a word without a key";
  const size_t key = (size_t)(equals - word.at);
  *fields = realloc(*fields, (*count + 1) * sizeof **fields);
  if (!*fields) give_up("there is no memory left for the trace");
  (*fields)[(*count)++] =
      (struct field){{word.at, key}, {equals + 1, word.length - key - 1}};
  return NULL;
}

/* "NUMBER FUNCTION key=value ... = STATUS key=value ..." */
static const char *parse_line(struct text line, struct record *record) {
  const char *wrong = NULL;
  if (!parse_unsigned(next_word(&line), &record->number))
    return "it begins with no number";
  while (line.length > 0 && !wrong) {
    struct text word = next_word(&line);
    if (is_word(word, "=")) {
      if (record->is_answered) return "it has two answers";
      record->is_answered = true;
      wrong = parse_status(next_word(&line), &record->status);
    } else if (record->is_answered) {
      wrong = add_field(word, &record->out, &record->out_count);
    } else if (record->function.length == 0) {
      record->function = word;
    } else {
      wrong = add_field(word, &record->in, &record->in_count);
    }
  }
  if (!wrong && record->function.length == 0 && !record->is_answered)
    return "it says nothing";
  return wrong;
}

/* ---- what it says ---- */

static struct text find_field(const struct field *fields, size_t count, const char *key) {
  for (size_t i = 0; i < count; i++) {
    if (is_word(fields[i].key, key)) return fields[i].value;
  }
  return (struct text){"", 0};
}

struct text in_field(const struct record *record, const char *key) {
  return find_field(record->in, record->in_count, key);
}

struct text out_field(const struct record *record, const char *key) {
  return find_field(record->out, record->out_count, key);
}

int64_t in_number(const struct record *record, const char *key) {
  int64_t number = 0;
  const struct text text = in_field(record, key);
  if (!parse_number(text, &number))
    give_up("line %zu of the trace has no number '%s'", record->line, key);
  return number;
}

uint64_t in_unsigned(const struct record *record, const char *key) {
  uint64_t number = 0;
  const struct text text = in_field(record, key);
  if (!parse_unsigned(text, &number))
    give_up("line %zu of the trace has no number '%s'", record->line, key);
  return number;
}

static struct place place_of(struct text text, const struct record *record,
                             const char *key) {
  struct place place;
  if (text.length == 0 || parse_place(text, &place))
    give_up("line %zu of the trace names no '%s'", record->line, key);
  return place;
}

struct place in_place(const struct record *record, const char *key) {
  return place_of(in_field(record, key), record, key);
}

struct place out_place(const struct record *record, const char *key) {
  return place_of(out_field(record, key), record, key);
}

bool is_call(const struct record *record, const char *function) {
  return is_word(record->function, function);
}

/* ---- all lines ---- */

static void note_tensors(const struct values *values) {
  for (size_t i = 0; i < values->tensor_count; i++) {
    const struct tensor *tensor = &values->tensors[i];
    int64_t first = 0;
    if (tensor->place.kind != 'x') continue;
    const uint64_t bytes = span_of(tensor->is, &first);
    note_reach(tensor->place, tensor->place.offset + (uint64_t)first + bytes);
  }
}

/* The values of a line can be read; and how far memory of others reaches. */
static const char *check_values(const struct field *fields, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct values values;
    struct place place;
    const char *string = NULL, *wrong = NULL;
    const struct text value = fields[i].value;
    if (is_word(fields[i].key, "args") || is_word(fields[i].key, "results") ||
        is_word(fields[i].key, "written")) {
      wrong = parse_values(value, &values);
      if (!wrong) note_tensors(&values);
    } else if (value.length > 0 && value.at[0] == '"') {
      wrong = parse_string(value, &string);
    } else if (is_word(fields[i].key, "dst") || is_word(fields[i].key, "src")) {
      if (!is_word(value, "host") && !is_word(value, "pinned"))
        wrong = parse_place(value, &place);
    }
    if (wrong) return wrong;
  }
  return NULL;
}

/* Copies name memory without a tensor. */
static void note_copies(const struct record *record) {
  static const char *const keys[] = {"dst", "src"};
  uint64_t bytes = 0;
  for (int i = 0; i < 2; i++) {
    struct place place;
    const struct text text = in_field(record, keys[i]);
    if (text.length == 0 || text.at[0] != 'x' || parse_place(text, &place)) continue;
    if (parse_unsigned(in_field(record, "bytes"), &bytes))
      note_reach(place, place.offset + bytes);
  }
}

static void add_record(struct trace *trace, size_t *room, const struct record *record) {
  if (trace->count == *room) {
    *room = *room ? 2 * *room : 256;
    trace->records = realloc(trace->records, *room * sizeof *trace->records);
    if (!trace->records) give_up("there is no memory left for the trace");
  }
  trace->records[trace->count++] = *record;
}

/* The record of that number, or NULL. */
static struct record *find_record(const struct trace *trace, uint64_t number) {
  if (trace->count == 0) return NULL;
  const uint64_t first = trace->records[0].number;
  if (number < first || number - first >= trace->count) return NULL;
  return &trace->records[number - first];
}

/* An answer on a line of its own goes to its call. */
static const char *attach_answer(struct trace *trace, const struct record *answer) {
  struct record *call = find_record(trace, answer->number);
  if (!call) return "it answers a call that is not in the trace";
  if (call->is_answered) return "it answers a call that has an answer";
  call->is_answered = true;
  call->status = answer->status;
  call->out = answer->out;
  call->out_count = answer->out_count;
  return NULL;
}

static const char *take_line(struct trace *trace, size_t *room, struct text line,
                             size_t number) {
  struct record record = {.line = number};
  const char *wrong = parse_line(line, &record);
  if (!wrong) wrong = check_values(record.in, record.in_count);
  if (!wrong) wrong = check_values(record.out, record.out_count);
  forget_values();
  if (wrong) return wrong;
  if (record.function.length == 0) return attach_answer(trace, &record);
  if (trace->count > 0 && record.number != trace->records[trace->count - 1].number + 1)
    return "its number does not follow that of the call before";
  note_copies(&record);
  add_record(trace, room, &record);
  return NULL;
}

static void check_header(struct text line, const char *path) {
  int64_t version = 0;
  const size_t length = sizeof magic - 1;
  if (line.length < length || memcmp(line.at, magic, length) != 0)
    give_up("%s is no trace: its first line does not begin with '%s'", path, magic);
  line.at += length;
  line.length -= length;
  if (!parse_number(next_word(&line), &version) || version != 1)
    give_up(
        "%s is a trace of another version than 1: take the plug-replay of the "
        "torchplug that wrote it",
        path);
}

struct trace read_trace(const char *path) {
  struct trace trace = {0};
  size_t room = 0, length = 0;
  const char *at = read_file(path, &length), *end = at + length;
  for (size_t number = 1; at < end; number++) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const struct text line = {at, (size_t)((newline ? newline : end) - at)};
    at = newline ? newline + 1 : end;
    if (number == 1) {
      check_header(line, path);
      continue;
    }
    if (memchr(line.at, '\0', line.length))
      give_up("line %zu of %s is damaged: it has a zero byte", number, path);
    const char *wrong = take_line(&trace, &room, line, number);
    if (wrong && newline) give_up("line %zu of %s is damaged: %s", number, path, wrong);
    if (wrong) trace.cut_line = number;
  }
  if (length == 0) give_up("%s is empty", path);
  return trace;
}
