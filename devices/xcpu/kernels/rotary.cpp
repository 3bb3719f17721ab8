// xcpu_rotate: checks, one region of the team.

#include <limits>

#include "check.h"
#include "error.h"
#include "kernels.h"
#include "team.h"

namespace xcpu {
namespace {

constexpr std::int64_t kAlone = 16384;  // elements for which a team costs more than it gains

std::string fault_of_rotation(const xcpu_rotary_args& args) {
  const Need q = args.q.data != nullptr ? Need::kNeeded : Need::kOptional;
  const Need k = args.k.data != nullptr ? Need::kNeeded : Need::kOptional;
  return first_of({fault_of_numbers({{args.tokens, "tokens", 0, std::numeric_limits<std::int64_t>::max()},
                                     {args.head_dim, "head_dim", 1, kMostHeadDim},
                                     {args.q_heads, "q_heads", 0, std::numeric_limits<std::int32_t>::max()},
                                     {args.k_heads, "k_heads", 0, std::numeric_limits<std::int32_t>::max()}}),
                   fault_of_heads({{args.q, "q", args.tokens, args.q_heads, args.head_dim},
                                   {args.k, "k", args.tokens, args.k_heads, args.head_dim},
                                   {args.q_out, "q_out", args.tokens, args.q_heads, args.head_dim, q},
                                   {args.k_out, "k_out", args.tokens, args.k_heads, args.head_dim, k}}),
                   fault_of_rotary(args.rotary, args.tokens, args.head_dim, "rotary.")});
}

}  // namespace
}  // namespace xcpu

const char* xcpu_rotate(const xcpu_rotary_args* args, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_rotation(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  const std::int64_t elements = args->tokens * (args->q_heads + args->k_heads) * args->head_dim;
  xcpu::run_team(elements < xcpu::kAlone ? nullptr : team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share tokens = xcpu::share_of(args->tokens, index, count);
    kernels->rotary->rotate(*args, tokens.begin, tokens.end);
  });
  return nullptr;
}
