// xcpu_paged_attention and xcpu_attention: checks, scratch, one region of the team.

#include <algorithm>
#include <limits>

#include "attention_memory.h"
#include "attention_schedule.h"
#include "cache_shape.h"
#include "check.h"
#include "error.h"

namespace xcpu {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMostThreads = 4096;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
std::string text(std::int64_t value) { return std::to_string(value); }

std::string fault_of_starts(const std::int64_t* starts, std::int64_t sequences, const std::string& name) {
  if (starts == nullptr) return name + " is NULL";
  if (starts[0] != 0) return name + "[0] is " + text(starts[0]) + "; it is 0";
  for (std::int64_t s = 0; s < sequences; ++s) {
    if (starts[s + 1] < starts[s]) {
      return name + "[" + text(s + 1) + "] is " + text(starts[s + 1]) + ", less than the one before it, " +
             text(starts[s]);
    }
  }
  return "";
}

std::string fault_of_numbers_of(const xcpu_scores& scores, std::int64_t sequences, std::int32_t q_heads,
                                std::int32_t kv_heads, std::int32_t threads) {
  std::string fault = fault_of_numbers({{sequences, "sequences", 0, std::numeric_limits<std::int32_t>::max()},
                                        {threads, "threads", 1, kMostThreads},
                                        {scores.causal, "scores.causal", 0, 1},
                                        {scores.window, "scores.window", 0, kMost},
                                        {q_heads, "q_heads", 1, std::numeric_limits<std::int32_t>::max()}});
  if (fault.empty() && q_heads % kv_heads != 0) {
    fault = "q_heads is " + text(q_heads) + ", which is no multiple of kv_heads, " + text(kv_heads);
  }
  return fault;
}

std::string fault_of_pages(const xcpu_paged_attention_args& args) {
  if (args.sequences > 0 && args.lengths == nullptr) return "lengths is NULL";
  if (args.sequences > 0 && args.block_table == nullptr) return "block_table is NULL";
  for (std::int64_t s = 0; s < args.sequences; ++s) {
    const std::int64_t queries = args.q_starts[s + 1] - args.q_starts[s];
    if (args.lengths[s] < queries) {
      return "lengths[" + text(s) + "] is " + text(args.lengths[s]) + ", less than its " + text(queries) +
             " queries";
    }
    const std::int64_t pages = (args.lengths[s] + args.cache.page_tokens - 1) / args.cache.page_tokens;
    if (pages > args.block_table_stride && args.sequences > 1) {
      return "block_table_stride is " + text(args.block_table_stride) + ", less than the " + text(pages) +
             " pages of sequence " + text(s);
    }
    for (std::int64_t page = 0; page < pages; ++page) {
      const std::int64_t found = args.block_table[s * args.block_table_stride + page];
      if (found >= 0 && found < args.cache.pages) continue;
      return "block_table[" + text(s) + "][" + text(page) + "] is " + text(found) + "; the cache has " +
             text(args.cache.pages) + " pages";
    }
  }
  return "";
}

std::string fault_of_paged(const xcpu_paged_attention_args& args) {
  std::string fault = fault_of_cache(args.cache, "cache.");
  if (fault.empty()) {
    fault = fault_of_numbers_of(args.scores, args.sequences, args.q_heads, args.cache.kv_heads, args.threads);
  }
  if (fault.empty()) fault = fault_of_starts(args.q_starts, args.sequences, "q_starts");
  if (!fault.empty()) return fault;
  const std::int64_t tokens = args.q_starts[args.sequences];
  const std::int64_t dim = args.cache.head_dim;
  fault = fault_of_heads({{args.q, "q", tokens, args.q_heads, dim, Need::kNeeded},
                          {args.out, "out", tokens, args.q_heads, dim, Need::kNeeded}});
  if (!fault.empty()) return fault;
  if (args.cache.data == nullptr && tokens > 0) return "cache.data is NULL";
  return fault_of_pages(args);
}

Attention call_of(const xcpu_paged_attention_args& args) {
  Attention call{};
  call.tiles = tiles_of(args.cache);
  call.tiles.block_table = args.block_table;
  call.tiles.block_table_stride = args.block_table_stride;
  call.sequences = args.sequences;
  call.q_starts = args.q_starts;
  call.lengths = args.lengths;
  call.q_heads = args.q_heads;
  call.group = args.q_heads / args.cache.kv_heads;
  call.scores = args.scores;
  call.q = args.q;
  call.out = args.out;
  call.lse = args.lse;
  return call;
}

const std::int64_t* k_starts_of(const xcpu_attention_args& args) {
  return args.k_starts != nullptr ? args.k_starts : args.q_starts;
}

struct Scratch {
  std::int64_t tiles, slots;  // bytes

  Scratch(const AttentionInMemory& memory, std::int64_t kv_heads)
      : tiles(tile_bytes_of(memory.call.tiles.shape, memory.call.k_starts, memory.call.sequences, kv_heads)),
        slots(lines(memory.call.k_starts[memory.call.sequences] * 8)) {}
};

}  // namespace

