#include "memory/block_heap.h"

#include <algorithm>
#include <iterator>

namespace torchplug::memory {
namespace {

// Blocks of an expandable segment can always be given back in part.
bool is_idle_split(const Block& block) { return block.is_split() && !block.segment->is_expandable; }

}  // namespace

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

bool BlockHeap::BySize::operator()(const Block* a, const Block* b) const {
  if (a->stream.id() != b->stream.id()) return a->stream.id() < b->stream.id();
  if (a->bytes != b->bytes) return a->bytes < b->bytes;
  return a->address < b->address;
}

bool BlockHeap::BySize::operator()(const Block* a, const Wanted& b) const {
  return a->stream.id() != b.stream ? a->stream.id() < b.stream : a->bytes < b.bytes;
}

void BlockHeap::insert(Block* block) {
  block->state = BlockState::kFree;
  block->shelf = nullptr;
  block->idle_since = searches_;
  block->requested = 0;
  free_.insert(block);
  free_bytes_ += block->bytes;
  if (is_idle_split(*block)) {
    ++idle_.count;
    idle_.bytes += static_cast<int64_t>(block->bytes);
  }
}

void BlockHeap::remove(Block* block) {
  free_.erase(block);
  free_bytes_ -= block->bytes;
  if (is_idle_split(*block)) {
    --idle_.count;
    idle_.bytes -= static_cast<int64_t>(block->bytes);
  }
}

Block* BlockHeap::take(const Stream& stream, size_t bytes, const SplitRules& rules) {
  ++searches_;
  const auto found = find(stream, bytes, rules);
  if (found == free_.end()) return nullptr;
  Block* block = *found;
  remove(block);
  if (should_split(*block, bytes, rules)) insert(cut(block, bytes));
  block->state = BlockState::kAway;
  return block;
}

BlockHeap::Free::iterator BlockHeap::find(const Stream& stream, size_t bytes, const SplitRules& rules) {
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
BlockHeap::Free::iterator BlockHeap::best_to_grow(Free::iterator found, c10::StreamId stream) {
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

bool BlockHeap::should_split(const Block& block, size_t bytes, const SplitRules& rules) const {
  if (!rules.may_split) return false;
  const size_t rest = block.bytes - bytes;
  if (is_small_ || block.segment->is_expandable) return rest >= rules.unit;
  return bytes < rules.max_split && rest > kSmallSize;
}

Block* BlockHeap::cut(Block* block, size_t bytes) {
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

void BlockHeap::join(Block* left, Block* right) {
  left->bytes += right->bytes;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  store_.release(right);
}

void BlockHeap::give(Block* block) {
  block->context.reset();
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

void BlockHeap::add(Segment& segment) {
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

std::vector<Segment*> BlockHeap::take_whole(const std::function<bool(const Block&)>& leaves) {
  std::vector<Segment*> taken;
  for (const Block* block : free_) {
    if (!block->is_split() && !block->segment->is_expandable && leaves(*block))
      taken.push_back(block->segment);
  }
  for (Segment* segment : taken) {
    remove(segment->first);
    segment->first->state = BlockState::kAway;
  }
  return taken;
}

Block* BlockHeap::find_room(const Stream& stream, size_t bytes) const {
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

void BlockHeap::map(Block* block, size_t bytes) {
  unmapped_.erase(block);
  if (bytes < block->bytes) unmapped_.insert(cut(block, bytes));
  give(block);
}

std::vector<BlockHeap::Range> BlockHeap::unmap(size_t unit) {
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
    Block* gone = block;
    if (begin > block->offset) {
      gone = cut(block, begin - block->offset);
      insert(block);
    }
    ranges.push_back({gone->segment, begin, end - begin});
    gone->state = BlockState::kUnmapped;
    join_unmapped(gone);
  }
  return ranges;
}

void BlockHeap::join_unmapped(Block* block) {
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

void BlockHeap::map_again(const Range& range) {
  Block* block = range.segment->first;
  while (block->offset + block->bytes <= range.offset) block = block->after;
  unmapped_.erase(block);
  if (block->offset < range.offset) {
    unmapped_.insert(block);
    block = cut(block, range.offset - block->offset);
  }
  map(block, range.bytes);
}

bool BlockHeap::is_unmapped(const Segment& segment) {
  return segment.first->state == BlockState::kUnmapped && segment.first->after == nullptr;
}

void BlockHeap::forget_unmapped(Segment& segment) {
  unmapped_.erase(segment.first);
  store_.release(segment.first);
}

size_t BlockHeap::largest() const {
  size_t largest = 0;
  for (const Block* block : free_) largest = std::max(largest, block->bytes);
  return largest;
}

}  // namespace torchplug::memory
