/* plug.h - the torchplug plugin ABI, major version 0.
**
** A plugin is a shared library that exports one function, torchplug_plugin_v0(),
** and imports nothing from PyTorch. It fills in function tables; the host
** (a library built once per PyTorch release) turns them into a device.
**
**   level        table          needed for          if absent
**   L0 runtime   plug_runtime   a device at all     load fails
**   L1 kernels   plug_kernels   speed               the CPU does every operator
**   L4 profiler  plug_profiler  true times          the host times by events
**
** Six functions make a device on which every operator is correct: device_count,
** device_info, device_sync, mem_alloc, mem_free and copy. Everything else makes
** it faster, never more correct. examples/hello/hello.c is a complete device.
**
** Rules, stated once and true of every declaration below.
**
**  1. Growth.  Tables and parameter structs begin with `size`, set by their
**     owner to sizeof; members are only ever appended. A reader takes what
**     lies beyond `size` to be zero, and a writer of an output struct writes
**     nothing beyond it. plug_mem, plug_tensor, plug_value and plug_rng have
**     no `size` and never change within a major version. Major 0 is the
**     exception: it is still settling and may change between releases.
**  2. Absence. An optional function is a NULL pointer. "All or none" groups
**     are marked; the rest are mandatory.
**  3. Status.  A function that can fail returns plug_status. Before returning
**     an error (>= PLUG_INVALID) the plugin calls host->set_error() with one
**     sentence. Output parameters are written only on PLUG_OK. For an unknown
**     tag, flag or kind the plugin returns PLUG_UNSUPPORTED. All text is
**     UTF-8.
**  4. Threads. The host may call any function from any thread, concurrently,
**     except that it never destroys an object another call is using. Set
**     PLUG_SERIALIZE to have the host take one lock around every call.
**  5. Devices. There is no current device or current stream across this
**     interface; both are always passed. PLUG_HOST means host memory.
**  6. Borrowed.  Pointers passed to a plugin are valid until it returns.
**     Memory named in an enqueued operation stays valid until the stream has
**     executed it. Pointers returned by a plugin live until process exit.
**  7. Order.  Work given to one stream runs in the order given. Streams are
**     otherwise independent, the default stream included. What names device
**     memory and pinned memory only is not waited for. A plugin without the
**     stream group finishes all work before it returns.
**  8. Process. No C++ exception, longjmp, exit or write to stdout may leave a
**     plugin. The library is never unloaded. After fork() the child makes no
**     calls.
**  9. Initialisation.  The entry point and device_count start no thread and open
**     no context; device_info, which is not called to count, and device_open may.
*/
#ifndef TORCHPLUG_PLUG_H
#define TORCHPLUG_PLUG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUG_ABI_MAJOR 0 /* a new major is a new entry point, torchplug_plugin_v1 */
#define PLUG_ABI_MINOR 1 /* counts appended members; used only in messages */

/* Whether a table as its owner knew it reaches up to and including `member`. */
#define PLUG_HAS(p, member)                                                          \
  ((size_t)((const char *)&(p)->member - (const char *)(p)) + sizeof((p)->member) <= \
   (p)->size)

#if defined(_WIN32)
#define PLUG_EXPORT __declspec(dllexport)
#else
#define PLUG_EXPORT __attribute__((visibility("default")))
#endif

/* ------------------------------- values --------------------------------- */

typedef int32_t plug_status; /* a PLUG_* below; int32 so that its size is fixed */
enum {
  PLUG_OK = 0,
  PLUG_NOT_READY = 1,   /* a query: the work is still running */
  PLUG_UNSUPPORTED = 2, /* nothing was done; the host will do it another way */
  PLUG_INVALID = 16,    /* the host broke the contract */
  PLUG_NO_MEMORY = 17,  /* the host frees its caches and tries once more */
  PLUG_TIMEOUT = 18,
  PLUG_LOST = 19, /* the device is unusable until the process ends */
  PLUG_INTERNAL = 20
};

