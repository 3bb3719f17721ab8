/*
** xcpu: fused and quantised operators of transformers on the CPU. Plain C, no PyTorch.
**
** Every kernel is compiled for several instruction sets; the best that the machine has is used, or
** a lower one that TORCHPLUG_XCPU_ISA or xcpu_use_isa() names.
**
** Errors.  A function that can refuse returns NULL, or one sentence that says what was wrong and
**          what to do. The sentence is valid until the thread's next call.
** Memory.  Kernels allocate nothing: the caller gives results and scratch, whose size is asked
**          for beforehand. Packing has a row for each thread. No pointer is kept after a call.
** Threads. A kernel runs on the team that it is given, or, where that is NULL, on the calling
**          thread. Functions may be called from any thread. Scratch belongs to one call at a time.
** Numbers. Sums are of fp32 (of int32 within a group of int8 products). What is computed does not
**          depend on the instruction set, but for the order of sums.
*/
#ifndef XCPU_XCPU_H
#define XCPU_XCPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t xcpu_dtype;
enum { XCPU_F32 = 0, XCPU_BF16 = 1, XCPU_F16 = 2 };

/* ---------------------------------- threads ----------------------------------- */

/* run() calls fn(arg, index, count) for every index below count, each on a thread of its own and
** all at once, and returns when all have. It chooses count. */
typedef struct xcpu_team {
  void* context;
  void (*run)(void* context, void (*fn)(void* arg, int32_t index, int32_t count), void* arg);
} xcpu_team;

/* ------------------------------ instruction sets ------------------------------- */

/* The instruction set that kernels use: "avx512_bf16", "avx512", "avx2" or "scalar". */
const char* xcpu_isa(void);

/* Those that this machine can run, the best first, ended by NULL. */
const char* const* xcpu_isas(void);

/* From now on kernels use this one; NULL: the best. Not while kernels run. */
const char* xcpu_use_isa(const char* name);

/* ------------------------------- packed weights -------------------------------- */

/* A weight of N outputs and K inputs as kernels read it: one contiguous buffer, the same for every
** instruction set, without a header. Kind, N, K and group are those of a tensor of three sizes:
**
**   kind         element  sizes                          K
**   XCPU_W_F32   int32    [N, 1, K]
**   XCPU_W_BF16  int16    [N, 1, D]                      D even: D; else D - 2
**   XCPU_W_INT8  int8     [N, 1, D]                      D - 8 - 2 * (D % 4)
**   XCPU_W_INT4  uint8    [N, K / group, group / 2 + 2]
**
** A pair is two matrices of N outputs each for act(x A') * (x B'), interleaved: [N, 2, D], and for
** int4 [N, K / group, 2 * (group / 2 + 2)]. int8 is symmetric, one scale an output; int4 is
** symmetric, one bf16 scale for each group of 32, 64 or 128 inputs. */
typedef int32_t xcpu_kind;
enum { XCPU_W_F32 = 0, XCPU_W_BF16 = 1, XCPU_W_INT8 = 2, XCPU_W_INT4 = 3 };

typedef struct xcpu_packed {
  const void* data; /* 64-byte aligned is fastest; any address works */
  xcpu_kind kind;
  int32_t group; /* int4: 32, 64 or 128; otherwise 0 */
  int32_t pair;  /* 1: two matrices of n outputs each; otherwise 0 */
  int64_t n;
  int64_t k;
} xcpu_packed;

/* A matrix in memory; strides are in elements. */
typedef struct xcpu_matrix {
  void* data;
  xcpu_dtype dtype;
  int64_t row_stride;
  int64_t column_stride;
} xcpu_matrix;

/* From kind, group, pair, n and k to the sizes of the tensor, and back. The data is not looked at. */
const char* xcpu_packed_sizes(const xcpu_packed* packed, int64_t sizes[3]);
const char* xcpu_packed_read(xcpu_kind kind, const int64_t sizes[3], xcpu_packed* packed);

/* The bytes of the buffer; 0 where xcpu_packed_sizes would refuse. */
int64_t xcpu_packed_bytes(const xcpu_packed* packed);

/* Packs a matrix of n rows and k columns, rounding or quantising it; `second` is that of a pair,
** otherwise NULL. Fresh memory at `out` becomes huge pages where the system has them. */
const char* xcpu_pack(const xcpu_packed* shape, const xcpu_matrix* matrix, const xcpu_matrix* second,
                      void* out, const xcpu_team* team);

/* The matrix that a packed weight stands for, dequantised. */
const char* xcpu_unpack(const xcpu_packed* packed, const xcpu_matrix* matrix, const xcpu_matrix* second,
                        const xcpu_team* team);

/* ----------------------------------- linear ------------------------------------ */

/* Rows of contiguous elements; the stride from row to row is in elements. data NULL: absent. */
typedef struct xcpu_rows {
  void* data;
  xcpu_dtype dtype;
  int64_t stride;
} xcpu_rows;

typedef int32_t xcpu_activation;
enum {
  XCPU_IDENTITY = 0,
  XCPU_RELU = 1,
  XCPU_GELU = 2,      /* by the error function */
  XCPU_GELU_TANH = 3, /* by its approximation */
  XCPU_SILU = 4
};

/* What the input of int4 weights is rounded to. Of the other kinds it is the kind's: fp32 stays,
** bf16 is rounded to bf16, int8 is quantised row by row. */
typedef int32_t xcpu_precision;
enum {
  XCPU_INPUT_INT8 = 0, /* quantised in the groups of the weights */
  XCPU_INPUT_BF16 = 1
};

/* out = act(x W' + bias) * mul + residual, with a pair act(x A' + a) * (x B' + b) * mul + residual,
** where bias is a, then b. bias, mul and residual may be absent. out may be residual or mul, with
** the same stride; otherwise it overlaps nothing. */
typedef struct xcpu_linear_args {
  int64_t rows;
  xcpu_rows x;
  xcpu_packed weight;
  xcpu_precision precision;
  xcpu_activation activation;
  xcpu_rows bias; /* one row */
  xcpu_rows mul;
  xcpu_rows residual;
  xcpu_rows out;
} xcpu_linear_args;

/* The bytes of scratch for a call with as many rows; it is best aligned to 64. */
int64_t xcpu_linear_scratch(const xcpu_linear_args* args);
const char* xcpu_linear(const xcpu_linear_args* args, void* scratch, const xcpu_team* team);

/* Two linears, one after the other, in one region of the team: up, then down of its results, which
** lie in scratch. up.out.data and down.x.data are not used; up.out.dtype is that of the results in
** between. The rows are up's. */
typedef struct xcpu_mlp_args {
  xcpu_linear_args up;
  xcpu_linear_args down;
} xcpu_mlp_args;

int64_t xcpu_mlp_scratch(const xcpu_mlp_args* args);
const char* xcpu_mlp(const xcpu_mlp_args* args, void* scratch, const xcpu_team* team);

#ifdef __cplusplus
}
#endif

#endif
