#pragma once
// One call of an engine: its inputs as the graph has them, its outputs as the caller wants them.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compile/engine.h"
#include "graph/graph.h"
#include "runtime/stream.h"

namespace torchplug::compile {

// What the calls of one graph have in common.
class CallForm {
 public:
  using Tensors = c10::ArrayRef<at::Tensor>;
  using Numbers = std::span<const int64_t>;
  using Strides = std::vector<std::optional<std::vector<int64_t>>>;

  // `strides`: of each output, as the caller wants them; of an output that is the new content of an input,
  // nothing. As in the graph, those below 0 are numbers of the call, its symbols' or further ones. The graph
  // lives as long.
  CallForm(const Compiler& compiler, const Graph& graph, Strides strides);

  // Throws for inputs or numbers that are not as the graph has them.
  void check(Tensors inputs, Numbers numbers) const;

 private:
  friend class EngineCall;
  void check_input(size_t place, const at::Tensor& given, Numbers numbers) const;

  const Compiler& compiler_;
  const Graph& graph_;
  Strides strides_;
  std::vector<size_t> updated_;  // inputs that outputs are the new content of
  size_t number_count_ = 0;      // symbols, and what strides name besides
};

class EngineCall {
 public:
  using Tensors = CallForm::Tensors;
  using Numbers = CallForm::Numbers;

  // `given`, checked, and `numbers` live as long.
  EngineCall(const CallForm& form, Tensors given, Numbers numbers, const Stream& stream);
  EngineCall(const EngineCall&) = delete;
  EngineCall& operator=(const EngineCall&) = delete;

  // Nothing; or why the engine declines such a call.
  std::optional<std::string> run(Engine& engine);
  // After the run, in the places and with the strides that the caller wants them in.
  std::vector<at::Tensor> take_outputs();

 private:
  void take_inputs();
  at::Tensor conformed(size_t place) const;
  at::Tensor make_output(size_t place) const;
  void describe_inputs();
  void describe_outputs();
  at::Tensor update(const at::Tensor& target, const at::Tensor& content) const;

  const CallForm& form_;
  const Graph& graph_;
  Tensors given_;
  Numbers numbers_;
  Stream stream_;
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> outputs_;
  std::vector<plug_tensor> described_;  // inputs, then outputs
  std::vector<plug_value> arguments_;
  std::vector<plug_value> results_;
};

}  // namespace torchplug::compile
