// The operations of ProcessGroup, each in terms of gloo's on flat CPU tensors. Where data are only moved
// they are bytes to gloo, so that every dtype works.

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

#include "base/torch_compat.h"
#include "distributed/process_group.h"

namespace torchplug::distributed {
namespace {

using Tensors = ProcessGroup::Tensors;
using Works = Exchange::Works;

const at::Tensor& only(const char* name, const Tensors& tensors) {
  TORCH_CHECK_VALUE(tensors.size() == 1, name, " was given ", tensors.size(),
                    " tensors. Give it one: a process has one device of a group.");
  return tensors.front();
}

void check_size(const char* name, const at::Tensor& tensor, int64_t count, at::ScalarType dtype) {
  TORCH_CHECK_VALUE(tensor.numel() == count && tensor.scalar_type() == dtype, name, " was given a tensor of ",
                    tensor.numel(), " elements of ", tensor.scalar_type(), "; expected ", count, " of ",
                    dtype, ".");
}

void check_count(const char* name, size_t given, size_t wanted) {
  TORCH_CHECK_VALUE(given == wanted, name, " was given a list of ", given, " tensors; expected ", wanted,
                    ".");
}

Tensors joined(const std::vector<Tensors>& lists, const Tensors& more) {
  Tensors all = more;
  for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Tensors bytes_of(HostTensors& host, const Tensors& tensors, Use use) {
  Tensors bytes;
  for (const at::Tensor& tensor : tensors) bytes.push_back(host.bytes(tensor, use));
  return bytes;
}

// Bytes for each rank of a tensor that is split along its first dimension.
std::vector<int64_t> byte_splits(const at::Tensor& tensor, const std::vector<int64_t>& rows, int size) {
  const auto group_size = static_cast<size_t>(size);
  const int64_t first = tensor.dim() == 0 ? 1 : tensor.size(0);
  std::vector<int64_t> splits = rows;
  if (rows.empty()) {
    TORCH_CHECK_VALUE(first % size == 0, "all_to_all was given a tensor of ", first, " rows for ", size,
                      " ranks. Give it a multiple of the number of ranks, or pass split sizes.");
    splits.assign(group_size, first / size);
  }
  const int64_t total = std::accumulate(splits.begin(), splits.end(), int64_t{0});
  TORCH_CHECK_VALUE(splits.size() == group_size && total == first, "all_to_all was given ", splits.size(),
                    " splits with a sum of ", total, " for a tensor of ", first, " rows and ", size,
                    " ranks.");
  const int64_t row = first == 0 ? 0 : static_cast<int64_t>(tensor.nbytes()) / first;
  for (int64_t& split : splits) split *= row;
  return splits;
}

// Each rank's bytes to all. gloo's own operation needs equal sizes; else each rank sends its own in turn.
Works allgather_bytes(c10d::Backend& group, const Tensors& all, const at::Tensor& own,
                      const c10d::AllgatherOptions& options) {
  const auto is_as_long = [&](const at::Tensor& bytes) { return bytes.numel() == own.numel(); };
  if (std::all_of(all.begin(), all.end(), is_as_long)) {
    if (own.numel() == 0) return {};
    std::vector<Tensors> lists{all};
    Tensors one{own};
    return {group.allgather(lists, one, options)};
  }
  all[static_cast<size_t>(group.getRank())].copy_(own);
  Works works;
  c10d::BroadcastOptions turn;
  turn.timeout = options.timeout;
  for (turn.rootRank = 0; turn.rootRank < group.getSize(); ++turn.rootRank) {
    Tensors bytes{all[static_cast<size_t>(turn.rootRank)]};
    if (bytes.front().numel() != 0) works.push_back(group.broadcast(bytes, turn));
  }
  return works;
}

// gloo takes no null pointer.
at::Tensor not_null(const at::Tensor& bytes) {
  return bytes.numel() == 0 ? at::empty({1}, bytes.options()).narrow(0, 0, 0) : bytes;
}

}  // namespace

ProcessGroup::WorkPtr ProcessGroup::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = only("broadcast", tensors);
  const auto exchange = prepare("broadcast", tensors);
  const Use use = options.rootRank == rank_ ? Use::kRead : Use::kWrite;
  Tensors host{exchange->tensors().bytes(tensor, use)};
  exchange->set_steps(
      [group = host_, host, options]() mutable {
        return host.front().numel() == 0 ? Works{} : Works{group->broadcast(host, options)};
      },
      {});
  return launch(c10d::OpType::BROADCAST, exchange, tensors);
}

ProcessGroup::WorkPtr ProcessGroup::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  only("all_reduce", tensors);
  return allreduce_all(c10d::OpType::ALLREDUCE, "all_reduce", tensors, options);
}

