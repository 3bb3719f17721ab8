/* plug-check - checks the runtime (L0), the kernels (L1) and the compiler (L2) of a
** torchplug plugin, and the operators of its own.
**
**   plug-check libacme.so [--device N] [--only NAME] [--timeout SECONDS] [--json]
**   plug-check --list
**
** Each check runs in a process of its own with a time limit, so that a crash or a hang
** costs one check. Exit code 0: nothing is wrong; 1: a check failed; 2: wrong usage,
** or the plugin cannot be loaded. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "verdict.h"

static const struct check *const groups[] = {
    device_checks,  memory_checks,   copy_checks,   strided_checks,
    map_checks,     stream_checks,   event_checks,  host_func_checks,
    capture_checks, ipc_checks,      growth_checks, thread_checks,
    error_checks,   compiler_checks, engine_checks, kernel_checks,
};
enum { GROUPS = sizeof groups / sizeof *groups };

/* Of a plugin that is no device there are only the last groups to check: one, and two
** more of a compiler. */
static int first_group;

int time_limit = 30;

struct options {
  const char *only;
  bool json;
};

struct tally {
  int ok, failed, absent;
};

struct verdict *verdict;

/* ---- one check ---- */

static void prepare(const struct check *check) {
  if (check->begins != UNLOADED) {
    doing("the entry point");
    const char *reason = load_plugin();
    if (reason) fail("%s", reason);
  }
  if (check->begins == OPENED) open_plugin();
  doing(check->promise);
}

/* The second process of a check that has two. Its verdict counts only if it fails. */
static pid_t start_peer(const struct check *check) {
  int32_t ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    fail("socketpair: %s", strerror(errno));
  pid_t peer = fork();
  if (peer != 0) {
    wire = ends[0];
    close(ends[1]);
    return peer;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  wire = ends[1];
  close(ends[0]);
  prepare(check);
  check->peer();
  _exit(0);
}

static void run_in_child(const struct check *check, FILE *output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* no orphan outlives an interrupted run */
  dup2(fileno(output), STDOUT_FILENO);
  pid_t peer = check->peer ? start_peer(check) : 0;
  prepare(check);
  check->run();
  if (peer) {
    int status = 0;
    close(wire);
    doing("the other process to end");
    waitpid(peer, &status, 0);
    if (status != 0) fail("the other process ended with status %d", status);
  }
  fflush(NULL);
  if (verdict->state == VERDICT_NONE) verdict->state = VERDICT_OK;
  _exit(0);
}

/* Whether the child ended by itself. */
static bool wait_for(pid_t child, int seconds, int *status) {
  const struct timespec nap = {0, 2 * 1000 * 1000};
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += seconds;
  while (waitpid(child, status, WNOHANG) == 0) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > end.tv_sec ||
        (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec)) {
      kill(child, SIGKILL);
      waitpid(child, status, 0);
      return false;
    }
    nanosleep(&nap, NULL);
  }
  return true;
}

static void run(const struct check *check) {
  int status = 0;
  FILE *output = tmpfile(); /* a plugin writes nothing to stdout */
  memset(verdict, 0, sizeof *verdict);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) run_in_child(check, output);
  const bool ended = wait_for(child, time_limit, &status);
  if (!ended) {
    verdict->state = VERDICT_FAIL;
    snprintf(verdict->reason, sizeof verdict->reason, "not finished after %d s: %s",
             time_limit, verdict->doing);
  } else if (WIFSIGNALED(status)) {
    verdict->state = VERDICT_FAIL;
    snprintf(verdict->reason, sizeof verdict->reason, "ended by signal %d (%s): %s",
             WTERMSIG(status), strsignal(WTERMSIG(status)), verdict->doing);
  } else if (verdict->state == VERDICT_NONE) {
    verdict->state = VERDICT_FAIL;
    snprintf(verdict->reason, sizeof verdict->reason,
             "the plugin ended the process with code %d: %s", WEXITSTATUS(status),
             verdict->doing);
  } else if (verdict->state == VERDICT_OK && fseek(output, 0, SEEK_END) == 0 &&
             ftell(output) > 0) {
    verdict->state = VERDICT_FAIL;
    snprintf(verdict->reason, sizeof verdict->reason, "the plugin wrote to stdout");
  }
  fclose(output);
}

/* ---- all of them ---- */

static void print_json_text(const char *text) {
  putchar('"');
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\') {
      printf("\\%c", *c);
    } else if (*c < 0x20) {
      printf("\\u%04x", *c);
    } else {
      putchar(*c);
    }
  }
  putchar('"');
}

static void print_json(const struct check *check, bool first) {
  const char *state = verdict->state == VERDICT_OK     ? "ok"
                      : verdict->state == VERDICT_FAIL ? "failed"
                                                       : "absent";
  printf("%s{\"name\": \"%s\", \"state\": \"%s\", \"reason\": ", first ? "" : ",\n  ",
         check->name, state);
  print_json_text(verdict->reason);
  printf("}");
}

