// Attention over tiles of keys and values, one instruction set.
//
// A task's rows see the same kv head of a sequence. Chunk after chunk of its tiles, every block of rows is
// multiplied with the keys, its scores become weights, and those are multiplied with the values, while what
// is read next comes to the cache: values during the keys, the next keys during the values.

#include "attention.h"

#include "attention_task.h"

namespace xcpu::XCPU_ISA {
namespace {

// Rows of decoding wait for memory: short chunks stay in the cache that is nearest.
constexpr std::int64_t chunk_tiles(std::int64_t rows) { return rows <= 8 ? 4 : kMostChunkTiles; }

struct Chunk {
  ChunkSpan span;
  std::int64_t tiles;
  const std::uint8_t* keys[kMostChunkTiles];
  ValueTiles values;
  Ahead ahead;
  alignas(64) float key_scales[kChunk];
  alignas(64) float value_scales[kChunk];
};

// What the rows of a task have, in a thread's workspace.
struct Rows {
  std::uint32_t* queries;
  float* sums;
  std::int64_t stride;  // of sums
  std::uint8_t* last_values;
  SoftmaxRow softmax[kTaskRows];
  float query_scale[kTaskRows];
  float start[kTaskRows];
};

template <class Kind>
Rows rows_in(void* workspace, const TileShape& shape) {
  Rows rows;
  const std::int64_t words = query_words<typename Kind::Keys>(shape.dim);
  rows.queries = static_cast<std::uint32_t*>(workspace);
  rows.sums = reinterpret_cast<float*>(rows.queries + words);
  rows.stride = sum_stride(shape.dim);
  rows.last_values = reinterpret_cast<std::uint8_t*>(rows.sums + kTaskRows * rows.stride);
  return rows;
}

// The rows of all blocks, kRows in each, those that are missing zero.
template <class Form>
void prepare_rows(const Attention& call, const AttentionTask& task, const RowBlocks& blocks, int padded,
                  Rows& rows) {
  const TileShape& shape = call.tiles.shape;
  const std::int64_t length = length_of(call, task.sequence);
  const Mask all = first_lanes(kLanes);
  HeadVector vector;
  for (std::int64_t slot = 0; slot < blocks.count * padded; ++slot) {
    const std::int64_t block = slot / padded;
    const std::int64_t within = slot % padded;
    const std::int64_t row = block * blocks.rows + within;
    const bool is_row = within < blocks.rows && row < task.rows;
    const std::int64_t steps = shape.dim / Form::kValues;
    const RowWords words{rows.queries + block * padded * steps * Form::kParts + within * Form::kParts,
                         padded * Form::kParts};
    if (is_row) {
      const RowPlace place = place_of_row(call, task, row);
      const Seen seen = seen_by(call, length, place.position);
      read_head(call.q, place.token, place.head, shape, vector);
      rows.softmax[slot] = {rule_of(call.scores, shape.head_dim, place.head),
                            place.position,
                            larger_of(seen.begin, task.tile_begin * kTileTokens),
                            smaller_of(seen.end, task.tile_end * kTileTokens),
                            kNothing,
                            fill(0.0F)};
    } else {
      for (std::int64_t i = 0; i < shape.dim; i += kLanes) store(vector.values + i, fill(0.0F), all);
    }
    rows.query_scale[slot] = put_row(Form{}, vector, shape.dim, words);
    rows.start[slot] = start_of_row(Form{}, words, shape.dim);
    for (std::int64_t i = 0; i < shape.dim; i += kLanes)
      store(rows.sums + slot * rows.stride + i, fill(0.0F), all);
  }
}

template <class Kind>
void gather_scales(const Attention& call, Chunk& chunk) {
  const Mask all = first_lanes(kLanes);
  for (std::int64_t tile = 0; tile < chunk.tiles; ++tile) {
    const auto* keys = reinterpret_cast<const float*>(chunk.keys[tile]);
    const auto* values = reinterpret_cast<const float*>(chunk.keys[tile] + call.tiles.shape.key_bytes);
    for (int i = 0; i < kTileTokens; i += kLanes) {
      store(chunk.key_scales + tile * kTileTokens + i, load(keys + i, all), all);
      store(chunk.value_scales + tile * kTileTokens + i, load(values + i, all), all);
    }
  }
}

// What is likely to be read after the chunk: the next one of the task, or the first of the next head or
// sequence.
void look_ahead(const Attention& call, const AttentionTask& task, std::int64_t first, std::int64_t most,
                Chunk& chunk) {
  AttentionTask next = task;
  next.tile_begin = first;
  if (first >= task.tile_end) {
    const bool has_head = task.kv_head + 1 < call.tiles.kv_heads;
    next.kv_head = has_head ? task.kv_head + 1 : 0;
    next.sequence = has_head ? task.sequence : task.sequence + 1;
    next.tile_begin = has_head && first == task.tile_end ? task.tile_begin : 0;
    const std::int64_t length = next.sequence < call.sequences ? length_of(call, next.sequence) : 0;
    next.tile_end = smaller_of(task.tile_end, (length + kTileTokens - 1) / kTileTokens);
  }
  chunk.ahead.count = larger_of(0, smaller_of(most, next.tile_end - next.tile_begin));
  for (std::int64_t tile = 0; tile < chunk.ahead.count; ++tile) {
    chunk.ahead.tiles[tile] = tile_at(call, next.sequence, next.kv_head, next.tile_begin + tile);
  }
  chunk.ahead.begin(call.tiles.shape.tile_bytes);
}

template <class Kind>
void open_chunk(const Attention& call, const AttentionTask& task, std::int64_t first, std::int64_t most,
                Rows& rows, Chunk& chunk) {
  const TileShape& shape = call.tiles.shape;
  chunk.tiles = smaller_of(most, task.tile_end - first);
  chunk.values.count = chunk.tiles;
  chunk.values.dim = shape.dim;
  for (std::int64_t tile = 0; tile < chunk.tiles; ++tile) {
    const std::uint8_t* at = tile_at(call, task.sequence, task.kv_head, first + tile);
    chunk.keys[tile] = at;
    chunk.values.at[tile] = at + shape.key_bytes + kScaleBytes<Kind>;
    const std::int64_t written = length_of(call, task.sequence) - (first + tile) * kTileTokens;
    if (written < kTileTokens) {
      copy_written<Kind>(at + shape.key_bytes, shape.dim, written, rows.last_values);
      chunk.values.at[tile] = rows.last_values + kScaleBytes<Kind>;
    }
  }
  if constexpr (Kind::kHasScales) gather_scales<Kind>(call, chunk);
  look_ahead(call, task, first + chunk.tiles, most, chunk);
}

template <class Kind, int kRows>
void score_chunk_rows(const Attention& call, const Chunk& chunk, const std::uint32_t* queries,
                      const float* starts, float* scores, Ahead& ahead) {
  using Form = typename Kind::Keys;
  for (std::int64_t tile = 0; tile < chunk.tiles; tile += kTilesTogether<kRows>) {
    const KeyTiles<kRows> keys(chunk.keys, chunk.tiles, tile, kScaleBytes<Kind>);
    score_rows<Form, kRows>(queries, call.tiles.shape.dim / Form::kValues, keys, starts,
                            scores + tile * kTileTokens, ahead);
  }
}

XCPU_INLINE void shrink(float* sums, std::int64_t dim, float factor) {
  const Mask all = first_lanes(kLanes);
  for (std::int64_t i = 0; i < dim; i += kLanes)
    store(sums + i, multiply(load(sums + i, all), fill(factor)), all);
}

// One block of rows and one chunk.
template <class Kind, int kRows>
void attend_chunk(const Attention& call, Chunk& chunk, Rows& rows, std::int64_t block, std::int64_t real_rows,
                  std::uint32_t* weights) {
  using Form = typename Kind::Values;
  alignas(64) float scores[kRows * kChunkStride];
  float factors[kRows] = {};
  const std::int64_t dim = call.tiles.shape.dim;
  const std::int64_t first = block * kRows;
  const std::int64_t words = dim / Kind::Keys::kValues * Kind::Keys::kParts;
  // Keys and values ask for three quarters of the lines ahead.
  const std::int64_t lines = call.tiles.shape.tile_bytes / 256 / kRows;
  Ahead ahead = chunk.ahead;
  score_chunk_rows<Kind, kRows>(call, chunk, rows.queries + first * words, rows.start + first, scores, ahead);
  for (std::int64_t r = 0; r < real_rows; ++r) {
    const ChunkFactors found =
        weigh_chunk<Kind>(rows.softmax[first + r], chunk.span, chunk.key_scales, chunk.value_scales,
                          rows.query_scale[first + r], scores + r * kChunkStride,
                          weights + r * kWeightWords<Form>, ahead, lines);
    factors[r] = found.now;
    if (found.before != 1.0F) shrink(rows.sums + (first + r) * rows.stride, dim, found.before);
  }
  add_all_values<Form, kRows>(weights, chunk.values, factors, rows.sums + first * rows.stride, rows.stride,
                              ahead);
  chunk.ahead = ahead;
}

template <class Kind, int kRows>
void attend_rows(const Attention& call, const AttentionTask& task, const RowBlocks& blocks, Rows& rows) {
  using Form = typename Kind::Values;
  alignas(64) std::uint32_t weights[kRows * kWeightWords<Form>] = {};
  const std::int64_t most = chunk_tiles(kRows * blocks.count);
  prepare_rows<typename Kind::Keys>(call, task, blocks, kRows, rows);
  Chunk chunk;
  for (std::int64_t first = task.tile_begin; first < task.tile_end; first += most) {
    open_chunk<Kind>(call, task, first, most, rows, chunk);
    chunk.span = {first * kTileTokens, first * kTileTokens + columns_of<kRows>(chunk.tiles)};
    for (std::int64_t block = 0; block < blocks.count; ++block) {
      const std::int64_t real = smaller_of(blocks.rows, task.rows - block * blocks.rows);
      attend_chunk<Kind, kRows>(call, chunk, rows, block, real, weights);
    }
  }
}

// With the functions of the least number of rows that is enough, which it gives.
template <class Kind, int kIndex>
int attend_blocks(const Attention& call, const AttentionTask& task, const RowBlocks& blocks, Rows& rows) {
  constexpr int kRows = kRowCounts[kIndex];
  if constexpr (kRows < kMostRows) {
    if (blocks.rows > kRows) return attend_blocks<Kind, kIndex + 1>(call, task, blocks, rows);
  }
  attend_rows<Kind, kRows>(call, task, blocks, rows);
  return kRows;
}

// The result of a row from its sums: with the sink's weight, divided by all weights.
void finish_row(const Attention& call, const RowPlace& place, const float* sums, float top, float total) {
  const float sink = call.scores.sinks == nullptr ? kNothing : call.scores.sinks[place.head] * kLog2E;
  const float largest_of_all = sink > top ? sink : top;
  float factor = 0.0F;
  float lse = kNothing;
  if (largest_of_all != kNothing) {
    const float kept = power_of_two(top - largest_of_all);
    const float all = total * kept + power_of_two(sink - largest_of_all);
    factor = kept / all;
    lse = (largest_of_all + __builtin_log2f(all)) * kLn2;
  }
  const TileShape& shape = call.tiles.shape;
  const std::int64_t begin = place.token * call.out.token_stride + place.head * call.out.head_stride;
  for (std::int64_t i = 0; i < shape.head_dim; i += kLanes) {
    const Mask mask = first_lanes(shape.head_dim - i);
    store_any(call.out.data, call.out.dtype, begin + i, multiply(load(sums + i, mask), fill(factor)), mask);
  }
  if (call.lse != nullptr) call.lse[place.token * call.q_heads + place.head] = lse;
}

void keep_partial(const TileShape& shape, const float* sums, const SoftmaxRow& row, float* partial) {
  const Mask all = first_lanes(kLanes);
  for (std::int64_t i = 0; i < shape.dim; i += kLanes) store(partial + i, load(sums + i, all), all);
  partial[shape.dim] = row.top;
  partial[shape.dim + 1] = sum(row.total);
}

template <class Kind>
void attend(const Attention& call, const AttentionTask& task, void* workspace, float* partial) {
  Rows rows = rows_in<Kind>(workspace, call.tiles.shape);
  const RowBlocks blocks = blocks_of(task.rows);
  const int padded = attend_blocks<Kind, 0>(call, task, blocks, rows);
  for (std::int64_t row = 0; row < task.rows; ++row) {
    const std::int64_t slot = row / blocks.rows * padded + row % blocks.rows;
    const float* sums = rows.sums + slot * rows.stride;
    const SoftmaxRow& softmax = rows.softmax[slot];
    if (partial == nullptr) {
      finish_row(call, place_of_row(call, task, row), sums, softmax.top, sum(softmax.total));
    } else {
      const std::int64_t stride = call.tiles.shape.dim + kPartialExtra;
      keep_partial(call.tiles.shape, sums, softmax, partial + row * stride);
    }
  }
}

// Parts of one task, which have seen different keys, into the first; and its result.
void combine(const Attention& call, const AttentionTask& task, float* const* partials, std::int64_t count) {
  const std::int64_t dim = call.tiles.shape.dim;
  const Mask all = first_lanes(kLanes);
  for (std::int64_t row = 0; row < task.rows; ++row) {
    float* first = partials[0] + row * (dim + kPartialExtra);
    for (std::int64_t part = 1; part < count; ++part) {
      const float* other = partials[part] + row * (dim + kPartialExtra);
      const float top = first[dim] > other[dim] ? first[dim] : other[dim];
      if (top == kNothing) continue;
      const float kept = power_of_two(first[dim] - top);
      const float added = power_of_two(other[dim] - top);
      for (std::int64_t i = 0; i < dim; i += kLanes) {
        const Floats more = multiply(load(other + i, all), fill(added));
        store(first + i, multiply_add(load(first + i, all), fill(kept), more), all);
      }
      first[dim + 1] = first[dim + 1] * kept + other[dim + 1] * added;
      first[dim] = top;
    }
    finish_row(call, place_of_row(call, task, row), first, first[dim], first[dim + 1]);
  }
}

template <class Kind>
constexpr AttentionKernels kernels_of() {
  return {kTaskRows, workspace_bytes_of<Kind>, attend<Kind>, combine};
}

}  // namespace

const AttentionKernels kAttentionKernels[kCacheKinds] = {kernels_of<F32Kind>(), kernels_of<Bf16Kind>(),
                                                         kernels_of<Int8Kind>()};

}  // namespace xcpu::XCPU_ISA
