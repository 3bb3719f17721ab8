#include "attention_schedule.h"

#include <algorithm>

namespace xcpu {
namespace {

constexpr std::int64_t kLine = 64;
// Tasks are split between chunks of keys, so that none is computed half empty.
constexpr std::int64_t kSplitTiles = 8;
// What reading a tile costs, in rows that are multiplied with it.
constexpr std::int64_t kReading = 8;

std::int64_t lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::int64_t length_of(const Attention& call, std::int64_t sequence) {
  return call.lengths != nullptr ? call.lengths[sequence]
                                 : call.k_starts[sequence + 1] - call.k_starts[sequence];
}

}  // namespace

AttentionSchedule::AttentionSchedule(const Attention& call, const AttentionKernels& kernels)
    : call_(call),
      kernels_(kernels),
      rows_(call.group < kernels.max_rows ? kernels.max_rows / call.group * call.group : kernels.max_rows) {}

std::int64_t AttentionSchedule::thread_bytes() const {
  const std::int64_t partial = kernels_.max_rows * (call_.tiles.shape.dim + kPartialExtra) * 4;
  return lines(kernels_.workspace_bytes(call_.tiles.shape)) + 2 * lines(partial);
}

float* AttentionSchedule::partial(void* scratch, std::int32_t index, int which) const {
  const std::int64_t bytes = lines(kernels_.max_rows * (call_.tiles.shape.dim + kPartialExtra) * 4);
  return reinterpret_cast<float*>(static_cast<std::uint8_t*>(scratch) + (index + 1) * thread_bytes() -
                                  (which + 1) * bytes);
}

AttentionSchedule::Costed AttentionSchedule::task_of(std::int64_t sequence, std::int64_t kv_head,
                                                     std::int64_t row, std::int64_t before) const {
  const std::int64_t queries = call_.q_starts[sequence + 1] - call_.q_starts[sequence];
  const std::int64_t rows = std::min(rows_, queries * call_.group - row);
  const std::int64_t length = length_of(call_, sequence);
  const std::int64_t first = length - queries + row / call_.group;
  const std::int64_t last = length - queries + (row + rows - 1) / call_.group;
  const std::int64_t begin =
      call_.scores.window > 0 ? std::max<std::int64_t>(first - call_.scores.window + 1, 0) : 0;
  const std::int64_t end = call_.scores.causal != 0 ? std::clamp<std::int64_t>(last + 1, 0, length) : length;
  const std::int64_t tile_begin = begin / kTileTokens;
  const std::int64_t tile_end = std::max((end + kTileTokens - 1) / kTileTokens, tile_begin);
  const std::int64_t of_tile = rows + kReading;
  return {{sequence, kv_head, row, rows, tile_begin, tile_end},
          before,
          (tile_end - tile_begin) * of_tile + 1,
          of_tile};
}

// Calls function(task) for all tasks in their order, until it gives false.
template <class Function>
void AttentionSchedule::for_tasks(Function function) const {
  std::int64_t before = 0;
  for (std::int64_t sequence = 0; sequence < call_.sequences; ++sequence) {
    const std::int64_t rows = (call_.q_starts[sequence + 1] - call_.q_starts[sequence]) * call_.group;
    for (std::int64_t kv_head = 0; kv_head < call_.tiles.kv_heads; ++kv_head) {
      for (std::int64_t row = 0; row < rows; row += rows_) {
        const Costed costed = task_of(sequence, kv_head, row, before);
        if (!function(costed)) return;
        before += costed.cost;
      }
    }
  }
}

std::int64_t AttentionSchedule::total() const {
  std::int64_t total = 0;
  for_tasks([&](const Costed& costed) {
    total = costed.before + costed.cost;
    return true;
  });
  return total;
}

AttentionSchedule::Part AttentionSchedule::part_of(const Costed& costed, std::int64_t total,
                                                   std::int32_t index, std::int32_t count) const {
  const auto cut = [&](std::int32_t thread) {
    const std::int64_t target = total * thread / count;
    if (target <= costed.before) return costed.task.tile_begin;
    if (target >= costed.before + costed.cost) return costed.task.tile_end;
    const std::int64_t tiles = (target - costed.before) / costed.of_tile;
    return costed.task.tile_begin + tiles / kSplitTiles * kSplitTiles;
  };
  return {cut(index), cut(index + 1)};
}

void AttentionSchedule::run(std::int32_t index, std::int32_t count, std::int32_t waiting, void* scratch,
                            Barrier& barrier) const {
  if (index >= count) {
    barrier.wait(waiting);
    return;
  }
  void* workspace = static_cast<std::uint8_t*>(scratch) + index * thread_bytes();
  const std::int64_t all = count == 1 ? 0 : total();
  Costed begun{};
  bool has_begun = false;
  for_tasks([&](const Costed& costed) {
    AttentionTask task = costed.task;
    if (count > 1) {
      if (costed.before >= all * (index + 1) / count) return false;
      const Part part = part_of(costed, all, index, count);
      const bool is_empty = task.tile_begin == task.tile_end && costed.before >= all * index / count;
      if (part.begin == part.end && !is_empty) return true;
      task.tile_begin = part.begin;
      task.tile_end = part.end;
    }
    const bool is_first = task.tile_begin == costed.task.tile_begin;
    const bool is_whole = is_first && task.tile_end == costed.task.tile_end;
    kernels_.attend(call_, task, workspace, is_whole ? nullptr : partial(scratch, index, is_first ? 1 : 0));
    if (is_first && !is_whole) {
      begun = costed;
      has_begun = true;
    }
    return true;
  });
  barrier.wait(waiting);
  if (has_begun) combine(begun, all, index, count, scratch);
}

// A thread's second partial result is of a task that it began, its first of one that others began.
void AttentionSchedule::combine(const Costed& costed, std::int64_t total, std::int32_t index,
                                std::int32_t count, void* scratch) const {
  float* partials[2] = {partial(scratch, index, 1), nullptr};
  float* const own = partials[0];
  for (std::int32_t other = index + 1; other < count; ++other) {
    const Part part = part_of(costed, total, other, count);
    if (part.begin < part.end) {
      partials[1] = partial(scratch, other, 0);
      kernels_.combine(call_, costed.task, partials, 2);
      partials[0] = own;
    }
    if (part.end == costed.task.tile_end) return;
  }
}

xcpu_attention_place AttentionSchedule::place(std::int32_t index, std::int32_t count) const {
  const std::int64_t all = total();
  xcpu_attention_place found{call_.sequences, 0, 0, 0};
  for_tasks([&](const Costed& costed) {
    if (costed.before + costed.cost <= all * index / count) return true;
    const Part part = part_of(costed, all, index, count);
    if (part.begin == costed.task.tile_end && part.begin != costed.task.tile_begin) return true;
    found = {costed.task.sequence, costed.task.kv_head, costed.task.row_begin, part.begin * kTileTokens};
    return false;
  });
  return found;
}

}  // namespace xcpu