ProcessGroup::WorkPtr ProcessGroup::allreduce_coalesced(Tensors& tensors,
                                                        const c10d::AllreduceCoalescedOptions& options) {
  return allreduce_all(c10d::OpType::ALLREDUCE_COALESCED, "all_reduce_coalesced", tensors, options);
}

ProcessGroup::WorkPtr ProcessGroup::allreduce_all(c10d::OpType type, const char* name, const Tensors& tensors,
                                                  const c10d::AllreduceOptions& options) {
  const auto exchange = prepare(name, tensors);
  std::vector<std::pair<at::Tensor, Reduction>> parts;
  for (const at::Tensor& tensor : tensors) {
    const Reduction reduction(options.reduceOp, tensor.scalar_type(), size_);
    if (tensor.numel() != 0) {
      parts.emplace_back(exchange->tensors().numbers(tensor, Use::kUpdate), reduction);
    }
  }
  exchange->set_steps(
      [group = host_, parts, options = options]() mutable {
        Works works;
        for (const auto& [numbers, reduction] : parts) {
          reduction.before(numbers);
          options.reduceOp = reduction.op();
          Tensors one{numbers};
          works.push_back(group->allreduce(one, options));
        }
        return works;
      },
      [parts] {
        for (const auto& [numbers, reduction] : parts) reduction.after(numbers);
      });
  return launch(type, exchange, tensors);
}

ProcessGroup::WorkPtr ProcessGroup::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = only("reduce", tensors);
  const auto exchange = prepare("reduce", tensors);
  const bool is_root = options.rootRank == rank_;
  const Reduction reduction(options.reduceOp, tensor.scalar_type(), size_);
  const at::Tensor numbers = exchange->tensors().numbers(tensor, is_root ? Use::kUpdate : Use::kRead);
  exchange->set_steps(
      [group = host_, numbers, reduction, is_root, options = options]() mutable {
        if (numbers.numel() == 0) return Works{};
        // gloo writes to it on every rank.
        Tensors one{is_root ? numbers : numbers.clone()};
        reduction.before(one.front());
        options.reduceOp = reduction.op();
        return Works{group->reduce(one, options)};
      },
      [numbers, reduction, is_root] {
        if (is_root) reduction.after(numbers);
      });
  return launch(c10d::OpType::REDUCE, exchange, tensors);
}

ProcessGroup::WorkPtr ProcessGroup::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) {
  only("all_gather", inputs);
  check_count("all_gather", outputs.size(), 1);
  return allgather_all(c10d::OpType::ALLGATHER, "all_gather", outputs, inputs, options);
}

