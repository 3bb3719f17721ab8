#pragma once
// A group of a package in this process: its engines, if the device's compiler takes it, and its operators one
// by one for calls that have no engine. Made when the package is loaded; any thread may run it.

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/engine_group.h"
#include "package/runner.h"

namespace torchplug::package {

class LoadedGroup {
 public:
  using Tensors = std::vector<at::Tensor>;

  // `group`, checked, lives as long.
  LoadedGroup(const Group& group, c10::Device device, std::shared_ptr<const graph::EngineShelf> shelf,
              size_t engines);

  Tensors run(const Tensors& inputs, const std::vector<int64_t>& numbers,
              const Runner::Interruption& interruption) const;

  const graph::Graph& graph() const { return graph_; }
  // Of its engines; nothing where there can be none.
  std::optional<compile::GroupReport> report() const;
  // Why there can be none; "": there can.
  const std::string& why_without() const { return why_without_; }

 private:
  Tensors run_one_by_one(const Tensors& inputs, const std::vector<int64_t>& numbers,
                         const Runner::Interruption& interruption) const;

  graph::Graph graph_;
  std::string why_without_;
  std::shared_ptr<compile::EngineGroup> engines_;
  Runner::Groups no_groups_;
  Runner steps_;
  size_t number_count_;
};

}  // namespace torchplug::package