/* An element type is a DLPack type: code, bits, lanes. Its size in bytes is
** (bits * lanes + 7) / 8, so a new type needs no new header. Codes from 128 up
** are torchplug's own, for what DLPack has no code for. */
typedef uint32_t plug_dtype;
#define PLUG_DTYPE(code, bits) \
  ((uint32_t)(code) | (uint32_t)(bits) << 8 | (uint32_t)1 << 16)
#define PLUG_DTYPE_BYTES(dtype) (((((dtype) >> 8) & 0xff) * ((dtype) >> 16) + 7) / 8)
#define PLUG_I8 PLUG_DTYPE(0, 8)
#define PLUG_I16 PLUG_DTYPE(0, 16)
#define PLUG_I32 PLUG_DTYPE(0, 32)
#define PLUG_I64 PLUG_DTYPE(0, 64)
#define PLUG_U8 PLUG_DTYPE(1, 8)
#define PLUG_U16 PLUG_DTYPE(1, 16)
#define PLUG_U32 PLUG_DTYPE(1, 32)
#define PLUG_U64 PLUG_DTYPE(1, 64)
#define PLUG_F16 PLUG_DTYPE(2, 16)
#define PLUG_F32 PLUG_DTYPE(2, 32)
#define PLUG_F64 PLUG_DTYPE(2, 64)
#define PLUG_BF16 PLUG_DTYPE(4, 16)
#define PLUG_C32 PLUG_DTYPE(5, 32)   /* two float16 */
#define PLUG_C64 PLUG_DTYPE(5, 64)   /* two float32 */
#define PLUG_C128 PLUG_DTYPE(5, 128) /* two float64 */
#define PLUG_BOOL PLUG_DTYPE(6, 8)
#define PLUG_F8_E4M3FN PLUG_DTYPE(10, 8)
#define PLUG_F8_E4M3FNUZ PLUG_DTYPE(11, 8)
#define PLUG_F8_E5M2 PLUG_DTYPE(12, 8)
#define PLUG_F8_E5M2FNUZ PLUG_DTYPE(13, 8)
#define PLUG_F8_E8M0FNU PLUG_DTYPE(14, 8)
#define PLUG_F4_E2M1FN_X2 (PLUG_DTYPE(17, 4) + ((uint32_t)1 << 16))
#define PLUG_QI8 PLUG_DTYPE(128, 8)
#define PLUG_QI32 PLUG_DTYPE(128, 32)
#define PLUG_QU8 PLUG_DTYPE(129, 8)

typedef struct plug_stream_s *plug_stream; /* NULL is the default stream */
typedef struct plug_event_s *plug_event;
typedef struct plug_capture_s *plug_capture;

#define PLUG_HOST (-1)

typedef struct plug_mem { /* a place in memory */
  void *base;             /* exactly what mem_alloc returned, or a host address */
  uint64_t offset;        /* bytes past base */
  int32_t device;         /* device index, or PLUG_HOST */
  uint32_t flags;
} plug_mem;
enum {
  PLUG_MEM_PINNED = 1, /* host memory that host_alloc returned: it stays valid and
                       ** unchanged until the stream has executed the operation.
                       ** Other host memory is valid only until the call returns */
  PLUG_MEM_FOREIGN = 2 /* device memory that mem_alloc did not return */
};

typedef struct plug_tensor {
  plug_mem mem; /* of element [0, 0, ...]; base is NULL if there are none */
  plug_dtype dtype;
  int32_t ndim; /* -1: an absent optional tensor */
  const int64_t *sizes;
  const int64_t *strides; /* in elements; may be 0 or negative */
  uint32_t flags;
  uint32_t layout;   /* 0: strided. For others: PLUG_UNSUPPORTED */
  const void *extra; /* NULL for layout 0 */
} plug_tensor;
enum {
  PLUG_TENSOR_CONJ = 1,   /* holds the complex conjugate of the value meant */
  PLUG_TENSOR_NEG = 2,    /* holds the negative of the value meant */
  PLUG_TENSOR_WRITTEN = 4 /* the operator writes it: a result, or an argument */
};

