// The gradient of attention, one instruction set: a pass over queries, with keys in columns, and one over
// keys, with queries in columns. Both compute scores again; nothing is added by two threads.

#include "attention.h"
#include "attention_task.h"

namespace xcpu::XCPU_ISA {
namespace {

constexpr int kRows = kMostRows;

std::uint8_t* tile_of(const Tiles& tiles, const std::int64_t* starts, std::int64_t sequence,
                      std::int64_t head, std::int64_t tile) {
  const std::int64_t page = starts[sequence] / kTileTokens + sequence + tile;
  return tiles.data + (page * tiles.kv_heads + head) * tiles.shape.tile_bytes;
}

// Two operands of a block of rows as words, and two sums of each row.
template <class Kind>
struct Block {
  using Form = typename Kind::Keys;
  std::uint32_t* first;
  std::uint32_t* second;
  float* first_sums;
  float* second_sums;
  std::int64_t stride, steps;

  Block(void* workspace, const TileShape& shape) {
    const std::int64_t words = kRows * (shape.dim / Form::kValues * Form::kParts);
    stride = sum_stride(shape.dim);
    steps = shape.dim / Form::kValues;
    first = static_cast<std::uint32_t*>(workspace);
    second = first + words;
    first_sums = reinterpret_cast<float*>(second + words);
    second_sums = first_sums + kRows * stride;
    for (std::int64_t i = 0; i < 2 * kRows * stride; i += kLanes) {
      store(first_sums + i, fill(0.0F), first_lanes(2 * kRows * stride - i));
    }
  }

  static std::int64_t bytes(const TileShape& shape) {
    return 8 * kRows * (shape.dim / Form::kValues * Form::kParts + sum_stride(shape.dim));
  }

  // Rows that are missing are zero.
  static void put(const xcpu_heads& heads, std::int64_t token, std::int64_t head, std::int64_t rows,
                  const TileShape& shape, std::uint32_t* words) {
    HeadVector vector;
    for (std::int64_t row = 0; row < kRows; ++row) {
      if (row < rows) {
        read_head(heads, token + row, head, shape, vector);
      } else {
        for (std::int64_t i = 0; i < shape.dim; ++i) vector.values[i] = 0.0F;
      }
      put_row(Form{}, vector, shape.dim, {words + row * Form::kParts, kRows * Form::kParts});
    }
  }
};

// What the rows are multiplied with: two operands, in tiles.
struct Columns {
  std::int64_t begin, tiles;  // the first tile of the chunk
  const std::uint8_t* first[kMostChunkTiles];
  const std::uint8_t* second[kMostChunkTiles];
};

template <class Form>
void multiply_columns(const std::uint32_t* words, std::int64_t steps, const std::uint8_t* const* tiles,
                      std::int64_t count, float* products) {
  constexpr float kStarts[kRows] = {};
  Ahead nothing;
  nothing.begin(0);
  for (std::int64_t tile = 0; tile < count; tile += kTilesTogether<kRows>) {
    const KeyTiles<kRows> keys(tiles, count, tile, 0);
    score_rows<Form, kRows>(words, steps, keys, kStarts, products + tile * kTileTokens, nothing);
  }
}

template <class Form>
void add_columns(const std::uint32_t* weights, const std::uint8_t* const* tiles, std::int64_t count,
                 const TileShape& shape, float* sums, std::int64_t stride) {
  constexpr float kFactors[kRows] = {};
  Ahead nothing;
  nothing.begin(0);
  ValueTiles values;
  values.count = count;
  values.dim = shape.dim;
  for (std::int64_t tile = 0; tile < count; ++tile) values.at[tile] = tiles[tile] + shape.key_bytes;
  add_all_values<Form, kRows>(weights, values, kFactors, sums, stride, nothing);
}

// How a product becomes a score, and how steep that is.
struct Slope {
  float scale, softcap, alibi;

  Slope(const Attention& call, std::int64_t head)
      : scale(scale_of(call)),
        softcap(call.scores.softcap),
        alibi(call.scores.alibi == nullptr ? 0.0F : call.scores.alibi[head]) {}

