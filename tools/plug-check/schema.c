/* Schemas as PyTorch prints them, as far as a check has to understand them:
** "ns::name.overload(Tensor(a!) self, int[2] size=[1, 1], *, str s='x') -> (Tensor,
** bool)" */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"

/* Up to a comma or the end that nothing encloses; spaces around it left out. */
static const char *take_item(const char *from, const char *end, char *to, size_t room) {
  int depth = 0;
  char quote = 0;
  const char *at = from;
  for (; at < end && (depth > 0 || quote || *at != ','); at++) {
    if (quote) {
      if (*at == quote) quote = 0;
    } else if (*at == '\'' || *at == '"') {
      quote = *at;
    } else {
      depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    }
  }
  const char *last = at;
  while (from < last && isspace((unsigned char)*from)) from++;
  while (last > from && isspace((unsigned char)last[-1])) last--;
  snprintf(to, room, "%.*s", (int)(last - from), from);
  return at < end ? at + 1 : end;
}

static bool is_type(const char *type) {
  static const char *const known[] = {
      "Tensor",  "Scalar",     "int",     "SymInt",  "float",        "bool",
      "str",     "ScalarType", "Layout",  "Device",  "MemoryFormat", "Generator",
      "Dimname", "Stream",     "Storage", "complex", "number",       "QScheme"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const size_t length = strlen(known[i]);
    if (strncmp(type, known[i], length) != 0) continue;
    if (type[length] == '\0' || strchr("?[", type[length])) return true;
  }
  return false;
}

/* Takes "(a!)" out of a type. */
static bool take_alias(struct parameter *parameter) {
  char *open = strchr(parameter->type, '('), *close = strchr(parameter->type, ')');
  if (!open) return true;
  if (!close || close < open + 2) return false;
  parameter->alias = open[1];
  parameter->is_written = memchr(open, '!', (size_t)(close - open)) != NULL;
  memmove(open, close + 1, strlen(close + 1) + 1);
  return true;
}

static bool is_name(const char *name) {
  if (!isalpha((unsigned char)*name) && *name != '_') return false;
  while (isalnum((unsigned char)*name) || *name == '_') name++;
  return *name == '\0';
}

/* "Tensor(a!) self=None"; of a result the name may be missing. */
static const char *parse_parameter(char *item, struct parameter *parameter,
                                   bool is_result) {
  char *value = strchr(item, '=');
  memset(parameter, 0, sizeof *parameter);
  if (value) {
    *value++ = '\0';
    snprintf(parameter->value, sizeof parameter->value, "%s", value);
    while (*item && isspace((unsigned char)item[strlen(item) - 1]))
      item[strlen(item) - 1] = '\0';
  }
  char *space = NULL, *close = strrchr(item, ')');
  space = strchr(close ? close : item, ' ');
  if (space) {
    snprintf(parameter->name, sizeof parameter->name, "%s", space + 1);
    *space = '\0';
  }
  snprintf(parameter->type, sizeof parameter->type, "%s", item);
  if (!take_alias(parameter)) return "an alias annotation does not end";
  if (!is_type(parameter->type)) return "a type is unknown";
  if (!space) return is_result ? NULL : "an argument has no name";
  return is_name(parameter->name) ? NULL : "the name of an argument is none";
}

static const char *parse_list(const char *from, const char *end, struct parameter *list,
                              uint32_t *count, uint32_t most, bool is_result) {
  char item[WORD];
  while (from < end) {
    from = take_item(from, end, item, sizeof item);
    if (strcmp(item, "*") == 0) continue;
    if (*count == most) return "it has too many arguments or results";
    const char *wrong = parse_parameter(item, &list[(*count)++], is_result);
    if (wrong) return wrong;
  }
  return NULL;
}

/* Where the bracket that `open` points at is closed. */
static const char *find_close(const char *open) {
  int depth = 0;
  for (const char *at = open; *at; at++) {
    depth += (*at == '(') - (*at == ')');
    if (depth == 0) return at;
  }
  return NULL;
}

static const char *check_name(const char *name) {
  char part[WORD];
  const char *colons = strstr(name, "::"), *dot = strchr(name, '.');
  if (!colons) return "its name has no namespace";
  snprintf(part, sizeof part, "%.*s", (int)(colons - name), name);
  if (!is_name(part)) return "its namespace is no name";
  snprintf(part, sizeof part, "%.*s",
           (int)(dot ? (size_t)(dot - colons) - 2 : strlen(colons) - 2), colons + 2);
  if (!is_name(part)) return "its name is none";
  return dot && !is_name(dot + 1) ? "its overload is no name" : NULL;
}

const char *parse_schema(const char *text, struct schema *schema) {
  memset(schema, 0, sizeof *schema);
  const char *open = strchr(text, '('), *close = open ? find_close(open) : NULL;
  if (!open || !close) return "it has no list of arguments";
  if ((size_t)(open - text) >= sizeof schema->name) return "its name is too long";
  snprintf(schema->name, sizeof schema->name, "%.*s", (int)(open - text), text);
  const char *wrong = check_name(schema->name);
  if (!wrong)
    wrong =
        parse_list(open + 1, close, schema->args, &schema->arg_count, MOST_ARGS, false);
  if (wrong) return wrong;
  const char *results = close + 1;
  while (isspace((unsigned char)*results)) results++;
  if (strncmp(results, "->", 2) != 0) return "it has no '->' behind its arguments";
  results += 2;
  while (isspace((unsigned char)*results)) results++;
  const char *end = results + strlen(results);
  if (*results == '(') {
    end = find_close(results++);
    if (!end || end[1]) return "its results do not end";
  } else if (!*results) {
    return "it has no results: write '-> ()' for none";
  }
  return parse_list(results, end, schema->results, &schema->result_count, MOST_RESULTS,
                    true);
}
