/* Copies and fills. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BYTES = 70001 }; /* more than one page, and odd */
static unsigned char want[BYTES], got[BYTES];

static void same(const char *what) {
  const int64_t at = first_difference(got, want, BYTES);
  if (at >= 0) {
    fail("%s: byte %lld is %d instead of %d", what, (long long)at, got[at], want[at]);
  }
}

static const struct part {
  uint64_t to, from, bytes;
} parts[] = {
    {0, 0, 1},         {1, 0, 1},         {3, 5, 7},         {64, 1, 63},
    {1, 64, 65},       {4095, 4097, 2},   {513, 1027, 4096}, {8191, 3, 30011},
    {69999, 69998, 2}, {0, 35001, 35000},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* A piece from anywhere to anywhere, there and back, with all else unchanged. */
static void round_trip(void) {
  static unsigned char data[BYTES];
  void *base = allocate(BYTES);
  fill_random(want, BYTES);
  put(base, 0, want, BYTES);
  get(got, base, 0, BYTES);
  same("a copy there and back");
  for (int i = 0; i < PARTS; i++) {
    const struct part part = parts[i];
    fill_random(data, BYTES);
    memcpy(want + part.to, data + part.from, part.bytes);
    plug_mem dst = on_device(base, part.to), src = on_host(data);
    src.offset = part.from;
    ok(rt.copy(device, NULL, &dst, &src, part.bytes), "copy");
    get(got, base, 0, BYTES);
    same("a copy from the host with offsets");
    memcpy(data, want, BYTES);
    memset(got, 0, BYTES);
    plug_mem back = on_host(got), there = on_device(base, part.to);
    back.offset = part.from;
    ok(rt.copy(device, NULL, &back, &there, part.bytes), "copy");
    memset(want, 0, BYTES);
    memcpy(want + part.from, data + part.to, part.bytes);
    same("a copy to the host with offsets");
    memcpy(want, data, BYTES);
  }
  release(base);
}

static void within(void) {
  void *a = allocate(BYTES), *b = allocate(BYTES);
  static unsigned char source[BYTES];
  fill_random(source, BYTES);
  fill_random(want, BYTES);
  put(a, 0, source, BYTES);
  put(b, 0, want, BYTES);
  for (int i = 0; i < PARTS; i++) {
    plug_mem dst = on_device(b, parts[i].to), src = on_device(a, parts[i].from);
    ok(rt.copy(device, NULL, &dst, &src, parts[i].bytes), "copy");
    memcpy(want + parts[i].to, source + parts[i].from, parts[i].bytes);
  }
  get(got, b, 0, BYTES);
  same("copies within the device");
  release(a), release(b);
}

static void overlap(void) {
  static const struct part moves[] = {
      {1, 0, 60000}, {0, 1, 60000}, {5000, 0, 65001}, {0, 5000, 65001}, {7, 7, 1000}};
  void *base = allocate(BYTES);
  fill_random(want, BYTES);
  put(base, 0, want, BYTES);
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
    plug_mem dst = on_device(base, moves[i].to), src = on_device(base, moves[i].from);
    ok(rt.copy(device, NULL, &dst, &src, moves[i].bytes), "copy");
    memmove(want + moves[i].to, want + moves[i].from, moves[i].bytes);
    get(got, base, 0, BYTES);
    same("a copy whose ranges overlap");
  }
  release(base);
}

static void empty(void) {
  void *base = allocate(16);
  plug_mem dst = on_device(base, 0), src = on_host(want);
  ok(rt.copy(device, NULL, &dst, &src, 0), "copy of 0 bytes");
  release(base);
}

static void host_to_host(void) {
  fill_random(want, BYTES);
  plug_mem dst = on_host(got), src = on_host(want);
  ok(rt.copy(device, NULL, &dst, &src, BYTES), "copy");
  same("a copy from the host to the host");
}

