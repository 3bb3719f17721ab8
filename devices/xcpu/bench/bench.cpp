// How near linear is to what the machine can do: each measurement beside a probe that reads memory and one
// that multiplies, in turns; weights follow each other in more memory than caches have; medians of ratios
// over the rounds.
//
//   xcpu_bench [--rounds N] [--threads N] [--n N] [--k K] [--only TEXT] [--json]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"
#include "xcpu/xcpu.h"

namespace xcpu_bench {
namespace {

struct Options {
  int rounds = 9;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::int64_t n = 8192;
  std::int64_t k = 2048;
  std::string only;
  bool json = false;
};

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json") {
      options.json = true;
      continue;
    }
    if (i + 1 == count) {
      std::fprintf(stderr, "%s has no value\n", word.c_str());
      std::exit(2);
    }
    const char* value = words[++i];
    if (word == "--rounds") {
      options.rounds = std::atoi(value);
    } else if (word == "--threads") {
      options.threads = std::atoi(value);
    } else if (word == "--n") {
      options.n = std::atoll(value);
    } else if (word == "--k") {
      options.k = std::atoll(value);
    } else if (word == "--only") {
      options.only = value;
    } else {
      std::fprintf(stderr, "%s is no option; options are --rounds, --threads, --n, --k, --only and --json\n",
                   word.c_str());
      std::exit(2);
    }
  }
  return options;
}

void succeed(const char* sentence) {
  if (sentence == nullptr) return;
  std::fprintf(stderr, "%s\n", sentence);
  std::exit(1);
}

constexpr std::int64_t kCycle = 512 << 20;  // bytes of weights that follow each other

// Copies of one weight, one after the other in memory.
struct Weights {
  std::string name;
  double bits;  // of a weight, without scales
  bool is_int8;
  xcpu_packed packed;
  std::int64_t stride;
  std::int64_t copies;
  Memory memory;

  Weights(std::string named, double of_weight, bool by_int8, const xcpu_packed& shape, const Threads& threads)
      : name(std::move(named)),
        bits(of_weight),
        is_int8(by_int8),
        packed(shape),
        stride((xcpu_packed_bytes(&shape) + 63) / 64 * 64),
        copies((kCycle + stride - 1) / stride),
        memory(copies * stride) {
    std::vector<float> values(static_cast<std::size_t>(shape.n * shape.k));
    std::uint32_t state = 1;
    for (float& value : values) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(state >> 8) * 0x1p-24F - 0.5F;
    }
    const xcpu_matrix matrix{values.data(), XCPU_F32, shape.k, 1};
    succeed(xcpu_pack(&shape, &matrix, nullptr, memory.data(), threads.team()));
    for (std::int64_t i = 1; i < copies; ++i) {
      std::memcpy(memory.data() + i * stride, memory.data(), static_cast<std::size_t>(stride));
    }
  }
};

struct Case {
  Weights* weights;
  xcpu_precision precision;
  std::int64_t rows;
  std::string name;
  std::vector<double> ratios, of_read, of_peak;
};

