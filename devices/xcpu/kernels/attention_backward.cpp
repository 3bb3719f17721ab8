// xcpu_attention_backward: checks, scratch, one region of the team: operands become tiles, then gradients of
// queries, then those of keys and values.

#include <algorithm>
#include <cstring>

#include "attention_memory.h"
#include "check.h"
#include "error.h"
#include "team.h"

namespace xcpu {
namespace {

constexpr std::int64_t kLine = 64;

std::int64_t lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::string fault_of_backward(const xcpu_attention_backward_args& args) {
  const xcpu_attention_args& forward = args.forward;
  std::string fault = fault_of_attention(forward);
  if (!fault.empty()) return "forward." + fault;
  const std::int64_t q_tokens = forward.q_starts[forward.sequences];
  const std::int64_t k_tokens =
      (forward.k_starts != nullptr ? forward.k_starts : forward.q_starts)[forward.sequences];
  if (forward.lse == nullptr && q_tokens > 0) return "forward.lse is NULL";
  const std::int64_t dim = forward.head_dim;
  return fault_of_heads({{args.grad, "grad", q_tokens, forward.q_heads, dim, Need::kNeeded},
                         {args.grad_q, "grad_q", q_tokens, forward.q_heads, dim},
                         {args.grad_k, "grad_k", k_tokens, forward.kv_heads, dim},
                         {args.grad_v, "grad_v", k_tokens, forward.kv_heads, dim}});
}

class Backward {
 public:
  Backward(const Kernels& kernels, const xcpu_attention_backward_args& args)
      : kernels_(kernels), args_(args), memory_(args.forward) {
    const Attention& call = memory_.call;
    const std::int64_t heads = args.forward.kv_heads;
    key_bytes_ = tile_bytes_of(call.tiles.shape, call.k_starts, call.sequences, heads);
    query_bytes_ = tile_bytes_of(call.tiles.shape, call.q_starts, call.sequences, call.q_heads);
    q_tokens_ = call.q_starts[call.sequences];
    k_tokens_ = call.k_starts[call.sequences];
    thread_bytes_ = lines(gradient_kernels().workspace_bytes(call.tiles.shape));
  }

  std::int64_t scratch_bytes() const {
    return 2 * key_bytes_ + 2 * query_bytes_ + lines(8 * k_tokens_) + lines(8 * q_tokens_) +
           lines(4 * q_tokens_ * memory_.call.q_heads) + args_.forward.threads * thread_bytes_;
  }

  void run(void* scratch, const xcpu_team* team) {
    place(static_cast<std::uint8_t*>(scratch));
    find_slots(memory_.call.k_starts, memory_.call.sequences, k_slots_);
    find_slots(memory_.call.q_starts, memory_.call.sequences, q_slots_);
    Barrier barrier;
    run_team(team, [&](std::int32_t index, std::int32_t count) {
      clear(index, count);
      barrier.wait(count);
      pack(index, count);
      barrier.wait(count);
      const std::int32_t working = std::min(count, args_.forward.threads);
      if (index >= working) return;
      if (args_.grad_q.data != nullptr) compute_queries(index, working);
      if (args_.grad_k.data != nullptr || args_.grad_v.data != nullptr) compute_keys(index, working);
    });
  }

 private:
  const AttentionGradientKernels& gradient_kernels() const {
    return kernels_.attention_gradient[memory_.kind];
  }

  void place(std::uint8_t* scratch) {
    const xcpu_attention_args& forward = args_.forward;
    const auto take = [&](std::int64_t bytes) {
      std::uint8_t* taken = scratch;
      scratch += bytes;
      return taken;
    };
    gradient_.call = memory_.call;
    gradient_.keys = gradient_.values = memory_.call.tiles;
    gradient_.queries = gradient_.grads = memory_.call.tiles;
    gradient_.queries.kv_heads = gradient_.grads.kv_heads = memory_.call.q_heads;
    gradient_.keys.data = take(key_bytes_);
    gradient_.values.data = take(key_bytes_);
    gradient_.queries.data = take(query_bytes_);
    gradient_.grads.data = take(query_bytes_);
    k_slots_ = reinterpret_cast<std::int64_t*>(take(lines(8 * k_tokens_)));
    q_slots_ = reinterpret_cast<std::int64_t*>(take(lines(8 * q_tokens_)));
    gradient_.delta = reinterpret_cast<float*>(take(lines(4 * q_tokens_ * memory_.call.q_heads)));
    workspaces_ = scratch;
    gradient_.k = forward.k;
    gradient_.v = forward.v;
    gradient_.grad = args_.grad;
    gradient_.grad_q = args_.grad_q;
    gradient_.grad_k = args_.grad_k;
    gradient_.grad_v = args_.grad_v;
  }

