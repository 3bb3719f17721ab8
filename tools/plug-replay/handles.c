/* What the handles of a trace are in this process. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"

static const char kinds[] = "mxsecpqv";
enum { KINDS = sizeof kinds - 1 };

static struct table {
  struct handle *list;
  uint64_t count;
} tables[KINDS];

/* Room for it; NULL if the number is no plausible one. */
static struct handle *slot_of(struct place place) {
  const char *kind = place.kind ? strchr(kinds, place.kind) : NULL;
  if (!kind || place.number > (uint64_t)1 << 28) return NULL;
  struct table *table = &tables[kind - kinds];
  if (place.number >= table->count) {
    const uint64_t count = 2 * place.number + 64;
    table->list = realloc(table->list, count * sizeof *table->list);
    if (!table->list) give_up("there is no memory left");
    memset(table->list + table->count, 0, (count - table->count) * sizeof *table->list);
    table->count = count;
  }
  return &table->list[place.number];
}

struct handle *find_handle(struct place place) {
  struct handle *handle = slot_of(place);
  return handle && handle->is_live ? handle : NULL;
}

struct handle *set_handle(struct place place, int32_t device, void *pointer,
                          uint64_t bytes) {
  struct handle *handle = slot_of(place);
  if (!handle)
    give_up("the trace has a name %c%llu", place.kind, (unsigned long long)place.number);
  *handle = (struct handle){pointer, device, bytes, NULL, true};
  return handle;
}

void note_reach(struct place place, uint64_t bytes) {
  struct handle *handle = slot_of(place);
  if (handle && bytes > handle->bytes) handle->bytes = bytes;
}

int32_t device_for(int64_t recorded) {
  return recorded == PLUG_HOST || options.device < 0 ? (int32_t)recorded
                                                     : (int32_t)options.device;
}

/* Memory that the plugin was only told of is allocated when it is first met. */
static struct handle *adopt_foreign(struct place place, int32_t device) {
  void *base = NULL;
  struct handle *handle = slot_of(place);
  if (!handle ||
      rt.mem_alloc(device, handle->bytes ? handle->bytes : 1, &base) != PLUG_OK)
    return NULL;
  return set_handle(place, device, base, handle->bytes);
}

bool locate(struct place place, int32_t device, plug_mem *memory) {
  struct handle *handle = find_handle(place);
  if (!handle && place.kind == 'x') handle = adopt_foreign(place, device);
  if (!handle || (place.kind != 'm' && place.kind != 'x')) return false;
  *memory = (plug_mem){handle->pointer, place.offset, handle->device, 0};
  return true;
}
