// xcpu_top: checks, scratch, one region of the team. Each thread multiplies some panels at a time and keeps
// the largest of what it finds; there is no array of all outputs.

#include <algorithm>
#include <cstring>

#include "check.h"
#include "error.h"
#include "half.h"
#include "kernels.h"
#include "linear_call.h"

namespace xcpu {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kPanels = 8;  // together
constexpr std::int64_t kColumns = kPanels * kPanelColumns;

std::int64_t lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::string fault_of_top(const xcpu_top_args& args) {
  xcpu_linear_args linear = args.linear;
  int stand_in = 0;
  if (linear.out.data == nullptr) linear.out = {&stand_in, XCPU_F32, linear.weight.n};
  std::string fault = fault_of_linear(linear, "linear.");
  if (!fault.empty()) return fault;
  if (linear.weight.pair != 0) return "linear.weight is a pair; outputs of a pair have no order";
  if (linear.mul.data != nullptr) return "linear.mul is given; outputs are not multiplied here";
  if (linear.residual.data != nullptr) return "linear.residual is given; nothing is added to outputs here";
  fault = fault_of_numbers({{args.k, "k", 1, std::min<std::int64_t>(linear.weight.n, 1 << 20)},
                            {args.threads, "threads", 1, 4096}});
  if (!fault.empty()) return fault;
  if (linear.rows > 0 && args.values == nullptr) return "values is NULL";
  if (linear.rows > 0 && args.indices == nullptr) return "indices is NULL";
  for (std::int64_t row = 0; args.take != nullptr && row < linear.rows; ++row) {
    if (args.take[row] >= 0 && args.take[row] < args.x_rows) continue;
    return "take[" + std::to_string(row) + "] is " + std::to_string(args.take[row]) + "; linear.x has " +
           std::to_string(args.x_rows) + " rows";
  }
  return "";
}

class Top {
 public:
  Top(const Kernels& kernels, const xcpu_top_args& args)
      : kernels_(kernels),
        args_(args),
        element_(args.linear.x.dtype == XCPU_F32 ? 4 : 2),
        taken_bytes_(args.take != nullptr && args.linear.rows > 1
                         ? lines(args.linear.rows * args.linear.weight.k * element_)
                         : 0),
        call_bytes_(LinearCall(kernels, args.linear).scratch_bytes()),
        entries_(args.linear.rows * args.k) {}

  std::int64_t thread_bytes() const {
    return lines(args_.linear.rows * kColumns * 4) + lines(entries_ * 4) + lines(entries_ * 8) +
           lines(args_.linear.rows * 4);
  }
  std::int64_t scratch_bytes() const { return taken_bytes_ + call_bytes_ + args_.threads * thread_bytes(); }

  void run(void* scratch, const xcpu_team* team) {
    scratch_ = static_cast<std::uint8_t*>(scratch);
    LinearCall call(kernels_, taken());
    call.place_scratch(scratch_ + taken_bytes_);
    Barrier barrier;
    run_team(team, [&](std::int32_t index, std::int32_t count) {
      call.prepare_inputs(index, count, barrier);
      const std::int32_t working = std::min(count, args_.threads);
      if (index < working) search(call, index, working);
      barrier.wait(count);
      if (index < working) merge(index, working);
    });
  }

 private:
  // The linear of the rows that are taken: one where it lies, several copied.
  xcpu_linear_args taken() const {
    xcpu_linear_args linear = args_.linear;
    if (args_.take == nullptr || linear.rows == 0) return linear;
    const auto* from = static_cast<const std::uint8_t*>(linear.x.data);
    const auto row_at = [&](std::int64_t row) { return from + args_.take[row] * linear.x.stride * element_; };
    if (linear.rows == 1) {
      linear.x.data = const_cast<std::uint8_t*>(row_at(0));
      return linear;
    }
    const std::int64_t bytes = linear.weight.k * element_;
    for (std::int64_t row = 0; row < linear.rows; ++row) {
      std::memcpy(scratch_ + row * bytes, row_at(row), static_cast<std::size_t>(bytes));
    }
    linear.x = {scratch_, linear.x.dtype, linear.weight.k};
    return linear;
  }

  std::uint8_t* memory_of(std::int32_t thread) const {
    return scratch_ + taken_bytes_ + call_bytes_ + thread * thread_bytes();
  }
  TopRow row_of(std::int32_t thread, std::int64_t row) const {
    std::uint8_t* memory = memory_of(thread) + lines(args_.linear.rows * kColumns * 4);
    auto* values = reinterpret_cast<float*>(memory);
    auto* indices = reinterpret_cast<std::int64_t*>(memory + lines(entries_ * 4));
    return {values + row * args_.k, indices + row * args_.k, args_.k, 0};
  }
  std::int32_t* found_of(std::int32_t thread) const {
    return reinterpret_cast<std::int32_t*>(memory_of(thread + 1) - lines(args_.linear.rows * 4));
  }

  void search(const LinearCall& call, std::int32_t index, std::int32_t count) const {
    auto* outputs = reinterpret_cast<float*>(memory_of(index));
    std::int32_t* found = found_of(index);
    std::fill_n(found, args_.linear.rows, 0);
    const Share panels = share_of(call.panels(), index, count);
    for (std::int64_t begin = panels.begin; begin < panels.end; begin += kPanels) {
      call.compute_panels(begin, std::min(begin + kPanels, panels.end), {outputs, XCPU_F32, kColumns});
      const std::int64_t first = begin * kPanelColumns;
      const std::int64_t end = std::min(panels.end * kPanelColumns, args_.linear.weight.n);
      const std::int64_t columns = std::min(kColumns, end - first);
      for (std::int64_t row = 0; row < args_.linear.rows; ++row) {
        TopRow top = row_of(index, row);
        top.found = found[row];
        kernels_.top->scan(outputs + row * kColumns, columns, first, top);
        found[row] = top.found;
        keep(outputs + row * kColumns, columns, row, first);
      }
    }
  }

  void keep(const float* outputs, std::int64_t columns, std::int64_t row, std::int64_t first) const {
    const xcpu_rows& out = args_.linear.out;
    if (out.data == nullptr) return;
    for (std::int64_t i = 0; i < columns; ++i) {
      set_element(out.data, out.dtype, row * out.stride + first + i, outputs[i]);
    }
  }

  // What all threads found of some rows; earlier threads had earlier outputs.
  void merge(std::int32_t index, std::int32_t count) const {
    const Share rows = share_of(args_.linear.rows, index, count);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      TopRow top{args_.values + row * args_.k, args_.indices + row * args_.k, args_.k, 0};
      for (std::int32_t thread = 0; thread < count; ++thread) {
        const TopRow part = row_of(thread, row);
        for (std::int32_t i = 0; i < found_of(thread)[row]; ++i) {
          kernels_.top->scan(part.values + i, 1, part.indices[i], top);
        }
      }
    }
  }

  const Kernels& kernels_;
  const xcpu_top_args& args_;
  std::int64_t element_;  // bytes of x
  std::int64_t taken_bytes_, call_bytes_;
  std::int64_t entries_;
  std::uint8_t* scratch_ = nullptr;
};

}  // namespace
}  // namespace xcpu

int64_t xcpu_top_scratch(const xcpu_top_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr || !xcpu::fault_of_top(*args).empty()) return 0;
  return xcpu::Top(*kernels, *args).scratch_bytes();
}

const char* xcpu_top(const xcpu_top_args* args, void* scratch, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_top(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  xcpu::Top(*kernels, *args).run(scratch, team);
  return nullptr;
}