// outputs[i] is what all ranks have for inputs[i].
ProcessGroup::WorkPtr ProcessGroup::allgather_all(c10d::OpType type, const char* name,
                                                  const std::vector<Tensors>& outputs, const Tensors& inputs,
                                                  const c10d::AllgatherOptions& options) {
  const auto exchange = prepare(name, joined(outputs, inputs));
  std::vector<std::pair<Tensors, at::Tensor>> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_count(name, outputs[i].size(), static_cast<size_t>(size_));
    check_size(name, outputs[i][static_cast<size_t>(rank_)], inputs[i].numel(), inputs[i].scalar_type());
    for (const at::Tensor& output : outputs[i]) {
      check_size(name, output, output.numel(), inputs[i].scalar_type());
    }
    parts.emplace_back(bytes_of(exchange->tensors(), outputs[i], Use::kWrite),
                       exchange->tensors().bytes(inputs[i], Use::kRead));
  }
  exchange->set_steps(
      [group = host_, parts, options] {
        Works works;
        for (const auto& [all, own] : parts) {
          const Works some = allgather_bytes(*group, all, own, options);
          works.insert(works.end(), some.begin(), some.end());
        }
        return works;
      },
      {});
  return launch(type, exchange, joined(outputs, {}));
}

ProcessGroup::WorkPtr ProcessGroup::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                    const c10d::AllgatherOptions& options) {
  Tensors outputs{output};
  Tensors inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, options);
}

ProcessGroup::WorkPtr ProcessGroup::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                                        const c10d::AllgatherOptions& options) {
  check_count("all_gather_coalesced", outputs.size(), static_cast<size_t>(size_));
  std::vector<Tensors> by_input(inputs.size());
  for (const Tensors& of_rank : outputs) {
    check_count("all_gather_coalesced", of_rank.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) by_input[i].push_back(of_rank[i]);
  }
  return allgather_all(c10d::OpType::ALLGATHER_COALESCED, "all_gather_coalesced", by_input, inputs, options);
}

ProcessGroup::WorkPtr ProcessGroup::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                    const c10d::AllgatherOptions& options) {
  const char* name = "all_gather_into_tensor";
  check_count(name, outputs.size(), inputs.size());
  const auto exchange = prepare(name, joined({outputs}, inputs));
  std::vector<std::pair<at::Tensor, at::Tensor>> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_size(name, outputs[i], inputs[i].numel() * size_, inputs[i].scalar_type());
    if (inputs[i].numel() == 0) continue;
    parts.emplace_back(exchange->tensors().bytes(outputs[i], Use::kWrite),
                       exchange->tensors().bytes(inputs[i], Use::kRead));
  }
  exchange->set_steps(
      [group = host_, parts, options]() mutable {
        Works works;
        for (auto& [all, own] : parts) works.push_back(group->_allgather_base(all, own, options));
        return works;
      },
      {});
  return launch(c10d::OpType::_ALLGATHER_BASE, exchange, outputs);
}

ProcessGroup::WorkPtr ProcessGroup::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                           const c10d::GatherOptions& options) {
  const at::Tensor& input = only("gather", inputs);
  const auto exchange = prepare("gather", joined(outputs, inputs));
  std::vector<Tensors> all;
  if (options.rootRank == rank_) {
    check_count("gather", outputs.size(), 1);
    check_count("gather", outputs.front().size(), static_cast<size_t>(size_));
    for (const at::Tensor& output : outputs.front()) {
      check_size("gather", output, input.numel(), input.scalar_type());
    }
    all.push_back(bytes_of(exchange->tensors(), outputs.front(), Use::kWrite));
  }
  Tensors own{exchange->tensors().bytes(input, Use::kRead)};
  exchange->set_steps(
      [group = host_, all, own, options]() mutable {
        return own.front().numel() == 0 ? Works{} : Works{group->gather(all, own, options)};
      },
      {});
  return launch(c10d::OpType::GATHER, exchange, joined(outputs, {}));
}