typedef struct plug_value { /* one operator argument or result */
  int32_t tag;
  uint32_t count; /* items behind a pointer; bytes of a string */
  union {
    int64_t i;
    uint64_t u;
    double f;
    const char *str;
    const int64_t *ints;
    const double *floats;
    const uint8_t *bools;
    const plug_tensor *tensors;
    const struct plug_value *values;
  } as;
} plug_value;
enum {
  PLUG_NONE = 0,       /* an optional argument that was not given */
  PLUG_VALUE_BOOL = 1, /* as.i: 0 or 1 */
  PLUG_VALUE_INT = 2,
  PLUG_VALUE_UINT = 3, /* as.u; a Scalar above INT64_MAX */
  PLUG_VALUE_FLOAT = 4,
  PLUG_VALUE_COMPLEX = 5, /* as.floats[0..1] */
  PLUG_VALUE_STR = 6,
  PLUG_VALUE_DTYPE = 7,      /* as.u is a plug_dtype */
  PLUG_VALUE_LAYOUT = 8,     /* as.i: 0 strided */
  PLUG_VALUE_FORMAT = 9,     /* as.i: 0 contiguous, 1 preserve, 2 channels_last,
                             ** 3 channels_last_3d */
  PLUG_VALUE_DEVICE = 10,    /* as.i: device index, or PLUG_HOST */
  PLUG_VALUE_GENERATOR = 11, /* no payload: host->rng draws from it */
  PLUG_VALUE_TENSOR = 12,    /* as.tensors[0] */
  PLUG_VALUE_INTS = 13,
  PLUG_VALUE_FLOATS = 14,
  PLUG_VALUE_BOOLS = 15,
  PLUG_VALUE_TENSORS = 16, /* an absent one has ndim -1 */
  PLUG_VALUE_LIST = 17     /* any other list: as.values */
};

/* --------------------- what the host provides to plugins ------------------ */

typedef struct plug_call plug_call;

typedef struct plug_rng { /* random numbers reserved for one call */
  uint64_t seed;
  uint64_t offset;          /* of the first draw; a multiple of 4 */
  const uint64_t *location; /* NULL, or, for a call that is captured, a device
                            ** address of two numbers that the host sets before
                            ** every replay: the seed, and what to add to offset */
} plug_rng;

/* Every function takes the host first: it tells the host which plugin asks.
** scratch, output and rng are called from inside a kernel, on its thread, and
** may call back into mem_alloc, mem_free and the sync functions. The lock of
** PLUG_SERIALIZE is recursive, so this cannot deadlock. */
typedef struct plug_host {
  uint32_t size;
  uint32_t abi_minor;

  /* Why the function about to return failed. Copied; calling thread only. */
  void (*set_error)(const struct plug_host *host, const char *message);

  /* level 0 debug, 1 info, 2 warning, 3 error. Any thread. */
  void (*log)(const struct plug_host *host, int32_t level, const char *message);

  /* A user setting, or NULL. Keys begin with the plugin's name: "sim.memory" is
  ** the environment variable TORCHPLUG_SIM_MEMORY. */
  const char *(*option)(const struct plug_host *host, const char *key);

  /* Device memory for the duration of one call. The host reclaims it when the
  ** stream has executed the call. */
  plug_status (*scratch)(const struct plug_host *host, const plug_call *call,
                         uint64_t bytes, plug_mem *mem);

  /* Allocates tensor result `index` of a kernel that said PLUG_SHAPES_OUTPUT;
  ** contiguous. The new tensor is call->results[index].as.tensors[0]. */
  plug_status (*output)(const struct plug_host *host, const plug_call *call,
                        uint32_t index, plug_dtype dtype, int32_t ndim,
                        const int64_t *sizes);

  /* Reserves `draws` 32-bit random numbers for this call. */
  plug_status (*rng)(const struct plug_host *host, const plug_call *call, uint64_t draws,
                     plug_rng *rng);

  /* An operation that was enqueued earlier has failed. From any thread, before
  ** a sync of the stream returns. `sequence` is that of the plug_call, 0 if it
  ** was none. The host raises `message` at the next synchronisation, with the
  ** operator's name; PLUG_LOST is permanent. */
  void (*report)(const struct plug_host *host, int32_t device, plug_stream stream,
                 uint64_t sequence, plug_status status, const char *message);
} plug_host;

