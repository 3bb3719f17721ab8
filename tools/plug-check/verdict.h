/* verdict.h - what a check's process leaves for the one that started it, in memory that
** both see, so that it is there even if the process crashed or had to be ended. */
#ifndef PLUG_CHECK_VERDICT_H
#define PLUG_CHECK_VERDICT_H

#include <stdatomic.h>

enum { VERDICT_NONE = 0, VERDICT_OK = 'o', VERDICT_FAIL = 'F', VERDICT_ABSENT = 'a' };

struct verdict {
  atomic_int claims; /* several threads or processes may fail at once: the first counts */
  char state;
  char has_device, has_compiler; /* what the plugin is */
  char reason[4096];
  char doing[256];
};

extern struct verdict *verdict;

#endif