ProcessGroup::WorkPtr ProcessGroup::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                            const c10d::ScatterOptions& options) {
  const at::Tensor& output = only("scatter", outputs);
  const auto exchange = prepare("scatter", joined(inputs, outputs));
  std::vector<Tensors> all;
  if (options.rootRank == rank_) {
    check_count("scatter", inputs.size(), 1);
    check_count("scatter", inputs.front().size(), static_cast<size_t>(size_));
    for (const at::Tensor& input : inputs.front()) {
      check_size("scatter", input, output.numel(), output.scalar_type());
    }
    all.push_back(bytes_of(exchange->tensors(), inputs.front(), Use::kRead));
  }
  Tensors own{exchange->tensors().bytes(output, Use::kWrite)};
  exchange->set_steps(
      [group = host_, all, own, options]() mutable {
        return own.front().numel() == 0 ? Works{} : Works{group->scatter(own, all, options)};
      },
      {});
  return launch(c10d::OpType::SCATTER, exchange, outputs);
}

ProcessGroup::WorkPtr ProcessGroup::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                   const c10d::ReduceScatterOptions& options) {
  only("reduce_scatter", outputs);
  check_count("reduce_scatter", inputs.size(), 1);
  check_count("reduce_scatter", inputs.front().size(), static_cast<size_t>(size_));
  return reduce_scatter_all(c10d::OpType::REDUCE_SCATTER, "reduce_scatter", outputs, inputs, options);
}

ProcessGroup::WorkPtr ProcessGroup::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                         const c10d::ReduceScatterOptions& options) {
  return reduce_scatter_all(c10d::OpType::_REDUCE_SCATTER_BASE, "reduce_scatter_tensor", {output}, {{input}},
                            options);
}

ProcessGroup::WorkPtr ProcessGroup::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  std::vector<Tensors> lists;
  for (const at::Tensor& input : inputs) lists.push_back({input});
  return reduce_scatter_all(compat::reduce_scatter_tensor_coalesced<c10d::OpType>(),
                            "reduce_scatter_tensor_coalesced", outputs, lists, options);
}

// outputs[i] is this rank's part of the sum of inputs[i], which is one tensor or one for each rank. gloo sums
// all of it, in a copy.
ProcessGroup::WorkPtr ProcessGroup::reduce_scatter_all(c10d::OpType type, const char* name,
                                                       const Tensors& outputs,
                                                       const std::vector<Tensors>& inputs,
                                                       const c10d::ReduceScatterOptions& options) {
  struct Part {
    at::Tensor output;
    Tensors inputs;
    Reduction reduction;
    at::Tensor sum;
  };
  check_count(name, outputs.size(), inputs.size());
  const auto exchange = prepare(name, joined(inputs, outputs));
  const auto parts = std::make_shared<std::vector<Part>>();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor& output = outputs[i];
    const int64_t ranks_each = size_ / static_cast<int64_t>(inputs[i].size());
    const Reduction reduction(options.reduceOp, output.scalar_type(), size_);
    Tensors numbers;
    for (const at::Tensor& input : inputs[i]) {
      check_size(name, input, output.numel() * ranks_each, output.scalar_type());
      numbers.push_back(exchange->tensors().numbers(input, Use::kRead));
    }
    if (output.numel() == 0) continue;
    parts->push_back({exchange->tensors().numbers(output, Use::kWrite), std::move(numbers), reduction, {}});
  }
  exchange->set_steps(
      [group = host_, parts, timeout = options.timeout] {
        Works works;
        for (Part& part : *parts) {
          part.sum = at::cat(part.inputs);
          part.reduction.before(part.sum);
          c10d::AllreduceOptions sum_options;
          sum_options.reduceOp = part.reduction.op();
          sum_options.timeout = timeout;
          Tensors one{part.sum};
          works.push_back(group->allreduce(one, sum_options));
        }
        return works;
      },
      [parts, rank = rank_] {
        for (const Part& part : *parts) {
          const int64_t count = part.output.numel();
          part.output.copy_(part.sum.narrow(0, rank * count, count));
          part.reduction.after(part.output);
        }
      });
  return launch(type, exchange, outputs);
}

