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

/* NOLINTBEGIN(modernize-use-using): this is C */

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

/* The bytes of scratch for a call with as many rows; it is best aligned to 64. Addresses need not be set yet.
 */
int64_t xcpu_linear_scratch(const xcpu_linear_args* args);
const char* xcpu_linear(const xcpu_linear_args* args, void* scratch, const xcpu_team* team);

/* Two linears, one after the other, in one region of the team: up, then down of its results, which
** lie in scratch. up.out.data and down.x.data are not used; up.out.dtype is that of the results in
** between. The rows are up's. */
typedef struct xcpu_mlp_args {
  xcpu_linear_args up;
  xcpu_linear_args down;
} xcpu_mlp_args;

/* Addresses need not be set yet. */
int64_t xcpu_mlp_scratch(const xcpu_mlp_args* args);
const char* xcpu_mlp(const xcpu_mlp_args* args, void* scratch, const xcpu_team* team);

/* ------------------------------ products of matrices ---------------------------- */

/* out = x weight' + bias, batch by batch, of matrices as they lie: x is rows by k, weight n by k, each
** contiguous along its rows or along its columns. Where both are bf16 they are multiplied as such, otherwise
** as fp32. Strides are in elements. out overlaps nothing. */
typedef struct xcpu_product_args {
  int64_t batches;
  int64_t rows;
  int64_t n;
  int64_t k;
  xcpu_matrix x;
  xcpu_matrix weight;
  xcpu_rows bias; /* one row, of all batches; may be absent */
  xcpu_rows out;
  int64_t x_batch_stride;
  int64_t weight_batch_stride;
  int64_t out_batch_stride;
  int32_t threads; /* at most as many of the team work; scratch grows with it */
} xcpu_product_args;

int64_t xcpu_product_scratch(const xcpu_product_args* args);
const char* xcpu_product(const xcpu_product_args* args, void* scratch, const xcpu_team* team);

/* ------------------------------------ norms ------------------------------------ */

typedef int32_t xcpu_norm_form;
enum {
  XCPU_RMS_NORM = 0,
  XCPU_RMS_NORM_PLUS_ONE = 1, /* multiplies by 1 + weight */
  XCPU_LAYER_NORM = 2
};

/* sum = x + residual; out = (sum - mean) * scale * weight + bias, row by row. Of an RMS norm the mean is
** 0; scale is 1 / sqrt(mean of (sum - mean)^2 + epsilon). Where `sum` is given, it is normalised as it
** is written there. residual, weight, bias and sum may be absent. out and sum may be x or residual, with
** the same dtype and stride; otherwise results overlap nothing. */
typedef struct xcpu_norm_args {
  xcpu_norm_form form;
  float epsilon;
  int64_t rows;
  int64_t columns;
  xcpu_rows x;
  xcpu_rows residual;
  xcpu_rows weight; /* one row */
  xcpu_rows bias;   /* one row */
  xcpu_rows sum;
  xcpu_rows out;
  float* mean;  /* of each row; NULL: not wanted */
  float* scale; /* of each row; NULL: not wanted */
} xcpu_norm_args;

const char* xcpu_norm(const xcpu_norm_args* args, const xcpu_team* team);

/* From the gradient of out, and of sum where there is one, to those of x (which is the residual's too),
** weight and bias, of which any may be absent. x is what was normalised. */
typedef struct xcpu_norm_backward_args {
  xcpu_norm_form form;
  float epsilon;
  int64_t rows;
  int64_t columns;
  xcpu_rows grad;
  xcpu_rows grad_sum;
  xcpu_rows x;
  xcpu_rows weight;
  const float* mean;  /* the forward's; NULL: computed again */
  const float* scale; /* the forward's; NULL: computed again */
  xcpu_rows grad_x;
  xcpu_rows grad_weight;
  xcpu_rows grad_bias;
} xcpu_norm_backward_args;

int64_t xcpu_norm_backward_scratch(const xcpu_norm_backward_args* args);
const char* xcpu_norm_backward(const xcpu_norm_backward_args* args, void* scratch, const xcpu_team* team);

/* -------------------------------- rotary embedding ------------------------------ */

/* A vector of contiguous elements for each token and head; strides are in elements. data NULL: absent. */
typedef struct xcpu_heads {
  void* data;
  xcpu_dtype dtype;
  int64_t token_stride;
  int64_t head_stride;
} xcpu_heads;

typedef int32_t xcpu_rotary_form;
enum {
  XCPU_ROTARY_HALVES = 0,     /* element i turns with element i + rotary_dim / 2 (neox) */
  XCPU_ROTARY_INTERLEAVED = 1 /* element 2 i with element 2 i + 1 */
};

/* By which angles vectors turn: row p of cos and sin, rotary_dim / 2 elements, is that of position p. */
typedef struct xcpu_rotary {
  xcpu_rotary_form form;
  int32_t rotary_dim; /* even; elements from there on stay as they are */
  int32_t inverse;    /* 1: back, which is the gradient; otherwise 0 */
  int64_t table_rows; /* of cos and sin */
  xcpu_rows cos;
  xcpu_rows sin;
  const int64_t* positions; /* of each token; NULL: its index */
} xcpu_rotary;

