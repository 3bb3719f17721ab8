/* plug.h - the torchplug plugin ABI, major version 0.
**
** A plugin is a shared library that exports one function, torchplug_plugin_v0(),
** and imports nothing from PyTorch. It fills in function tables; the host
** (a library built once per PyTorch release) turns them into a device.
**
**   level        table          needed for          if absent
**   L0 runtime   plug_runtime   a device at all     only operators of its own
**   L1 kernels   plug_kernels   speed               the CPU does every operator
**   L2 compiler  plug_compiler  fewer, larger calls operators run one by one
**   L4 profiler  plug_profiler  true times          the host times by events
**
** Six functions make a device on which every operator is correct: device_count,
** device_info, device_sync, mem_alloc, mem_free and copy. Everything else makes
** it faster, never more correct. examples/hello/hello.c is a complete device.
** A plugin without a runtime brings operators of its own for CPU tensors; any
** number of those stand beside a device.
**
** Rules, stated once and true of every declaration below.
**
**  1. Growth.  Tables and parameter structs begin with `size`, set by their
**     owner to sizeof; members are only ever appended. A reader takes what
**     lies beyond `size` to be zero, and a writer of an output struct writes
**     nothing beyond it. plug_mem, plug_tensor and plug_value have no `size`
**     and never change within a major version. A plugin built against minor 2
**     of this header or later stays loadable.
**  2. Absence. An optional function is a NULL pointer. "All or none" groups
**     are marked; the rest are mandatory.
**  3. Status.  A function that can fail returns plug_status. Before returning
**     an error (>= PLUG_INVALID) the plugin calls host->set_error() with one
**     sentence; before PLUG_UNSUPPORTED it may, and the ledger shows why. Output
**     parameters are written only on PLUG_OK. For an unknown tag, flag or kind
**     the plugin returns PLUG_UNSUPPORTED. All text is UTF-8.
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
**     calls, but of kernels on CPU tensors, of a plugin without a runtime or with
**     PLUG_FORKS: there they rely on no thread and no lock of the plugin's from
**     before the fork, and host->team has new threads.
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
#define PLUG_ABI_MINOR 3 /* counts appended members; below 2: refused */

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
  PLUG_NO_MEMORY = 17,  /* an allocation is tried again, with the host's caches freed */
  PLUG_TIMEOUT = 18,
  PLUG_LOST = 19, /* the device is unusable until the process ends, and uses no
                  ** memory any more */
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
  PLUG_MEM_PINNED = 1, /* host memory that host_alloc returned, or that host_pinned
                       ** knows: it stays valid and unchanged until the stream has
                       ** executed the operation. Other host memory is valid only
                       ** until the call returns */
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

/* One operator argument or result. Numbers are as the caller gave them: a negative
** dim counts from the end, a size may be -1 where the operator allows it. */
typedef struct plug_value {
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
  PLUG_NONE = 0,             /* an optional argument that was not given */
  PLUG_VALUE_BOOL = 1,       /* as.i: 0 or 1 */
  PLUG_VALUE_INT = 2,        /* as.i */
  PLUG_VALUE_UINT = 3,       /* as.u; a Scalar above INT64_MAX */
  PLUG_VALUE_FLOAT = 4,      /* as.f */
  PLUG_VALUE_COMPLEX = 5,    /* as.floats[0..1] */
  PLUG_VALUE_STR = 6,        /* as.str; ends with a zero that count does not count */
  PLUG_VALUE_DTYPE = 7,      /* as.u is a plug_dtype */
  PLUG_VALUE_LAYOUT = 8,     /* as.i: 0 strided */
  PLUG_VALUE_FORMAT = 9,     /* as.i: 0 contiguous, 1 preserve, 2 channels_last,
                             ** 3 channels_last_3d */
  PLUG_VALUE_DEVICE = 10,    /* as.i: device index, or PLUG_HOST */
  PLUG_VALUE_GENERATOR = 11, /* no payload: host->rng draws from it */
  PLUG_VALUE_TENSOR = 12,    /* as.tensors[0] */
  PLUG_VALUE_INTS = 13,      /* as.ints */
  PLUG_VALUE_FLOATS = 14,    /* as.floats */
  PLUG_VALUE_BOOLS = 15,     /* as.bools: 0 or 1 each */
  PLUG_VALUE_TENSORS = 16,   /* as.tensors; an absent one has ndim -1 */
  PLUG_VALUE_LIST = 17,      /* any other list: as.values */
  /* Only arguments of a plug_node have these: */
  PLUG_VALUE_REF = 18,   /* as.i: the number of a value */
  PLUG_VALUE_REFS = 19,  /* as.ints: numbers of values; -1: an absent tensor */
  PLUG_VALUE_SYMBOL = 20 /* as.i: the number of a symbol */
};