  static float scale_of(const Attention& call) {
    if (call.scores.scale != 0) return call.scores.scale;
    return 1.0F / __builtin_sqrtf(static_cast<float>(call.tiles.shape.head_dim));
  }
};

// Of a chunk of a row: the columns that it sees, what is taken from scores and from their gradients, column
// by column, and the distance from query to key, which grows by `step` with the column.
struct GradientRow {
  std::int64_t begin, end;
  const float* lse;
  const float* delta;
  float distance, step;
};

// From products to weights, which may not be wanted, and to gradients of products.
template <class Form>
void weigh_gradients(const Slope& slope, const GradientRow& row, std::int64_t count, const float* scores,
                     const float* products, std::uint32_t* weights, std::uint32_t* gradients) {
  const Mask all = first_lanes(kLanes);
  const Floats begin = fill(static_cast<float>(larger_of(row.begin, -1)));
  const Floats end = fill(static_cast<float>(smaller_of(row.end, kChunk)));
  const Floats zero = fill(0.0F);
  for (std::int64_t at = 0; at < count; at += kLanes) {
    const Floats column = add(lane_numbers(), fill(static_cast<float>(at)));
    Floats score = multiply(load(scores + at, all), fill(slope.scale));
    Floats steepness = fill(1.0F);
    if (slope.softcap != 0) {
      const Floats tangent = hyperbolic_tangent(multiply(score, fill(1.0F / slope.softcap)));
      score = multiply(tangent, fill(slope.softcap));
      steepness = subtract(steepness, multiply(tangent, tangent));
    }
    if (slope.alibi != 0) {
      const Floats distance = multiply_add(column, fill(row.step), fill(row.distance));
      score = multiply_add(distance, fill(slope.alibi), score);
    }
    Floats weight = power_of_two(multiply(subtract(score, load(row.lse + at, all)), fill(kLog2E)));
    weight = select_less(column, begin, zero, weight);
    weight = select_less(column, end, weight, zero);
    if (weights != nullptr) store_weights(Form{}, weights, at, weight);
    Floats gradient = multiply(subtract(load(products + at, all), load(row.delta + at, all)), steepness);
    gradient = multiply(weight, gradient);
    gradient = select_less(column, begin, zero, gradient);
    store_weights(Form{}, gradients, at, select_less(column, end, gradient, zero));
  }
}

void write_sums(const xcpu_heads& to, std::int64_t token, std::int64_t head, const TileShape& shape,
                const float* sums, float factor) {
  const std::int64_t begin = token * to.token_stride + head * to.head_stride;
  for (std::int64_t i = 0; i < shape.head_dim; i += kLanes) {
    const Mask mask = first_lanes(shape.head_dim - i);
    store_any(to.data, to.dtype, begin + i, multiply(load(sums + i, mask), fill(factor)), mask);
  }
}

template <class Form>
struct Buffers {
  alignas(64) float scores[kRows * kChunkStride];
  alignas(64) float products[kRows * kChunkStride];
  alignas(64) std::uint32_t weights[kRows * kWeightWords<Form>] = {};
  alignas(64) std::uint32_t gradients[kRows * kWeightWords<Form>] = {};
  alignas(64) float lse[kChunk];
  alignas(64) float delta[kChunk];
};

template <class Kind>
void query_rows(const AttentionGradient& gradient, const GradientRows& rows, void* workspace) {
  using Form = typename Kind::Values;
  const Attention& call = gradient.call;
  const TileShape& shape = call.tiles.shape;
  const std::int64_t token = call.q_starts[rows.sequence] + rows.first;
  const std::int64_t queries = call.q_starts[rows.sequence + 1] - call.q_starts[rows.sequence];
  const std::int64_t length = length_of(call, rows.sequence);
  const std::int64_t position = length - queries + rows.first;
  const std::int64_t kv_head = rows.head / call.group;
  const Slope slope(call, rows.head);
  Block<Kind> block(workspace, shape);
  Block<Kind>::put(call.q, token, rows.head, rows.rows, shape, block.first);
  Block<Kind>::put(gradient.grad, token, rows.head, rows.rows, shape, block.second);
  Buffers<Form> buffers;
  const std::int64_t tile_begin = seen_by(call, length, position).begin / kTileTokens;
  const std::int64_t tile_end =
      (seen_by(call, length, position + rows.rows - 1).end + kTileTokens - 1) / kTileTokens;
  for (std::int64_t first = tile_begin; first < tile_end; first += kMostChunkTiles) {
    Columns columns{first, smaller_of(kMostChunkTiles, tile_end - first), {}, {}};
    for (std::int64_t tile = 0; tile < columns.tiles; ++tile) {
      columns.first[tile] = tile_of(gradient.keys, call.k_starts, rows.sequence, kv_head, first + tile);
      columns.second[tile] = tile_of(gradient.values, call.k_starts, rows.sequence, kv_head, first + tile);
    }
    multiply_columns<Form>(block.first, block.steps, columns.first, columns.tiles, buffers.scores);
    multiply_columns<Form>(block.second, block.steps, columns.second, columns.tiles, buffers.products);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const std::int64_t entry = (token + r) * call.q_heads + rows.head;
      for (int i = 0; i < kChunk; ++i) {
        buffers.lse[i] = call.lse[entry];
        buffers.delta[i] = gradient.delta[entry];
      }
      const Seen seen = seen_by(call, length, position + r);
      const std::int64_t begin = first * kTileTokens;
      const GradientRow row{seen.begin - begin,
                            seen.end - begin,
                            buffers.lse,
                            buffers.delta,
                            static_cast<float>(begin - position - r),
                            1.0F};
      weigh_gradients<Form>(slope, row, columns_of<kRows>(columns.tiles), buffers.scores + r * kChunkStride,
                            buffers.products + r * kChunkStride, nullptr,
                            buffers.gradients + r * kWeightWords<Form>);
    }
    add_columns<Form>(buffers.gradients, columns.first, columns.tiles, shape, block.first_sums, block.stride);
  }
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    write_sums(gradient.grad_q, token + r, rows.head, shape, block.first_sums + r * block.stride,
               slope.scale);
  }
}

