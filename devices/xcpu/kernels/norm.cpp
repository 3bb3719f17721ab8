// xcpu_norm and xcpu_norm_backward: checks, scratch, one region of the team.

#include <limits>

#include "check.h"
#include "error.h"
#include "kernels.h"
#include "team.h"

namespace xcpu {
namespace {

// With less to do than this many elements a team costs more than it gains.
constexpr std::int64_t kAlone = 16384;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <class Args>
std::string fault_of_sizes(const Args& args) {
  return fault_of_numbers({{args.form, "form", XCPU_RMS_NORM, XCPU_LAYER_NORM},
                           {args.rows, "rows", 0, kMost},
                           {args.columns, "columns", 1, kMost}});
}

std::string fault_of_norm(const xcpu_norm_args& args) {
  return first_of(
      {fault_of_sizes(args), fault_of_rows({{args.x, "x", args.rows, args.columns, Need::kNeeded},
                                            {args.residual, "residual", args.rows, args.columns},
                                            {args.weight, "weight", 1, args.columns},
                                            {args.bias, "bias", 1, args.columns},
                                            {args.sum, "sum", args.rows, args.columns},
                                            {args.out, "out", args.rows, args.columns, Need::kNeeded}})});
}

std::string fault_of_backward(const xcpu_norm_backward_args& args) {
  return first_of(
      {fault_of_sizes(args), fault_of_rows({{args.grad, "grad", args.rows, args.columns, Need::kNeeded},
                                            {args.grad_sum, "grad_sum", args.rows, args.columns},
                                            {args.x, "x", args.rows, args.columns, Need::kNeeded},
                                            {args.weight, "weight", 1, args.columns},
                                            {args.grad_x, "grad_x", args.rows, args.columns},
                                            {args.grad_weight, "grad_weight", 1, args.columns},
                                            {args.grad_bias, "grad_bias", 1, args.columns}})});
}

}  // namespace
}  // namespace xcpu

const char* xcpu_norm(const xcpu_norm_args* args, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_norm(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  const bool is_alone = args->rows == 1 || args->rows * args->columns < xcpu::kAlone;
  xcpu::run_team(is_alone ? nullptr : team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share rows = xcpu::share_of(args->rows, index, count);
    kernels->norm->forward(*args, rows.begin, rows.end);
  });
  return nullptr;
}

int64_t xcpu_norm_backward_scratch(const xcpu_norm_backward_args* args) {
  return args->rows < 0 ? 0 : args->rows * 2 * static_cast<std::int64_t>(sizeof(float));
}

const char* xcpu_norm_backward(const xcpu_norm_backward_args* args, void* scratch, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_backward(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  auto* statistics = static_cast<float*>(scratch);
  xcpu::Barrier barrier;
  const bool is_alone = args->rows * args->columns < xcpu::kAlone;
  xcpu::run_team(is_alone ? nullptr : team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::NormKernels& norm = *kernels->norm;
    const xcpu::Share rows = xcpu::share_of(args->rows, index, count);
    norm.statistics(*args, statistics, rows.begin, rows.end);
    if (args->grad_x.data != nullptr) norm.backward_rows(*args, statistics, rows.begin, rows.end);
    if (args->grad_weight.data == nullptr && args->grad_bias.data == nullptr) return;
    barrier.wait(count);
    // Whole lines of the caches, of any element type.
    constexpr std::int64_t kColumns = 32;
    const xcpu::Share parts = xcpu::share_of((args->columns + kColumns - 1) / kColumns, index, count);
    const std::int64_t end = parts.end * kColumns;
    norm.backward_columns(*args, statistics, parts.begin * kColumns,
                          end < args->columns ? end : args->columns);
  });
  return nullptr;
}
