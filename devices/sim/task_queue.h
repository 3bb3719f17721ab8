#pragma once
// The tasks of one stream, oldest first, without a bound: a bound would make the thread that
// enqueues wait for the worker, and deadlock where the worker waits for that thread.
// Owned by a Stream, which lets one thread push at a time and only its worker take, and which
// publishes a count after each push: the queue itself synchronises only the reuse of its chunks.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "task.h"

namespace torchplug::sim {

class TaskQueue {
 public:
  TaskQueue();
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // Throws std::bad_alloc, and then has changed nothing.
  template <class Work>
  void push(Work&& work) {
    if (push_index_ == kChunkTasks) add_chunk();
    push_chunk_->tasks[push_index_].emplace(std::forward<Work>(work));
    ++push_index_;
  }

  // The worker runs the oldest task in its place. There must be one.
  void run_next() noexcept {
    if (run_index_ == kChunkTasks) drop_chunk();
    run_chunk_->tasks[run_index_].run();
    ++run_index_;
  }

 private:
  static constexpr std::size_t kChunkTasks = 255;

  struct Chunk {
    std::array<Task, kChunkTasks> tasks;
    std::unique_ptr<Chunk> next;
  };

  void add_chunk();
  void drop_chunk() noexcept;

  // The worker's, with every chunk after it.
  std::unique_ptr<Chunk> run_chunk_;
  std::size_t run_index_ = 0;

  alignas(64) Chunk* push_chunk_;
  std::size_t push_index_ = 0;

  // Owned; a stream that never runs far ahead allocates nothing after its first chunks.
  alignas(64) std::atomic<Chunk*> spare_{nullptr};
};

}  // namespace torchplug::sim