ProcessGroup::WorkPtr ProcessGroup::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                  std::vector<int64_t>& output_splits,
                                                  std::vector<int64_t>& input_splits,
                                                  const c10d::AllToAllOptions& options) {
  const auto exchange = prepare("all_to_all", {output, input});
  check_size("all_to_all", output, output.numel(), input.scalar_type());
  const at::Tensor to = exchange->tensors().bytes(output, Use::kWrite);
  const at::Tensor from = exchange->tensors().bytes(input, Use::kRead);
  exchange->set_steps(
      [group = host_, to, from, to_splits = byte_splits(output, output_splits, size_),
       from_splits = byte_splits(input, input_splits, size_), options]() mutable {
        at::Tensor received = not_null(to);
        at::Tensor sent = not_null(from);
        return Works{group->alltoall_base(received, sent, to_splits, from_splits, options)};
      },
      {});
  return launch(c10d::OpType::ALLTOALL_BASE, exchange, {output});
}

ProcessGroup::WorkPtr ProcessGroup::alltoall(Tensors& outputs, Tensors& inputs,
                                             const c10d::AllToAllOptions& options) {
  check_count("all_to_all", outputs.size(), static_cast<size_t>(size_));
  check_count("all_to_all", inputs.size(), static_cast<size_t>(size_));
  const auto exchange = prepare("all_to_all", joined({outputs}, inputs));
  const Tensors from = bytes_of(exchange->tensors(), inputs, Use::kRead);
  const Tensors to = bytes_of(exchange->tensors(), outputs, Use::kWrite);
  const auto received = std::make_shared<at::Tensor>();
  exchange->set_steps(
      [group = host_, from, to, received, options] {
        std::vector<int64_t> to_splits;
        std::vector<int64_t> from_splits;
        for (const at::Tensor& part : to) to_splits.push_back(part.numel());
        for (const at::Tensor& part : from) from_splits.push_back(part.numel());
        const int64_t total = std::accumulate(to_splits.begin(), to_splits.end(), int64_t{0});
        *received = not_null(at::empty({total}, to.front().options()));
        at::Tensor sent = not_null(at::cat(from));
        return Works{group->alltoall_base(*received, sent, to_splits, from_splits, options)};
      },
      [to, received] {
        int64_t begin = 0;
        for (const at::Tensor& part : to) {
          part.copy_(received->narrow(0, begin, part.numel()));
          begin += part.numel();
        }
      });
  return launch(c10d::OpType::ALLTOALL, exchange, outputs);
}

ProcessGroup::WorkPtr ProcessGroup::send(Tensors& tensors, int destination, int tag) {
  const at::Tensor& tensor = only("send", tensors);
  const auto exchange = prepare("send", tensors);
  Tensors host{exchange->tensors().bytes(tensor, Use::kRead)};
  exchange->set_steps([group = host_, host, destination,
                       tag]() mutable { return Works{group->send(host, destination, tag)}; },
                      {});
  return launch(c10d::OpType::SEND, exchange, tensors);
}

ProcessGroup::WorkPtr ProcessGroup::recv(Tensors& tensors, int source, int tag) {
  return receive(c10d::OpType::RECV, "recv", tensors, [source, tag](const HostGroup& group, Tensors& host) {
    return group->recv(host, source, tag);
  });
}

ProcessGroup::WorkPtr ProcessGroup::recvAnysource(Tensors& tensors, int tag) {
  return receive(c10d::OpType::RECVANYSOURCE, "recv", tensors,
                 [tag](const HostGroup& group, Tensors& host) { return group->recvAnysource(host, tag); });
}

ProcessGroup::WorkPtr ProcessGroup::receive(c10d::OpType type, const char* name, Tensors& tensors,
                                            const std::function<WorkPtr(const HostGroup&, Tensors&)>& post) {
  const at::Tensor& tensor = only(name, tensors);
  const auto exchange = prepare(name, tensors);
  Tensors host{exchange->tensors().bytes(tensor, Use::kWrite)};
  exchange->set_steps([group = host_, host, post]() mutable { return Works{post(group, host)}; }, {});
  return launch(type, exchange, tensors);
}

}  // namespace torchplug::distributed