  // What is in tiles but no token is multiplied by zero.
  void clear(std::int32_t index, std::int32_t count) const {
    const Share bytes = share_of(2 * key_bytes_ + 2 * query_bytes_, index, count);
    std::memset(gradient_.keys.data + bytes.begin, 0, static_cast<std::size_t>(bytes.end - bytes.begin));
  }

  void pack(std::int32_t index, std::int32_t count) const {
    const auto write = [&](const Tiles& tiles, std::int64_t tokens, const std::int64_t* slots,
                           const xcpu_heads& heads) {
      const Share units = share_of(tokens * tiles.kv_heads, index, count);
      kernels_.cache->write({tiles, memory_.kind, tokens, slots, heads, heads}, units.begin, units.end);
    };
    write(gradient_.keys, k_tokens_, k_slots_, gradient_.k);
    write(gradient_.values, k_tokens_, k_slots_, gradient_.v);
    write(gradient_.queries, q_tokens_, q_slots_, memory_.call.q);
    write(gradient_.grads, q_tokens_, q_slots_, gradient_.grad);
    const Share tokens = share_of(q_tokens_, index, count);
    gradient_kernels().delta(gradient_, tokens.begin, tokens.end);
  }

  // Of sequences and heads, blocks of tokens in turns: those of a causal sequence are more work, the later
  // they are.
  template <class Function>
  void for_blocks(const std::int64_t* starts, std::int64_t heads, std::int32_t index, std::int32_t count,
                  Function function) const {
    const std::int64_t most = gradient_kernels().max_rows;
    std::int64_t block = 0;
    for (std::int64_t sequence = 0; sequence < memory_.call.sequences; ++sequence) {
      const std::int64_t tokens = starts[sequence + 1] - starts[sequence];
      for (std::int64_t head = 0; head < heads; ++head) {
        for (std::int64_t first = 0; first < tokens; first += most, ++block) {
          if (block % count == index)
            function(GradientRows{sequence, head, first, std::min(most, tokens - first)});
        }
      }
    }
  }

  void compute_queries(std::int32_t index, std::int32_t count) const {
    for_blocks(memory_.call.q_starts, memory_.call.q_heads, index, count, [&](const GradientRows& rows) {
      gradient_kernels().queries(gradient_, rows, workspaces_ + index * thread_bytes_);
    });
  }
  void compute_keys(std::int32_t index, std::int32_t count) const {
    for_blocks(memory_.call.k_starts, args_.forward.kv_heads, index, count, [&](const GradientRows& rows) {
      gradient_kernels().keys(gradient_, rows, workspaces_ + index * thread_bytes_);
    });
  }

  const Kernels& kernels_;
  const xcpu_attention_backward_args& args_;
  AttentionInMemory memory_;
  AttentionGradient gradient_{};
  std::int64_t key_bytes_, query_bytes_, q_tokens_, k_tokens_, thread_bytes_;
  std::int64_t* k_slots_ = nullptr;
  std::int64_t* q_slots_ = nullptr;
  std::uint8_t* workspaces_ = nullptr;
};

}  // namespace
}  // namespace xcpu

int64_t xcpu_attention_backward_scratch(const xcpu_attention_backward_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr || !xcpu::fault_of_backward(*args).empty()) return 0;
  return xcpu::Backward(*kernels, *args).scratch_bytes();
}

const char* xcpu_attention_backward(const xcpu_attention_backward_args* args, void* scratch,
                                    const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_backward(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  xcpu::Backward(*kernels, *args).run(scratch, team);
  return nullptr;
}
