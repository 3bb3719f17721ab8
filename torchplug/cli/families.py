"""Which operators to bind for what a model calls: the ones that reach the device.

PyTorch composes most functions of torch.nn.functional; torchplug takes a few of them whole. A test runs each
and compares with the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """What users call, and what to bind for it."""

    calls: tuple[str, ...]  # names that a user may ask for
    bind: tuple[str, ...]  # operators, those of the backward pass included
    note: str = ""


CONVOLUTION = Family(
    ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    ("convolution", "convolution_backward"),
    "All convolutions are these two, transposed ones too. torchplug takes them whole: PyTorch's "
    "convolution_overrideable is not called.",
)
LAYER_NORM = Family(("layer_norm",), ("native_layer_norm", "native_layer_norm_backward"))
GROUP_NORM = Family(("group_norm",), ("native_group_norm", "native_group_norm_backward"))
BATCH_NORM = Family(
    ("batch_norm", "instance_norm"),
    ("native_batch_norm", "native_batch_norm_backward"),
    "native_batch_norm writes running_mean and running_var, arguments 3 and 4, though its schema does not say "
    "so: .writes = 1 << 3 | 1 << 4.",
)
RMS_NORM = Family(
    ("rms_norm",),
    ("_fused_rms_norm", "_fused_rms_norm_backward"),
    "Without a kernel PyTorch composes it of pow, mean, rsqrt and mul.",
)
ATTENTION = Family(
    ("scaled_dot_product_attention", "multi_head_attention_forward"),
    (
        "_scaled_dot_product_fused_attention_overrideable",
        "_scaled_dot_product_fused_attention_overrideable_backward",
        "bmm",
        "_softmax",
        "_softmax_backward_data",
    ),
    "With the first two it is one call each way. Without them it is composed of bmm and _softmax if there is a "
    "kernel for bmm or baddbmm, and else carried out whole by the CPU.",
)
LINEAR = Family(
    ("matmul", "bilinear"),
    ("addmm", "mm", "bmm", "linear", "linear_backward"),
    "nn.Linear is addmm, or mm without a bias, and its gradients are mm; with a kernel for linear it is that one, "
    "and its gradient linear_backward. torch.matmul is mm, bmm, mv or dot by its dimensions.",
)
ADAM = Family(
    ("adam", "adamw", "Adam", "AdamW"),
    (
        "_fused_adam_",
        "_fused_adamw_",
        "_foreach_add_.Scalar",
        "_foreach_mul_.Scalar",
        "_foreach_lerp_.Scalar",
        "_foreach_addcmul_.Scalar",
        "_foreach_sqrt",
        "_foreach_div_.ScalarList",
        "_foreach_addcdiv_.ScalarList",
    ),
    "fused=True is one call for all parameters. The default on a device is foreach=True, a call of each _foreach "
    "operator; without a kernel for one, a call of add_, addcdiv_ and so on for every parameter.",
)
SGD = Family(
    ("sgd", "SGD"),
    ("_fused_sgd_", "_foreach_add_.List", "_foreach_mul_.Scalar", "_foreach_add.List"),
    "fused=True is one call for all parameters; the default on a device is foreach=True, as for Adam.",
)
SOFTMAX = Family(("softmax",), ("_softmax", "_softmax_backward_data"))
LOG_SOFTMAX = Family(("log_softmax",), ("_log_softmax", "_log_softmax_backward_data"))
CROSS_ENTROPY = Family(
    ("cross_entropy", "cross_entropy_loss", "nll_loss", "nll_loss_nd"),
    (
        "_log_softmax",
        "_log_softmax_backward_data",
        "nll_loss_forward",
        "nll_loss_backward",
    ),
)
DROPOUT = Family(
    ("dropout", "feature_dropout"),
    ("native_dropout", "native_dropout_backward"),
    "Without a kernel it is composed of bernoulli_ and mul.",
)
MAX_POOL = Family(("max_pool1d",), ("max_pool2d_with_indices", "max_pool2d_with_indices_backward"))
RECURRENT = Family(
    ("lstm", "gru", "lstm_cell", "gru_cell"),
    (
        "_thnn_fused_lstm_cell",
        "_thnn_fused_lstm_cell_backward_impl",
        "_thnn_fused_gru_cell",
        "_thnn_fused_gru_cell_backward",
        "mm",
    ),
    "The products are mm. Without kernels the cells are composed of sigmoid, tanh, add and mul.",
)

ALL = (CONVOLUTION, LAYER_NORM, GROUP_NORM, BATCH_NORM, RMS_NORM, ATTENTION, LINEAR, ADAM, SGD, SOFTMAX,
       LOG_SOFTMAX, CROSS_ENTROPY, DROPOUT, MAX_POOL, RECURRENT)  # fmt: skip

# What --for takes.
TOPICS = {
    "convolution": (CONVOLUTION,),
    "norms": (LAYER_NORM, GROUP_NORM, BATCH_NORM, RMS_NORM),
    "attention": (ATTENTION,),
    "optimizers": (ADAM, SGD),
    "linear": (LINEAR,),
    "losses": (LOG_SOFTMAX, CROSS_ENTROPY),
    "recurrent": (RECURRENT,),
}


def of_call(name: str) -> Family | None:
    """The family that a user's call is of."""
    return next((family for family in ALL if name in family.calls), None)
