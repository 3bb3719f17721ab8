// How near attention, norms and rotary embedding are to what the machine can do: each measurement beside the
// probes, in turns; medians over the rounds. Decoding cycles through sequences in more memory than caches
// have.
//
//   xcpu_attention_bench [--rounds N] [--threads N] [--length N] [--cycle MIB] [--only TEXT]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "probe.h"
#include "xcpu/xcpu.h"

namespace xcpu_bench {
namespace {

struct Options {
  int rounds = 7;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::int64_t length = 1024;
  std::int64_t cycle = 256;  // MiB of caches of tokens that follow each other
  std::string only;
};

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string word = words[i];
    const char* value = words[i + 1];
    if (word == "--rounds") options.rounds = std::atoi(value);
    if (word == "--threads") options.threads = std::atoi(value);
    if (word == "--length") options.length = std::atoll(value);
    if (word == "--cycle") options.cycle = std::atoll(value);
    if (word == "--only") options.only = value;
  }
  return options;
}

void succeed(const char* sentence) {
  if (sentence == nullptr) return;
  std::fprintf(stderr, "%s\n", sentence);
  std::exit(1);
}

// What is measured: seconds of a call, and what of it memory and multiplication would take at the least.
struct Case {
  std::string name;
  double bytes, products;
  std::function<double()> seconds;
  std::vector<double> of_roof{}, times{};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<std::uint16_t> halves(std::int64_t count) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (std::uint16_t& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<std::uint16_t>(0x3E00 + (state >> 24) + (state & 0x8000));
  }
  return values;
}

constexpr int kHeads = 32;
constexpr int kKvHeads = 8;
constexpr int kDim = 128;

// Sequences that follow each other in memory, of which each call decodes `batch`.
struct Decode {
  const Threads& threads;
  std::int64_t length, batch, pages, calls, next = 0;
  xcpu_cache cache{};
  Memory memory;
  std::vector<std::uint16_t> q, out;
  std::vector<std::int64_t> table, starts, lengths;
  std::vector<char> scratch;

  Decode(const Threads& of, xcpu_cache_kind kind, std::int64_t tokens, std::int64_t together,
         std::int64_t cycle)
      : threads(of),
        length(tokens),
        batch(together),
        pages((tokens + 63) / 64),
        cache{nullptr, kind, kKvHeads, kDim, 64, 1},
        memory(cycle),
        q(halves(together * kHeads * kDim)),
        out(q.size()) {
    cache.pages = cycle / xcpu_cache_bytes(&cache);
    cache.data = memory.data();
    calls = cache.pages / pages / batch;
    for (std::int64_t page = 0; page < cache.pages; ++page) table.push_back(page);
    for (std::int64_t s = 0; s <= batch; ++s) starts.push_back(s);
    lengths.assign(static_cast<std::size_t>(batch), length);
    fill();
  }

  // One page of tokens, copied everywhere.
  void fill() {
    const std::vector<std::uint16_t> values = halves(64 * kKvHeads * kDim);
    std::vector<std::int64_t> slots;
    for (std::int64_t i = 0; i < 64; ++i) slots.push_back(i);
    auto* data = const_cast<std::uint16_t*>(values.data());
    const xcpu_heads heads{data, XCPU_BF16, kKvHeads * kDim, kDim};
    const xcpu_cache_args args{cache, 64, slots.data(), heads, heads};
    succeed(xcpu_cache_write(&args, nullptr));
    const std::int64_t bytes = xcpu_cache_bytes(&cache) / cache.pages;
    for (std::int64_t page = 1; page < cache.pages; ++page) {
      std::memcpy(memory.data() + page * bytes, memory.data(), static_cast<std::size_t>(bytes));
    }
  }

  double bytes() const {
    return static_cast<double>(xcpu_cache_bytes(&cache)) / static_cast<double>(cache.pages) / 64 *
           static_cast<double>(length * batch);
  }

  double seconds() {
    xcpu_paged_attention_args args{};
    args.cache = cache;
    args.sequences = batch;
    args.q_starts = starts.data();
    args.lengths = lengths.data();
    args.block_table_stride = pages;
    args.q_heads = kHeads;
    args.threads = threads.count();
    args.scores.causal = 1;
    args.q = {q.data(), XCPU_BF16, kHeads * kDim, kDim};
    args.out = {out.data(), XCPU_BF16, kHeads * kDim, kDim};
    args.block_table = table.data();
    scratch.resize(static_cast<std::size_t>(xcpu_paged_attention_scratch(&args)) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    void* aligned = scratch.data() + (64 - address % 64);
    const std::int64_t repeats = std::max<std::int64_t>(calls, 64);
    const double begin = threads.seconds();
    for (std::int64_t call = 0; call < repeats; ++call) {
      args.block_table = table.data() + next++ % calls * batch * pages;
      succeed(xcpu_paged_attention(&args, aligned, threads.team()));
    }
    return (threads.seconds() - begin) / static_cast<double>(repeats);
  }
};

struct Prefill {
  const Threads& threads;
  std::int64_t length;
  std::vector<std::uint16_t> q, k, out;
  std::vector<char> scratch{};

  Prefill(const Threads& of, std::int64_t tokens)
      : threads(of),
        length(tokens),
        q(halves(tokens * kHeads * kDim)),
        k(halves(tokens * kKvHeads * kDim)),
        out(q.size()) {}

  // Two products of half of the square, a multiplication and an addition each.
  double products() const {
    const auto tokens = static_cast<double>(length);
    return 2.0 * 2 * kHeads * kDim * tokens * (tokens + 1) / 2;
  }

