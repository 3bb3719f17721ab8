/* Memory of the device and pinned memory of the host. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BLOCKS = 48 };

static uint64_t size_of_block(int i) {
  return (uint64_t)1 << (i % 12) | (uint64_t)(i * 7);
}

static void alignment(void) {
  if (!(info.flags & PLUG_ADDRESSABLE)) {
    absent("not PLUG_ADDRESSABLE: the host reserves addresses of its own");
  }
  expect(info.alignment != 0, "device_info has an alignment of 0");
  for (int i = 0; i < BLOCKS; i++) {
    const uintptr_t base = (uintptr_t)allocate(size_of_block(i));
    expect(base % info.alignment == 0,
           "mem_alloc of %llu bytes returned %#llx, which is not a multiple of %llu",
           (unsigned long long)size_of_block(i), (unsigned long long)base,
           (unsigned long long)info.alignment);
  }
}

static void distinct(void) {
  void *base[BLOCKS];
  unsigned char want[8192], got[8192];
  for (int i = 0; i < BLOCKS; i++) {
    base[i] = allocate(size_of_block(i));
    for (int j = 0; j < i; j++) {
      const uint64_t a = (uintptr_t)base[i], b = (uintptr_t)base[j];
      expect(a != b, "mem_alloc returned %#llx twice", (unsigned long long)a);
      if (!(info.flags & PLUG_ADDRESSABLE)) continue;
      expect(a + size_of_block(i) <= b || b + size_of_block(j) <= a,
             "mem_alloc returned %llu bytes at %#llx, which overlap the %llu at %#llx",
             (unsigned long long)size_of_block(i), (unsigned long long)a,
             (unsigned long long)size_of_block(j), (unsigned long long)b);
    }
  }
  for (int i = 0; i < BLOCKS; i++) {
    memset(want, i + 1, sizeof want);
    put(base[i], 0, want, size_of_block(i));
  }
  for (int i = 0; i < BLOCKS; i++) {
    memset(want, i + 1, sizeof want);
    get(got, base[i], 0, size_of_block(i));
    expect(first_difference(got, want, size_of_block(i)) < 0,
           "allocation %d changed when another was written", i);
  }
  for (int i = 0; i < BLOCKS; i++) release(base[i]);
}

/* The host never asks for nothing; a plugin may give it or refuse it in order. */
static void nothing(void) {
  void *base = NULL;
  const plug_status status = rt.mem_alloc(device, 0, &base);
  well_formed(status, "mem_alloc of 0 bytes");
  if (status == PLUG_OK) release(base);
}

static void too_much(void) {
  static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 63, (uint64_t)1 << 62};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *const untouched = &info;
    void *base = untouched;
    const plug_status status = rt.mem_alloc(device, sizes[i], &base);
    well_formed(status, "mem_alloc of more than there is");
    expect(status == PLUG_NO_MEMORY, "mem_alloc of %llu bytes returned: %s",
           (unsigned long long)sizes[i], status_text(status));
    expect(base == untouched, "mem_alloc wrote its output though it failed");
  }
  release(allocate(1000)); /* and it goes on */
}

static void reuse(void) {
  const uint64_t bytes = info.total_bytes / 4;
  for (int i = 0; i < 40; i++) release(allocate(bytes));
}

static void counts(void) {
  uint64_t free_before = 0, free_now = 0, free_after = 0, total = 0;
  if (!rt.mem_info) absent("no mem_info: the host counts what it has allocated itself");
  const uint64_t bytes = info.total_bytes / 8;
  ok(rt.mem_info(device, &free_before, &total), "mem_info");
  expect(total > 0 && free_before <= total, "mem_info returns %llu of %llu bytes free",
         (unsigned long long)free_before, (unsigned long long)total);
  void *base = allocate(bytes);
  ok(rt.mem_info(device, &free_now, &total), "mem_info");
  expect(free_now + bytes <= free_before,
         "mem_info returns %llu bytes free before and %llu after an allocation of %llu",
         (unsigned long long)free_before, (unsigned long long)free_now,
         (unsigned long long)bytes);
  release(base);
  ok(rt.mem_info(device, &free_after, &total), "mem_info");
  expect(free_after >= free_now + bytes, "mem_info does not see memory that was freed");
}

static void view(void) {
  unsigned char want[1000], got[1000];
  void *seen[2], *base[2];
  if (!rt.host_view) absent("no host_view: operators on the CPU work on copies");
  fill_random(want, sizeof want);
  for (int i = 0; i < 2; i++) {
    base[i] = allocate(sizeof want);
    ok(rt.host_view(device, base[i], &seen[i]), "host_view");
    expect(seen[i] != NULL, "host_view returned NULL");
  }
  put(base[0], 0, want, sizeof want);
  memset(seen[1], 0, sizeof want);
  expect(first_difference(seen[0], want, sizeof want) < 0,
         "the host view does not show what was copied");
  memcpy(seen[1], want, sizeof want);
  get(got, base[1], 0, sizeof got);
  expect(first_difference(got, want, sizeof want) < 0,
         "a copy does not see what was written through the host view");
  for (int i = 0; i < 2; i++) release(base[i]);
}

static void pinned(void) {
  unsigned char *block[8];
  if (!rt.host_alloc) absent("no host_alloc: pinned memory is ordinary memory");
  for (int i = 0; i < 8; i++) {
    void *base = NULL;
    ok(rt.host_alloc(3000, &base), "host_alloc");
    expect(base != NULL, "host_alloc returned NULL");
    block[i] = memset(base, i, 3000);
  }
  for (int i = 0; i < 8; i++) {
    expect(block[i][0] == i && block[i][2999] == i, "host_alloc returned memory twice");
  }
  for (int i = 0; i < 8; i++) ok(rt.host_free(block[i]), "host_free");
  void *const untouched = &info;
  void *base = untouched;
  const plug_status status = rt.host_alloc((uint64_t)1 << 62, &base);
  well_formed(status, "host_alloc of more than there is");
  expect(status == PLUG_NO_MEMORY, "host_alloc of 2^62 bytes returned: %s",
         status_text(status));
  expect(base == untouched, "host_alloc wrote its output though it failed");
}

const struct check memory_checks[] = {
    {.name = "alloc-alignment",
     .promise = "every mem_alloc is aligned as device_info says",
     .run = alignment},
    {.name = "alloc-distinct",
     .promise = "allocations do not overlap, nor share bytes",
     .run = distinct},
    {.name = "alloc-zero",
     .promise = "mem_alloc of zero bytes succeeds, or fails with a message",
     .run = nothing},
    {.name = "alloc-too-much",
     .promise = "too large a request returns PLUG_NO_MEMORY with a message and leaves "
                "*base unchanged",
     .run = too_much},
    {.name = "alloc-reuse",
     .promise = "what is freed can be allocated again, many times",
     .run = reuse},
    {.name = "mem-info", .promise = "mem_info counts what is allocated", .run = counts},
    {.name = "host-view",
     .promise = "the host view and copies see the same bytes",
     .run = view},
    {.name = "host-alloc",
     .promise = "pinned memory is distinct, usable and can run out",
     .run = pinned},
    {0},
};