// The queries of a sequence that see a key: from begin to end of its tokens.
Seen queries_of(const Attention& call, std::int64_t queries, std::int64_t length, std::int64_t key) {
  const std::int64_t before = length - queries;  // the position of the first query
  const std::int64_t begin = call.scores.causal != 0 ? key - before : 0;
  const std::int64_t end = call.scores.window > 0 ? key + call.scores.window - before : queries;
  return {larger_of(begin, 0), smaller_of(end, queries)};
}

template <class Kind>
void add_head(const AttentionGradient& gradient, const GradientRows& rows, std::int64_t head,
              Block<Kind>& block, Buffers<typename Kind::Values>& buffers) {
  using Form = typename Kind::Values;
  const Attention& call = gradient.call;
  const TileShape& shape = call.tiles.shape;
  const std::int64_t token = call.q_starts[rows.sequence];
  const std::int64_t queries = call.q_starts[rows.sequence + 1] - token;
  const std::int64_t length = length_of(call, rows.sequence);
  const Slope slope(call, head);
  const std::int64_t tile_begin = queries_of(call, queries, length, rows.first).begin / kTileTokens;
  const std::int64_t end = queries_of(call, queries, length, rows.first + rows.rows - 1).end;
  const std::int64_t tile_end = (end + kTileTokens - 1) / kTileTokens;
  for (std::int64_t first = tile_begin; first < tile_end; first += kMostChunkTiles) {
    Columns columns{first, smaller_of(kMostChunkTiles, tile_end - first), {}, {}};
    for (std::int64_t tile = 0; tile < columns.tiles; ++tile) {
      columns.first[tile] = tile_of(gradient.queries, call.q_starts, rows.sequence, head, first + tile);
      columns.second[tile] = tile_of(gradient.grads, call.q_starts, rows.sequence, head, first + tile);
    }
    const std::int64_t begin = first * kTileTokens;
    for (std::int64_t i = 0; i < kChunk; ++i) {
      const std::int64_t entry = (token + smaller_of(begin + i, queries - 1)) * call.q_heads + head;
      buffers.lse[i] = call.lse[entry];
      buffers.delta[i] = gradient.delta[entry];
    }
    multiply_columns<Form>(block.first, block.steps, columns.first, columns.tiles, buffers.scores);
    multiply_columns<Form>(block.second, block.steps, columns.second, columns.tiles, buffers.products);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const std::int64_t key = rows.first + r;
      const Seen seen = queries_of(call, queries, length, key);
      const GradientRow row{seen.begin - begin,
                            seen.end - begin,
                            buffers.lse,
                            buffers.delta,
                            static_cast<float>(key - (length - queries) - begin),
                            -1.0F};
      weigh_gradients<Form>(slope, row, columns_of<kRows>(columns.tiles), buffers.scores + r * kChunkStride,
                            buffers.products + r * kChunkStride, buffers.weights + r * kWeightWords<Form>,
                            buffers.gradients + r * kWeightWords<Form>);
    }
    add_columns<Form>(buffers.gradients, columns.first, columns.tiles, shape, block.first_sums, block.stride);
    add_columns<Form>(buffers.weights, columns.second, columns.tiles, shape, block.second_sums, block.stride);
  }
}

