// Linear with packed weights, one instruction set.

#include "linear.h"

#include "linear_finish.h"
#include "linear_prepare.h"
#include "linear_tile.h"

namespace xcpu::XCPU_ISA {
namespace {

// As many rows as there are registers for their sums.
#if defined(__AVX512F__)
constexpr int kRows = 14;
constexpr int kInt4Rows = 12;
#elif defined(__AVX2__)
constexpr int kRows = 3;
constexpr int kInt4Rows = 2;
#else
constexpr int kRows = 2;
constexpr int kInt4Rows = 2;
#endif

// Panels that are read again for the next block of rows stay in a level-2 cache, with as many after them.
constexpr std::int64_t kBytesKept = 256 << 10;

using Tile = void (*)(const Linear& linear, const Panel& panel, std::int64_t first_row, float* tile);

// Which function computes blocks of `rows` rows.
template <template <int> class Tiles, int kMost>
Tile tile_of(std::int64_t rows) {
  if (rows == kMost) return Tiles<kMost>::compute;
  if constexpr (kMost > 1) return tile_of<Tiles, kMost - 1>(rows);
  return nullptr;
}

template <int kCount>
struct F32Tiles {
  static constexpr Tile compute = compute_plain<F32Form, kCount>;
};
template <int kCount>
struct Bf16Tiles {
  static constexpr Tile compute = compute_plain<Bf16Form, kCount>;
};
template <int kCount>
struct Int8Tiles {
  static constexpr Tile compute = compute_int8<kCount>;
};
template <int kCount>
struct Int4Tiles {
  static constexpr Tile compute = compute_int4<Int4Form, kCount>;
};
template <int kCount>
struct Int4Bf16Tiles {
  static constexpr Tile compute = compute_int4<Int4Bf16Form, kCount>;
};

// Panels that are read by some blocks of rows, one block after the other.
struct Batch {
  std::int64_t panel_begin, panel_end;
  std::int64_t blocks;
  std::int64_t bytes;  // of panels, of which the next batch has as many
};

template <template <int> class Tiles, int kMost>
void compute_block(const Linear& linear, const Batch& batch, std::int64_t turn, std::int64_t block) {
  alignas(64) float tile[kMost * kPanelColumns];
  const std::int64_t all_blocks = count_blocks(linear.rows, kMost);
  const std::int64_t row = block_begin(linear.rows, all_blocks, block);
  const std::int64_t rows = block_begin(linear.rows, all_blocks, block + 1) - row;
  const Tile compute = tile_of<Tiles, kMost>(rows);
  for (std::int64_t index = batch.panel_begin; index < batch.panel_end; ++index) {
    Panel panel = panel_of(linear, index);
    if (batch.blocks > 1) {
      // Each block brings its part of the next batch, so that memory is as busy in one as in the other.
      const std::uint8_t* begin = linear.weight + batch.panel_begin * kPanelColumns * linear.column_bytes;
      panel.ahead = begin + batch.bytes + (turn * batch.bytes + (panel.data - begin)) / batch.blocks;
      panel.ahead_parts = batch.blocks;
    }
    compute(linear, panel, row, tile);
    finish_tile(linear, tile, row, rows, index);
  }
}

template <template <int> class Tiles, int kMost>
void compute_part(const Linear& linear, const LinearPart& part) {
  const std::int64_t panel_bytes = kPanelColumns * linear.column_bytes;
  const std::int64_t together = larger_of(1, kBytesKept / panel_bytes);
  const std::int64_t blocks = part.block_end - part.block_begin;
  for (std::int64_t first = part.panel_begin; first < part.panel_end; first += together) {
    const Batch batch{first, smaller_of(first + together, part.panel_end), blocks, together * panel_bytes};
    for (std::int64_t turn = 0; turn < blocks; ++turn) {
      compute_block<Tiles, kMost>(linear, batch, turn, part.block_begin + turn);
    }
  }
}

template <class Form, template <int> class Tiles, int kMost>
constexpr LinearKernels kernels_of(int reads, void (*prepare)(const Linear&, std::int64_t, std::int64_t)) {
  return {kMost,   32 * Form::kParts / Form::kValues, reads, Form::kValues,
          prepare, compute_part<Tiles, kMost>};
}

constexpr int kNone = -1;
constexpr int kBf16Reads = Bf16Form::kParts == 1 ? int{XCPU_BF16} : kNone;

}  // namespace

const LinearKernels kLinearKernels[kLinearForms] = {
    kernels_of<F32Form, F32Tiles, kRows>(XCPU_F32, prepare_rows<F32Form, kRows>),
    kernels_of<Bf16Form, Bf16Tiles, kRows>(kBf16Reads, prepare_rows<Bf16Form, kRows>),
    kernels_of<Int8Form, Int8Tiles, kRows>(kNone, prepare_rows<Int8Form, kRows>),
    kernels_of<Int4Form, Int4Tiles, kInt4Rows>(kNone, prepare_groups<kInt4Rows>),
    kernels_of<Int4Bf16Form, Int4Bf16Tiles, kInt4Rows>(kNone, prepare_rows<Int4Bf16Form, kInt4Rows>),
};

}  // namespace xcpu::XCPU_ISA
