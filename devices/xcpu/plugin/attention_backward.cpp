#include "attention_backward.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "arguments.h"
#include "attention.h"
#include "heads.h"

namespace xcpu::plugin {
namespace {

constexpr plug_dtype kDtypes[] = {PLUG_F32, PLUG_BF16, PLUG_F16};  // by xcpu_dtype

char* vector_at(const xcpu_heads& heads, std::int64_t token, std::int64_t head) {
  const std::int64_t place = token * heads.token_stride + head * heads.head_stride;
  return static_cast<char*>(heads.data) +
         place * static_cast<std::int64_t>(PLUG_DTYPE_BYTES(kDtypes[heads.dtype]));
}

void load(float* to, const xcpu_heads& heads, std::int64_t token, std::int64_t head, std::int64_t dim) {
  const plug_dtype dtype = kDtypes[heads.dtype];
  plug_convert(reinterpret_cast<char*>(to), PLUG_F32, sizeof(float), vector_at(heads, token, head), dtype,
               PLUG_DTYPE_BYTES(dtype), dim);
}

void store(const xcpu_heads& heads, std::int64_t token, std::int64_t head, const float* from,
           std::int64_t dim) {
  const plug_dtype dtype = kDtypes[heads.dtype];
  plug_convert(vector_at(heads, token, head), dtype, PLUG_DTYPE_BYTES(dtype),
               reinterpret_cast<char*>(const_cast<float*>(from)), PLUG_F32, sizeof(float), dim);
}

// What a thread works in: of one sequence and head of keys. In `across` tokens are next to each other, so
// that a score of many is added up side by side.
struct Workspace {
  Workspace(float* memory, std::int64_t most_keys, std::int64_t dim) {
    const std::int64_t matrix = most_keys * dim;
    float** const parts[] = {&keys, &keys_across, &values_across, &grad_keys, &grad_values};
    for (float** part : parts) {
      *part = memory;
      memory += matrix;
    }
    float** const rows[] = {&scores, &weights, &slopes};
    for (float** row : rows) {
      *row = memory;
      memory += most_keys;
    }
    query = memory;
    grad = query + dim;
    grad_query = grad + dim;
  }
  static std::int64_t floats(std::int64_t most_keys, std::int64_t dim) {
    return 5 * most_keys * dim + 3 * most_keys + 3 * dim;
  }

  float *keys, *keys_across, *values_across, *grad_keys, *grad_values;
  float *scores, *weights, *slopes;
  float *query, *grad, *grad_query;
};

struct Backward {
  xcpu_attention_args args;
  xcpu_heads grad, grad_q, grad_k, grad_v;
  float scale;
  std::int64_t dim;

  std::int64_t group() const { return args.q_heads / args.kv_heads; }

  // One sequence and head of keys; grads of its query heads' numbers are added to alibi and sinks.
  void run(std::int64_t sequence, std::int64_t kv_head, Workspace& space, float* alibi, float* sinks) const {
    const std::int64_t first_key = args.k_starts[sequence];
    const std::int64_t keys = args.k_starts[sequence + 1] - first_key;
    for (std::int64_t j = 0; j < keys; ++j) {
      load(space.keys + j * dim, args.k, first_key + j, kv_head, dim);
      load(space.grad_values + j * dim, args.v, first_key + j, kv_head, dim);
      for (std::int64_t d = 0; d < dim; ++d) {
        space.keys_across[d * keys + j] = space.keys[j * dim + d];
        space.values_across[d * keys + j] = space.grad_values[j * dim + d];
      }
    }
    std::fill_n(space.grad_keys, keys * dim, 0.0F);
    std::fill_n(space.grad_values, keys * dim, 0.0F);
    for (std::int64_t token = args.q_starts[sequence]; token < args.q_starts[sequence + 1]; ++token) {
      const std::int64_t position = keys - (args.q_starts[sequence + 1] - token);
      for (std::int64_t head = kv_head * group(); head < (kv_head + 1) * group(); ++head) {
        row(token, head, position, keys, space, alibi[head], sinks[head]);
      }
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      store(grad_k, first_key + j, kv_head, space.grad_keys + j * dim, dim);
      store(grad_v, first_key + j, kv_head, space.grad_values + j * dim, dim);
    }
  }

 private:
  // One query of one head.
  void row(std::int64_t token, std::int64_t head, std::int64_t position, std::int64_t keys, Workspace& space,
           float& grad_alibi, float& grad_sink) const {
    const xcpu_scores& scores = args.scores;
    load(space.query, args.q, token, head, dim);
    load(space.grad, grad, token, head, dim);
    std::fill_n(space.grad_query, dim, 0.0F);
    const std::int64_t end = scores.causal != 0 ? std::min(keys, position + 1) : keys;
    const std::int64_t begin =
        scores.window > 0 ? std::clamp<std::int64_t>(position - scores.window + 1, 0, keys) : 0;
    if (begin < end) attend(head, position, keys, begin, end, space, grad_alibi, grad_sink);
    store(grad_q, token, head, space.grad_query, dim);
  }