/* --------------------- what the host provides to plugins ------------------ */

typedef struct plug_call plug_call;

typedef struct plug_rng { /* random numbers reserved for one call */
  uint32_t size;          /* set by the kernel, to sizeof(plug_rng) */
  uint32_t reserved;
  uint64_t seed;
  uint64_t offset;   /* of the first draw; a multiple of 4 */
  plug_mem location; /* base is NULL, or, for a call that is captured, memory of
                     ** the device with two uint64 that the host sets before every
                     ** replay: the seed, and what to add to offset */
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

  /* Memory of the call's device, or of the host, for the duration of one call.
  ** The host reclaims it when the stream has executed the call. */
  plug_status (*scratch)(const struct plug_host *host, const plug_call *call,
                         uint64_t bytes, plug_mem *mem);

  /* Shapes result `index`, which is PLUG_NONE so far: in a kernel that said
  ** PLUG_SHAPES_OUTPUT, in its `shape`, or in its `prepare`. strides NULL:
  ** contiguous. In a kernel the tensor is allocated and is
  ** call->results[index].as.tensors[0]. Of a list of tensors each call appends
  ** one, and as.tensors holds until the next; a list of numbers (PLUG_I64,
  ** PLUG_F64 or PLUG_BOOL) has one dimension and lies in host memory, for the
  ** kernel to fill. */
  plug_status (*output)(const struct plug_host *host, const plug_call *call,
                        uint32_t index, plug_dtype dtype, int32_t ndim,
                        const int64_t *sizes, const int64_t *strides);

  /* Reserves `draws` 32-bit random numbers for this call. */
  plug_status (*rng)(const struct plug_host *host, const plug_call *call, uint64_t draws,
                     plug_rng *rng);

  /* An operation that was enqueued earlier has failed. From any thread, before
  ** a sync of the stream returns. `sequence` is that of the plug_call, 0 if it
  ** was none. The host raises `message` at the next synchronisation, with the
  ** operator's name; PLUG_LOST is permanent. */
  void (*report)(const struct plug_host *host, int32_t device, plug_stream stream,
                 uint64_t sequence, plug_status status, const char *message);

  /* Runs fn(arg, index, count) for every index below count, each on a thread of
  ** its own, the calling one among them, and returns when all have. They are
  ** PyTorch's own threads, as many as torch.set_num_threads allows; inside a team
  ** count is 1. fn calls no function of the host. Any thread. */
  void (*team)(const struct plug_host *host,
               void (*fn)(void *arg, int32_t index, int32_t count), void *arg);
} plug_host;

/* ------------------------------ L0 runtime ------------------------------- */

