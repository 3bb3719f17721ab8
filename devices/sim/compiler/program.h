#pragma once
// A graph as loops: buffers, and stages that fill them in order. Made by the lowering, fused by the
// schedule, written out by the emitter. Values; one thread uses a Program.

#include <string>
#include <vector>

#include "expr.h"

namespace torchplug::sim::compiler {

struct Buffer {
  enum class Origin { kInput, kOutput, kConstant, kScratch };
  Origin origin;
  int index = 0;  // of the input or the output; of a constant its first byte
  Type type;      // in memory
  Shape sizes;
  std::vector<Poly> strides;
  Poly elements;            // of room that it needs
  bool is_updated = false;  // it, or what it is a copy of, gets new content at the end
  int overwritten = -1;     // the buffer whose memory this is the new content of
};

enum class Fold { kNone, kSum, kProduct, kMost, kLeast, kAny, kAll };

// For each index of `kept`: buffer[place] = the fold over `reduced` of the value, or the value itself.
struct Stage {
  enum class Kind {
    kLoops,    // as above
    kScatter,  // the place has computed parts, which are written in order
    kRandom    // the buffer is filled with uniform numbers of [0, 1)
  };
  Kind kind = Kind::kLoops;
  Shape kept, reduced;
  const Expr* value = nullptr;
  Fold fold = Fold::kNone;
  bool by_columns = false;  // rather fold neighbours side by side
  int buffer = -1;
  Affine place;                        // over `kept`
  std::vector<const Expr*> positions;  // of a scatter, each times its step
  std::vector<Poly> steps;
  bool accumulates = false;  // of a scatter: added to what is there
  bool is_part = false;      // writes a part of the buffer that no other stage writes
};

struct Program {
  Pool pool;
  std::vector<Buffer> buffers;
  std::vector<Stage> stages;
  std::vector<Poly> draws;      // 32-bit random numbers that each kRandom stage needs, in order
  std::vector<char> constants;  // bytes of all constants
  int inputs = 0, outputs = 0, symbols = 0;
  // Messages of checks that a run may fail, by number - 1.
  std::vector<std::string> checks;
};

}  // namespace torchplug::sim::compiler
