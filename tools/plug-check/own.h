/* own.h - operators of a plugin's own: what their results look like (shapes.c), and calls
** of them with arguments that are made up (own.c). */
#ifndef PLUG_CHECK_OWN_H
#define PLUG_CHECK_OWN_H

#include "kernels.h"

enum { MOST_LISTED = 8 }; /* tensors of a list that is a result */

struct look_of {
  plug_dtype dtype;
  int32_t ndim;
  int64_t sizes[DIMS];
};

/* One result; a tensor that is not there has the count 0. */
struct shaped {
  bool is_list;
  uint32_t count;
  struct look_of looks[MOST_LISTED];
};

/* What the text `shapes` gives for a call; of results that are arguments or numbers
** nothing. The reason why it cannot be told, or NULL. */
const char *evaluate_shapes(const char *text, const struct schema *schema,
                            const plug_value *args, struct shaped *results);

/* The check kernel-own. */
void try_own_operators(void);

#endif
