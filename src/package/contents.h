#pragma once
// What a package holds besides the bytes of weights and engines: what it is given and gives, the program, its
// groups. Values; made by `torchplug package`, read and checked here. Who has Contents that check() has
// passed may use every number in them as a place without looking.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/digest.h"
#include "package/expression.h"

namespace torchplug::package {

using graph::Argument;
using graph::Digest;

// An integer that inputs determine, or a step of the program.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
  // size = scale * symbol + shift, of this dimension of this input; an input that is a number has no
  // dimension: -1. Of what a step determines the input is -1.
  int32_t input = -1;
  int32_t dimension = -1;
  int64_t scale = 1;
  int64_t shift = 0;

  static void fields(auto& archive, auto& self) {
    archive(self.name, self.min, self.max, self.input, self.dimension, self.scale, self.shift);
  }
};

struct Size {
  Expression value;
  std::string text;  // for people: "2*s0"

  static void fields(auto& archive, auto& self) { archive(self.value, self.text); }
};

struct Input {
  std::string name;
  bool is_tensor = true;
  uint64_t dtype = 0;       // a plug_dtype
  std::vector<Size> sizes;  // of a number: the number itself
  std::vector<Expression> strides;
  bool is_written = false;

  static void fields(auto& archive, auto& self) {
    archive(self.name, self.is_tensor, self.dtype, self.sizes, self.strides, self.is_written);
  }
};

// What holds for all inputs that the program is for, besides their sizes' ranges.
struct Condition {
  Expression holds;
  std::string text;

  static void fields(auto& archive, auto& self) { archive(self.holds, self.text); }
};

// A parameter, a buffer or a constant: a part of a storage, which others may share.
struct Weight {
  std::string name;
  int32_t storage = 0;
  uint64_t dtype = 0;  // a plug_dtype
  int64_t offset = 0;  // in elements
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  bool is_written = false;
  bool is_on_host = false;

  static void fields(auto& archive, auto& self) {
    archive(self.name, self.storage, self.dtype, self.offset, self.sizes, self.strides, self.is_written,
            self.is_on_host);
  }
};

// An operator, and the arguments that calls of it give.
struct Callee {
  std::string name;  // "aten::add.Tensor"
  std::vector<std::string> arguments;

  static void fields(auto& archive, auto& self) { archive(self.name, self.arguments); }
};

enum class StepKind : uint8_t {
  kOperator,  // target: a callee; results: a register for each
  kEngine,    // target: a group; args: its inputs, then its numbers
  kItem,      // of a list, args[0]; target: its place
  kSize,      // the next symbol is a size of args[0]; target: the dimension
  kValue,     // the next symbol is args[0]
};

// An argument PLUG_VALUE_REF is a register, PLUG_VALUE_SYMBOL one of the program's expressions.
struct Step {
  StepKind kind{};
  int32_t target = 0;
  std::vector<Argument> args;
  std::vector<int32_t> results;  // registers; -1: nobody uses it
  std::string source;            // for people

  static void fields(auto& archive, auto& self) {
    archive(self.kind, self.target, self.args, self.results, self.source);
  }
};

struct Program {
  int32_t given = 0;      // registers that are filled when it begins, the first ones
  int32_t registers = 0;  // all
  int32_t symbols = 0;    // that are known when it begins
  std::vector<Expression> expressions;
  std::vector<Callee> callees;
  std::vector<Step> steps;
  std::vector<Argument> results;

  static void fields(auto& archive, auto& self) {
    archive(self.given, self.registers, self.symbols, self.expressions, self.callees, self.steps,
            self.results);
  }
};

struct Group {
  std::string graph;                                         // its text form
  std::vector<std::optional<std::vector<int64_t>>> strides;  // of each output, as the program wants them
  std::vector<std::string> options;                          // for the plugin: name, value, ...
  Program steps;                                             // the same, operator by operator

  static void fields(auto& archive, auto& self) {
    archive(self.graph, self.strides, self.options, self.steps);
  }
};

// What the compiler made of a group for some sizes: an engine in a section of its own, or why there is none.
struct Made {
  int32_t group = 0;
  Digest key{};
  int32_t engine = -1;
  std::string declined;

  static void fields(auto& archive, auto& self) { archive(self.group, self.key, self.engine, self.declined); }
};

struct Output {
  std::string name;
  int32_t input = -1;  // the input that it is; -1: it is a result of the program

  static void fields(auto& archive, auto& self) { archive(self.name, self.input); }
};

// By what it was made.
struct Origin {
  std::string torchplug;
  std::string torch;
  std::string plugin;
  std::string identity;  // what the plugin says that its engines depend on

  static void fields(auto& archive, auto& self) {
    archive(self.torchplug, self.torch, self.plugin, self.identity);
  }
};

struct Contents {
  Origin origin;
  std::string structure;  // of what Python's callers give and get
  std::vector<Symbol> symbols;
  std::vector<Input> inputs;
  std::vector<Condition> conditions;
  std::vector<Weight> weights;
  int32_t storages = 0;
  int32_t engines = 0;
  std::vector<Group> groups;
  std::vector<Made> made;
  Program program;  // its registers begin with the inputs, then the weights
  std::vector<Output> outputs;

  static void fields(auto& archive, auto& self) {
    archive(self.origin, self.structure, self.symbols, self.inputs, self.conditions, self.weights,
            self.storages, self.engines, self.groups, self.made, self.program, self.outputs);
  }
};

std::string to_bytes(const Contents& contents);
// Checked.
Contents from_bytes(std::string_view bytes);
// Throws for contents that name what they do not have.
void check(const Contents& contents);

// Of inputs or outputs.
template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

}  // namespace torchplug::package