typedef struct plug_device_info { /* filled by the plugin up to `size` */
  uint32_t size;
  uint32_t flags;
  const char *name; /* "Acme A1" */
  uint64_t total_bytes;
  uint64_t alignment;       /* of every mem_alloc's base, or, where that is no
                            ** address, of the offsets kernels want; a power of two */
  const plug_dtype *dtypes; /* types that kernels for PyTorch's operators take and
                            ** give, unless the kernel has a list of its own: a call
                            ** with another, argument or result, goes to the CPU */
  uint32_t dtype_count;     /* 0: only kernels with a list of their own are called */
  uint32_t processor_count; /* 0: unknown, as for all below */
  int32_t capability_major;
  int32_t capability_minor;
  const char *bus_id; /* "0000:65:00.0", or NULL */
  uint8_t uuid[16];
  int32_t priority_high; /* stream priorities run from high (a smaller */
  int32_t priority_low;  /* number, 0 or less) to low */
  uint64_t map_bytes;    /* the unit of mem_map; 0 without it */

  uint64_t largest_bytes; /* of one mem_alloc; 0: total_bytes */
  uint64_t cache_bytes;   /* of the last-level cache */
  uint64_t shared_bytes;  /* that one group of threads shares */
  uint32_t simd_width;    /* threads that run in step */
  int32_t dlpack_type;    /* DLDeviceType of its memory; 0: kDLExtDev */
} plug_device_info;
enum {
  PLUG_ADDRESSABLE = 1, /* base + offset may be formed as a pointer. Without
                        ** it the host reserves addresses for PyTorch's own
                        ** pointer arithmetic and always passes base, offset */
  PLUG_INTEGRATED = 2,  /* shares its memory with the host's processor */
  /* What the plugin has and this device lacks: it is treated as absent. */
  PLUG_LACKS_HOST_VIEW = 4,
  PLUG_LACKS_HOST_FUNC = 8,
  PLUG_LACKS_CAPTURE = 16
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
  ** a stream of one device; event_wait names the devices of both, and may be
  ** unsupported where they differ: the calling thread waits for the event then.
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

  /* dst = src, both on the device and of one shape: any strides, any dtypes,
  ** converted as C does (complex to real: its real part; to bool: whether it is
  ** not 0), PLUG_TENSOR_CONJ and PLUG_TENSOR_NEG of both heeded. They do not overlap.
  ** Absent or unsupported: the CPU does it. */
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

  /* ---- A host view for a while: both or neither. ----
  ** host_map gives an address through which the host may read (PLUG_MAP_READ) and
  ** write (PLUG_MAP_WRITE) the range until it gives it to host_unmap, after which
  ** the device sees what was written. The host has synced the stream that it would
  ** have used the range on, and gives the device no work meanwhile; ranges that
  ** overlap are not mapped at once.
  ** PLUG_UNSUPPORTED: the host copies. What host_unmap fails for stays mapped: the
  ** host gives it again, before it next maps or frees memory of the device. Absent:
  ** operators on memory without a host_view use copies. */
  plug_status (*host_map)(int32_t device, const plug_mem *mem, uint64_t bytes,
                          uint32_t flags, void **view);
  plug_status (*host_unmap)(int32_t device, const plug_mem *mem, uint64_t bytes,
                            void *view);

  /* ---- Optional, each alone. ---- */

  /* Whether host memory that host_alloc did not return is pinned for the devices
  ** all the same, by another library: it is named with PLUG_MEM_PINNED then.
  ** Absent: it is taken for pageable, and copies of what PyTorch did not allocate
  ** are waited for. */
  plug_status (*host_pinned)(const void *address, int32_t *is_pinned);
} plug_runtime;
/* Flags of event_create. */
enum {
  PLUG_EVENT_TIMING = 1, /* for event_elapsed */
  PLUG_EVENT_SHARED = 2  /* for ipc_export_event */
};
/* What the host does with what host_map gives. */
enum {
  PLUG_MAP_READ = 1,
  PLUG_MAP_WRITE = 2 /* without PLUG_MAP_READ: all of it, whatever it held */
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
  int32_t device; /* or PLUG_HOST: of CPU tensors; stream is NULL then and all is
                  ** done when the kernel returns */
  plug_stream stream;
  const void *user;       /* from the plug_kernel */
  const plug_value *args; /* in the order of the kernel's schema; for `any` of the
                          ** operator's as called */
  plug_value *results;    /* one per return of that schema, allocated by the host:
                          ** PLUG_VALUE_TENSOR, PLUG_VALUE_TENSORS; what an argument
                          ** is returned as is that argument. A number has the tag
                          ** of its type, for the kernel to fill in. PLUG_NONE: a
                          ** tensor that is not wanted, or that the kernel shapes */
  uint32_t arg_count;
  uint32_t result_count;
  uint64_t flags;    /* what the user asked of the whole process; a kernel may
                     ** ignore a bit it does not know */
  uint64_t sequence; /* number of this operator call, for host->report; 0 in shape
                     ** and prepare */
  void *host_private;
  const char *name;   /* of the operator as it was called: "aten::add.Tensor" */
  const char *schema; /* of that operator, as this PyTorch prints it */
  void *state;        /* what `prepare` kept for calls like this one */
  plug_dtype compute; /* in which a pointwise operator computes: what all inputs,
                      ** numbers included, are promoted to; 0: not pointwise */
  uint32_t reserved;
};
enum {
  PLUG_CALL_DETERMINISTIC = 1, /* torch.use_deterministic_algorithms */
  PLUG_CALL_FAST_F32 = 2,      /* float32 matmul precision below "highest" */
  PLUG_CALL_CAPTURED = 4       /* the stream captures */
};