static void print_line(const struct check *check) {
  const char *state = verdict->state == VERDICT_OK     ? "ok"
                      : verdict->state == VERDICT_FAIL ? "FAIL"
                                                       : "absent";
  if (*verdict->reason) {
    printf("%-7s %-20s %s\n", state, check->name, verdict->reason);
  } else {
    printf("%-7s %s\n", state, check->name);
  }
  fflush(stdout);
}

static struct tally run_all(const struct options *options) {
  struct tally tally = {0, 0, 0};
  bool first = true;
  for (int group = first_group; group < GROUPS; group++) {
    for (const struct check *check = groups[group]; check->name; check++) {
      if (options->only && strcmp(options->only, check->name) != 0) continue;
      run(check);
      tally.ok += verdict->state == VERDICT_OK;
      tally.failed += verdict->state == VERDICT_FAIL;
      tally.absent += verdict->state == VERDICT_ABSENT;
      if (options->json) {
        print_json(check, first);
      } else {
        print_line(check);
      }
      first = false;
    }
  }
  return tally;
}

/* What the plugin is, found in a process of its own: this one never loads it. */
static void describe(void) {
  char devices[32] = "no device";
  verdict->has_device = module.runtime != NULL;
  verdict->has_compiler = module.compiler != NULL;
  if (module.runtime) {
    open_plugin();
    snprintf(devices, sizeof devices, "%d device%s", device_total,
             device_total == 1 ? "" : "s");
  }
  snprintf(verdict->reason, sizeof verdict->reason, "%s %s, %s",
           module.name ? module.name : "(no name)", module.version ? module.version : "",
           devices);
  verdict->state = VERDICT_OK;
  _exit(0);
}

static int check_plugin(const struct options *options) {
  static const struct check description = {
      .name = "load", .promise = "loading", .run = describe, .begins = LOADED};
  run(&description);
  if (verdict->state != VERDICT_OK) {
    fprintf(stderr, "plug-check: %s: %s\n", plugin_path, verdict->reason);
    return 2;
  }
  first_group = verdict->has_device ? 0 : verdict->has_compiler ? GROUPS - 3 : GROUPS - 1;
  if (options->json) {
    printf("{\"plugin\": ");
    print_json_text(plugin_path);
    printf(", \"description\": ");
    print_json_text(verdict->reason);
    printf(", \"device\": %d,\n \"checks\": [\n  ", device);
  } else {
    printf("%s: %s", plugin_path, verdict->reason);
    if (verdict->has_device) printf("; checking device %d", device);
    printf("\n");
  }
  const struct tally tally = run_all(options);
  if (options->json) {
    printf("],\n \"ok\": %d, \"failed\": %d, \"absent\": %d}\n", tally.ok, tally.failed,
           tally.absent);
  } else {
    printf("%d ok, %d failed, %d absent\n", tally.ok, tally.failed, tally.absent);
  }
  return tally.failed ? 1 : 0;
}

/* ---- the command line ---- */

static const struct check *find(const char *name) {
  for (int group = 0; group < GROUPS; group++) {
    for (const struct check *check = groups[group]; check->name; check++) {
      if (strcmp(check->name, name) == 0) return check;
    }
  }
  return NULL;
}

static int list(void) {
  for (int group = 0; group < GROUPS; group++) {
    for (const struct check *check = groups[group]; check->name; check++) {
      printf("%-20s %s\n", check->name, check->promise);
    }
  }
  return 0;
}

static int usage(const char *problem, const char *value) {
  fprintf(stderr, "plug-check: %s%s\n", problem, value);
  fprintf(stderr,
          "usage: plug-check PLUGIN.so [--device N] [--only NAME] [--timeout SECONDS] "
          "[--json]\n       plug-check --list\n"
          "exit codes: 0 success, 1 a check failed, 2 usage error or no plugin\n");
  return 2;
}

/* Whether `text` is a number from `least` up. */
static bool read_number(const char *text, long least, int *number) {
  char *end = NULL;
  const long value = strtol(text, &end, 10);
  if (end == text || *end || value < least || value > 1000000) return false;
  *number = (int)value;
  return true;
}

int main(int argc, char **argv) {
  struct options options = {.only = NULL};
  int number = 0;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (strcmp(word, "--list") == 0) return list();
    if (strcmp(word, "--json") == 0) {
      options.json = true;
    } else if (strcmp(word, "--device") == 0 || strcmp(word, "--timeout") == 0) {
      const bool is_device = word[2] == 'd';
      if (++i == argc || !read_number(argv[i], is_device ? 0 : 1, &number)) {
        return usage("a number is missing after ", word);
      }
      *(is_device ? &device : &time_limit) = number;
    } else if (strcmp(word, "--only") == 0) {
      if (++i == argc) return usage("a name is missing after ", word);
      options.only = argv[i];
      if (!find(options.only)) return usage("there is no check called ", options.only);
    } else if (word[0] == '-' || plugin_path) {
      return usage("unknown argument ", word);
    } else {
      plugin_path = word;
    }
  }
  if (!plugin_path) return usage("there is no plugin to check", "");
  const char *found =
      realpath(plugin_path, NULL); /* without a '/', dlopen would search */
  if (!found) return usage("there is no file ", plugin_path);
  plugin_path = found;
  verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (verdict == MAP_FAILED) return usage("no memory: ", strerror(errno));
  return check_plugin(&options);
}
