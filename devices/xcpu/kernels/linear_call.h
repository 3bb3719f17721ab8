#pragma once
// A call of linear: checked, its parts placed in scratch, and run by the threads of one region of a team.
// A LinearCall borrows the arguments' memory and lies on the stack of who starts the region.

#include <cstdint>
#include <string>

#include "kernels.h"
#include "team.h"

namespace xcpu {

// What is wrong with the arguments; empty: nothing. `name` is what stands before the names of arguments.
std::string fault_of_linear(const xcpu_linear_args& args, const std::string& name);

class LinearCall {
 public:
  LinearCall(const Kernels& kernels, const xcpu_linear_args& args);

  // The bytes of scratch, and their place.
  std::int64_t scratch_bytes() const { return input_bytes_ + scale_bytes_; }
  void place_scratch(void* scratch);

  // On every thread of the region, with the same count. It begins with a wait where inputs have to be
  // prepared by several threads; nobody waits at its end.
  void run(std::int32_t index, std::int32_t count, Barrier& barrier) const;

  // The same in parts, for who does something else with the results: what run() begins with, and the columns
  // of some panels, of all rows, as rows of `out`. Not of a pair, with mul or residual.
  void prepare_inputs(std::int32_t index, std::int32_t count, Barrier& barrier) const;
  void compute_panels(std::int64_t begin, std::int64_t end, const xcpu_rows& out) const;
  std::int64_t panels() const { return linear_.panels; }

 private:
  void prepare(std::int32_t index, std::int32_t count, Barrier& barrier) const;
  void prefetch(const LinearPart& part) const;
  LinearPart part_of(std::int32_t index, std::int32_t count) const;

  const LinearKernels* kernels_;
  Linear linear_;
  bool is_prepared_;  // x is read as it lies
  std::int64_t input_bytes_;
  std::int64_t scale_bytes_;
};

}  // namespace xcpu