/* Enqueues one operator on call->stream. PLUG_UNSUPPORTED sends this call to
** the CPU and must be returned before anything is enqueued or written. */
typedef plug_status (*plug_kernel_fn)(const plug_call *call);

typedef struct plug_kernel {
  /* A functional operator as PyTorch prints it: "aten::relu(Tensor self) -> Tensor".
  ** The host also uses the kernel for its in-place and out forms. Another form only
  ** where there is no functional one ("aten::normal_", "aten::arange.start_out"), or
  ** where it returns nothing ("aten::_foreach_add_.List").
  ** An operator of the plugin's own: any schema in the namespace plug_module.name,
  ** "acme::scale(Tensor x, float by=1.0) -> Tensor". The host defines it, whatever
  ** the dtypes of the device. Its kernel's PLUG_UNSUPPORTED is an error. */
  const char *schema;
  plug_kernel_fn fn;
  const void *user;
  uint64_t accepts; /* 0: contiguous inputs without conj or neg bit; for an
                    ** operator tagged pointwise also of one shape and dtype, which
                    ** is call->compute; outputs contiguous and apart from every
                    ** input */
  uint64_t writes;  /* bit i: argument i is written though the schema does not
                    ** say so, as native_batch_norm does its running statistics */

  /* ---- Optional. ---- */

  const plug_dtype *dtypes; /* that this kernel takes and gives. NULL: the device's */
  uint32_t dtype_count;
  uint32_t reserved;

  /* Once for all calls whose arguments look alike (dtypes, sizes, strides, texts, numbers
  ** that decide shapes), before the first of them is given to fn, with its arguments
  ** and results; called under no lock of the host, from any thread. May wait, except
  ** for call->stream if PLUG_CALL_CAPTURED. May shape results that are PLUG_NONE
  ** (host->output), for all such calls. *state comes with each of them as call->state.
  ** PLUG_UNSUPPORTED: such calls go another way. Absent: they all come. */
  plug_status (*prepare)(const plug_call *call, void **state);

  /* No call will come with `state` any more, and no stream executes one. */
  void (*forget)(void *state);

  /* ---- Operators of the plugin's own. ---- */

  /* What the results look like, for the host to allocate them and for PyTorch to
  ** trace with symbols: "[x[:-1], w.0] x". docs/operators.md has the grammar. For
  ** results that are no arguments; NULL: `shape` says it, or all are arguments. */
  const char *shapes;

  /* The same as a function: calls host->output for each, which allocates nothing;
  ** the arguments have no memory. Sizes that a trace leaves open get fixed. */
  plug_status (*shape)(const plug_call *call);

  /* How gradients are computed, by other operators: "x: acme::scale(grad, by)".
  ** docs/operators.md has the grammar. NULL: by torch.library.register_autograd,
  ** else backward raises. */
  const char *gradient;
} plug_kernel;
enum {
  PLUG_ACCEPTS_STRIDED = 1,      /* inputs and outputs of any strides */
  PLUG_ACCEPTS_DENSE = 2,        /* of any permutation without gaps (channels_last);
                                 ** pointwise: all of the same one */
  PLUG_ACCEPTS_BROADCAST = 4,    /* pointwise inputs may need expanding */
  PLUG_ACCEPTS_MIXED = 8,        /* pointwise inputs may differ in dtype */
  PLUG_ACCEPTS_ALIAS = 16,       /* an output may be exactly an input */
  PLUG_ACCEPTS_HOST_SCALAR = 32, /* a 0-d input may live in host memory; of a
                                 ** pointwise operator it needs no BROADCAST, and
                                 ** without MIXED the host has converted it */
  PLUG_ACCEPTS_LAZY_BITS = 64,   /* PLUG_TENSOR_CONJ and PLUG_TENSOR_NEG */
  PLUG_SHAPES_OUTPUT = 128,      /* the kernel calls host->output itself */
  PLUG_ACCEPTS_HOST = 256        /* an operator of the plugin's own: also of CPU
                                 ** tensors, with call->device PLUG_HOST; rule 8
                                 ** says what holds in a forked process */
};

