#include <algorithm>
#include <limits>
#include <string>

#include "schedule.h"

namespace torchplug::sim::compiler {
namespace {

constexpr std::int64_t kAlignment = 64;

struct Slot {
  Poly bytes;
  int free_from = 0;  // the first nest that may use it again
};

std::string aligned(const Poly& bytes) {
  if (const auto fixed = bytes.number())
    return std::to_string((std::max<std::int64_t>(*fixed, 0) + kAlignment - 1) / kAlignment * kAlignment) +
           "L";
  const std::string text = "(" + bytes.text() + ")";  // of a tensor without elements it may be less than 0
  return "(" + text + "<=0?0L:(" + text + "+63)/64*64)";
}

// The slot that is free and just large enough; for sizes that are not known, of the same size.
int find_slot(const std::vector<Slot>& slots, const Poly& bytes, int first) {
  int best = -1;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int s = 0; s < static_cast<int>(slots.size()); ++s) {
    const Slot& slot = slots[static_cast<std::size_t>(s)];
    if (slot.free_from > first) continue;
    if (slot.bytes == bytes) return s;
    const auto has = slot.bytes.number(), needs = bytes.number();
    if (!has || !needs || *has < *needs || *has >= least) continue;
    best = s;
    least = *has;
  }
  return best;
}

}  // namespace

MemoryPlan plan_memory(const Program& program, const Schedule& schedule) {
  MemoryPlan plan;
  std::vector<Slot> slots;
  plan.slots.assign(program.buffers.size(), -1);
  for (int n = 0; n < static_cast<int>(schedule.nests.size()); ++n) {
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      const Schedule::Life& life = schedule.lives[b];
      if (life.first != n || !life.is_stored || buffer.origin != Buffer::Origin::kScratch) continue;
      const Poly bytes = buffer.elements * Poly(bytes_of(buffer.type));
      int slot = find_slot(slots, bytes, n);
      if (slot < 0) {
        slot = static_cast<int>(slots.size());
        slots.push_back({bytes});
      }
      slots[static_cast<std::size_t>(slot)].free_from = life.last + 1;
      plan.slots[b] = slot;
    }
  }
  std::string sum = "0L";
  for (const Slot& slot : slots) {
    plan.offsets.push_back(sum);
    sum += "+" + aligned(slot.bytes);
  }
  plan.bytes = sum;
  return plan;
}

}  // namespace torchplug::sim::compiler
