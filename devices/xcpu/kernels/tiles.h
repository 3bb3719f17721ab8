#pragma once
// Keys and values as attention reads them, and what its kernels are given. Plain data only (kernels.h).
//
// The tokens of a sequence lie in tiles of 16. In a page of a cache lie its heads, in a head its tiles, in a
// tile first its keys, then its values. dim is head_dim, rounded up to a multiple of 16:
//
//   kind   keys: rows of 16 words, a word of each token      values: rows of dim words, a word of each
//   element fp32   dim rows; a word is an element                    16 rows, a token each bf16   dim / 2
//   rows; a word is two elements, the         8 rows; a word is of two tokens, the earlier
//          earlier in its low half                           in its low half
//   int8   a row of fp32 scales; dim / 4 rows; a word is     16 words of fp32 scales; 4 rows; a word is of
//   four
//          four elements with 128 added, the earliest in     tokens, the earliest in its low byte
//          its low byte
//
// So products of a query with 16 keys, and of weights with values, are sums of vectors, without sums across
// one. Elements of keys from head_dim to dim are zero; those of values may be anything, as may tokens that
// were never written.

#include <cstdint>

#include "xcpu/xcpu.h"

namespace xcpu {

constexpr int kTileTokens = 16;
constexpr int kCacheKinds = 3;
constexpr int kMostHeadDim = 512;  // the longest vector of a head

struct TileShape {
  std::int64_t head_dim, dim;
  std::int64_t key_bytes, tile_bytes;
};

// Tiles in pages. Without a block table the pages of sequence s are those from k_starts[s] / 16 + s on.
struct Tiles {
  TileShape shape;
  std::uint8_t* data;
  std::int64_t kv_heads;
  std::int64_t page_tiles;
  const std::int64_t* block_table;
  std::int64_t block_table_stride;
};

struct CacheWrite {
  Tiles tiles;
  xcpu_cache_kind kind;
  std::int64_t tokens;
  const std::int64_t* slots;
  xcpu_heads k, v;
};

// One call. Of paged attention lengths are given, otherwise k_starts.
struct Attention {
  Tiles tiles;
  std::int64_t sequences;
  const std::int64_t* q_starts;
  const std::int64_t* k_starts;
  const std::int64_t* lengths;
  std::int64_t q_heads;
  std::int64_t group;  // query heads of a kv head
  xcpu_scores scores;
  xcpu_heads q, out;
  float* lse;
};

// Queries that are computed together: row r is token r / group, head r % group of the kv head's. They see
// keys of tile_begin to tile_end, or a part of them.
struct AttentionTask {
  std::int64_t sequence, kv_head;
  std::int64_t row_begin, rows;
  std::int64_t tile_begin, tile_end;
};

// A partial result of a row: dim sums, the largest score (a power of two), the sum of weights, 14 unused.
constexpr int kPartialExtra = 16;

// The gradient of attention of sequences in memory: every operand as tiles in scratch, as keys and as values,
// each tile a page. Tiles of queries and gradients have a head for each query head, and the tokens of
// q_starts.
struct AttentionGradient {
  Attention call;
  Tiles keys, values, queries, grads;
  xcpu_heads k, v, grad;
  xcpu_heads grad_q, grad_k, grad_v;
  float* delta;  // of each token and query head, the product of its result and its gradient
};

}  // namespace xcpu
