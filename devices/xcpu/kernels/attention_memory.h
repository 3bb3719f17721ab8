#pragma once
// A call of attention of sequences in memory: checked, and its operands as tiles in scratch, of which each is
// a page, and the pages of a sequence follow each other.

#include <string>

#include "kernels.h"

namespace xcpu {

std::string fault_of_attention(const xcpu_attention_args& args);

// Without its tiles' memory.
struct AttentionInMemory {
  xcpu_cache_kind kind;
  Attention call;

  explicit AttentionInMemory(const xcpu_attention_args& args);
};

// The bytes of the tiles of tokens, of so many heads, and the slots of the tokens.
std::int64_t tile_bytes_of(const TileShape& shape, const std::int64_t* starts, std::int64_t sequences,
                           std::int64_t heads);
void find_slots(const std::int64_t* starts, std::int64_t sequences, std::int64_t* slots);

}  // namespace xcpu
