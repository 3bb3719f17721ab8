// xcpu_linear and xcpu_mlp: checks, scratch, one region of the team.

#include "linear_call.h"

#include "error.h"
#include "packed.h"

namespace xcpu {
namespace {

// The two calls of an MLP: what the one writes, the other reads, in scratch.
struct Mlp {
  LinearCall up, down;
  std::int64_t between_bytes;

  static std::int64_t stride(const xcpu_linear_args& up) { return up.weight.n; }

  Mlp(const Kernels& kernels, const xcpu_mlp_args& args, void* between)
      : up(kernels, with_out(args, between)),
        down(kernels, with_x(args, between)),
        between_bytes((args.up.rows * args.up.weight.n * (args.up.out.dtype == XCPU_F32 ? 4 : 2) + 63) / 64 *
                      64) {}

  static xcpu_linear_args with_out(const xcpu_mlp_args& args, void* between) {
    xcpu_linear_args up = args.up;
    up.out = {between, args.up.out.dtype, args.up.weight.n};
    return up;
  }

  static xcpu_linear_args with_x(const xcpu_mlp_args& args, void* between) {
    xcpu_linear_args down = args.down;
    down.rows = args.up.rows;
    down.x = {between, args.up.out.dtype, args.up.weight.n};
    return down;
  }

  std::int64_t scratch_bytes() const { return between_bytes + up.scratch_bytes() + down.scratch_bytes(); }
};

std::string fault_of_mlp(const xcpu_mlp_args& args) {
  // Memory in between is not there yet: any address stands for it.
  int stand_in = 0;
  std::string fault = fault_of_linear(Mlp::with_out(args, &stand_in), "up.");
  if (fault.empty()) fault = fault_of_linear(Mlp::with_x(args, &stand_in), "down.");
  if (fault.empty() && args.up.weight.n != args.down.weight.k) {
    fault = "up has " + std::to_string(args.up.weight.n) + " outputs, and down " +
            std::to_string(args.down.weight.k) + " inputs";
  }
  return fault;
}

}  // namespace
}  // namespace xcpu

int64_t xcpu_linear_scratch(const xcpu_linear_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr || !xcpu::fault_of(args->weight, "weight").empty()) return 0;
  return xcpu::LinearCall(*kernels, *args).scratch_bytes();
}

const char* xcpu_linear(const xcpu_linear_args* args, void* scratch, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_linear(*args, "");
  if (!fault.empty()) return xcpu::refuse(fault);
  xcpu::LinearCall call(*kernels, *args);
  call.place_scratch(scratch);
  xcpu::Barrier barrier;
  xcpu::run_team(team, [&](std::int32_t index, std::int32_t count) { call.run(index, count, barrier); });
  return nullptr;
}

int64_t xcpu_mlp_scratch(const xcpu_mlp_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return 0;
  for (const xcpu_packed& weight : {args->up.weight, args->down.weight}) {
    if (!xcpu::fault_of(weight, "weight").empty()) return 0;
  }
  return xcpu::Mlp(*kernels, *args, nullptr).scratch_bytes();
}

const char* xcpu_mlp(const xcpu_mlp_args* args, void* scratch, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_mlp(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  xcpu::Mlp mlp(*kernels, *args, scratch);
  auto* rest = static_cast<std::uint8_t*>(scratch) + mlp.between_bytes;
  mlp.up.place_scratch(rest);
  mlp.down.place_scratch(rest + mlp.up.scratch_bytes());
  xcpu::Barrier barrier;
  xcpu::run_team(team, [&](std::int32_t index, std::int32_t count) {
    mlp.up.run(index, count, barrier);
    barrier.wait(count);
    mlp.down.run(index, count, barrier);
  });
  return nullptr;
}
