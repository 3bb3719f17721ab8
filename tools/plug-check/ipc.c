/* Memory and events shared with another process. The first process exports, the second
** imports; they take turns by messages on `wire`, one of which carries the handle. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

enum { BYTES = 5000, CAPACITY = 4096 };

struct handle {
  uint64_t bytes;
  int32_t fd; /* -1: none */
  unsigned char data[CAPACITY];
};

/* What both processes know without asking. */
static unsigned char data_from_first(int i) { return (unsigned char)(i * 7 + 1); }
static unsigned char data_from_second(int i) { return (unsigned char)(i * 3 + 2); }

static void send_handle(const struct handle *handle) {
  struct iovec part = {(void *)(uintptr_t)handle, sizeof *handle};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (handle->fd >= 0) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &handle->fd, sizeof(int));
  }
  if (sendmsg(wire, &message, 0) != (ssize_t)sizeof *handle) {
    fail("sendmsg: %s", strerror(errno));
  }
}

static struct handle receive_handle(void) {
  struct handle handle;
  struct iovec part = {&handle, sizeof handle};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.room,
                           .msg_controllen = sizeof control.room};
  doing("a handle from the other process");
  if (recvmsg(wire, &message, MSG_WAITALL) != (ssize_t)sizeof handle) _exit(0);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header) memcpy(&handle.fd, CMSG_DATA(header), sizeof(int));
  return handle;
}

static void signal_other(void) {
  if (write(wire, "", 1) != 1) fail("the other process is gone");
}

static void wait_for_other(void) {
  char turn;
  doing("the other process's turn");
  if (read(wire, &turn, 1) != 1) fail("the other process is gone");
}

static void need_ipc(void) {
  if (!rt.ipc_export) absent("no sharing: tensors travel between processes as copies");
}

static void export_memory(void) {
  unsigned char bytes[BYTES], got[BYTES];
  struct handle handle = {.fd = -1};
  need_ipc();
  void *base = allocate(BYTES);
  for (int i = 0; i < BYTES; i++) bytes[i] = data_from_first(i);
  put(base, 0, bytes, BYTES);
  ok(rt.ipc_export(device, base, handle.data, CAPACITY, &handle.bytes, &handle.fd),
     "ipc_export");
  expect(handle.bytes <= CAPACITY, "ipc_export returned %llu bytes for %d",
         (unsigned long long)handle.bytes, CAPACITY);
  send_handle(&handle);
  wait_for_other();
  get(got, base, 0, BYTES);
  for (int i = 0; i < BYTES; i++) {
    expect(got[i] == data_from_second(i),
           "byte %d that the other process wrote is not what is there", i);
  }
  release(base);
  uint64_t needed = 0;
  int32_t fd = -1;
  base = allocate(BYTES);
  if (handle.bytes > 0) {
    const plug_status status = rt.ipc_export(device, base, handle.data, 0, &needed, &fd);
    well_formed(status, "ipc_export into no room");
    expect(status != PLUG_OK, "ipc_export into no room succeeded");
  }
}

static void import_memory(void) {
  unsigned char bytes[BYTES], got[BYTES];
  void *base = NULL;
  if (!rt.ipc_import) _exit(0);
  const struct handle handle = receive_handle();
  ok(rt.ipc_import(device, handle.data, handle.bytes, handle.fd, &base), "ipc_import");
  plug_mem memory = on_device(base, 0);
  memory.flags = PLUG_MEM_FOREIGN;
  get_from(got, memory, BYTES);
  for (int i = 0; i < BYTES; i++) {
    expect(got[i] == data_from_first(i), "byte %d of imported memory is wrong", i);
    bytes[i] = data_from_second(i);
  }
  put_in(memory, bytes, BYTES);
  ok(rt.ipc_close(device, base), "ipc_close");
  signal_other();
}

static void export_event(void) {
  struct handle handle = {.fd = -1};
  struct gate gate;
  need_ipc();
  need_host_func();
  plug_stream stream = new_stream();
  plug_event event = new_event(PLUG_EVENT_SHARED);
  hold(stream, &gate);
  ok(rt.event_record(device, event, stream), "event_record");
  ok(rt.ipc_export_event(device, event, handle.data, CAPACITY, &handle.bytes, &handle.fd),
     "ipc_export_event");
  send_handle(&handle);
  wait_for_other(); /* it has seen that the event is not ready */
  open_gate(&gate);
  ok(rt.stream_sync(device, stream), "stream_sync");
  wait_for_other(); /* it has waited for the event */
}

static void import_event(void) {
  plug_event event = NULL;
  if (!rt.ipc_import_event || !rt.host_func) _exit(0);
  const struct handle handle = receive_handle();
  ok(rt.ipc_import_event(device, handle.data, handle.bytes, handle.fd, &event),
     "ipc_import_event");
  const plug_status status = rt.event_query(device, event);
  expect(status == PLUG_NOT_READY, "an imported event that is not ready returned: %s",
         status_text(status));
  signal_other();
  doing("event_sync of an imported event");
  ok(rt.event_sync(device, event), "event_sync");
  ok(rt.event_destroy(device, event), "event_destroy");
  signal_other();
}

const struct check ipc_checks[] = {
    {.name = "ipc-memory",
     .promise = "two processes see the same memory",
     .run = export_memory,
     .peer = import_memory},
    {.name = "ipc-event",
     .promise = "a process waits for an event of another",
     .run = export_event,
     .peer = import_event},
    {0},
};
