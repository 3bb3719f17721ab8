/* replay.h - what the files of plug-replay share: a trace as it was read, the plugin it
** is played against, and what was found. docs/trace.md has the format. One thread. */
#ifndef PLUG_REPLAY_H
#define PLUG_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loaded.h"
#include "torchplug/plug.h"

#define PRINTF_LIKE(words, first) __attribute__((format(printf, words, first)))

/* ---- Text (text.c). ---- */

struct text { /* a part of the file */
  const char *at;
  size_t length;
};
bool is_word(struct text text, const char *word);

/* A name with a number, and where it applies bytes past: m3+512. kind is 0 for none. */
struct place {
  char kind;
  uint64_t number;
  uint64_t offset;
};

/* What a tensor held. */
struct contents {
  enum { UNKNOWN, DATA, FILL } given;
  struct text data;
  uint64_t digest;
  int64_t least, most; /* of integers */
};

/* A tensor of a call: `is` lies among the values that a kernel gets. */
struct tensor {
  plug_tensor *is;
  struct place place;
  struct contents holds;
};

struct values {
  plug_value *list;
  uint32_t count;
  struct tensor *tensors; /* all among them, in order */
  size_t tensor_count, tensor_room;
  int depth; /* while parsing */
};

/* Parsers give the reason why not, or NULL. What they allocate lives until
** forget_values(). */
const char *parse_values(struct text text, struct values *values);
const char *parse_place(struct text text, struct place *place);
const char *parse_dtype(struct text text, plug_dtype *dtype);
const char *parse_status(struct text text, plug_status *status);
const char *parse_string(struct text text, const char **string); /* NULL for none */
/* The next item up to `stop` or the end, with what it encloses. */
struct text next_item(struct text *rest, char stop);
struct text next_word(struct text *rest); /* up to a space */
/* Whether a text begins so, and what follows. */
bool begins(struct text text, const char *with, struct text *rest);
bool parse_number(struct text text, int64_t *number);
bool parse_unsigned(struct text text, uint64_t *number);
void forget_values(void);
void *keep(size_t bytes); /* zeroed, until forget_values() */

const char *status_word(plug_status status);

/* ---- The file (reader.c). ---- */

struct field {
  struct text key, value;
};

struct record { /* a call */
  size_t line;
  uint64_t number;
  struct text function;
  struct field *in, *out;
  size_t in_count, out_count;
  bool is_answered;
  plug_status status;
};

struct trace {
  struct record *records;
  size_t count;
  size_t cut_line; /* the last one, if the file ends within it and it was left out */
};

/* Reads and checks a whole trace; ends the program with a sentence if it is damaged. */
struct trace read_trace(const char *path);

/* Empty if there is no such key. */
struct text in_field(const struct record *record, const char *key);
struct text out_field(const struct record *record, const char *key);
int64_t in_number(const struct record *record, const char *key);
uint64_t in_unsigned(const struct record *record, const char *key);
struct place in_place(const struct record *record, const char *key);
struct place out_place(const struct record *record, const char *key);
bool is_call(const struct record *record, const char *function);

/* ---- The plugin (target.c). ---- */

struct options {
  const char *plugin, *trace, *only;
  int64_t until;    /* a line, or 0 */
  int64_t device;   /* everything on this one, or -1 */
  int64_t repeat;   /* each kernel call so often */
  int64_t timeout;  /* seconds a call may take */
  double tolerance; /* relative, or -1: by dtype */
  bool verbose;
};
extern struct options options;

/* On failure the reason, which is static. */
const char *load_target(void);

/* Answers scratch, output and rng while a call runs; host_private points at it. */
struct service {
  const struct record *record;
  const plug_call *call;
  const struct values
      *recorded;  /* results as the trace has them behind the call, or NULL */
  bool allocates; /* results: not in shape and prepare */
  size_t draws;   /* how often rng has been asked */
};
extern const struct trace *played;
/* Frees what scratch and output have allocated, when no stream uses it any more. */
void release_scratch(void);

/* ---- Handles of the trace, and what stands for them here (handles.c). ---- */

struct handle {
  void *pointer;
  int32_t device;
  uint64_t bytes;
  const plug_kernel *kernel; /* of what `prepare` kept */
  bool is_live;
};
/* NULL if there is none, or it is gone. */
struct handle *find_handle(struct place place);
struct handle *set_handle(struct place place, int32_t device, void *pointer,
                          uint64_t bytes);
/* Memory that the plugin did not allocate when the trace was made: how far it reaches. */
void note_reach(struct place place, uint64_t bytes);
/* Memory of the device for a call; false if there is no such handle. */
bool locate(struct place place, int32_t device, plug_mem *memory);
int32_t device_for(int64_t recorded);

/* ---- What tensors hold (contents.c). ---- */

uint64_t element_count(const plug_tensor *tensor);
uint64_t digest_of(const void *bytes, uint64_t count);
/* Bytes that the elements span: from `first` bytes past element [0, 0, ...] on. */
uint64_t span_of(const plug_tensor *tensor, int64_t *first);
/* Puts what the trace gives into the tensor's memory; false if it cannot. */
bool put_contents(const struct tensor *tensor, int32_t device, plug_stream stream);
/* Compares; gives the difference in words, or NULL. */
const char *compare_contents(const struct tensor *want, const plug_tensor *have,
                             int32_t device, plug_stream stream);
/* The same for a number among results, or a list of numbers. */
const char *compare_numbers(const plug_value *want, const plug_value *have);
void fill_bytes(void *to, uint64_t count, uint64_t seed);
const char *check_contents(const struct tensor *tensor);

/* ---- Playing (plug_replay.c, play_runtime.c, play_kernels.c). ---- */

enum verdict { PLAYED, LEFT_OUT };
extern bool is_capturing;

/* Plays one record; false if it is not of this file's. */
bool play_runtime(const struct record *record, enum verdict *verdict);
bool play_kernel(const struct record *record, enum verdict *verdict);

/* A call begins: the time that it may take is counted from here. */
void begin_call(void);
/* What came of a call: compared with the trace. */
void compare_status(const struct record *record, plug_status status);
/* A difference, or why a call was left out. */
void differs(const struct record *record, const char *format, ...) PRINTF_LIKE(2, 3);
enum verdict leave_out(const struct record *record, const char *why);

_Noreturn void give_up(const char *format, ...) PRINTF_LIKE(1, 2); /* exit code 2 */

#endif
