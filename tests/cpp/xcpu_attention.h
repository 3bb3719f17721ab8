#pragma once
// Calls of attention and what they should give: cases that are drawn, and a reference in float64.

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "xcpu_heads.h"

namespace xcpu_test {

// As kernels quantise a vector of a head: to steps of a 127th of its largest, computed in fp32.
struct Quantised {
  std::vector<double> steps;
  double scale;
};
inline Quantised quantised(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  const float factor = largest > 0 ? 127.0F / static_cast<float>(largest) : 0.0F;
  Quantised result{{}, largest / 127};
  for (const double value : values)
    result.steps.push_back(std::nearbyint(static_cast<float>(value) * factor));
  return result;
}

struct ScoreOptions {
  double scale, softcap;
  bool causal;
  std::int64_t window;
  std::vector<float> alibi, sinks;  // empty: none

  static ScoreOptions draw(Random& random, std::int64_t q_heads, bool can_be_whole) {
    ScoreOptions drawn{};
    if (choose(random, 0, 2) == 0) drawn.scale = 0.25;
    if (choose(random, 0, 3) == 0) drawn.softcap = 2.5;
    drawn.causal = !can_be_whole || choose(random, 0, 2) != 0;
    if (choose(random, 0, 2) == 0) drawn.window = choose(random, 1, 60);
    const bool has_alibi = choose(random, 0, 3) == 0;
    const bool has_sinks = choose(random, 0, 3) == 0;
    for (std::int64_t head = 0; head < q_heads; ++head) {
      if (has_alibi) drawn.alibi.push_back(0.01F * static_cast<float>(choose(random, 0, 50)));
      if (has_sinks) drawn.sinks.push_back(0.1F * static_cast<float>(choose(random, -30, 30)));
    }
    return drawn;
  }

  xcpu_scores get() const {
    xcpu_scores made{};
    made.scale = static_cast<float>(scale);
    made.softcap = static_cast<float>(softcap);
    made.causal = causal ? 1 : 0;
    made.window = window;
    made.alibi = alibi.empty() ? nullptr : alibi.data();
    made.sinks = sinks.empty() ? nullptr : sinks.data();
    return made;
  }

  bool sees(std::int64_t query, std::int64_t key) const {
    return (!causal || key <= query) && (window == 0 || key > query - window);
  }

  std::string text() const {
    return " scale " + std::to_string(scale) + " softcap " + std::to_string(softcap) + " causal " +
           std::to_string(causal) + " window " + std::to_string(window) + " alibi " +
           std::to_string(!alibi.empty()) + " sinks " + std::to_string(!sinks.empty());
  }
};

// One query and the keys and values of its head.
struct ReferenceRow {
  std::vector<double> query;
  std::int64_t position, head;
  std::int64_t keys;
};

struct ReferenceResult {
  std::vector<Bounded> out;
  Bounded lse;
  std::vector<double> weights;  // without the sink's
};

// `key` and `value` give element i of token t. Weights are rounded to 2^-weight_bits; of int8 to a 127th of
// the largest when multiplied with the values' scales, which value_scale gives.
template <class Key, class Value, class ValueScale>
ReferenceResult reference(const ScoreOptions& options, const ReferenceRow& row, std::int64_t dim, Key key,
                          Value value, double weight_loss, ValueScale value_scale) {
  const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(dim));
  const auto head = static_cast<std::size_t>(row.head);
  std::vector<double> scores;
  std::vector<std::int64_t> tokens;
  double loss = 0;  // of scores
  for (std::int64_t t = 0; t < row.keys; ++t) {
    if (!options.sees(row.position, t)) continue;
    double product = 0;
    double size = 0;
    for (std::int64_t i = 0; i < dim; ++i) {
      const double term = row.query[static_cast<std::size_t>(i)] * key(t, i);
      product += term;
      size += std::fabs(term);
    }
    double score = product * scale;
    double error = 1e-6 * (size * scale + std::fabs(score));
    if (options.softcap != 0) {
      score = options.softcap * std::tanh(score / options.softcap);
      error += 1e-6 * options.softcap;
    }
    if (!options.alibi.empty()) {
      const double bias = options.alibi[head] * static_cast<double>(t - row.position);
      score += bias;
      error += 1e-6 * std::fabs(bias);
    }
    loss = std::max(loss, error + 5e-7);
    scores.push_back(score);
    tokens.push_back(t);
  }
  double top = -INFINITY;
  for (const double score : scores) top = std::max(top, score);
  if (!options.sinks.empty()) top = std::max(top, double{options.sinks[head]});
  double total = options.sinks.empty() ? 0 : std::exp(options.sinks[head] - top);
  for (const double score : scores) total += std::exp(score - top);

