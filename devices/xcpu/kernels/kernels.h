#pragma once
// The kernels that are compiled once for each instruction set, as a table of functions, and what they are
// given. Plain data only: files of kernels/isa/ include this, and an inline function here would be compiled
// with their instructions and might be the one that the linker keeps for everybody.

#include <cstdint>

#include "tiles.h"
#include "xcpu/xcpu.h"

namespace xcpu {

// A panel of a packed weight (packed.h).
constexpr int kPanelColumns = 32;
constexpr int kHalfColumns = 16;

// One call of linear, prepared.
struct Linear {
  std::int64_t rows, k;
  std::int64_t outputs;  // of `out`: half the columns of a pair
  std::int64_t columns;  // of the weight: both matrices of a pair
  std::int64_t panels;
  std::int64_t column_bytes;  // of the packed weight
  std::int32_t group;
  bool is_pair;
  xcpu_activation activation;
  const std::uint8_t* weight;
  xcpu_rows x, bias, mul, residual, out;

  // The inputs as the kernels read them, and their scales, in scratch. input is prepared, or x's data.
  void* prepared;
  float* scales;
  const void* input;
};

// A part of the result: row blocks (isa/linear.h) and panels.
struct LinearPart {
  std::int64_t block_begin, block_end;
  std::int64_t panel_begin, panel_end;
};

// How a kind of weight meets a kind of input.
enum class LinearForm { kF32, kBf16, kInt8, kInt4, kInt4Bf16 };
constexpr int kLinearForms = 5;

struct LinearKernels {
  int max_block;         // rows of the largest block
  int input_bytes_of_8;  // bytes that eight prepared inputs take
  int reads;             // the xcpu_dtype of which a single row is read as it lies in memory; -1: none
  int step;              // inputs of a step; what is read as it lies has whole steps
  void (*prepare)(const Linear& linear, std::int64_t row_begin, std::int64_t row_end);
  void (*compute)(const Linear& linear, const LinearPart& part);
};

// Some columns of a batch of a product; columns of the result are rows of the weight.
struct ProductColumns {
  std::int64_t batch, begin, end;
};

// Rows of x whose columns are contiguous, as tiles of linear read them.
struct ProductInputs {
  xcpu_matrix x;
  std::int64_t rows, k;
  std::int64_t max_block;
  void* prepared;
};

struct ProductKernels {
  // Rows from row_begin to row_end, where x and weight are contiguous along their rows.
  void (*dots)(const xcpu_product_args& args, const ProductColumns& columns, std::int64_t row_begin,
               std::int64_t row_end);
  // As a packed weight of `form`, fp32 or bf16.
  void (*pack)(const xcpu_product_args& args, LinearForm form, const ProductColumns& columns, void* packed);
  void (*prepare)(const ProductInputs& inputs, LinearForm form, std::int64_t block_begin,
                  std::int64_t block_end);
};

// Of rows from row_begin to row_end, or columns. `statistics` is a mean and a scale of each row.
struct NormKernels {
  void (*forward)(const xcpu_norm_args& args, std::int64_t row_begin, std::int64_t row_end);
  void (*statistics)(const xcpu_norm_backward_args& args, float* statistics, std::int64_t row_begin,
                     std::int64_t row_end);
  void (*backward_rows)(const xcpu_norm_backward_args& args, const float* statistics, std::int64_t row_begin,
                        std::int64_t row_end);
  void (*backward_columns)(const xcpu_norm_backward_args& args, const float* statistics,
                           std::int64_t column_begin, std::int64_t column_end);
};

struct RotaryKernels {
  void (*rotate)(const xcpu_rotary_args& args, std::int64_t token_begin, std::int64_t token_end);
};

// Of tokens and heads: unit u is token u % tokens of head u / tokens.
struct CacheKernels {
  void (*write)(const CacheWrite& write, std::int64_t begin, std::int64_t end);
};

struct AttentionKernels {
  int max_rows;  // of a task
  std::int64_t (*workspace_bytes)(const TileShape& shape);
  // With `partial` NULL the result is written; otherwise what combine() needs.
  void (*attend)(const Attention& attention, const AttentionTask& task, void* workspace, float* partial);
  void (*combine)(const Attention& attention, const AttentionTask& task, float* const* partials,
                  std::int64_t count);
};

// Rows of tokens from `first` on, of a sequence, and a query head or a kv head.
struct GradientRows {
  std::int64_t sequence, head, first, rows;
};
struct AttentionGradientKernels {
  int max_rows;
  std::int64_t (*workspace_bytes)(const TileShape& shape);
  void (*delta)(const AttentionGradient& gradient, std::int64_t token_begin, std::int64_t token_end);
  void (*queries)(const AttentionGradient& gradient, const GradientRows& rows, void* workspace);
  void (*keys)(const AttentionGradient& gradient, const GradientRows& rows, void* workspace);
};

// Products of queries, keys and values, in rows; unit u is head u % heads of token u / heads, where heads are
// those of queries, then those of keys.
struct QkvSplit {
  xcpu_rows products;
  xcpu_rotary rotary;
  Tiles tiles;
  xcpu_cache_kind kind;
  std::int64_t q_heads;
  const std::int64_t* slots;
  xcpu_heads q;
};
struct QkvKernels {
  void (*split)(const QkvSplit& split, std::int64_t begin, std::int64_t end);
};

// The largest so far, in their order.
struct TopRow {
  float* values;
  std::int64_t* indices;
  std::int32_t k, found;
};
struct TopKernels {
  void (*scan)(const float* values, std::int64_t count, std::int64_t first_index, TopRow& top);
};

struct PlainKernels {
  void (*activate)(const xcpu_activation_args& args, std::int64_t row, std::int64_t begin, std::int64_t end);
  void (*softmax)(const xcpu_softmax_args& args, std::int64_t begin, std::int64_t end);
  void (*embedding_bag)(const xcpu_bag_args& args, std::int64_t begin, std::int64_t end);
};

struct Kernels {
  const char* name;
  const LinearKernels* linear;  // by LinearForm
  const ProductKernels* product;
  const NormKernels* norm;
  const RotaryKernels* rotary;
  const CacheKernels* cache;
  const AttentionKernels* attention;                   // by xcpu_cache_kind
  const AttentionGradientKernels* attention_gradient;  // by xcpu_cache_kind, of fp32 and bf16
  const QkvKernels* qkv;
  const TopKernels* top;
  const PlainKernels* plain;
};

// Those in use; null: what TORCHPLUG_XCPU_ISA asks for cannot be had, and `isa_error()` says why.
const Kernels* kernels();
const char* isa_error();

}  // namespace xcpu
