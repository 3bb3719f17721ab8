#pragma once
// Stages that go over the same elements become one nest of loops: what one of them computes the next has in
// registers, or in a row that stays in the cache.

#include <vector>

#include "program.h"

namespace torchplug::sim::compiler {

// All places and values of a nest are over outer ++ inner ++ reduced.
struct Nest {
  enum class Kind {
    kRows,     // for each outer index: passes over the inner ones, of which folds make one value
    kColumns,  // for each outer index and block of the one inner dim: folds over `reduced`, side by side
    kProduct,  // one stage: products of matrices, [batch..., M, N] kept and [K] reduced; outer is what is
               // kept
    kScatter,  // one stage, in order
    kRandom    // one stage
  };
  struct Item {
    Stage stage;
    bool is_row = false;  // computed once for each outer index
  };

  Kind kind = Kind::kRows;
  Shape outer, inner, reduced;
  bool is_split = false;  // a fold has said which dims are inner ones
  std::vector<Item> items;

  Shape space() const;
};

struct Schedule {
  std::vector<Nest> nests;
  // Of each buffer: the nests that write and read it; whether it needs memory at all.
  struct Life {
    int first = -1, last = -1;
    bool is_stored = false;
  };
  std::vector<Life> lives;
};

Schedule schedule(Program& program);

// The places in a scratch block where buffers lie, those that are never alive at once in the same one.
struct MemoryPlan {
  std::vector<int> slots;            // of each buffer; -1: none
  std::vector<std::string> offsets;  // of each slot, in C++
  std::string bytes;                 // of all, in C++
};

MemoryPlan plan_memory(const Program& program, const Schedule& schedule);

}  // namespace torchplug::sim::compiler