// Seconds of the fastest of some calls, which take different weights.
double time_of(const Case& measured, const Threads& threads) {
  const Weights& weights = *measured.weights;
  const std::int64_t n = weights.packed.n;
  const std::int64_t k = weights.packed.k;
  static std::vector<std::uint16_t> x;
  static std::vector<std::uint16_t> out;
  x.assign(static_cast<std::size_t>(measured.rows * k), 0x3F80);
  out.assign(static_cast<std::size_t>(measured.rows * n), 0);
  xcpu_linear_args args{};
  args.rows = measured.rows;
  args.x = {x.data(), XCPU_BF16, k};
  args.weight = weights.packed;
  args.precision = measured.precision;
  args.out = {out.data(), XCPU_BF16, n};
  args.weight.data = weights.memory.data();
  const Memory scratch(xcpu_linear_scratch(&args) + 64);
  const std::int64_t calls = measured.rows > 64 ? 1 : weights.copies;
  static std::int64_t next = 0;
  double fastest = HUGE_VAL;
  for (std::int64_t call = 0; call < calls; ++call) {
    args.weight.data = weights.memory.data() + next++ % weights.copies * weights.stride;
    const double begin = threads.seconds();
    succeed(xcpu_linear(&args, scratch.data(), threads.team()));
    fastest = std::min(fastest, threads.seconds() - begin);
  }
  return fastest;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(Case& measured, const Threads& threads, const Memory& probe) {
  const double bandwidth = read_bandwidth(threads, probe, measured.weights->stride);
  const Peak peak = peak_products(threads);
  const double time = time_of(measured, threads);
  const Weights& weights = *measured.weights;
  const auto products = static_cast<double>(weights.packed.n * weights.packed.k);
  const double reading = products * weights.bits / 8 / bandwidth;
  // Of fp32 an instruction has half as many.
  const double top = weights.is_int8 && measured.precision == XCPU_INPUT_INT8 ? peak.int8
                     : weights.packed.kind == XCPU_W_F32                      ? peak.bf16 / 2
                                                                              : peak.bf16;
  const double multiplying = top > 0 ? 2 * products * static_cast<double>(measured.rows) / top : 0;
  measured.of_read.push_back(reading / time);
  measured.of_peak.push_back(multiplying / time);
  measured.ratios.push_back(std::max(reading, multiplying) / time);
}

void print(const Case& measured, bool json) {
  const char* format = json ? "{\"case\": \"%s\", \"of_roof\": %.3f, \"of_read\": %.3f, \"of_peak\": %.3f}\n"
                            : "%-24s %8.3f %8.3f %8.3f\n";
  std::printf(format, measured.name.c_str(), median(measured.ratios), median(measured.of_read),
              median(measured.of_peak));
}

int run(const Options& options) {
  const Threads threads(options.threads);
  const Memory probe(kCycle);
  std::vector<Weights> all;
  const auto shape = [&](xcpu_kind kind, int group) {
    return xcpu_packed{nullptr, kind, group, 0, options.n, options.k};
  };
  all.reserve(4);
  all.emplace_back("f32", 32, false, shape(XCPU_W_F32, 0), threads);
  all.emplace_back("bf16", 16, false, shape(XCPU_W_BF16, 0), threads);
  all.emplace_back("int8", 8, true, shape(XCPU_W_INT8, 0), threads);
  all.emplace_back("int4", 4, true, shape(XCPU_W_INT4, 128), threads);
  std::vector<Case> cases;
  for (Weights& weights : all) {
    for (const std::int64_t rows : {1, 2, 4, 8, 16, 32, 1024}) {
      for (const xcpu_precision precision : {XCPU_INPUT_INT8, XCPU_INPUT_BF16}) {
        if (precision == XCPU_INPUT_BF16 && weights.packed.kind != XCPU_W_INT4) continue;
        const char* input = precision == XCPU_INPUT_BF16 ? "_bf16" : "";
        const std::string name = weights.name + input + " M=" + std::to_string(rows);
        if (name.find(options.only) == std::string::npos) continue;
        cases.push_back({&weights, precision, rows, name, {}, {}, {}});
      }
    }
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (Case& measured : cases) measure(measured, threads, probe);
  }
  const Peak peak = peak_products(threads);
  if (!options.json) {
    std::printf("%s, %d threads, N = %lld, K = %lld; read %.1f GB/s, bf16 %.0f GFLOP/s, int8 %.0f GOP/s\n",
                xcpu_isa(), options.threads, static_cast<long long>(options.n),
                static_cast<long long>(options.k), read_bandwidth(threads, probe, 32 << 20) / 1e9,
                peak.bf16 / 1e9, peak.int8 / 1e9);
    std::printf("%-24s %8s %8s %8s\n", "", "of roof", "of read", "of peak");
  }
  for (const Case& measured : cases) print(measured, options.json);
  return 0;
}

}  // namespace
}  // namespace xcpu_bench

int main(int count, char** words) { return xcpu_bench::run(xcpu_bench::parse(count, words)); }
