#pragma once
// A tape as the neutral graph that compilers are given: a node for each step, a value for each register of
// the device. Values; any thread.

#include <optional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "graph/graph.h"
#include "graph/groups.h"
#include "torchscript/tape.h"

namespace torchplug::torchscript {

struct TapeGraph {
  graph::Graph graph;
  std::vector<graph::Candidate> candidates;  // by node, which is a step of the tape
  std::vector<int32_t> value_of;             // by register; -1: it is in no graph
  std::vector<int32_t> register_of;          // by value
};

// `is_weight`: by input of the tape. `needed`: registers that are wanted when the tape has run.
TapeGraph make_graph(const Tape& tape, const compile::Compiler& compiler, const std::vector<bool>& is_weight,
                     const std::vector<int32_t>& needed);

// Conversions as steps of their own, in front of steps that compute with tensors of several dtypes where the
// compiler has one dtype.
void add_conversions(Tape& tape, const compile::Compiler& compiler);

// As compilers are given such registers, or give them.
graph::TensorType type_of(const RegisterFacts& facts, const compile::Compiler& compiler);
// Whether its elements fill a range of memory, each once.
bool is_dense(const RegisterFacts& facts);

}  // namespace torchplug::torchscript
