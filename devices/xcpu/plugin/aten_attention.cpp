#include "aten_attention.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <numeric>

#include "arguments.h"
#include "aten_rows.h"
#include "heads.h"
#include "torchplug/schemas.h"

namespace xcpu::plugin {
namespace {

// A tensor [batches, heads, tokens, dim]: vectors at a distance from token to token, head to head and batch
// to batch. What has one of them has no distance: it takes that of what lies around it.
struct Vectors {
  std::int64_t batches, heads, tokens, dim;
  std::int64_t batch_stride;
  xcpu_heads data;

  bool are_apart() const {
    return (tokens == 1 || data.token_stride >= dim) && (heads == 1 || data.head_stride >= dim);
  }
  // Of one batch, or of what is absent, both.
  bool batches_are_heads() const { return continues(heads, data.head_stride); }
  bool batches_are_tokens() const { return continues(tokens, data.token_stride); }

 private:
  bool continues(std::int64_t count, std::int64_t stride) const {
    return batches <= 1 || (count == 1 ? batch_stride >= dim : batch_stride == count * stride);
  }
};

Vectors vectors_of(const plug::Tensor& tensor) {
  return {tensor.size(0),
          tensor.size(1),
          tensor.size(2),
          tensor.size(3),
          tensor.stride(0),
          {plug_address(&tensor.raw().mem), known_dtype(tensor), tensor.stride(2), tensor.stride(1)}};
}

bool fits(const plug::Tensor& tensor) {
  return (tensor.size(3) == 1 || tensor.stride(3) == 1) && vectors_of(tensor).are_apart();
}

Vectors input_of(const plug::Call& call, const plug::Tensor& tensor) {
  Vectors found = vectors_of(tensor);
  if (fits(tensor)) return found;
  found.data.data = copy_contiguous(call, tensor);
  found.data.token_stride = found.dim;
  found.data.head_stride = found.tokens * found.dim;
  found.batch_stride = found.heads * found.data.head_stride;
  return found;
}

// Why the kernels do not take a call; NULL: they do.
const char* obstacle(const plug::Tensor& q, const plug::Tensor& k, const plug::Tensor& v, bool has_bias,
                     double dropout, bool is_causal) {
  if (has_bias) return "the kernel knows no mask but the causal one";
  if (dropout != 0) return "the kernel drops nothing";
  if (q.ndim() != 4 || k.ndim() != 4 || v.ndim() != 4) return "the kernel is for four dimensions";
  for (const plug::Tensor* tensor : {&q, &k, &v}) {
    if (tensor->dtype() != q.dtype()) return "the kernel is for one dtype";
    if (tensor->numel() == 0) return "there is nothing to attend to";
  }
  if (k.size(3) != q.size(3) || v.size(3) != q.size(3)) return "keys and values have the width of queries";
  if (k.size(0) != q.size(0) || v.size(0) != q.size(0)) return "the kernel broadcasts no batches";
  if (k.size(1) != v.size(1) || q.size(1) % k.size(1) != 0)
    return "heads of queries are in groups of those of keys";
  if (k.size(2) != v.size(2)) return "there is a value for each key";
  // The kernels arrange keys and values for themselves, which so many rows have to be worth.
  const std::int64_t rows = q.size(2) * (q.size(1) / k.size(1));
  if (rows < (q.dtype() == PLUG_F32 ? 64 : 4)) return "the CPU is faster with so few queries";
  if (is_causal && q.size(2) != k.size(2)) return "a causal mask is of as many queries as keys";
  return nullptr;
}

// How batches are seen by the functions of xcpu.h, which know sequences of tokens, one after the other, of
// heads: as more heads of one sequence, as sequences, or each in a call of its own.
enum class Batches { kHeads, kSequences, kCalls };

Batches batches_of(std::initializer_list<const Vectors*> all) {
  if (std::all_of(all.begin(), all.end(), [](const Vectors* v) { return v->batches_are_heads(); })) {
    return Batches::kHeads;
  }
  if (std::all_of(all.begin(), all.end(), [](const Vectors* v) { return v->batches_are_tokens(); })) {
    return Batches::kSequences;
  }
  return Batches::kCalls;
}

// What a call of xcpu.h sees of a tensor: its batch `index` where each has a call, else all.
xcpu_heads seen(const Vectors& vectors, Batches batches, std::int64_t index) {
  xcpu_heads heads = vectors.data;
  if (batches == Batches::kHeads && vectors.heads == 1) heads.head_stride = vectors.batch_stride;
  if (batches == Batches::kSequences && vectors.tokens == 1) heads.token_stride = vectors.batch_stride;
  if (batches == Batches::kCalls && heads.data != nullptr) {
    const std::int64_t bytes = heads.dtype == XCPU_F32 ? 4 : 2;
    heads.data = static_cast<char*>(heads.data) + index * vectors.batch_stride * bytes;
  }
  return heads;
}

const std::int64_t* even_starts(const plug::Call& call, std::int64_t sequences, std::int64_t length) {
  const plug::Scratch<std::int64_t> starts(call, sequences + 1);
  for (std::int64_t i = 0; i <= sequences; ++i) starts[i] = i * length;
  return starts.data();
}

// xcpu.h takes 0 for the usual scale; scores times the smallest number are as equal as those times 0.
float scale_of(std::optional<double> scale) {
  if (!scale) return 0;
  return *scale == 0 ? std::numeric_limits<float>::min() : static_cast<float>(*scale);
}

// The sums of rows, of which xcpu.h has those of a token side by side, and PyTorch those of a head.
class RowSums {
 public:
  RowSums(const plug::Call& call, const Vectors& q, Batches batches)
      : q_(q), batches_(batches), sums_(call, q.batches * q.heads * q.tokens) {}