/* Behind work that takes its time, so that what is read late is read wrong. */
static void pageable(void) {
  static const uint64_t sizes[] = {1, 100, 5000, BYTES};
  static unsigned char source[BYTES];
  plug_stream stream = rt.stream_create ? new_stream() : NULL;
  void *base = allocate(BYTES);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const uint64_t bytes = sizes[i];
    plug_mem there = on_device(base, 0), here = on_host(source), back = on_host(got);
    fill_random(source, bytes);
    memcpy(want, source, bytes);
    if (rt.stream_create && rt.host_func) run_on(stream, sleep_a_little, NULL);
    ok(rt.copy(device, stream, &there, &here, bytes), "copy");
    memset(source, 0, bytes);
    if (rt.stream_create && rt.host_func) run_on(stream, sleep_a_little, NULL);
    memset(got, 0, bytes);
    ok(rt.copy(device, stream, &back, &there, bytes), "copy");
    expect(first_difference(got, want, bytes) < 0,
           "a copy of %llu bytes of ordinary host memory was not done with it when it "
           "returned",
           (unsigned long long)bytes);
  }
  release(base);
}

static void pinned(void) {
  void *a = NULL, *b = NULL;
  if (!rt.host_alloc) absent("no host_alloc: pinned memory is ordinary memory");
  plug_stream stream = rt.stream_create ? new_stream() : NULL;
  ok(rt.host_alloc(BYTES, &a), "host_alloc");
  ok(rt.host_alloc(BYTES, &b), "host_alloc");
  void *base = allocate(BYTES);
  fill_random(want, BYTES);
  memcpy(a, want, BYTES);
  plug_mem from = on_host(a), there = on_device(base, 0), to = on_host(b);
  from.flags = to.flags = PLUG_MEM_PINNED;
  ok(rt.copy(device, stream, &there, &from, BYTES), "copy");
  ok(rt.copy(device, stream, &to, &there, BYTES), "copy");
  ok(rt.device_sync(device), "device_sync");
  memcpy(got, b, BYTES);
  same("copies of pinned memory");
  release(base);
  ok(rt.host_free(a), "host_free");
  ok(rt.host_free(b), "host_free");
}

static void peer(void) {
  const int32_t other = need_other_device();
  int32_t can_copy = 0;
  if (!rt.peer_access) absent("no peer_access: the host goes through its own memory");
  ok(rt.peer_access(device, other, &can_copy), "peer_access");
  if (!can_copy) absent("the devices cannot: the host goes through its own memory");
  void *here = allocate(BYTES), *there = allocate_on(other, BYTES),
       *back = allocate(BYTES);
  fill_random(want, BYTES);
  put(here, 0, want, BYTES);
  plug_mem a = on_device(here, 0), b = {there, 0, other, 0}, c = on_device(back, 0);
  ok(rt.copy(device, NULL, &b, &a, BYTES), "copy");
  ok(rt.device_sync(device), "device_sync");
  ok(rt.copy(other, NULL, &c, &b, BYTES), "copy");
  ok(rt.device_sync(other), "device_sync");
  get(got, back, 0, BYTES);
  same("copies between two devices");
}

static void fill(void) {
  if (!rt.mem_fill) absent("no mem_fill: the host fills through copy");
  void *base = allocate(BYTES);
  fill_random(want, BYTES);
  put(base, 0, want, BYTES);
  for (int i = 0; i < PARTS; i++) {
    plug_mem dst = on_device(base, parts[i].to);
    ok(rt.mem_fill(device, NULL, &dst, (uint8_t)(i + 200), parts[i].bytes), "mem_fill");
    memset(want + parts[i].to, i + 200, parts[i].bytes);
  }
  get(got, base, 0, BYTES);
  same("fills");
  release(base);
}

const struct check copy_checks[] = {
    {.name = "copy-host",
     .promise =
         "copies to the device and back preserve every byte, at odd sizes and offsets",
     .run = round_trip},
    {.name = "copy-device", .promise = "copies within the device", .run = within},
    {.name = "copy-overlap",
     .promise = "the ranges of a copy may overlap, in either direction",
     .run = overlap},
    {.name = "copy-zero", .promise = "a copy of zero bytes succeeds", .run = empty},
    {.name = "copy-host-to-host",
     .promise = "both ends of a copy may be host memory",
     .run = host_to_host},
    {.name = "copy-pageable",
     .promise = "pageable host memory may be changed when copy returns",
     .run = pageable},
    {.name = "copy-pinned", .promise = "copies of pinned memory", .run = pinned},
    {.name = "copy-peer",
     .promise = "copies between two devices with peer access",
     .run = peer},
    {.name = "mem-fill",
     .promise = "a fill writes its range and nothing else",
     .run = fill},
    {0},
};
