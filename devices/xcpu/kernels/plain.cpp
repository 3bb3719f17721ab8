// xcpu_activate, xcpu_softmax and xcpu_embedding_bag: checks, one region of the team.

#include <limits>

#include "check.h"
#include "error.h"
#include "kernels.h"
#include "team.h"

namespace xcpu {
namespace {

constexpr std::int64_t kAlone = 16384;   // elements for which a team costs more than it gains
constexpr std::int64_t kStretch = 4096;  // elements of a row that one thread takes at a time
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <class Args>
std::string fault_of_operands(const Args& args) {
  return first_of({fault_of_numbers({{args.rows, "rows", 0, kMost}, {args.columns, "columns", 1, kMost}}),
                   fault_of_rows({{args.x, "x", args.rows, args.columns, Need::kNeeded},
                                  {args.grad, "grad", args.rows, args.columns},
                                  {args.out, "out", args.rows, args.columns, Need::kNeeded}})});
}

std::string fault_of_indices(const xcpu_bag_args& args) {
  if (args.starts == nullptr) return "starts is NULL";
  for (std::int64_t bag = 0; bag < args.bags; ++bag) {
    if (args.starts[bag] < 0 || args.starts[bag + 1] < args.starts[bag]) {
      return "starts[" + std::to_string(bag + 1) + "] is " + std::to_string(args.starts[bag + 1]) +
             ", less than the one before it, " + std::to_string(args.starts[bag]);
    }
  }
  if (args.bags < 1) return "";
  const std::int64_t begin = args.starts[0], end = args.starts[args.bags];
  if (args.indices == nullptr && end > begin) return "indices is NULL";
  for (std::int64_t i = begin; i < end; ++i) {
    if (args.indices[i] >= 0 && args.indices[i] < args.table_rows) continue;
    return "indices[" + std::to_string(i) + "] is " + std::to_string(args.indices[i]) + "; the table has " +
           std::to_string(args.table_rows) + " rows";
  }
  return "";
}

std::string fault_of_bag(const xcpu_bag_args& args) {
  std::string fault = first_of(
      {fault_of_numbers(
           {{args.bags, "bags", 0, kMost}, {args.columns, "columns", 1, kMost}, {args.mean, "mean", 0, 1}}),
       fault_of_rows({{args.table, "table", args.table_rows, args.columns},
                      {args.out, "out", args.bags, args.columns, Need::kNeeded}})});
  if (!fault.empty()) return fault;
  if (args.mean != 0 && args.weights != nullptr) return "weights are given with mean; only a sum has weights";
  return fault_of_indices(args);
}

}  // namespace
}  // namespace xcpu

const char* xcpu_activate(const xcpu_activation_args* args, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault =
      xcpu::first_of({xcpu::fault_of_numbers({{args->activation, "activation", XCPU_IDENTITY, XCPU_SILU}}),
                      xcpu::fault_of_operands(*args)});
  if (!fault.empty()) return xcpu::refuse(fault);
  const std::int64_t stretches = (args->columns + xcpu::kStretch - 1) / xcpu::kStretch;
  const bool is_alone = args->rows * args->columns < xcpu::kAlone;
  xcpu::run_team(is_alone ? nullptr : team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share units = xcpu::share_of(args->rows * stretches, index, count);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t begin = unit % stretches * xcpu::kStretch;
      const std::int64_t end =
          begin + xcpu::kStretch < args->columns ? begin + xcpu::kStretch : args->columns;
      kernels->plain->activate(*args, unit / stretches, begin, end);
    }
  });
  return nullptr;
}

const char* xcpu_softmax(const xcpu_softmax_args* args, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::first_of(
      {xcpu::fault_of_numbers({{args->logarithm, "logarithm", 0, 1}}), xcpu::fault_of_operands(*args)});
  if (!fault.empty()) return xcpu::refuse(fault);
  const bool is_alone = args->rows * args->columns < xcpu::kAlone;
  xcpu::run_team(is_alone ? nullptr : team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share rows = xcpu::share_of(args->rows, index, count);
    kernels->plain->softmax(*args, rows.begin, rows.end);
  });
  return nullptr;
}

const char* xcpu_embedding_bag(const xcpu_bag_args* args, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_bag(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  const std::int64_t elements = args->bags > 0 ? args->starts[args->bags] * args->columns : 0;
  xcpu::run_team(elements < xcpu::kAlone ? nullptr : team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share bags = xcpu::share_of(args->bags, index, count);
    kernels->plain->embedding_bag(*args, bags.begin, bags.end);
  });
  return nullptr;
}