/* Turns q and k, either of which may be absent; the results may be in the same place, with the same
** dtype and strides. */
typedef struct xcpu_rotary_args {
  xcpu_rotary rotary;
  int64_t tokens;
  int32_t head_dim;
  int32_t q_heads;
  int32_t k_heads;
  xcpu_heads q;
  xcpu_heads k;
  xcpu_heads q_out;
  xcpu_heads k_out;
} xcpu_rotary_args;

const char* xcpu_rotate(const xcpu_rotary_args* args, const xcpu_team* team);

/* ---------------------------------- paged cache --------------------------------- */

typedef int32_t xcpu_cache_kind;
enum {
  XCPU_CACHE_F32 = 0,
  XCPU_CACHE_BF16 = 1,
  XCPU_CACHE_INT8 = 2 /* symmetric, a scale for each token and head */
};

/* Keys and values of tokens, in pages of as many tokens each; a multiple of 16. Slot s is token
** s % page_tokens of page s / page_tokens. Memory need not be initialised. */
typedef struct xcpu_cache {
  void* data; /* 64-byte aligned is fastest */
  xcpu_cache_kind kind;
  int32_t kv_heads;
  int32_t head_dim;
  int32_t page_tokens;
  int64_t pages;
} xcpu_cache;

/* A tensor for it: float, int16 or int8, of pages, kv_heads, page_tokens, elements of a token. */
const char* xcpu_cache_sizes(const xcpu_cache* cache, int64_t sizes[4]);

/* The bytes of the buffer; 0 where xcpu_cache_sizes would refuse. */
int64_t xcpu_cache_bytes(const xcpu_cache* cache);

/* Writes keys and values of tokens to their slots, rounding or quantising them. A token whose slot is
** -1 is left out; no two tokens have the same slot. */
typedef struct xcpu_cache_args {
  xcpu_cache cache;
  int64_t tokens;
  const int64_t* slots;
  xcpu_heads k;
  xcpu_heads v;
} xcpu_cache_args;

const char* xcpu_cache_write(const xcpu_cache_args* args, const xcpu_team* team);

/* What is at these slots, dequantised, is written to k and v. */
const char* xcpu_cache_read(const xcpu_cache_args* args, const xcpu_team* team);

/* ----------------------------------- attention ---------------------------------- */

/* How a product of query and key becomes a score. */
typedef struct xcpu_scores {
  float scale;   /* 0: 1 / sqrt(head_dim) */
  float softcap; /* score = softcap * tanh(score / softcap); 0: none */
  int32_t causal;
  int64_t window;     /* a token sees itself and the window - 1 tokens before it; 0: all */
  const float* alibi; /* of each query head: score += alibi * (key's position - query's); NULL: none */
  const float* sinks; /* of each query head: the score of one more key, whose value is zero; NULL: none */
} xcpu_scores;

/* Attention of sequences whose keys and values are in the cache; query head h reads head
** h / (q_heads / kv_heads). Tokens q_starts[s] to q_starts[s + 1] of q and out are the last of sequence s,
** which has lengths[s] tokens in all; its tokens p * page_tokens and on are in page block_table[s * stride
** + p]. Queries of a bf16 cache are rounded to bf16, those of an int8 cache quantised head by head. */
typedef struct xcpu_paged_attention_args {
  xcpu_cache cache;
  int64_t sequences;
  const int64_t* q_starts; /* sequences + 1 */
  const int64_t* lengths;
  const int64_t* block_table;
  int64_t block_table_stride;
  int32_t q_heads;
  int32_t threads; /* at most as many of the team work; scratch grows with it */
  xcpu_scores scores;
  xcpu_heads q;
  xcpu_heads out;
  float* lse; /* the logarithm of the sum of exp(scores), [tokens, q_heads]; NULL: not wanted */
} xcpu_paged_attention_args;

/* Grows with q_heads, threads and the cache's sizes; nothing else need be set yet. */
int64_t xcpu_paged_attention_scratch(const xcpu_paged_attention_args* args);
const char* xcpu_paged_attention(const xcpu_paged_attention_args* args, void* scratch, const xcpu_team* team);

/* Where a thread begins: queries from `row` on (token * query heads of a kv head + head) of a kv head of
** a sequence, and keys from `token` on. It ends where the next thread begins. */
typedef struct xcpu_attention_place {
  int64_t sequence;
  int64_t kv_head;
  int64_t row;
  int64_t token;
} xcpu_attention_place;

/* Where thread `index` of `count` begins. */
const char* xcpu_paged_attention_place(const xcpu_paged_attention_args* args, int32_t index, int32_t count,
                                       xcpu_attention_place* place);