/* ------------------------------ L0 runtime ------------------------------- */

typedef struct plug_device_info { /* filled by the plugin up to `size` */
  uint32_t size;
  uint32_t flags;
  const char *name; /* "Acme A1" */
  uint64_t total_bytes;
  uint64_t alignment;       /* of every mem_alloc; a power of two */
  const plug_dtype *dtypes; /* types that kernels take and give: a call with
                            ** another, as argument or result, goes to the CPU */
  uint32_t dtype_count;     /* 0: no kernel is ever called */
  uint32_t processor_count; /* 0: unknown, as for all below */
  int32_t capability_major;
  int32_t capability_minor;
  const char *bus_id; /* "0000:65:00.0", or NULL */
  uint8_t uuid[16];
  int32_t priority_high; /* stream priorities run from high (a smaller */
  int32_t priority_low;  /* number, 0 or less) to low */
  uint64_t map_bytes;    /* the unit of mem_map; 0 without it */
} plug_device_info;
enum {
  PLUG_ADDRESSABLE = 1, /* base + offset may be formed as a pointer. Without
                        ** it the host reserves addresses for PyTorch's own
                        ** pointer arithmetic and always passes base, offset */
  PLUG_INTEGRATED = 2   /* shares its memory with the host's processor */
};

typedef struct plug_runtime {
  uint32_t size;
  uint32_t reserved;

  /* ---- Mandatory: the six. ---- */
  plug_status (*device_count)(int32_t *count); /* no device is OK and 0 */
  plug_status (*device_info)(int32_t device, plug_device_info *info);
  plug_status (*device_sync)(int32_t device);
  plug_status (*mem_alloc)(int32_t device, uint64_t bytes, void **base);
  plug_status (*mem_free)(int32_t device, void *base); /* host has synced */

  /* `device` owns the stream; src and dst may be on any device or the host.
  ** The ranges may overlap. Host memory that is not PLUG_MEM_PINNED has been
  ** read or written when copy returns. */
  plug_status (*copy)(int32_t device, plug_stream stream, const plug_mem *dst,
                      const plug_mem *src, uint64_t bytes);

  /* ---- Optional, each alone. ---- */

  /* Before any other call that names the device, device_info excepted.
  ** Absent: nothing to open. */
  plug_status (*device_open)(int32_t device);

  /* Once, at process exit, after which nothing is called. Absent: skipped. */
  plug_status (*shutdown)(void);

  /* ---- Streams and events: all or none. Absent: synchronous. ----
  ** An event may be recorded again; a wait is for the latest record made
  ** before it. A never recorded event is ready. event_record is for an event and
  ** a stream of one device; event_wait names the devices of both.
  ** stream_destroy and event_destroy do not wait. */
  plug_status (*stream_create)(int32_t device, int32_t priority, plug_stream *stream);
  plug_status (*stream_destroy)(int32_t device, plug_stream stream);
  plug_status (*stream_query)(int32_t device, plug_stream stream);
  plug_status (*stream_sync)(int32_t device, plug_stream stream);
  plug_status (*event_create)(int32_t device, uint32_t flags, plug_event *event);
  plug_status (*event_destroy)(int32_t device, plug_event event);
  plug_status (*event_record)(int32_t device, plug_event event, plug_stream stream);
  plug_status (*event_wait)(int32_t event_device, plug_event event, int32_t stream_device,
                            plug_stream stream);
  plug_status (*event_query)(int32_t device, plug_event event);
  plug_status (*event_sync)(int32_t device, plug_event event);

  /* ---- Optional, each alone. ---- */

  /* Nanoseconds between two ready events of the device made with
  ** PLUG_EVENT_TIMING; PLUG_INVALID if they are not.
  ** Absent: Event.elapsed_time is an error. */
  plug_status (*event_elapsed)(int32_t device, plug_event start, plug_event end,
                               int64_t *ns);

  /* Absent: the host counts what it has allocated itself. */
  plug_status (*mem_info)(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes);

  /* Memory of the device. Absent: the CPU does it. */
  plug_status (*mem_fill)(int32_t device, plug_stream stream, const plug_mem *dst,
                          uint8_t byte, uint64_t bytes);

  /* Both tensors on the device; one dtype and shape, any strides, no overlap
  ** between dst and src, flags equal. Absent or unsupported: the CPU does it. */
  plug_status (*copy_strided)(int32_t device, plug_stream stream, const plug_tensor *dst,
                              const plug_tensor *src);

  /* Runs fn(arg, status) in stream order, once per execution (replay included);
  ** status tells whether the work before it succeeded. release(arg) is called
  ** exactly once, when fn will not run again, and before a sync of the stream
  ** returns; not at all if host_func itself fails. Neither calls a plugin
  ** function, and one that waits must not block another stream.
  ** Absent: the host synchronises the stream around borrowed operators. */
  plug_status (*host_func)(int32_t device, plug_stream stream,
                           void (*fn)(void *arg, plug_status status),
                           void (*release)(void *arg), void *arg);

  /* Whether `device` copies to and from `peer` directly. Absent: it does not,
  ** and the host copies through host memory. */
  plug_status (*peer_access)(int32_t device, int32_t peer, int32_t *can_copy);

  /* An address through which the host may use the allocation `base` while the
  ** stream order allows it: inside host_func, or after a sync. Given this,
  ** operators without a kernel run in place on the CPU, with no copies. May
  ** differ from base, so that base itself need not be accessible to the host.
  ** PLUG_UNSUPPORTED if the host cannot use this allocation: operators on it use
  ** copies. The host also asks whether `base` is memory of the device:
  ** PLUG_INVALID if not. */
  plug_status (*host_view)(int32_t device, void *base, void **view);

  /* ---- Pinned host memory: both or neither. Absent: pageable memory. ---- */
  plug_status (*host_alloc)(uint64_t bytes, void **base);
  plug_status (*host_free)(void *base);

  /* ---- Capturing a stream and replaying it: all or none. ----
  ** What is enqueued on a capturing stream, host functions included, is recorded
  ** and executed by each replay; host memory that is not pinned is read at once.
  ** A stream joins a capture when it waits for an event recorded in it, and has
  ** been waited for by events when the capture ends. Waiting for a capturing
  ** stream, or, as the mode says, for its device, returns PLUG_INVALID and
  ** invalidates the capture: capture_end then fails and ends it. Allocation works
  ** meanwhile, and so do queries of other events. Replays of one capture run one
  ** after the other, and the host has waited for them when it destroys it.
  ** Absent: the host records the calls and repeats them. */
  plug_status (*capture_begin)(int32_t device, plug_stream stream, int32_t mode);
  plug_status (*capture_end)(int32_t device, plug_stream stream, plug_capture *capture);
  plug_status (*capture_replay)(int32_t device, plug_capture capture, plug_stream stream);
  plug_status (*capture_destroy)(int32_t device, plug_capture capture);

  /* ---- Sharing with another process: all or none. ----
  ** A handle is `*bytes` bytes, at most `capacity`, and a file descriptor that
  ** the host passes on and closes (-1: none). An import takes a handle of the
  ** same device in another process and leaves the descriptor open. The host
  ** keeps `base` allocated until no process has it imported. What an import
  ** returned it names with PLUG_MEM_FOREIGN, asks host_view for, and releases with
  ** ipc_close or event_destroy. Absent: what is sent to another process is copied. */
  plug_status (*ipc_export)(int32_t device, void *base, void *handle, uint64_t capacity,
                            uint64_t *bytes, int32_t *fd);
  plug_status (*ipc_import)(int32_t device, const void *handle, uint64_t bytes,
                            int32_t fd, void **base);
  plug_status (*ipc_close)(int32_t device, void *base);
  plug_status (*ipc_export_event)(int32_t device, plug_event event, void *handle,
                                  uint64_t capacity, uint64_t *bytes, int32_t *fd);
  plug_status (*ipc_import_event)(int32_t device, const void *handle, uint64_t bytes,
                                  int32_t fd, plug_event *event);

  /* ---- Optional, each alone. ---- */

  /* What the vendor's own libraries call the stream. Absent: the plug_stream
  ** itself. */
  plug_status (*stream_native)(int32_t device, plug_stream stream, void **native);

  /* A handle for a stream that the vendor's own libraries made: valid as long as
  ** the stream is, the same each time, and never given to stream_destroy.
  ** Absent: the host uses `native` as a plug_stream. */
  plug_status (*stream_import)(int32_t device, void *native, plug_stream *stream);

  /* ---- Memory that grows in place: all or none. ----
  ** mem_reserve reserves addresses; mem_map maps memory into a part of them and
  ** mem_unmap unmaps it, both in multiples of map_bytes of the device's info. What
  ** is mapped is used like what mem_alloc returned, under the same base, host_view
  ** and ipc_export included. The host has synced before it unmaps, and unmaps all
  ** before it releases the addresses.
  ** Absent: the host calls mem_alloc for each segment. */
  plug_status (*mem_reserve)(int32_t device, uint64_t bytes, void **base);
  plug_status (*mem_unreserve)(int32_t device, void *base);
  plug_status (*mem_map)(int32_t device, void *base, uint64_t offset, uint64_t bytes);
  plug_status (*mem_unmap)(int32_t device, void *base, uint64_t offset, uint64_t bytes);
} plug_runtime;
/* Flags of event_create. */
enum {
  PLUG_EVENT_TIMING = 1, /* for event_elapsed */
  PLUG_EVENT_SHARED = 2  /* for ipc_export_event */
};
/* Whose waiting for the device a capture forbids. */
enum {
  PLUG_CAPTURE_GLOBAL = 0, /* every thread's */
  PLUG_CAPTURE_THREAD = 1, /* that of the thread that began it */
  PLUG_CAPTURE_RELAXED = 2 /* no thread's */
};

