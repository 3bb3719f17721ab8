/* plug-replay - plays a trace of the calls of a plugin against a plugin, without PyTorch.
**
**   plug-replay FILE.trace libacme.so [--until LINE] [--only SCHEMA] [--repeat N]
**               [--device N] [--tolerance X] [--timeout SECONDS] [--verbose]
**
** The calls are made in a process of their own, so that a crash is reported with the line
** at which it happened. Exit code 0: every call answered as in the trace; 1: one did not,
** or the plugin crashed or hung; 2: wrong usage, a damaged trace, or no plugin. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "replay.h"

struct options options = {.device = -1, .repeat = 1, .timeout = 60, .tolerance = -1};

/* What the process that plays leaves for the one that watches it. */
static struct progress {
  size_t record;  /* being played, from 1 on; 0: the plugin is being loaded */
  uint64_t begun; /* calls, and with --repeat each of them */
  uint64_t played, different, left_out, failed;
  bool is_over;
} *progress;

enum { MOST_LINES = 20 };

void give_up(const char *format, ...) {
  va_list words;
  fflush(stdout);
  fputs("plug-replay: ", stderr);
  va_start(words, format);
  vfprintf(stderr, format, words);
  va_end(words);
  fputc('\n', stderr);
  _exit(2);
}

/* ---- what is found ---- */

/* "line 12, kernel aten::relu(Tensor self) -> Tensor" */
static void print_call(const struct record *record) {
  const struct text schema = in_field(record, "schema");
  printf("line %zu, %.*s", record->line, (int)record->function.length,
         record->function.at);
  if (schema.length > 2) printf(" %.*s", (int)schema.length - 2, schema.at + 1);
  printf(": ");
}

void differs(const struct record *record, const char *format, ...) {
  va_list words;
  if (++progress->different > MOST_LINES && !options.verbose) return;
  print_call(record);
  va_start(words, format);
  vprintf(format, words);
  va_end(words);
  putchar('\n');
  fflush(stdout);
}

enum verdict leave_out(const struct record *record, const char *why) {
  if (options.verbose) {
    print_call(record);
    printf("left out: %s\n", why);
  }
  return LEFT_OUT;
}

void begin_call(void) { progress->begun++; }

void compare_status(const struct record *record, plug_status status) {
  const char *said = take_error();
  const bool is_query = status <= PLUG_NOT_READY && record->status <= PLUG_NOT_READY;
  if (!record->is_answered) {
    print_call(record);
    printf("%s; the trace has no answer: the program ended in it\n", status_word(status));
  } else if (status != record->status && !is_query) {
    differs(record, "%s%s%s, in the trace %s", status_word(status), said ? ": " : "",
            said ? said : "", status_word(record->status));
  } else if (status >= PLUG_INVALID) {
    progress->failed++;
    print_call(record);
    printf("%s, as in the trace: %s\n", status_word(status),
           said ? said : "no reason given");
  } else if (options.verbose) {
    print_call(record);
    printf("%s\n", status_word(status));
  }
  fflush(stdout);
}

/* ---- playing ---- */

/* What the host did meanwhile is played by the host's side of this program. */
static bool is_no_call(const struct record *record) {
  return is_call(record, "scratch") || is_call(record, "output") ||
         is_call(record, "rng") || is_call(record, "report");
}

static bool is_of_compiler(const struct record *record) {
  static const char *const names[] = {
      "compile",     "run",      "engine_destroy", "partition",   "engine_info",
      "engine_pack", "identity", "engine_save",    "engine_load", "list_schemas"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (is_call(record, names[i])) return true;
  return false;
}

static void play(const struct trace *trace) {
  played = trace;
  const char *reason = load_target();
  if (reason) give_up("%s: %s", options.plugin, reason);
  for (size_t i = 0; i < trace->count; i++) {
    const struct record *record = &trace->records[i];
    enum verdict verdict = LEFT_OUT;
    if (options.until > 0 && record->line > (size_t)options.until) break;
    progress->record = i + 1;
    begin_call();
    if (is_no_call(record)) continue;
    if (!play_runtime(record, &verdict) && !play_kernel(record, &verdict))
      leave_out(record, is_of_compiler(record)
                            ? "engines are not played, since a trace has no graphs"
                            : "this plug-replay does not know the function");
    *(verdict == PLAYED ? &progress->played : &progress->left_out) += 1;
    forget_values();
  }
  fflush(NULL);
  progress->is_over = true;
  _exit(0);
}

/* Waits for the child as long as it gets on; false if it does not. */
static bool watch(pid_t child, int *status) {
  const struct timespec nap = {0, 2 * 1000 * 1000};
  struct timespec now, since;
  uint64_t at = 0;
  clock_gettime(CLOCK_MONOTONIC, &since);
  while (waitpid(child, status, WNOHANG) == 0) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (progress->begun != at) {
      at = progress->begun;
      since = now;
    }
    if (now.tv_sec - since.tv_sec > options.timeout) {
      kill(child, SIGKILL);
      waitpid(child, status, 0);
      return false;
    }
    nanosleep(&nap, NULL);
  }
  return true;
}

