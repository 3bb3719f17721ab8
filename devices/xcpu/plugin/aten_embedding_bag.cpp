#include "aten_embedding_bag.h"

#include <algorithm>

#include "arguments.h"
#include "aten_rows.h"
#include "heads.h"

namespace xcpu::plugin {
namespace {

constexpr std::int64_t kSum = 0, kMean = 1;
constexpr std::int64_t kFew = 1024;  // indices

// Where bags begin, and after the last the end: offsets leave the end out, or say it.
const std::int64_t* starts_of_bags(const plug::Call& call, plug::Span<const std::int64_t> offsets,
                                   std::int64_t bags, std::int64_t indices) {
  const plug::Scratch<std::int64_t> starts(call, bags + 1);
  std::copy(offsets.begin(), offsets.begin() + bags, starts.begin());
  starts[bags] = indices;
  return starts.data();
}

void write_bags(const xcpu_bag_args& args, const plug::Out& offset2bag) {
  if (offset2bag.numel() == 0) return;
  std::int64_t* to = offset2bag.data<std::int64_t>();
  for (std::int64_t bag = 0; bag < args.bags; ++bag) {
    std::fill(to + args.starts[bag], to + args.starts[bag + 1], bag);
  }
}

// Of a sum nobody asks for the sizes: they are 0.
void write_sizes(const xcpu_bag_args& args, const plug::Out& sizes) {
  const plug::Span<std::int64_t> to = sizes.span<std::int64_t>();
  std::fill(to.begin(), to.end(), 0);
  if (args.mean == 0) return;
  for (std::int64_t bag = 0; bag < std::min(args.bags, to.size()); ++bag) {
    const std::int64_t* begin = args.indices + args.starts[bag];
    const std::int64_t* end = args.indices + args.starts[bag + 1];
    to[bag] = end - begin - std::count(begin, end, args.padding);
  }
}

}  // namespace

void aten_embedding_bag(plug::Call& call, plug::Tensor weight, plug::Tensor indices, plug::Tensor offsets,
                        bool /*scale_grad_by_freq*/, std::int64_t mode, bool /*sparse*/,
                        std::optional<plug::Tensor> per_sample_weights, bool include_last_offset,
                        std::int64_t padding_idx, plug::Out result, plug::Out offset2bag, plug::Out bag_size,
                        plug::Out max_indices) {
  if (mode != kSum && mode != kMean) plug::decline("the kernel knows sums and means");
  if (mode == kSum && padding_idx < 0 && indices.numel() > kFew) {
    plug::decline("the CPU is faster with sums of many rows");
  }
  if (weight.ndim() != 2 || indices.ndim() != 1 || offsets.ndim() != 1 || indices.dtype() != PLUG_I64 ||
      offsets.dtype() != PLUG_I64) {
    plug::decline("the kernel is for a table, and indices and offsets in one dimension, of int64");
  }
  if (!weight.is_contiguous() || !indices.is_contiguous() || !offsets.is_contiguous()) {
    plug::decline("the table, indices and offsets are contiguous");
  }
  if (result.numel() == 0 || indices.numel() == 0) plug::decline("the CPU says what bags of nothing are");
  const plug::Span<const std::int64_t> begins = offsets.span<std::int64_t>();
  if (begins[0] != 0 || (include_last_offset && begins[begins.size() - 1] != indices.numel())) {
    plug::decline("the CPU knows bags that leave indices out");
  }
  xcpu_bag_args args{};
  args.mean = mode == kMean ? 1 : 0;
  args.bags = result.size(0);
  args.columns = weight.size(1);
  args.table_rows = weight.size(0);
  args.table = contiguous_rows(weight, args.columns);
  args.indices = indices.data<std::int64_t>();
  args.starts = starts_of_bags(call, begins, args.bags, indices.numel());
  if (per_sample_weights) {
    if (mode == kMean || per_sample_weights->ndim() != 1 || per_sample_weights->numel() != indices.numel() ||
        per_sample_weights->dtype() != weight.dtype()) {
      plug::decline("the CPU says what is wrong with per_sample_weights");
    }
    args.weights = floats_of(call, *per_sample_weights, "per_sample_weights");
  }
  args.padding = padding_idx;
  args.out = contiguous_rows(result, args.columns);
  // It refuses before it writes; how the CPU refuses is what users know.
  if (const char* fault = xcpu_embedding_bag(&args, team()); fault != nullptr) plug::decline(fault);
  write_bags(args, offset2bag);
  write_sizes(args, bag_size);
  if (max_indices.numel() == bag_size.numel()) write_sizes(args, max_indices);
}

}  // namespace xcpu::plugin