/* Attention of sequences in memory: tokens q_starts[s] to q_starts[s + 1] of q and out, k_starts[s] to
** k_starts[s + 1] of k and v. The last query has the position of the last key. k and v are rounded to
** bf16 where both are bf16, and so are queries then; otherwise all is fp32. */
typedef struct xcpu_attention_args {
  int64_t sequences;
  const int64_t* q_starts; /* sequences + 1 */
  const int64_t* k_starts; /* sequences + 1; NULL: q_starts */
  int32_t q_heads;
  int32_t kv_heads;
  int32_t head_dim;
  int32_t threads; /* at most as many of the team work; scratch grows with it */
  xcpu_scores scores;
  xcpu_heads q;
  xcpu_heads k;
  xcpu_heads v;
  xcpu_heads out;
  float* lse; /* [tokens, q_heads]; NULL: not wanted */
} xcpu_attention_args;

int64_t xcpu_attention_scratch(const xcpu_attention_args* args);
const char* xcpu_attention(const xcpu_attention_args* args, void* scratch, const xcpu_team* team);

/* From the gradient of out to those of q, k and v, of which any may be absent. forward is the call that
** gave out and lse, which both have to be there. Sinks and alibi have no gradient. */
typedef struct xcpu_attention_backward_args {
  xcpu_attention_args forward;
  xcpu_heads grad;
  xcpu_heads grad_q;
  xcpu_heads grad_k;
  xcpu_heads grad_v;
} xcpu_attention_backward_args;

int64_t xcpu_attention_backward_scratch(const xcpu_attention_backward_args* args);
const char* xcpu_attention_backward(const xcpu_attention_backward_args* args, void* scratch,
                                    const xcpu_team* team);

/* ------------------------- queries, keys and values at once ---------------------- */

/* The product with the weight of queries, keys and values, in this order, (q_heads + 2 * kv_heads) *
** head_dim outputs; queries, turned, are written to q, keys, turned, and values to the cache. Where
** linear.weight.data is NULL, linear.x is such a product already. linear.out.data is not used;
** linear.out.dtype is what products are rounded to. A token whose slot is -1 is not written to the cache. */
typedef struct xcpu_qkv_args {
  xcpu_linear_args linear;
  xcpu_rotary rotary;
  int32_t q_heads;
  xcpu_cache cache;
  const int64_t* slots;
  xcpu_heads q;
} xcpu_qkv_args;

int64_t xcpu_qkv_scratch(const xcpu_qkv_args* args);
const char* xcpu_qkv(const xcpu_qkv_args* args, void* scratch, const xcpu_team* team);

/* ------------------------------ the last linear: top-k --------------------------- */

/* The k largest outputs of a linear for each of linear.rows rows, the largest first, of equal ones the
** first first; what is no number is larger than any. Row r is row take[r] of linear.x, which has x_rows.
** linear has no pair, mul or residual. Outputs are only written where linear.out.data is given. */
typedef struct xcpu_top_args {
  xcpu_linear_args linear;
  int64_t x_rows;
  const int64_t* take; /* NULL: rows 0, 1, ... */
  int32_t k;
  int32_t threads;  /* at most as many of the team work; scratch grows with it */
  float* values;    /* [rows, k] */
  int64_t* indices; /* [rows, k] */
} xcpu_top_args;

int64_t xcpu_top_scratch(const xcpu_top_args* args);
const char* xcpu_top(const xcpu_top_args* args, void* scratch, const xcpu_team* team);

/* ---------------------------------- plain kernels -------------------------------- */

/* out = act(x), or with grad the gradient: out = grad * act'(x). out may be x or grad. */
typedef struct xcpu_activation_args {
  xcpu_activation activation;
  int64_t rows;
  int64_t columns;
  xcpu_rows x;
  xcpu_rows grad; /* absent: forward */
  xcpu_rows out;
} xcpu_activation_args;

const char* xcpu_activate(const xcpu_activation_args* args, const xcpu_team* team);

/* out = softmax(x) of each row, or its logarithm. With grad the gradient, where x is what the forward
** gave. out may be x or grad. */
typedef struct xcpu_softmax_args {
  int32_t logarithm;
  int64_t rows;
  int64_t columns;
  xcpu_rows x;
  xcpu_rows grad; /* absent: forward */
  xcpu_rows out;
} xcpu_softmax_args;

const char* xcpu_softmax(const xcpu_softmax_args* args, const xcpu_team* team);

/* Row b of out is the sum, or the mean, of rows indices[starts[b]] to indices[starts[b + 1] - 1] of the
** table, each multiplied by its weight; of no rows it is 0. Indices that are `padding` do not count. */
typedef struct xcpu_bag_args {
  int32_t mean;
  int64_t bags;
  int64_t columns;
  int64_t table_rows;
  xcpu_rows table;
  const int64_t* indices;
  const int64_t* starts; /* bags + 1 */
  const float* weights;  /* of each index; NULL: 1; not with mean */
  int64_t padding;       /* -1: none */
  xcpu_rows out;
} xcpu_bag_args;

const char* xcpu_embedding_bag(const xcpu_bag_args* args, const xcpu_team* team);

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
