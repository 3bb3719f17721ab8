// PyTorch sends LSTM and GRU on a PrivateUse1 device to fused cells that it has for CUDA only. These
// are the same functions in terms of operators that every device has.

#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <tuple>

#include "aten/shims/shims.h"

namespace torchplug::aten {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// Undefined if it is not given.
at::Tensor tensor_of(const OptionalTensor& tensor) { return tensor.value_or(at::Tensor()); }

at::Tensor with_bias(const at::Tensor& gates, const OptionalTensor& given) {
  const at::Tensor bias = tensor_of(given);
  return bias.defined() ? gates.add(bias) : gates;
}

at::Tensor sigmoid_slope(const at::Tensor& value) { return value.mul(value.neg().add_(1)); }
at::Tensor tanh_slope(const at::Tensor& value) { return value.mul(value).neg_().add_(1); }

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input_gates,
                                                         const at::Tensor& hidden_gates, const at::Tensor& cx,
                                                         const OptionalTensor& input_bias,
                                                         const OptionalTensor& hidden_bias) {
  const at::Tensor gates = with_bias(input_gates, input_bias).add(with_bias(hidden_gates, hidden_bias));
  const auto chunks = gates.unsafe_chunk(4, 1);
  const at::Tensor in = at::sigmoid(chunks[0]);
  const at::Tensor forget = at::sigmoid(chunks[1]);
  const at::Tensor cell = at::tanh(chunks[2]);
  const at::Tensor out = at::sigmoid(chunks[3]);
  at::Tensor cy = forget.mul(cx).add_(in.mul(cell));
  at::Tensor hy = out.mul(at::tanh(cy));
  return {hy, cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(const OptionalTensor& given_hy,
                                                                  const OptionalTensor& given_cy,
                                                                  const at::Tensor& cx, const at::Tensor& cy,
                                                                  const at::Tensor& workspace,
                                                                  bool has_bias) {
  const at::Tensor grad_hy = tensor_of(given_hy);
  const at::Tensor grad_cy = tensor_of(given_cy);
  if (!grad_hy.defined() && !grad_cy.defined()) return {};
  const auto chunks = workspace.unsafe_chunk(4, 1);
  const at::Tensor &in = chunks[0], &forget = chunks[1], &cell = chunks[2], &out = chunks[3];
  const at::Tensor squashed = at::tanh(cy);
  at::Tensor grad_cell = grad_cy.defined() ? grad_cy : at::zeros_like(cy);
  at::Tensor grad_out = at::zeros_like(out);
  if (grad_hy.defined()) {
    grad_cell = grad_cell.add(grad_hy.mul(out).mul_(tanh_slope(squashed)));
    grad_out = grad_hy.mul(squashed).mul_(sigmoid_slope(out));
  }
  at::Tensor grad_gates =
      at::cat({grad_cell.mul(cell).mul_(sigmoid_slope(in)), grad_cell.mul(cx).mul_(sigmoid_slope(forget)),
               grad_cell.mul(in).mul_(tanh_slope(cell)), grad_out},
              1);
  at::Tensor grad_bias = has_bias ? grad_gates.sum(0) : at::Tensor();
  return {grad_gates, grad_cell.mul(forget), grad_bias};
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                            const at::Tensor& hx, const OptionalTensor& input_bias,
                                            const OptionalTensor& hidden_bias) {
  const auto input = with_bias(input_gates, input_bias).unsafe_chunk(3, 1);
  const auto hidden = with_bias(hidden_gates, hidden_bias).unsafe_chunk(3, 1);
  const at::Tensor reset = at::sigmoid(hidden[0].add(input[0]));
  const at::Tensor update = at::sigmoid(hidden[1].add(input[1]));
  const at::Tensor fresh = at::tanh(input[2].add(hidden[2].mul(reset)));
  at::Tensor hy = hx.sub(fresh).mul_(update).add_(fresh);
  return {hy, at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(
    const at::Tensor& grad_hy, const at::Tensor& workspace, bool has_bias) {
  const auto chunks = workspace.unsafe_chunk(5, 1);
  const at::Tensor &reset = chunks[0], &update = chunks[1], &fresh = chunks[2], &hx = chunks[3],
                   &hidden = chunks[4];
  const at::Tensor grad_update = grad_hy.mul(hx.sub(fresh)).mul_(sigmoid_slope(update));
  const at::Tensor grad_fresh = grad_hy.mul(update.neg().add_(1)).mul_(tanh_slope(fresh));
  const at::Tensor grad_reset = grad_fresh.mul(hidden).mul_(sigmoid_slope(reset));
  at::Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  at::Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh.mul(reset)}, 1);
  at::Tensor grad_input_bias = has_bias ? grad_input.sum(0) : at::Tensor();
  at::Tensor grad_hidden_bias = has_bias ? grad_hidden.sum(0) : at::Tensor();
  return {grad_input, grad_hidden, grad_hy.mul(update), grad_input_bias, grad_hidden_bias};
}

}  // namespace

// A plugin may have one direction only: what goes from one to the other is what PyTorch's CUDA kernels agree
// on, the gates after their activation, side by side.
void add_recurrent_cells(OperatorLibrary& library) {
  add_behind_any(library, "_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  add_behind_any(library, "_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  add_behind_any(library, "_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  add_behind_any(library, "_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
}

}  // namespace torchplug::aten