  float* of(std::int64_t index) const {
    return sums_.data() + (batches_ == Batches::kCalls ? index * q_.heads * q_.tokens : 0);
  }
  void write(float* to) const {
    each([&](std::int64_t here, std::int64_t there) { to[there] = sums_[here]; });
  }
  void read(const float* from) const {
    each([&](std::int64_t here, std::int64_t there) { sums_[here] = from[there]; });
  }

 private:
  template <class Function>
  void each(Function function) const {
    std::int64_t there = 0;
    for (std::int64_t batch = 0; batch < q_.batches; ++batch) {
      for (std::int64_t head = 0; head < q_.heads; ++head) {
        for (std::int64_t token = 0; token < q_.tokens; ++token) {
          const std::int64_t here = batches_ == Batches::kHeads
                                        ? (token * q_.batches + batch) * q_.heads + head
                                        : (batch * q_.tokens + token) * q_.heads + head;
          function(here, there++);
        }
      }
    }
  }

  const Vectors& q_;
  Batches batches_;
  plug::Scratch<float> sums_;
};

// One call of xcpu.h, but for its tensors.
xcpu_attention_args args_of(const plug::Call& call, const Vectors& q, const Vectors& k, Batches batches,
                            bool is_causal, std::optional<double> scale) {
  const std::int64_t sequences = batches == Batches::kSequences ? q.batches : 1;
  const std::int64_t times = batches == Batches::kHeads ? q.batches : 1;
  xcpu_attention_args args{};
  args.sequences = sequences;
  args.q_starts = even_starts(call, sequences, q.tokens);
  args.k_starts = even_starts(call, sequences, k.tokens);
  args.q_heads = static_cast<std::int32_t>(q.heads * times);
  args.kv_heads = static_cast<std::int32_t>(k.heads * times);
  args.head_dim = static_cast<std::int32_t>(q.dim);
  args.threads = most_threads();
  args.scores.scale = scale_of(scale);
  args.scores.causal = is_causal ? 1 : 0;
  return args;
}

void see(xcpu_attention_args& args, const Vectors& q, const Vectors& k, const Vectors& v, const Vectors& out,
         Batches batches, std::int64_t index) {
  args.q = seen(q, batches, index);
  args.k = seen(k, batches, index);
  args.v = seen(v, batches, index);
  args.out = seen(out, batches, index);
}

void fill_number(const std::optional<plug::Out>& tensor) {
  if (tensor && tensor->dtype() == PLUG_I64) *tensor->data<std::int64_t>() = 0;
}

// Nothing where nobody wants it.
Vectors gradient_of(const std::optional<plug::Out>& wanted) {
  return wanted ? vectors_of(*wanted) : Vectors{};
}

}  // namespace

plug_status prepare_attention(const plug_call* call, void** /*state*/) {
  return plug::guarded([&] {
    const auto tensor = [&](int place) { return plug::Tensor(call->args[place].as.tensors[0]); };
    const plug_value& bias = call->args[PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_ATTN_BIAS];
    const char* why = obstacle(
        tensor(PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_QUERY),
        tensor(PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_KEY),
        tensor(PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_VALUE), bias.tag != PLUG_NONE,
        call->args[PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_DROPOUT_P].as.f,
        call->args[PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_IS_CAUSAL].as.i != 0);
    if (why != nullptr) plug::decline(why);
  });
}

void fused_attention(plug::Call& call, plug::Tensor query, plug::Tensor key, plug::Tensor value,
                     std::optional<plug::Tensor> bias, double dropout, bool is_causal, bool /*debug_mask*/,
                     std::optional<double> scale, plug::Out out, plug::Out lse,
                     std::optional<plug::Out> /*q_starts*/, std::optional<plug::Out> /*k_starts*/,
                     plug::Returned<std::int64_t> max_q, plug::Returned<std::int64_t> max_k,
                     std::optional<plug::Out> seed, std::optional<plug::Out> offset,
                     std::optional<plug::Out> /*mask*/) {
  if (const char* why = obstacle(query, key, value, bias.has_value(), dropout, is_causal); why != nullptr) {
    plug::decline(why);
  }
  if (!fits(out)) plug::decline("the result has its vectors one after the other");
  const Vectors q = input_of(call, query), k = input_of(call, key), v = input_of(call, value);
  const Vectors result = vectors_of(out);
  const Batches batches = batches_of({&q, &k, &v, &result});
  const RowSums sums(call, q, batches);
  xcpu_attention_args args = args_of(call, q, k, batches, is_causal, scale);
  see(args, q, k, v, result, batches, 0);
  const plug::Scratch<char> scratch(call, xcpu_attention_scratch(&args));
  for (std::int64_t i = 0; i < (batches == Batches::kCalls ? q.batches : 1); ++i) {
    see(args, q, k, v, result, batches, i);
    args.lse = sums.of(i);
    check(xcpu_attention(&args, scratch.data(), team()));
  }
  sums.write(lse.data<float>());
  max_q = q.tokens;
  max_k = k.tokens;
  fill_number(seed);
  fill_number(offset);
}

void fused_attention_backward(plug::Call& call, plug::Tensor grad, plug::Tensor query, plug::Tensor key,
                              plug::Tensor value, const plug_value& bias, plug::Bools /*wanted*/,
                              plug::Tensor out, plug::Tensor lse, const plug_value& /*q_starts*/,
                              const plug_value& /*k_starts*/, std::int64_t /*max_q*/, std::int64_t /*max_k*/,
                              double dropout, bool is_causal, const plug_value& /*seed*/,
                              const plug_value& /*offset*/, std::optional<double> scale,
                              std::optional<plug::Out> grad_query, std::optional<plug::Out> grad_key,
                              std::optional<plug::Out> grad_value, std::optional<plug::Out> /*grad_bias*/) {
  const bool has_bias = bias.tag == PLUG_VALUE_TENSOR && plug_is_present(bias.as.tensors) != 0;
  if (const char* why = obstacle(query, key, value, has_bias, dropout, is_causal); why != nullptr) {
    plug::decline(why);
  }
  for (const auto& wanted : {grad_query, grad_key, grad_value}) {
    if (wanted && !fits(*wanted)) plug::decline("a gradient has its vectors one after the other");
  }
  const Vectors q = input_of(call, query), k = input_of(call, key), v = input_of(call, value),
                given = input_of(call, grad), result = input_of(call, out);
  const Vectors to_q = gradient_of(grad_query), to_k = gradient_of(grad_key), to_v = gradient_of(grad_value);
  const Batches batches = batches_of({&q, &k, &v, &given, &result, &to_q, &to_k, &to_v});
  const RowSums sums(call, q, batches);
  sums.read(lse.data<float>());
  xcpu_attention_backward_args args{};
  args.forward = args_of(call, q, k, batches, is_causal, scale);
  const auto see_all = [&](std::int64_t i) {
    see(args.forward, q, k, v, result, batches, i);
    args.forward.lse = sums.of(i);
    args.grad = seen(given, batches, i);
    args.grad_q = seen(to_q, batches, i);
    args.grad_k = seen(to_k, batches, i);
    args.grad_v = seen(to_v, batches, i);
  };
  see_all(0);
  const plug::Scratch<char> scratch(call, xcpu_attention_backward_scratch(&args));
  for (std::int64_t i = 0; i < (batches == Batches::kCalls ? q.batches : 1); ++i) {
    see_all(i);
    check(xcpu_attention_backward(&args, scratch.data(), team()));
  }
}

}  // namespace xcpu::plugin