typedef struct plug_kernels {
  uint32_t size;
  uint32_t kernel_size; /* sizeof(plug_kernel) in the plugin's header */
  uint32_t count;
  uint32_t reserved;
  const plug_kernel *list;

  /* Asked for every operator that no kernel of the list has taken, other libraries'
  ** included, in the form it was called (in place, out=, foreach) and with its
  ** arguments as they are, numbers in host memory; before the host's own ways for
  ** copy_, item, convolution, dropout and recurrent cells. schema is NULL, and
  ** accepts says no more than PLUG_SHAPES_OUTPUT. Results that PyTorch cannot shape
  ** are PLUG_NONE in `prepare`. Absent: there is none. */
  const plug_kernel *any;
} plug_kernels;

/* ------------------------------ L2 compiler ------------------------------ */

typedef struct plug_engine_s *plug_engine; /* a graph, compiled for one device */

typedef struct plug_symbol { /* an integer that only a call knows: a size, or what */
  uint32_t size;             /* follows from sizes. The host works all of them out */
  uint32_t reserved;
  int64_t min;
  int64_t max;      /* it never lies outside */
  int64_t hint;     /* what it is in the call that the graph was made for */
  const char *text; /* "2*s0 + 1", for people */
} plug_symbol;

typedef struct plug_graph_value {
  uint32_t size;
  uint32_t flags; /* PLUG_GRAPH_* */
  plug_dtype dtype;
  int32_t ndim;
  const int64_t *sizes;    /* n >= 0 is n; n < 0 is symbol -1 - n */
  const int64_t *strides;  /* likewise, of inputs and outputs; NULL for the rest */
  const plug_tensor *data; /* of a constant: contiguous, in host memory; else NULL */
  const char *name;        /* "layers.0.weight", for people; or NULL */
} plug_graph_value;
enum {
  PLUG_GRAPH_CONSTANT = 1, /* `data` is its content for ever, and it is no input */
  PLUG_GRAPH_WEIGHT = 2    /* an input that seldom changes: see engine_pack */
};

typedef struct plug_node {
  uint32_t size;
  int32_t op;             /* place in `schemas`; -1, in `partition` only: not listed */
  const char *schema;     /* schemas[op]; for -1 as PyTorch prints it, or, where plug.h
                          ** cannot say what it is given, "torchplug::opaque(Tensor[] xs)"
                          ** and its results: it waits for these */
  const plug_value *args; /* one for each argument of the schema, defaults too */
  const int32_t *results; /* the value for each return; -1: nobody uses it. No return
                          ** is a list: operators that give Tensor[] are taken apart
                          ** or stay outside, listed or not */
  uint32_t arg_count;
  uint32_t result_count;
  const char *source; /* "model.py:31 layers.0.norm", for messages; or NULL */
} plug_node;

