#include "task_queue.h"

namespace torchplug::sim {

TaskQueue::TaskQueue() : run_chunk_(std::make_unique_for_overwrite<Chunk>()), push_chunk_(run_chunk_.get()) {}

TaskQueue::~TaskQueue() { const std::unique_ptr<Chunk> spare(spare_.load()); }

void TaskQueue::add_chunk() {
  std::unique_ptr<Chunk> chunk(spare_.exchange(nullptr, std::memory_order_acquire));
  if (!chunk) chunk = std::make_unique_for_overwrite<Chunk>();
  push_chunk_->next = std::move(chunk);
  push_chunk_ = push_chunk_->next.get();
  push_index_ = 0;
}

void TaskQueue::drop_chunk() noexcept {
  std::unique_ptr<Chunk> done = std::move(run_chunk_);
  run_chunk_ = std::move(done->next);
  run_index_ = 0;
  const std::unique_ptr<Chunk> surplus(spare_.exchange(done.release(), std::memory_order_acq_rel));
}

}  // namespace torchplug::sim