/* ------------------------------ L1 kernels ------------------------------- */

struct plug_call {
  uint32_t size;
  int32_t device;
  plug_stream stream;
  const void *user;       /* from the plug_kernel */
  const plug_value *args; /* in the order of the kernel's schema */
  plug_value *results;    /* one per return of the schema. A tensor result is
                          ** PLUG_VALUE_TENSOR, allocated by the host unless
                          ** PLUG_SHAPES_OUTPUT; any other the kernel fills */
  uint32_t arg_count;
  uint32_t result_count;
  uint64_t flags;    /* what the user asked of the whole process; a kernel may
                     ** ignore a bit it does not know */
  uint64_t sequence; /* number of this operator call, for host->report */
  void *host_private;
  const char *name; /* of the operator as it was called: "aten::add.Tensor" */
};
enum {
  PLUG_CALL_DETERMINISTIC = 1, /* torch.use_deterministic_algorithms */
  PLUG_CALL_FAST_F32 = 2       /* float32 matmul precision below "highest" */
};

/* Enqueues one operator on call->stream. PLUG_UNSUPPORTED sends this call to
** the CPU and must be returned before anything is enqueued or written. */
typedef plug_status (*plug_kernel_fn)(const plug_call *call);

typedef struct plug_kernel {
  const char *schema; /* a functional operator as PyTorch prints it:
                      ** "aten::relu(Tensor self) -> Tensor". The host also
                      ** uses the kernel for its in-place and out forms. An
                      ** in-place operator only where there is no functional
                      ** one, as "aten::normal_", or where it returns nothing */
  plug_kernel_fn fn;
  const void *user;
  uint64_t accepts; /* 0: contiguous inputs without conj or neg bit; for an
                    ** operator tagged pointwise also of one shape and dtype;
                    ** outputs contiguous and apart from every input */
  uint64_t writes;  /* bit i: argument i is written though the schema does not
                    ** say so, as native_batch_norm does its running statistics */
} plug_kernel;
enum {
  PLUG_ACCEPTS_STRIDED = 1,      /* inputs and outputs of any strides */
  PLUG_ACCEPTS_DENSE = 2,        /* of any permutation without gaps (channels_last);
                                 ** pointwise: all of the same one */
  PLUG_ACCEPTS_BROADCAST = 4,    /* pointwise inputs may need expanding */
  PLUG_ACCEPTS_MIXED = 8,        /* pointwise inputs may differ in dtype */
  PLUG_ACCEPTS_ALIAS = 16,       /* an output may be exactly an input */
  PLUG_ACCEPTS_HOST_SCALAR = 32, /* a 0-d input may live in host memory */
  PLUG_ACCEPTS_LAZY_BITS = 64,   /* PLUG_TENSOR_CONJ and PLUG_TENSOR_NEG */
  PLUG_SHAPES_OUTPUT = 128       /* the kernel calls host->output itself */
};

