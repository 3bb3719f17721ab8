#pragma once
// How the tasks of a call of attention are shared by the threads of a team: in their order, each thread as
// much as the others. A task may be split between its keys; its parts are combined when all threads are done.
// A schedule borrows the call and has no memory of its own; every thread may have one.

#include <cstdint>

#include "kernels.h"
#include "team.h"

namespace xcpu {

class AttentionSchedule {
 public:
  AttentionSchedule(const Attention& call, const AttentionKernels& kernels);

  // Bytes of scratch for a thread.
  std::int64_t thread_bytes() const;

  // The index-th of count threads, all of which wait for each other where tasks are split. Others have
  // nothing to do but to wait: the barrier is for `waiting`.
  void run(std::int32_t index, std::int32_t count, std::int32_t waiting, void* scratch,
           Barrier& barrier) const;

  xcpu_attention_place place(std::int32_t index, std::int32_t count) const;

 private:
  // A task, and the sum of what those before it cost.
  struct Costed {
    AttentionTask task;
    std::int64_t before, cost, of_tile;
  };
  struct Part {
    std::int64_t begin, end;
  };

  template <class Function>
  void for_tasks(Function function) const;
  Costed task_of(std::int64_t sequence, std::int64_t kv_head, std::int64_t row, std::int64_t before) const;
  std::int64_t total() const;
  Part part_of(const Costed& costed, std::int64_t total, std::int32_t index, std::int32_t count) const;
  float* partial(void* scratch, std::int32_t index, int which) const;
  void combine(const Costed& costed, std::int64_t total, std::int32_t index, std::int32_t count,
               void* scratch) const;

  const Attention& call_;
  const AttentionKernels& kernels_;
  std::int64_t rows_;  // of a task
};

}  // namespace xcpu