static void print_end(const struct trace *trace) {
  if (progress->record == 0) {
    printf("loading the plugin: ");
  } else {
    print_call(&trace->records[progress->record - 1]);
  }
}

static int judge(const struct trace *trace, bool ended, int status) {
  if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 2 && !progress->is_over)
    return 2;
  if (!ended) {
    print_end(trace);
    printf("not finished after %lld s\n", (long long)options.timeout);
  } else if (WIFSIGNALED(status)) {
    print_end(trace);
    printf("the plugin ended the process by signal %d (%s)\n", WTERMSIG(status),
           strsignal(WTERMSIG(status)));
  } else if (!progress->is_over) {
    print_end(trace);
    printf("the plugin ended the process with code %d\n", WEXITSTATUS(status));
  }
  if (trace->cut_line > 0)
    printf("line %zu is cut off and was left out\n", trace->cut_line);
  printf(
      "%llu calls played, %llu left out, %llu failed as in the trace, %llu differences\n",
      (unsigned long long)progress->played, (unsigned long long)progress->left_out,
      (unsigned long long)progress->failed, (unsigned long long)progress->different);
  return progress->is_over && progress->different == 0 ? 0 : 1;
}

/* ---- the command line ---- */

static int usage(const char *problem, const char *value) {
  fprintf(stderr, "plug-replay: %s%s\n", problem, value);
  fprintf(
      stderr,
      "usage: plug-replay FILE.trace PLUGIN.so [--until LINE] [--only SCHEMA] "
      "[--repeat N]\n                   [--device N] [--tolerance X] [--timeout "
      "SECONDS] [--verbose]\n"
      "exit codes: 0 as in the trace, 1 a difference, a crash or a hang, 2 usage error, "
      "no trace or no plugin\n");
  return 2;
}

static bool read_number(const char *text, int64_t least, int64_t *number) {
  char *end = NULL;
  *number = strtoll(text, &end, 10);
  return end != text && *end == '\0' && *number >= least;
}

static bool read_tolerance(const char *text) {
  char *end = NULL;
  options.tolerance = strtod(text, &end);
  return end != text && *end == '\0' && options.tolerance >= 0;
}

/* Whether `word` is an option with a value; then it is taken. */
static bool read_option(const char *word, const char *value, bool *is_valid) {
  static const struct {
    const char *word;
    int64_t *number;
    int64_t least;
  } numbers[] = {{"--until", &options.until, 1},
                 {"--repeat", &options.repeat, 1},
                 {"--device", &options.device, 0},
                 {"--timeout", &options.timeout, 1}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(word, numbers[i].word) != 0) continue;
    *is_valid = value && read_number(value, numbers[i].least, numbers[i].number);
    return true;
  }
  if (strcmp(word, "--tolerance") == 0) {
    *is_valid = value && read_tolerance(value);
  } else if (strcmp(word, "--only") == 0) {
    options.only = value;
    *is_valid = value != NULL;
  } else {
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  int status = 0;
  bool is_valid = true;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (strcmp(word, "--verbose") == 0) {
      options.verbose = true;
    } else if (read_option(word, i + 1 < argc ? argv[i + 1] : NULL, &is_valid)) {
      if (!is_valid) return usage("a value is missing after ", word);
      i++;
    } else if (word[0] == '-' || options.plugin) {
      return usage("unknown argument ", word);
    } else {
      *(options.trace ? &options.plugin : &options.trace) = word;
    }
  }
  if (!options.plugin) return usage("a trace and a plugin are needed", "");
  const char *path =
      realpath(options.plugin, NULL); /* without a '/', dlopen would search */
  if (!path) return usage("there is no file ", options.plugin);
  options.plugin = path;
  static struct trace trace;
  trace = read_trace(options.trace);
  progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (progress == MAP_FAILED) give_up("no memory: %s", strerror(errno));
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no orphan outlives an interrupted run */
    play(&trace);
  }
  const bool ended = watch(child, &status);
  return judge(&trace, ended, status);
}
