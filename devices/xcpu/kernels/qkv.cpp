// xcpu_qkv: checks, scratch, one region of the team.

#include "cache_shape.h"
#include "check.h"
#include "error.h"
#include "kernels.h"
#include "linear_call.h"

namespace xcpu {
namespace {

std::int64_t outputs_of(const xcpu_qkv_args& args) {
  return (args.q_heads + 2 * std::int64_t{args.cache.kv_heads}) * args.cache.head_dim;
}

bool has_weight(const xcpu_qkv_args& args) { return args.linear.weight.data != nullptr; }

// The linear with its results in scratch.
xcpu_linear_args linear_of(const xcpu_qkv_args& args, void* products) {
  xcpu_linear_args linear = args.linear;
  linear.out = {products, args.linear.out.dtype, outputs_of(args)};
  return linear;
}

std::int64_t product_bytes(const xcpu_qkv_args& args) {
  if (!has_weight(args)) return 0;
  const std::int64_t element = args.linear.out.dtype == XCPU_F32 ? 4 : 2;
  return (args.linear.rows * outputs_of(args) * element + 63) / 64 * 64;
}

std::string fault_of_product(const xcpu_qkv_args& args) {
  const std::int64_t outputs = outputs_of(args);
  if (!has_weight(args)) {
    if (args.linear.rows < 0)
      return "linear.rows is " + std::to_string(args.linear.rows) + "; it is 0 or more";
    return fault_of_rows({{args.linear.x, "linear.x", args.linear.rows, outputs, Need::kNeeded}});
  }
  if (args.linear.weight.n != outputs) {
    return "linear.weight.n is " + std::to_string(args.linear.weight.n) + "; queries, keys and values have " +
           std::to_string(outputs) + " elements";
  }
  int stand_in = 0;
  return fault_of_linear(linear_of(args, &stand_in), "linear.");
}

std::string fault_of_qkv(const xcpu_qkv_args& args) {
  std::string fault = fault_of_cache(args.cache, "cache.");
  if (fault.empty()) fault = fault_of_numbers({{args.q_heads, "q_heads", 0, 1 << 20}});
  if (fault.empty()) fault = fault_of_product(args);
  if (!fault.empty()) return fault;
  const std::int64_t tokens = args.linear.rows;
  if (args.cache.data == nullptr && tokens > 0) return "cache.data is NULL";
  return first_of({fault_of_heads({{args.q, "q", tokens, args.q_heads, args.cache.head_dim, Need::kNeeded}}),
                   fault_of_rotary(args.rotary, tokens, args.cache.head_dim, "rotary."),
                   fault_of_slots(args.cache, args.slots, tokens)});
}

}  // namespace
}  // namespace xcpu

int64_t xcpu_qkv_scratch(const xcpu_qkv_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr || !xcpu::has_weight(*args)) return 0;
  if (!xcpu::fault_of_product(*args).empty()) return 0;
  return xcpu::product_bytes(*args) +
         xcpu::LinearCall(*kernels, xcpu::linear_of(*args, nullptr)).scratch_bytes();
}

const char* xcpu_qkv(const xcpu_qkv_args* args, void* scratch, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_qkv(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  const bool has_weight = xcpu::has_weight(*args);
  const xcpu_linear_args linear = xcpu::linear_of(*args, scratch);
  const xcpu::QkvSplit split{has_weight ? linear.out : args->linear.x,
                             args->rotary,
                             xcpu::tiles_of(args->cache),
                             args->cache.kind,
                             args->q_heads,
                             args->slots,
                             args->q};
  const std::int64_t units = linear.rows * (args->q_heads + args->cache.kv_heads);
  xcpu::Barrier barrier;
  auto split_share = [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share share = xcpu::share_of(units, index, count);
    kernels->qkv->split(split, share.begin, share.end);
  };
  if (!has_weight) {
    xcpu::run_team(team, split_share);
    return nullptr;
  }
  xcpu::LinearCall call(*kernels, linear);
  call.place_scratch(static_cast<std::uint8_t*>(scratch) + xcpu::product_bytes(*args));
  xcpu::run_team(team, [&](std::int32_t index, std::int32_t count) {
    call.run(index, count, barrier);
    barrier.wait(count);
    split_share(index, count);
  });
  return nullptr;
}
