/* Memory that grows in place. */
#include <string.h>

#include "check.h"

static void grow(void) {
  enum { BYTES = 4096 };
  static unsigned char want[BYTES], got[BYTES];
  void *base = NULL;
  if (!rt.mem_reserve) {
    absent("no mem_reserve: the host asks mem_alloc for one piece after the other");
  }
  const uint64_t unit = info.map_bytes;
  doing("mem_reserve");
  ok(rt.mem_reserve(device, 8 * unit, &base), "mem_reserve");
  ok(rt.mem_map(device, base, 0, unit), "mem_map");
  ok(rt.mem_map(device, base, unit, 2 * unit), "mem_map beside what is mapped");
  fill_random(want, BYTES);
  put(base, unit - BYTES / 2, want, BYTES);
  get(got, base, unit - BYTES / 2, BYTES);
  expect(first_difference(got, want, BYTES) < 0,
         "bytes across the border of two mapped pieces did not survive");
  ok(rt.mem_map(device, base, 3 * unit, unit), "mem_map");
  get(got, base, unit - BYTES / 2, BYTES);
  expect(first_difference(got, want, BYTES) < 0, "mapping more changed what was there");
  if (rt.host_view) {
    void *view = NULL;
    ok(rt.host_view(device, base, &view), "host_view");
    expect(first_difference((char *)view + unit - BYTES / 2, want, BYTES) < 0,
           "the host view of a reservation does not show what is mapped");
  }
  ok(rt.device_sync(device), "device_sync");
  ok(rt.mem_unmap(device, base, 3 * unit, unit), "mem_unmap");
  get(got, base, unit - BYTES / 2, BYTES);
  expect(first_difference(got, want, BYTES) < 0, "unmapping a piece changed another");
  ok(rt.mem_map(device, base, 3 * unit, unit), "mem_map where something was unmapped");
  ok(rt.mem_unmap(device, base, 0, 4 * unit), "mem_unmap of several pieces");
  ok(rt.mem_unreserve(device, base), "mem_unreserve");
}

static void too_much(void) {
  void *base = NULL;
  if (!rt.mem_reserve) {
    absent("no mem_reserve: the host asks mem_alloc for one piece after the other");
  }
  const uint64_t unit = info.map_bytes;
  const uint64_t pieces = info.total_bytes / unit + 2;
  ok(rt.mem_reserve(device, pieces * unit, &base), "mem_reserve of more than there is");
  const plug_status status = rt.mem_map(device, base, 0, pieces * unit);
  well_formed(status, "mem_map of more than there is");
  expect(status == PLUG_NO_MEMORY, "mem_map of more than there is returned: %s",
         status_text(status));
  ok(rt.mem_unreserve(device, base), "mem_unreserve");
}

const struct check growth_checks[] = {
    {.name = "growth",
     .promise = "mapped pieces of a reservation are one memory",
     .run = grow},
    {.name = "growth-too-much",
     .promise = "addresses may exceed the memory; mapping too much is PLUG_NO_MEMORY",
     .run = too_much},
    {0},
};