  ReferenceResult result;
  result.weights.assign(static_cast<std::size_t>(row.keys), 0);
  result.lse = {top + std::log(total), 3 * loss + 1e-6 * (std::fabs(top) + 1)};
  double largest = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(scores[i] - top) / total;
    result.weights[static_cast<std::size_t>(tokens[i])] = weight;
    largest = std::max(largest, weight * value_scale(tokens[i]));
  }
  for (std::int64_t i = 0; i < dim; ++i) {
    Bounded sum{0, 1e-30};
    for (const std::int64_t t : tokens) {
      const double term = result.weights[static_cast<std::size_t>(t)] * value(t, i);
      sum.value += term;
      sum.error += std::fabs(term) * (2.5 * loss + 1e-6 + weight_loss);
      const double of_scale = value_scale(t);
      if (of_scale > 0) sum.error += largest / 254 * std::fabs(value(t, i)) / of_scale * 1.001;
    }
    result.out.push_back(sum);
  }
  return result;
}

// A cache of random tokens, of some sequences in pages that lie anywhere, in memory that was not initialised:
// what is not a number there.
struct FilledCache {
  xcpu_cache cache{};
  std::int64_t stride = 0;  // of the block table
  std::vector<std::int64_t> block_table;
  std::vector<std::unique_ptr<Heads>> keys, values;  // of each sequence, as they are in the cache
  std::vector<std::vector<double>> value_scales;     // of int8: of each sequence, [token * kv_heads + head]

  FilledCache(Random& random, xcpu_cache_kind kind, int kv_heads, int head_dim, int page_tokens,
              const std::vector<std::int64_t>& lengths) {
    cache.kind = kind;
    cache.kv_heads = kv_heads;
    cache.head_dim = head_dim;
    cache.page_tokens = page_tokens;
    const auto pages_of = [&](std::int64_t length) { return (length + page_tokens - 1) / page_tokens; };
    for (const std::int64_t length : lengths) {
      cache.pages += pages_of(length);
      stride = std::max(stride, pages_of(length));
    }
    ++cache.pages;  // that nobody uses
    memory_ = std::make_unique<Guarded>(static_cast<std::size_t>(xcpu_cache_bytes(&cache)));
    std::memset(memory_->data(), 0xFF, static_cast<std::size_t>(xcpu_cache_bytes(&cache)));
    cache.data = memory_->data();
    std::vector<std::int64_t> pages(static_cast<std::size_t>(cache.pages));
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random);
    block_table.assign(lengths.size() * static_cast<std::size_t>(stride), -1);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int64_t page = 0; page < pages_of(lengths[s]); ++page) {
        block_table[s * static_cast<std::size_t>(stride) + static_cast<std::size_t>(page)] = pages.back();
        pages.pop_back();
      }
      fill(random, s, lengths[s]);
    }
  }

  std::vector<std::int64_t> slots(std::size_t sequence, std::int64_t length) const {
    std::vector<std::int64_t> found;
    for (std::int64_t t = 0; t < length; ++t) {
      const auto entry =
          sequence * static_cast<std::size_t>(stride) + static_cast<std::size_t>(t / cache.page_tokens);
      found.push_back(block_table[entry] * cache.page_tokens + t % cache.page_tokens);
    }
    return found;
  }

 private:
  void fill(Random& random, std::size_t sequence, std::int64_t length) {
    const std::int64_t tokens = std::max<std::int64_t>(length, 1);
    keys.push_back(std::make_unique<Heads>(random, tokens, cache.kv_heads, cache.head_dim, XCPU_F32));
    values.push_back(std::make_unique<Heads>(random, tokens, cache.kv_heads, cache.head_dim, XCPU_F32));
    const std::vector<std::int64_t> at = slots(sequence, length);
    const xcpu_cache_args args{cache, length, at.data(), keys.back()->get(), values.back()->get()};
    value_scales.emplace_back();
    for (std::int64_t t = 0; t < length; ++t) {
      for (int head = 0; head < cache.kv_heads; ++head) {
        double largest = 0;
        for (int i = 0; i < cache.head_dim; ++i) {
          largest = std::max(largest, std::fabs(values.back()->at(t, head, i)));
        }
        value_scales.back().push_back(cache.kind == XCPU_CACHE_INT8 ? largest / 127 : 0);
      }
    }
    EXPECT_STREQ(xcpu_cache_write(&args, nullptr), nullptr);
    EXPECT_STREQ(xcpu_cache_read(&args, nullptr), nullptr);
  }

  std::unique_ptr<Guarded> memory_;
};

}  // namespace xcpu_test
