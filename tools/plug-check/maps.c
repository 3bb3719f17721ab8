/* A host view for a while, and host memory that others have pinned. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BYTES = 10000, FIRST = 1000, MIDDLE = 3001, SECOND = 6000 };

static void *map(const plug_mem *mem, uint64_t bytes, uint32_t flags) {
  void *view = NULL;
  const plug_status status = rt.host_map(device, mem, bytes, flags, &view);
  well_formed(status, "host_map");
  if (status == PLUG_UNSUPPORTED)
    absent("host_map declines: operators on the CPU work on copies");
  ok(status, "host_map");
  expect(view != NULL, "host_map returned NULL");
  return view;
}

static void maps(void) {
  static unsigned char want[BYTES], got[BYTES], written[MIDDLE];
  if (!rt.host_map) absent("no host_map: operators on the CPU work on copies");
  void *base = allocate(BYTES);
  fill_random(want, BYTES);
  put(base, 0, want, BYTES);
  const plug_mem first = on_device(base, FIRST), second = on_device(base, SECOND);

  const unsigned char *seen = map(&first, MIDDLE, PLUG_MAP_READ);
  expect(first_difference(seen, want + FIRST, MIDDLE) < 0,
         "what host_map gives does not show what was copied");
  ok(rt.host_unmap(device, &first, MIDDLE, (void *)(uintptr_t)seen), "host_unmap");

  doing("two ranges that are mapped at once");
  unsigned char *both = map(&first, MIDDLE, PLUG_MAP_READ | PLUG_MAP_WRITE);
  unsigned char *only = map(&second, MIDDLE, PLUG_MAP_WRITE);
  fill_random(written, MIDDLE);
  memcpy(only, written, MIDDLE);
  both[7] = want[FIRST + 7] ^= 0xff;
  memcpy(want + SECOND, written, MIDDLE);
  ok(rt.host_unmap(device, &first, MIDDLE, both), "host_unmap");
  ok(rt.host_unmap(device, &second, MIDDLE, only), "host_unmap");
  get(got, base, 0, BYTES);
  const int64_t at = first_difference(got, want, BYTES);
  expect(at < 0, "after host_unmap, byte %lld is not what the host or a copy wrote there",
         (long long)at);
  release(base);
}

static void pinned(void) {
  if (!rt.host_pinned)
    absent("no host_pinned: memory that others pinned is taken for pageable");
  unsigned char *ordinary = calloc(1, BYTES);
  const int32_t untouched = 0x5c5c5c5c;
  int32_t is_pinned = untouched;
  ok(rt.host_pinned(ordinary, &is_pinned), "host_pinned");
  expect(is_pinned != untouched, "host_pinned returned PLUG_OK but wrote no answer");
  expect(is_pinned == 0, "host_pinned says that memory of calloc is pinned");
  free(ordinary);
}

const struct check map_checks[] = {
    {.name = "host-map",
     .promise = "a mapped range and copies see the same bytes, and no others change",
     .run = maps},
    {.name = "host-pinned",
     .promise = "host_pinned answers, and not for ordinary memory",
     .run = pinned},
    {0},
};