  double seconds() {
    const std::int64_t starts[] = {0, length};
    xcpu_attention_args args{};
    args.sequences = 1;
    args.q_starts = starts;
    args.q_heads = kHeads;
    args.kv_heads = kKvHeads;
    args.head_dim = kDim;
    args.threads = threads.count();
    args.scores.causal = 1;
    args.q = {q.data(), XCPU_BF16, kHeads * kDim, kDim};
    args.k = args.v = {k.data(), XCPU_BF16, kKvHeads * kDim, kDim};
    args.out = {out.data(), XCPU_BF16, kHeads * kDim, kDim};
    scratch.resize(static_cast<std::size_t>(xcpu_attention_scratch(&args)) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    const double begin = threads.seconds();
    succeed(xcpu_attention(&args, scratch.data() + (64 - address % 64), threads.team()));
    return threads.seconds() - begin;
  }
};

// Rows in more memory than caches have: what is read and what is written, each once.
struct Rows {
  const Threads& threads;
  std::int64_t columns, rows;
  Memory memory, results;
  std::vector<std::uint16_t> weight;
  std::vector<float> angles;

  Rows(const Threads& of, std::int64_t width)
      : threads(of),
        columns(width),
        rows((64 << 20) / 2 / width),
        memory(rows * width * 2),
        results(rows * width * 2),
        weight(halves(width)),
        angles(static_cast<std::size_t>(rows * kDim / 2), 0.5F) {}

  double bytes() const { return static_cast<double>(rows * columns * 4); }

  double norm() {
    xcpu_norm_args args{};
    args.epsilon = 1e-6F;
    args.rows = rows;
    args.columns = columns;
    args.x = {memory.data(), XCPU_BF16, columns};
    args.weight = {weight.data(), XCPU_BF16, columns};
    args.out = {results.data(), XCPU_BF16, columns};
    const double begin = threads.seconds();
    succeed(xcpu_norm(&args, threads.team()));
    return threads.seconds() - begin;
  }

  double rotary(xcpu_rotary_form form) {
    xcpu_rotary_args args{};
    args.rotary = {
        form,   kDim, 0, rows, {angles.data(), XCPU_F32, kDim / 2}, {angles.data(), XCPU_F32, kDim / 2},
        nullptr};
    args.tokens = rows;
    args.head_dim = kDim;
    args.q_heads = static_cast<std::int32_t>(columns / kDim);
    args.q = {memory.data(), XCPU_BF16, columns, kDim};
    args.q_out = {results.data(), XCPU_BF16, columns, kDim};
    const double begin = threads.seconds();
    succeed(xcpu_rotate(&args, threads.team()));
    return threads.seconds() - begin;
  }
};

int run(const Options& options) {
  const Threads threads(options.threads);
  const Memory probe(256 << 20);
  std::vector<Case> cases;
  const auto is_asked = [&](const std::string& name) { return name.find(options.only) != std::string::npos; };
  std::vector<Decode> decodes;
  decodes.reserve(8);
  for (const auto& [kind, name] :
       {std::pair<xcpu_cache_kind, const char*>{XCPU_CACHE_BF16, "bf16"}, {XCPU_CACHE_INT8, "int8"}}) {
    for (const std::int64_t batch : {1, 4}) {
      const std::string full = std::string("decode ") + name + " B=" + std::to_string(batch);
      if (!is_asked(full)) continue;
      Decode& decode = decodes.emplace_back(threads, kind, options.length, batch, options.cycle << 20);
      cases.push_back({full, decode.bytes(), 0, [&decode] { return decode.seconds(); }});
    }
  }
  Prefill prefill(threads, options.length);
  if (is_asked("prefill bf16")) {
    cases.push_back({"prefill bf16", 0, prefill.products(), [&] { return prefill.seconds(); }});
  }
  Rows rows(threads, 4096);
  if (is_asked("rms norm")) cases.push_back({"rms norm", rows.bytes(), 0, [&] { return rows.norm(); }});
  for (const auto& [form, name] :
       {std::pair<xcpu_rotary_form, const char*>{XCPU_ROTARY_HALVES, "rotary halves"},
        {XCPU_ROTARY_INTERLEAVED, "rotary interleaved"}}) {
    if (!is_asked(name)) continue;
    cases.push_back({name, rows.bytes(), 0, [&rows, form = form] { return rows.rotary(form); }});
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (Case& measured : cases) {
      const double bandwidth = read_bandwidth(threads, probe, probe.bytes());
      const Peak peak = peak_products(threads);
      const double time = measured.seconds();
      const double multiplying = peak.bf16 > 0 ? measured.products / peak.bf16 : 0;
      measured.of_roof.push_back(std::max(measured.bytes / bandwidth, multiplying) / time);
      measured.times.push_back(time);
    }
  }
  const Peak peak = peak_products(threads);
  std::printf("%s, %d threads, length %lld; read %.1f GB/s, bf16 %.0f GFLOP/s\n", xcpu_isa(), options.threads,
              static_cast<long long>(options.length), read_bandwidth(threads, probe, probe.bytes()) / 1e9,
              peak.bf16 / 1e9);
  std::printf("%-24s %10s %10s %10s\n", "", "of roof", "best", "ms");
  for (const Case& measured : cases) {
    std::printf("%-24s %10.3f %10.3f %10.3f\n", measured.name.c_str(), median(measured.of_roof),
                *std::max_element(measured.of_roof.begin(), measured.of_roof.end()),
                1e3 * *std::min_element(measured.times.begin(), measured.times.end()));
  }
  return 0;
}

}  // namespace
}  // namespace xcpu_bench

int main(int count, char** words) { return xcpu_bench::run(xcpu_bench::parse(count, words)); }