template <class Kind>
void key_rows(const AttentionGradient& gradient, const GradientRows& rows, void* workspace) {
  const Attention& call = gradient.call;
  const TileShape& shape = call.tiles.shape;
  const std::int64_t token = call.k_starts[rows.sequence] + rows.first;
  Block<Kind> block(workspace, shape);
  Block<Kind>::put(gradient.k, token, rows.head, rows.rows, shape, block.first);
  Block<Kind>::put(gradient.v, token, rows.head, rows.rows, shape, block.second);
  Buffers<typename Kind::Values> buffers;
  for (std::int64_t head = rows.head * call.group; head < (rows.head + 1) * call.group; ++head) {
    add_head<Kind>(gradient, rows, head, block, buffers);
  }
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    if (gradient.grad_k.data != nullptr) {
      write_sums(gradient.grad_k, token + r, rows.head, shape, block.first_sums + r * block.stride,
                 Slope::scale_of(call));
    }
    if (gradient.grad_v.data != nullptr) {
      write_sums(gradient.grad_v, token + r, rows.head, shape, block.second_sums + r * block.stride, 1.0F);
    }
  }
}

void delta_of(const AttentionGradient& gradient, std::int64_t begin, std::int64_t end) {
  const Attention& call = gradient.call;
  for (std::int64_t token = begin; token < end; ++token) {
    for (std::int64_t head = 0; head < call.q_heads; ++head) {
      const std::int64_t of_out = token * call.out.token_stride + head * call.out.head_stride;
      const std::int64_t of_grad = token * gradient.grad.token_stride + head * gradient.grad.head_stride;
      Floats total = fill(0.0F);
      for (std::int64_t i = 0; i < call.tiles.shape.head_dim; i += kLanes) {
        const Mask mask = first_lanes(call.tiles.shape.head_dim - i);
        const Floats out = load_any(call.out.data, call.out.dtype, of_out + i, mask);
        total =
            multiply_add(out, load_any(gradient.grad.data, gradient.grad.dtype, of_grad + i, mask), total);
      }
      gradient.delta[token * call.q_heads + head] = sum(total);
    }
  }
}

}  // namespace

const AttentionGradientKernels kAttentionGradientKernels[2] = {
    {kRows, Block<F32Kind>::bytes, delta_of, query_rows<F32Kind>, key_rows<F32Kind>},
    {kRows, Block<Bf16Kind>::bytes, delta_of, query_rows<Bf16Kind>, key_rows<Bf16Kind>},
};

}  // namespace xcpu::XCPU_ISA