/* A program without branches. A value is an input, a constant or the result of one
** node, which stands before those that use it. Nodes are functions: they write into
** nothing, and what PyTorch calls a view is a value like any other. The tensors of a
** pointwise node have one dtype: conversions are nodes. A node that draws random
** numbers has its engine ask host->rng in each run. No size depends on data. Numbers
** that are no sizes are in args: another number is another graph. Arguments of a run
** may overlap, but for those that `updates` names. */
typedef struct plug_graph {
  uint32_t size;
  uint32_t symbol_count;
  uint32_t value_count;
  uint32_t node_count;
  uint32_t input_count;
  uint32_t output_count;
  const plug_symbol *const *symbols;
  const plug_graph_value *const *values;
  const plug_node *const *nodes;
  const int32_t *inputs;  /* values, in the order of a run's arguments */
  const int32_t *outputs; /* values, in the order of its results */
  const int32_t *updates; /* for each output, the value, an input, that it is the new
                          ** content of, or -1. It IS that argument, with its strides;
                          ** nodes that name the input mean the old content */
  uint64_t flags;         /* PLUG_CALL_*, true of every run */
  const void *bytes;      /* all of this in a canonical form, digests in the place of */
  uint64_t byte_count;    /* constants: equal graphs, and only they, have equal bytes */
} plug_graph;

typedef struct plug_compile { /* one wish for an engine */
  uint32_t size;
  int32_t device; /* or PLUG_HOST, see PLUG_COMPILER_HOST */
  const plug_graph *graph;
  /* The user's for this plugin: name, value, ..., NULL. To a name or a value that it
  ** does not have the answer is PLUG_INVALID, and set_error with a sentence that has
  ** those it knows: the host knows none, so nobody else sees that one is misspelt. */
  const char *const *options;
  /* From any thread before compile returns; `done` runs from 0 to 1. Not 0: nobody
  ** wants the engine any more; return PLUG_TIMEOUT soon. */
  int32_t (*progress)(const struct plug_compile *wish, double done);
  void *host_private;
} plug_compile;

typedef struct plug_engine_info { /* filled up to `size`; lives as long as the engine */
  uint32_t size;
  uint32_t reserved;
  uint64_t device_bytes; /* that it holds */
  const uint8_t *packed; /* for each input, 1: kept by engine_pack. NULL: none is */
  const char *text;      /* what it was compiled to, for people; or NULL */
} plug_engine_info;

typedef struct plug_compiler {
  uint32_t size;
  uint32_t schema_count;
  const char *const *schemas; /* what it compiles, as in plug_kernel; the host fits
                              ** them to PyTorch's, and takes apart none listed.
                              ** Or NULL, with `list_schemas` */
  uint64_t flags;             /* PLUG_COMPILER_* */

  /* ---- Mandatory: the three. ----
  ** compile may take minutes; on threads of the host's, several at a time. It keeps
  ** nothing of the wish. PLUG_UNSUPPORTED, set_error may say why: its nodes run one
  ** by one, and the host does not ask again. An error is raised to the user. */
  plug_status (*compile)(const plug_compile *wish, plug_engine *engine);

  /* Enqueues the graph as a kernel does its operator. call->user is the engine, args
  ** are the inputs, then the symbols (PLUG_VALUE_INT), results the outputs; name is
  ** what the host calls the engine in messages, schema is "engine"; scratch, rng and
  ** report serve as in kernels. PLUG_UNSUPPORTED: made node by node. */
  plug_kernel_fn run;
  plug_status (*engine_destroy)(int32_t device, plug_engine engine); /* runs are over */

  /* ---- Optional, each alone. ----
  ** partition gets the user's whole graph and calls take(context, node, group, why):
  ** nodes of one group >= 0 become one graph, or several if a path between two of them
  ** leaves it; -1 is not compiled (why, or NULL). Absent or unsupported: the host groups
  ** what is listed. */
  plug_status (*partition)(int32_t device, const plug_graph *graph,
                           void (*take)(void *context, uint32_t node, int32_t group,
                                        const char *why),
                           void *context);
  plug_status (*engine_info)(int32_t device, plug_engine engine, plug_engine_info *info);

  /* Like run, with the inputs alone and no results: the packed weights that are new or
  ** have changed, ndim -1 for the rest; runs do not look at those arguments. Runs and
  ** packings of an engine that packs do not overlap. Absent: none is packed. */
  plug_kernel_fn engine_pack;

  /* ---- Engines on disk: all or none. Absent: every process compiles anew. ----
  ** identity: all that a saved engine depends on (chip, driver, compiler), part of its
  ** key. engine_load answers PLUG_UNSUPPORTED to any bytes it cannot use; the host
  ** compiles then. Constants are saved, packed weights are not. */
  plug_status (*identity)(int32_t device, const char **text);
  plug_status (*engine_save)(int32_t device, plug_engine engine,
                             void (*write)(void *context, const void *data, uint64_t n),
                             void *context);
  plug_status (*engine_load)(int32_t device, const void *data, uint64_t bytes,
                             plug_engine *engine);

  /* ---- Optional, each alone. ----
  ** The schemas of this device, asked once, after device_open. Absent: `schemas`. */
  plug_status (*list_schemas)(int32_t device, const char *const **schemas,
                              uint32_t *count);
} plug_compiler;
enum {
  PLUG_COMPILER_SYMBOLS = 1,   /* takes symbols; else one engine per set of sizes */
  PLUG_COMPILER_STRIDED = 2,   /* inputs, outputs of any strides; else contiguous */
  PLUG_COMPILER_UPDATES = 4,   /* takes `updates`; else all are -1, the host copies */
  PLUG_COMPILER_EXCLUSIVE = 8, /* runs of an engine never overlap: the host waits */
  PLUG_COMPILER_HOST = 16      /* for host tensors too; such runs are done on return */
};

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

