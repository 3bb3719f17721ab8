#include "memory/free_blocks.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace torchplug::memory {

Block* BlockStore::make(const Block& block) {
  if (spare_ == nullptr) return &blocks_.emplace_back(block);
  Block* made = spare_;
  spare_ = made->next;
  *made = block;
  return made;
}

void BlockStore::release(Block* block) {
  block->context.reset();
  block->next = spare_;
  spare_ = block;
}

bool FreeBlocks::BySize::operator()(const Block* a, const Block* b) const {
  if (a->stream.id() != b->stream.id()) return a->stream.id() < b->stream.id();
  if (a->bytes != b->bytes) return a->bytes < b->bytes;
  return a->address < b->address;
}

bool FreeBlocks::BySize::operator()(const Block* a, const Wanted& b) const {
  return a->stream.id() != b.stream ? a->stream.id() < b.stream : a->bytes < b.bytes;
}

void FreeBlocks::insert(Block* block) {
  block->state = BlockState::kFree;
  block->cache = nullptr;
  block->idle_since = searches_;
  block->requested = 0;
  free_.insert(block);
  if (is_inactive_split(*block)) {
    ++uncounted_.count;
    uncounted_.bytes += static_cast<int64_t>(block->bytes);
  }
}

void FreeBlocks::remove(Block* block) {
  free_.erase(block);
  if (is_inactive_split(*block)) {
    --uncounted_.count;
    uncounted_.bytes -= static_cast<int64_t>(block->bytes);
  }
}

void FreeBlocks::count_inactive_splits() {
  statistics_.change_inactive_splits(Statistics::kind_of(is_small_), std::exchange(uncounted_, {}));
}

Block* FreeBlocks::allocate(const Stream& stream, size_t bytes, const SplitRules& rules) {
  ++searches_;
  const auto found = find(stream, bytes, rules);
  if (found == free_.end()) return nullptr;
  Block* block = *found;
  remove(block);
  if (should_split(*block, bytes, rules)) insert(cut(block, bytes));
  block->state = BlockState::kAllocated;
  count_inactive_splits();
  return block;
}

FreeBlocks::Free::iterator FreeBlocks::find(const Stream& stream, size_t bytes, const SplitRules& rules) {
  const c10::StreamId id = stream.id();
  auto found = free_.lower_bound(BySize::Wanted{id, bytes});
  const auto is_there = [&] { return found != free_.end() && (*found)->stream.id() == id; };
  if (!rules.expandable) {  // they may have been in use before
    while (is_there() && (*found)->segment->is_expandable) ++found;
  }
  if (!is_there()) return free_.end();
  if ((*found)->segment->is_expandable) found = best_to_grow(found, id);
  const size_t size = (*found)->bytes;
  const bool too_long =
      bytes < rules.max_split ? size >= rules.max_split : size >= bytes + rules.max_rounding;
  return too_long ? free_.end() : found;
}

// A block that could grow counts as long as it could become: the least of these leaves most for others.
FreeBlocks::Free::iterator FreeBlocks::best_to_grow(Free::iterator found, c10::StreamId stream) {
  const auto reach = [](const Block* block) {
    const bool can_grow = block->after != nullptr && block->after->state == BlockState::kUnmapped;
    return block->bytes + (can_grow ? block->after->bytes : 0);
  };
  for (auto next = std::next(found); (*found)->segment->is_expandable && next != free_.end() &&
                                     (*next)->stream.id() == stream && reach(*next) < reach(*found);
       ++next) {
    found = next;
  }
  return found;
}

bool FreeBlocks::should_split(const Block& block, size_t bytes, const SplitRules& rules) const {
  if (!rules.may_split) return false;
  const size_t rest = block.bytes - bytes;
  if (is_small_ || block.segment->is_expandable) return rest >= rules.unit;
  return bytes < rules.max_split && rest > kSmallSize;
}

Block* FreeBlocks::cut(Block* block, size_t bytes) {
  Block* rest = store_.make(*block);
  rest->context.reset();
  rest->used_on.clear();
  rest->address += bytes;
  rest->offset += bytes;
  if (rest->view != nullptr) rest->view += bytes;
  rest->bytes -= bytes;
  rest->before = block;
  if (rest->after != nullptr) rest->after->before = rest;
  block->bytes = bytes;
  block->after = rest;
  return rest;
}