std::string fault_of_attention(const xcpu_attention_args& args) {
  std::string fault =
      fault_of_numbers({{args.head_dim, "head_dim", 1, kMostHeadDim},
                        {args.kv_heads, "kv_heads", 1, std::numeric_limits<std::int32_t>::max()}});
  if (fault.empty()) {
    fault = fault_of_numbers_of(args.scores, args.sequences, args.q_heads, args.kv_heads, args.threads);
  }
  if (fault.empty()) fault = fault_of_starts(args.q_starts, args.sequences, "q_starts");
  if (fault.empty()) fault = fault_of_starts(k_starts_of(args), args.sequences, "k_starts");
  if (!fault.empty()) return fault;
  const std::int64_t q_tokens = args.q_starts[args.sequences];
  const std::int64_t k_tokens = k_starts_of(args)[args.sequences];
  return fault_of_heads({{args.q, "q", q_tokens, args.q_heads, args.head_dim, Need::kNeeded},
                         {args.k, "k", k_tokens, args.kv_heads, args.head_dim, Need::kNeeded},
                         {args.v, "v", k_tokens, args.kv_heads, args.head_dim, Need::kNeeded},
                         {args.out, "out", q_tokens, args.q_heads, args.head_dim, Need::kNeeded}});
}

AttentionInMemory::AttentionInMemory(const xcpu_attention_args& args)
    : kind(args.k.dtype == XCPU_BF16 && args.v.dtype == XCPU_BF16 ? XCPU_CACHE_BF16 : XCPU_CACHE_F32),
      call{} {
  call.tiles = {tile_shape_of(kind, args.head_dim), nullptr, args.kv_heads, 1, nullptr, 0};
  call.sequences = args.sequences;
  call.q_starts = args.q_starts;
  call.k_starts = k_starts_of(args);
  call.q_heads = args.q_heads;
  call.group = args.q_heads / args.kv_heads;
  call.scores = args.scores;
  call.q = args.q;
  call.out = args.out;
  call.lse = args.lse;
}

// Of each sequence the last tile may have few tokens.
std::int64_t tile_bytes_of(const TileShape& shape, const std::int64_t* starts, std::int64_t sequences,
                           std::int64_t heads) {
  return lines((starts[sequences] / kTileTokens + sequences + 1) * heads * shape.tile_bytes);
}

void find_slots(const std::int64_t* starts, std::int64_t sequences, std::int64_t* slots) {
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t first = (starts[s] / kTileTokens + s) * kTileTokens;
    for (std::int64_t token = starts[s]; token < starts[s + 1]; ++token)
      slots[token] = first + token - starts[s];
  }
}

}  // namespace xcpu

int64_t xcpu_paged_attention_scratch(const xcpu_paged_attention_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr || !xcpu::fault_of_cache(args->cache, "cache.").empty()) return 0;
  const xcpu::Attention call = xcpu::call_of(*args);
  return args->threads * xcpu::AttentionSchedule(call, kernels->attention[args->cache.kind]).thread_bytes();
}

const char* xcpu_paged_attention(const xcpu_paged_attention_args* args, void* scratch,
                                 const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_paged(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  const xcpu::Attention call = xcpu::call_of(*args);
  const xcpu::AttentionSchedule schedule(call, kernels->attention[args->cache.kind]);
  xcpu::Barrier barrier;
  xcpu::run_team(team, [&](std::int32_t index, std::int32_t count) {
    schedule.run(index, std::min(count, args->threads), count, scratch, barrier);
  });
  return nullptr;
}

const char* xcpu_paged_attention_place(const xcpu_paged_attention_args* args, int32_t index, int32_t count,
                                       xcpu_attention_place* place) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::first_of(
      {xcpu::fault_of_paged(*args),
       xcpu::fault_of_numbers({{count, "count", 1, xcpu::kMostThreads}, {index, "index", 0, count}})});
  if (!fault.empty()) return xcpu::refuse(fault);
  const xcpu::Attention call = xcpu::call_of(*args);
  *place = xcpu::AttentionSchedule(call, kernels->attention[args->cache.kind]).place(index, count);
  return nullptr;
}

int64_t xcpu_attention_scratch(const xcpu_attention_args* args) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr || !xcpu::fault_of_attention(*args).empty()) return 0;
  const xcpu::AttentionInMemory memory(*args);
  const xcpu::Scratch bytes(memory, args->kv_heads);
  return bytes.tiles + bytes.slots +
         args->threads * xcpu::AttentionSchedule(memory.call, kernels->attention[memory.kind]).thread_bytes();
}

const char* xcpu_attention(const xcpu_attention_args* args, void* scratch, const xcpu_team* team) {
  const xcpu::Kernels* kernels = xcpu::kernels();
  if (kernels == nullptr) return xcpu::isa_error();
  const std::string fault = xcpu::fault_of_attention(*args);
  if (!fault.empty()) return xcpu::refuse(fault);
  xcpu::AttentionInMemory memory(*args);
  const xcpu::Scratch bytes(memory, args->kv_heads);
  auto* data = static_cast<std::uint8_t*>(scratch);
  memory.call.tiles.data = data;
  auto* slots = reinterpret_cast<std::int64_t*>(data + bytes.tiles);
  xcpu::find_slots(memory.call.k_starts, args->sequences, slots);
  const std::int64_t tokens = memory.call.k_starts[args->sequences];
  const xcpu::CacheWrite write{memory.call.tiles, memory.kind, tokens, slots, args->k, args->v};
  const xcpu::AttentionSchedule schedule(memory.call, kernels->attention[memory.kind]);
  xcpu::Barrier barrier;
  xcpu::run_team(team, [&](std::int32_t index, std::int32_t count) {
    const xcpu::Share units = xcpu::share_of(tokens * args->kv_heads, index, count);
    kernels->cache->write(write, units.begin, units.end);
    barrier.wait(count);
    schedule.run(index, std::min(count, args->threads), count, data + bytes.tiles + bytes.slots, barrier);
  });
  return nullptr;
}