typedef struct plug_kernels {
  uint32_t size;
  uint32_t kernel_size; /* sizeof(plug_kernel) in the plugin's header */
  uint32_t count;
  uint32_t reserved;
  const plug_kernel *list;
} plug_kernels;

/* ------------------------------ L4 profiler ------------------------------ */

typedef struct plug_record { /* one piece of work that a device has done */
  uint32_t size;
  int32_t kind; /* PLUG_RECORD_* */
  int32_t device;
  int32_t source; /* of a copy, as target: a device, or PLUG_HOST */
  int32_t target;
  uint32_t reserved;
  plug_stream stream;
  uint64_t label; /* what the work was enqueued under; 0: nothing */
  int64_t start;  /* nanoseconds on the clock of the device */
  int64_t end;
  uint64_t bytes;   /* copied or filled */
  const char *name; /* of the kernel; NULL: the host has a name for it */
} plug_record;
enum {
  PLUG_RECORD_KERNEL = 1,
  PLUG_RECORD_COPY = 2,
  PLUG_RECORD_FILL = 3,
  PLUG_RECORD_HOST = 4, /* a function of the host's, from host_func */
  PLUG_RECORD_WAIT = 5  /* for an event */
};

/* All functions are mandatory. Work is recorded that is enqueued between start
** and stop; no device is opened for it. */
typedef struct plug_profiler {
  uint32_t size;
  uint32_t reserved;
  plug_status (*start)(void);
  plug_status (*stop)(void);

  /* Now, on the clock that the records of the device have their times from. */
  plug_status (*clock)(int32_t device, int64_t *ns);

  /* What the calling thread enqueues on the stream from now on, until it says
  ** otherwise, is recorded under `label`; 0 is nothing. */
  plug_status (*label)(int32_t device, plug_stream stream, uint64_t label);

  /* Gives the host each record of work that has ended, once; after stop too.
  ** `lost`: how many records were dropped. The host calls it every few thousand
  ** launches. */
  plug_status (*drain)(int32_t device,
                       void (*take)(void *context, const plug_record *record),
                       void *context, uint64_t *lost);
} plug_profiler;

/* ------------------------------ entry point ------------------------------ */

typedef struct plug_module {
  uint32_t size;
  uint32_t abi_minor;  /* PLUG_ABI_MINOR of the plugin's header */
  const char *name;    /* torch device type: [a-z][a-z0-9_]* */
  const char *version; /* the plugin's own */
  uint64_t flags;
  const plug_runtime *runtime;
  const plug_kernels *kernels;

  /* A table for an interface not in this header, by name, or NULL. Names
  ** begin with the owner: "acme.sparse.1". Absent: there is none. */
  const void *(*extension)(const char *name);

  const plug_profiler *profiler; /* or NULL */
} plug_module;
enum { PLUG_SERIALIZE = 1 };

/* The one exported symbol. Called once, before any other function. */
PLUG_EXPORT plug_status torchplug_plugin_v0(const plug_host *host,
                                            const plug_module **module);

#ifdef __cplusplus
}
#endif
#endif /* TORCHPLUG_PLUG_H */