  void attend(std::int64_t head, std::int64_t position, std::int64_t keys, std::int64_t begin,
              std::int64_t end, Workspace& space, float& grad_alibi, float& grad_sink) const {
    const xcpu_scores& scores = args.scores;
    multiply(space.scores, space.query, space.keys_across, keys, begin, end);
    float most = scores.sinks != nullptr ? scores.sinks[head] : -std::numeric_limits<float>::infinity();
    for (std::int64_t j = begin; j < end; ++j) {
      const float score = space.scores[j] * scale;
      const float bent = scores.softcap != 0 ? std::tanh(score / scores.softcap) : 0;
      space.slopes[j] = scale * (1 - bent * bent);
      space.scores[j] = scores.softcap != 0 ? scores.softcap * bent : score;
      if (scores.alibi != nullptr) space.scores[j] += scores.alibi[head] * static_cast<float>(j - position);
      most = std::max(most, space.scores[j]);
    }
    const float of_sink = scores.sinks != nullptr ? std::exp(scores.sinks[head] - most) : 0;
    float sum = of_sink;
    for (std::int64_t j = begin; j < end; ++j) {
      space.weights[j] = std::exp(space.scores[j] - most);
      sum += space.weights[j];
    }
    multiply(space.scores, space.grad, space.values_across, keys, begin, end);  // the weights' gradients
    float mean = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      space.weights[j] /= sum;
      mean += space.weights[j] * space.scores[j];
    }
    grad_sink -= of_sink / sum * mean;
    for (std::int64_t j = begin; j < end; ++j) {
      const float of_score = space.weights[j] * (space.scores[j] - mean);
      grad_alibi += of_score * static_cast<float>(j - position);
      const float of_product = of_score * space.slopes[j];
      for (std::int64_t d = 0; d < dim; ++d) {
        space.grad_query[d] += of_product * space.keys[j * dim + d];
        space.grad_keys[j * dim + d] += of_product * space.query[d];
        space.grad_values[j * dim + d] += space.weights[j] * space.grad[d];
      }
    }
  }

  // out[j] = the product of `vector` with column j of a matrix of `keys` columns.
  void multiply(float* out, const float* vector, const float* across, std::int64_t keys, std::int64_t begin,
                std::int64_t end) const {
    std::fill(out + begin, out + end, 0.0F);
    for (std::int64_t d = 0; d < dim; ++d) {
      const float factor = vector[d];
      const float* row = across + d * keys;
      for (std::int64_t j = begin; j < end; ++j) out[j] += factor * row[j];
    }
  }
};

void clear(const plug::Out& tensor) {
  const auto bytes = static_cast<std::size_t>(tensor.numel()) * PLUG_DTYPE_BYTES(tensor.dtype());
  if (bytes > 0) std::memset(plug_address(&tensor.raw().mem), 0, bytes);
}

// Sums over threads of a number of each head.
void store_sums(const plug::Out& to, const plug::Span<float>& parts, std::int64_t heads,
                std::int64_t stride) {
  for (std::int64_t head = 0; head < heads; ++head) {
    double sum = 0;
    for (std::int64_t at = head; at < parts.size(); at += stride) sum += double{parts[at]};
    const auto bytes = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(to.dtype()));
    plug_store(static_cast<char*>(plug_address(&to.raw().mem)) + head * bytes, to.dtype(), sum);
  }
}

}  // namespace

void attention_backward(plug::Call& call, plug::Tensor grad, plug::Tensor q, plug::Tensor k, plug::Tensor v,
                        std::optional<plug::Tensor> q_starts, std::optional<plug::Tensor> k_starts,
                        bool causal, std::optional<double> scale, std::int64_t window, double softcap,
                        std::optional<plug::Tensor> alibi, std::optional<plug::Tensor> sinks,
                        plug::Out grad_q, plug::Out grad_k, plug::Out grad_v, plug::Out grad_alibi,
                        plug::Out grad_sinks) {
  Backward work{};
  work.args = attention_args(call, q, k, v, q_starts, k_starts, causal, scale, window, softcap, alibi, sinks);
  expect_sizes(grad, "grad", q.sizes());
  for (const plug::Out& result : {grad_q, grad_k, grad_v, grad_alibi, grad_sinks}) clear(result);
  if (q.numel() == 0 || k.numel() == 0) return;
  const xcpu_attention_args& args = work.args;
  work.dim = args.head_dim;
  work.scale = args.scores.scale != 0 ? args.scores.scale : 1 / std::sqrt(static_cast<float>(work.dim));
  work.grad = heads_of(call, grad, "grad").heads;
  work.grad_q = heads_of(call, grad_q, "q").heads;
  work.grad_k = heads_of(call, grad_k, "k").heads;
  work.grad_v = heads_of(call, grad_v, "v").heads;
  std::int64_t most_keys = 0;
  for (std::int64_t i = 0; i < args.sequences; ++i) {
    most_keys = std::max(most_keys, args.k_starts[i + 1] - args.k_starts[i]);
  }
  const std::int64_t threads = most_threads(), tasks = args.sequences * args.kv_heads;
  const std::int64_t floats = Workspace::floats(most_keys, work.dim),
                     numbers = 2 * std::int64_t{args.q_heads};
  const plug::Scratch<float> memory(call, threads * floats), sums(call, threads * numbers);
  std::fill(sums.begin(), sums.end(), 0.0F);
  std::atomic<std::int64_t> next_thread{0}, next_task{0};
  call.team(threads, 1, [&](std::int64_t, std::int64_t) {
    const std::int64_t thread = next_thread++;
    Workspace space(memory.data() + thread * floats, most_keys, work.dim);
    float* const mine = sums.data() + thread * numbers;
    for (std::int64_t task = next_task++; task < tasks; task = next_task++) {
      work.run(task / args.kv_heads, task % args.kv_heads, space, mine, mine + args.q_heads);
    }
  });
  if (alibi) store_sums(grad_alibi, sums, args.q_heads, numbers);
  const plug::Span<float> rest(sums.data() + args.q_heads, sums.size() - args.q_heads);
  if (sinks) store_sums(grad_sinks, rest, args.q_heads, numbers);
}

}  // namespace xcpu::plugin
