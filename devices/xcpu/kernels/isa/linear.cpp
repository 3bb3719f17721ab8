// Linear with packed weights, one instruction set.

#include "linear.h"

#include "linear_finish.h"
#include "linear_prepare.h"
#include "linear_tile.h"

namespace xcpu::XCPU_ISA {
namespace {

// What a level-2 cache is to keep: some panels, or stretches of them, and the inputs that meet them.
constexpr std::int64_t kBytesOfPanels = 256 << 10;
constexpr std::int64_t kBytesOfStretch = 64 << 10;
constexpr std::int64_t kPanelsTogether = 4;
constexpr std::int64_t kBlocksTogether = 8;

using Tile = void (*)(const Linear& linear, const Panel& panel, const Stretch& stretch,
                      std::int64_t first_row, float* tile);

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

// How one thread's part is gone through: some panels, with them some blocks of rows, of these stretch after
// stretch, so that what meets often is near. A single block meets each panel once, in one stretch.
struct Schedule {
  std::int64_t blocks;     // of the part
  std::int64_t stretches;  // of a panel
  std::int64_t panels;     // together

  Schedule(const Linear& linear, const LinearPart& part) {
    const std::int64_t panel_bytes = kPanelColumns * linear.column_bytes;
    blocks = part.block_end - part.block_begin;
    stretches =
        blocks == 1 ? 1 : larger_of(1, smaller_of(linear.k / kStretchStep, panel_bytes / kBytesOfStretch));
    panels = smaller_of(kPanelsTogether, larger_of(1, kBytesOfPanels * stretches / panel_bytes));
  }

  Stretch stretch_of(const Linear& linear, std::int64_t index) const {
    const std::int64_t units = linear.k / kStretchStep;
    const bool is_last = index + 1 == stretches;
    return {units * index / stretches * kStretchStep,
            is_last ? linear.k : units * (index + 1) / stretches * kStretchStep, index == 0, is_last};
  }

 private:
  static constexpr std::int64_t kStretchStep = 128;  // a multiple of every step and group
};

// While several blocks read a stretch, each asks for its part of the next one: the panel's, or that of the
// panel which is read when these are done. So memory is as busy with one block as with the other.
void ask_ahead(Panel& panel, const Linear& linear, const Schedule& schedule, const Stretch& stretch,
               std::int64_t turn, std::int64_t turns) {
  const auto bytes_before = [&](std::int64_t k) {  // nearly
    return linear.column_bytes * panel.columns * k / linear.k;
  };
  if (schedule.blocks == 1) return;
  const std::int64_t bytes = bytes_before(stretch.end - stretch.begin);
  const std::uint8_t* next = stretch.is_last
                                 ? panel.data + schedule.panels * kPanelColumns * linear.column_bytes
                                 : panel.data + bytes_before(stretch.end);
  panel.ahead = next + bytes * turn / turns;
  panel.ahead_parts = turns;
}

// Panels from first_panel to end_panel with the blocks from first_block to end_block.
template <template <int> class Tiles, int kMost>
void compute_together(const Linear& linear, const LinearPart& part, const Schedule& schedule,
                      const LinearPart& now) {
  alignas(64) float tiles[kPanelsTogether][kBlocksTogether][kMost * kPanelColumns];
  const std::int64_t all_blocks = count_blocks(linear.rows, kMost);
  for (std::int64_t s = 0; s < schedule.stretches; ++s) {
    const Stretch stretch = schedule.stretch_of(linear, s);
    for (std::int64_t block = now.block_begin; block < now.block_end; ++block) {
      const std::int64_t row = block_begin(linear.rows, all_blocks, block);
      const std::int64_t rows = block_begin(linear.rows, all_blocks, block + 1) - row;
      const Tile compute = tile_of<Tiles, kMost>(rows);
      // Where a panel is one stretch, all blocks of the part meet it before the next.
      const bool is_whole = schedule.stretches == 1;
      const std::int64_t turn = block - (is_whole ? part.block_begin : now.block_begin);
      const std::int64_t turns = is_whole ? schedule.blocks : now.block_end - now.block_begin;
      for (std::int64_t index = now.panel_begin; index < now.panel_end; ++index) {
        float* tile = tiles[index - now.panel_begin][block - now.block_begin];
        Panel panel = panel_of(linear, index);
        ask_ahead(panel, linear, schedule, stretch, turn, turns);
        compute(linear, panel, stretch, row, tile);
        if (stretch.is_last) finish_tile(linear, tile, row, rows, index);
      }
    }
  }
}

template <template <int> class Tiles, int kMost>
void compute_part(const Linear& linear, const LinearPart& part) {
  const Schedule schedule(linear, part);
  for (std::int64_t panel = part.panel_begin; panel < part.panel_end; panel += schedule.panels) {
    const std::int64_t panel_end = smaller_of(panel + schedule.panels, part.panel_end);
    for (std::int64_t block = part.block_begin; block < part.block_end; block += kBlocksTogether) {
      const std::int64_t block_end = smaller_of(block + kBlocksTogether, part.block_end);
      compute_together<Tiles, kMost>(linear, part, schedule, {block, block_end, panel, panel_end});
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
    kernels_of<F32Form, F32Tiles, kMostRows>(XCPU_F32, prepare_rows<F32Form, kMostRows>),
    kernels_of<Bf16Form, Bf16Tiles, kMostRows>(kBf16Reads, prepare_rows<Bf16Form, kMostRows>),
    kernels_of<Int8Form, Int8Tiles, kMostRows>(kNone, prepare_rows<Int8Form, kMostRows>),
    kernels_of<Int4Form, Int4Tiles, kMostInt4Rows>(kNone, prepare_groups<kMostInt4Rows>),
    kernels_of<Int4Bf16Form, Int4Bf16Tiles, kMostInt4Rows>(kNone, prepare_rows<Int4Bf16Form, kMostInt4Rows>),
};

}  // namespace xcpu::XCPU_ISA