void FreeBlocks::join(Block* left, Block* right) {
  left->bytes += right->bytes;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  store_.release(right);
}

void FreeBlocks::free(Block* block) {
  block->context.reset();
  insert_joined(block);
  count_inactive_splits();
}

void FreeBlocks::insert_joined(Block* block) {
  if (Block* left = block->before; left != nullptr && left->is_free()) {
    remove(left);
    join(left, block);
    block = left;
  }
  if (Block* right = block->after; right != nullptr && right->is_free()) {
    remove(right);
    join(block, right);
  }
  insert(block);
}

void FreeBlocks::add(Segment& segment) {
  Block* block = store_.make(segment.whole);
  block->segment = &segment;
  segment.first = block;
  if (segment.is_expandable) {
    block->state = BlockState::kUnmapped;
    unmapped_.insert(block);
  } else {
    insert(block);
  }
}

std::vector<Segment*> FreeBlocks::remove_whole(const std::function<bool(const Block&)>& is_wanted) {
  std::vector<Segment*> removed;
  for (const Block* block : free_) {
    if (!block->is_split() && !block->segment->is_expandable && is_wanted(*block)) {
      removed.push_back(block->segment);
    }
  }
  for (Segment* segment : removed) remove(segment->first);
  return removed;
}

void FreeBlocks::restore_whole(Segment& segment) { insert(segment.first); }

Block* FreeBlocks::find_unmapped(const Stream& stream, size_t bytes) const {
  for (Block* block : unmapped_) {
    if (!(block->stream == stream)) continue;
    const bool joins = block->before != nullptr && block->before->is_free();
    size_t room = block->bytes + (joins ? block->before->bytes : 0);
    for (const Block* next = block->after; next != nullptr && room < bytes && next->is_free();
         next = next->after) {
      room += next->bytes;
    }
    if (room >= bytes) return block;
  }
  return nullptr;
}

void FreeBlocks::map(Block* block, size_t bytes) {
  unmapped_.erase(block);
  if (bytes < block->bytes) unmapped_.insert(cut(block, bytes));
  insert_joined(block);
  count_inactive_splits();
}

std::vector<FreeBlocks::Range> FreeBlocks::unmap(size_t unit) {
  std::vector<Block*> blocks;
  for (Block* block : free_) {
    if (block->segment->is_expandable) blocks.push_back(block);
  }
  std::vector<Range> ranges;
  for (Block* block : blocks) {
    const size_t begin = round_up(block->offset, unit);
    const size_t end = (block->offset + block->bytes) / unit * unit;
    if (begin >= end) continue;
    remove(block);
    if (block->offset + block->bytes > end) insert(cut(block, end - block->offset));
    Block* unmapped = block;
    if (begin > block->offset) {
      unmapped = cut(block, begin - block->offset);
      insert(block);
    }
    ranges.push_back({unmapped->segment, begin, end - begin});
    unmapped->state = BlockState::kUnmapped;
    join_unmapped(unmapped);
  }
  count_inactive_splits();
  return ranges;
}

void FreeBlocks::join_unmapped(Block* block) {
  const auto is_unmapped = [](const Block* other) {
    return other != nullptr && other->state == BlockState::kUnmapped;
  };
  if (is_unmapped(block->after)) {
    unmapped_.erase(block->after);
    join(block, block->after);
  }
  if (is_unmapped(block->before)) {
    unmapped_.erase(block->before);
    Block* left = block->before;
    join(left, block);
    block = left;
  }
  unmapped_.insert(block);
}

void FreeBlocks::restore_mapping(const Range& range) {
  Block* block = range.segment->first;
  while (block->offset + block->bytes <= range.offset) block = block->after;
  unmapped_.erase(block);
  if (block->offset < range.offset) {
    unmapped_.insert(block);
    block = cut(block, range.offset - block->offset);
  }
  map(block, range.bytes);
}

bool FreeBlocks::is_wholly_unmapped(const Segment& segment) {
  return segment.first->state == BlockState::kUnmapped && segment.first->after == nullptr;
}

void FreeBlocks::remove_unmapped(Segment& segment) {
  unmapped_.erase(segment.first);
  store_.release(segment.first);
}

size_t FreeBlocks::largest() const {
  size_t largest = 0;
  for (const Block* block : free_) largest = std::max(largest, block->bytes);
  return largest;
}

}  // namespace torchplug::memory