/* ------------------------------- autocast -------------------------------- */

typedef struct plug_autocast_rule { /* in place of PyTorch's own */
  const char *name;                 /* of an operator: "aten::softmax.int" */
  int32_t rule;                     /* PLUG_AUTOCAST_* */
  uint32_t reserved;
} plug_autocast_rule;
enum {
  PLUG_AUTOCAST_NONE = 0,  /* as if there were no autocast */
  PLUG_AUTOCAST_LOWER = 1, /* in autocast's dtype */
  PLUG_AUTOCAST_F32 = 2,   /* in float32 */
  PLUG_AUTOCAST_WIDEST = 3 /* in the widest dtype of its inputs */
};

typedef struct plug_autocast {
  uint32_t size;
  uint32_t rule_size; /* sizeof(plug_autocast_rule) in the plugin's header */
  uint32_t rule_count;
  plug_dtype dtype;         /* autocast's, unless the user says; 0: as on CUDA */
  const plug_dtype *dtypes; /* that the user may say; NULL: what the device holds */
  uint32_t dtype_count;
  uint32_t reserved;
  const plug_autocast_rule *rules;
} plug_autocast;

/* ------------------------------ entry point ------------------------------ */

typedef struct plug_module {
  uint32_t size;
  uint32_t abi_minor;  /* PLUG_ABI_MINOR of the plugin's header */
  const char *name;    /* torch device type, and namespace of the plugin's own
                       ** operators: [a-z][a-z0-9_]* */
  const char *version; /* the plugin's own */
  uint64_t flags;
  const plug_runtime *runtime; /* or NULL: operators of its own, and no device */
  const plug_kernels *kernels; /* or NULL */

  /* A table for an interface not in this header, by name, or NULL. Names
  ** begin with the owner: "acme.sparse.1". Absent: there is none. The host gives
  ** it to whoever asks: torchplug.extension(name), torchplug::extension(name). */
  const void *(*extension)(const char *name);

  const plug_profiler *profiler; /* or NULL */
  const plug_autocast *autocast; /* or NULL: PyTorch's rules for every device */
  const plug_compiler *compiler; /* or NULL */
} plug_module;
enum {
  PLUG_SERIALIZE = 1,
  PLUG_DECOMPOSE = 2, /* an operator without a kernel whose decomposition in PyTorch
                      ** has kernels for all of it runs as those */
  PLUG_FORKS = 4 /* its kernels may be given CPU tensors in a forked process: rule 8 */
};

/* The one exported symbol. Called once, before any other function. */
PLUG_EXPORT plug_status torchplug_plugin_v0(const plug_host *host,
                                            const plug_module **module);

#ifdef __cplusplus
}
#endif
#endif /* TORCHPLUG_PLUG_H */
