// Calls operators of a plugin on CPU tensors, and runs modules that have some, without
// Python: run_xcpu PLUGIN [MODULE [DECODER TOKEN...]]
//
// The module is a scripted one that takes rows of 64 numbers. The decoder is the one of
// examples/xcpu_decode, scripted (.pt) or exported and compiled ahead of time (.pt2); it
// goes on with the tokens, as many again.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/import.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <torchplug/torchplug.hpp>
#include <vector>

namespace {

// An operator by its name, with all of its arguments in order.
at::Tensor call(const char *name, std::vector<c10::IValue> arguments) {
  const auto found = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  found.callBoxed(arguments);
  return arguments.front().toTensor();
}

void run_operators() {
  const at::Tensor matrix = at::linspace(-1, 1, int64_t{40} * 64).view({40, 64});
  const at::Tensor x = at::linspace(0, 1, int64_t{3} * 64).view({3, 64});
  const at::Tensor weight = call("xcpu::pack", {matrix, "int8", 0});
  const at::Tensor y =
      call("xcpu::linear", {x, weight, c10::IValue(), "none", c10::IValue(),
                            c10::IValue(), "int8", c10::IValue()});
  const double off = at::sub(y, at::matmul(x, matrix.t())).abs().max().item<double>();
  std::cout << y.sizes()
            << (off < 0.5 ? ", near the product of matrices\n" : ", wrong\n");
}

void run_module(const std::string &path) {
  const at::Tensor x = at::linspace(0, 1, int64_t{3} * 64).view({3, 64});
  std::cout << torch::jit::load(path).forward({x}).toTensor().sizes()
            << ", from the module\n";
}

constexpr int64_t kPages = 8;  // of each sequence
constexpr int64_t kPageTokens = 16;

// What examples/xcpu_decode/pages.py calls a step, after the caches: of sequences of one
// length, each with its pages one after the other. `tokens` are the last ones of each.
using Step = std::vector<at::Tensor>;
Step step_of(const at::Tensor &tokens, int64_t length) {
  const int64_t sequences = tokens.size(0), count = tokens.size(1);
  const at::Tensor places = at::arange(length - count, length).expand_as(tokens);
  const at::Tensor table = at::arange(sequences * kPages).view({sequences, kPages});
  const at::Tensor slots = at::add(places, table.slice(1, 0, 1), kPageTokens);
  return {tokens.flatten(),
          places.flatten(),
          slots.flatten(),
          at::arange(sequences + 1).mul(count),
          at::full({sequences}, length),
          table};
}

using Decoder =
    std::function<at::Tensor(const Step &)>;  // which tokens are the likeliest

Decoder scripted_decoder(const std::string &path, int64_t sequences) {
  torch::jit::Module module = torch::jit::load(path);
  const c10::IValue caches = module.run_method("make_caches", "int8", sequences * kPages);
  return [module, caches](const Step &step) mutable {
    std::vector<c10::IValue> inputs = {caches};
    inputs.insert(inputs.end(), step.begin(), step.end());
    return module.forward(inputs).toTuple()->elements()[1].toTensor();
  };
}

// Its first inputs are the caches, of as many layers as examples/xcpu_decode has in the
// test.
Decoder exported_decoder(const std::string &path, int64_t sequences) {
  const auto loader = std::make_shared<torch::inductor::AOTIModelPackageLoader>(path);
  std::vector<at::Tensor> caches(2);
  for (at::Tensor &cache : caches) {
    cache = call("xcpu::make_cache", {"int8", sequences * kPages, 2, 16, kPageTokens});
  }
  return [loader, caches](const Step &step) {
    std::vector<at::Tensor> inputs = caches;
    inputs.insert(inputs.end(), step.begin(), step.end());
    return loader->run(inputs)[1];
  };
}

// Goes on with the tokens as they are, and in a second sequence with the same backwards.
void run_decoder(const std::string &path, const std::vector<int64_t> &words) {
  const at::Tensor prompt = at::tensor(words);
  at::Tensor tokens = at::stack({prompt, prompt.flip(0)});
  const bool is_scripted = path.substr(path.rfind('.')) == ".pt";
  const Decoder decoder = is_scripted ? scripted_decoder(path, tokens.size(0))
                                      : exported_decoder(path, tokens.size(0));
  std::vector<at::Tensor> found;
  for (int64_t length = prompt.size(0); length < 2 * prompt.size(0); ++length) {
    tokens = decoder(step_of(tokens, length));
    found.push_back(tokens);
  }
  const at::Tensor all = at::cat(found, 1).flatten();
  for (int64_t i = 0; i < all.size(0); ++i) std::cout << all[i].item<int64_t>() << ' ';
  std::cout << "from the decoder\n";
}

void run(const std::vector<std::string> &words) {
  const at::NoGradGuard no_grad;
  torchplug::load_operators(words[0]);
  run_operators();
  if (words.size() > 1) run_module(words[1]);
  if (words.size() < 3) return;
  std::vector<int64_t> tokens;
  for (size_t i = 3; i < words.size(); ++i) tokens.push_back(std::stoll(words[i]));
  run_decoder(words[2], tokens);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::cerr << "usage: run_xcpu PLUGIN [MODULE [DECODER TOKEN...]]\n";
    return 2;
  }
  try {
    run({argv + 1, argv + argc});
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  }
}
