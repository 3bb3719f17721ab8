"""The functions models are made of, forward and backward, against the CPU."""

import pytest
import torch
from helpers import assert_same, same_gradients
from torch import nn
from torch.nn import functional as F


def real(*shape, grad=True):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=grad)


def positive(*shape):
    return (torch.rand(*shape, dtype=torch.float64) + 0.5).requires_grad_()


# name: (function, arguments); the gradients of the arguments that require them are compared too.
def differentiable():
    x4, w4 = real(2, 4, 6, 6), real(6, 4, 3, 3)
    classes = torch.tensor([1, 0, 4])
    labels = torch.tensor([0, 2, 1])
    return {
        # convolutions
        "conv1d": (
            lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1),
            real(2, 3, 9),
            real(4, 3, 3),
            real(4),
        ),
        "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), x4, w4, real(6)),
        "conv2d_no_bias": (lambda x, w: F.conv2d(x, w, stride=2), x4, w4),
        "conv2d_grouped": (lambda x, w: F.conv2d(x, w, groups=2), x4, real(4, 2, 3, 3)),
        "conv2d_depthwise": (lambda x, w: F.conv2d(x, w, groups=4), x4, real(8, 1, 3, 3)),
        "conv2d_dilated": (lambda x, w: F.conv2d(x, w, dilation=2), x4, w4),
        "conv2d_same": (lambda x, w: F.conv2d(x, w, padding="same"), x4, w4),
        "conv2d_unbatched": (lambda x, w: F.conv2d(x[0], w), x4, w4),
        "conv2d_channels_last": (
            lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w),
            x4,
            w4,
        ),
        "conv3d": (F.conv3d, real(1, 2, 4, 5, 5), real(3, 2, 2, 3, 3), real(3)),
        "conv_transpose1d": (
            lambda x, w: F.conv_transpose1d(x, w, stride=2),
            real(2, 3, 5),
            real(3, 4, 3),
        ),
        "conv_transpose2d": (
            lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
            real(2, 3, 4, 4),
            real(3, 5, 3, 3),
            real(5),
        ),
        "conv_transpose3d": (F.conv_transpose3d, real(1, 2, 3, 3, 3), real(2, 3, 2, 2, 2)),
        "unfold_fold": (lambda x: F.fold(F.unfold(x, 3), (6, 6), 3), x4),
        # pooling
        "max_pool1d": (lambda x: F.max_pool1d(x, 2), real(2, 3, 8)),
        "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), x4),
        "max_pool3d": (lambda x: F.max_pool3d(x, 2), real(1, 2, 4, 4, 4)),
        "max_unpool2d": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), x4),
        "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 1), real(2, 3, 8)),
        "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), x4),
        "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), real(1, 2, 4, 4, 4)),
        "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), x4),
        "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), x4),
        "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), x4),
        # resampling and padding
        "interpolate_nearest": (lambda x: F.interpolate(x, scale_factor=2), x4),
        "interpolate_linear": (
            lambda x: F.interpolate(x, 5, mode="linear", align_corners=True),
            real(2, 3, 8),
        ),
        "interpolate_bilinear": (lambda x: F.interpolate(x, (9, 4), mode="bilinear"), x4),
        "interpolate_bicubic": (lambda x: F.interpolate(x, (9, 4), mode="bicubic"), x4),
        "interpolate_trilinear": (
            lambda x: F.interpolate(x, (3, 3, 5), mode="trilinear"),
            real(1, 2, 4, 4, 4),
        ),
        "grid_sample": (
            lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False),
            x4,
            real(2, 3, 3, 2),
        ),
        "affine_grid": (
            lambda t: F.affine_grid(t, (2, 1, 3, 3), align_corners=True),
            real(2, 2, 3),
        ),
        "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), x4),
        "pad_constant": (lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), x4),
        "pad_reflect": (lambda x: F.pad(x, (2, 1, 1, 1), mode="reflect"), x4),
        "pad_replicate": (lambda x: F.pad(x, (2, 1, 1, 1), mode="replicate"), x4),
        "pad_circular": (lambda x: F.pad(x, (2, 1, 1, 1), mode="circular"), x4),
        # normalisation
        "layer_norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), real(3, 6), real(6), real(6)),
        "rms_norm": (lambda x, w: F.rms_norm(x, (6,), w), real(3, 6), real(6)),
        "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), x4, real(4), real(4)),
        "instance_norm": (F.instance_norm, x4),
        "batch_norm": (
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
            x4,
            real(4),
            real(4),
        ),
        "local_response_norm": (lambda x: F.local_response_norm(x, 2), x4),
        "normalize": (lambda x: F.normalize(x, dim=1), real(3, 4)),
        # attention, embeddings, linear maps
        "sdpa": (
            F.scaled_dot_product_attention,
            real(2, 2, 5, 4),
            real(2, 2, 7, 4),
            real(2, 2, 7, 4),
        ),
        "sdpa_causal": (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            real(2, 2, 5, 4),
            real(2, 2, 5, 4),
            real(2, 2, 5, 4),
        ),
        "sdpa_3d": (F.scaled_dot_product_attention, real(2, 5, 4), real(2, 5, 4), real(2, 5, 4)),
        "sdpa_masked": (
            lambda q, k, m: F.scaled_dot_product_attention(q, k, k, attn_mask=m, scale=0.7),
            real(2, 5, 4),
            real(2, 5, 4),
            torch.ones(5, 5, dtype=torch.bool).tril(),
        ),
        "sdpa_bias": (
            lambda q, k, m: F.scaled_dot_product_attention(q, k, k, attn_mask=m),
            real(2, 5, 4),
            real(2, 5, 4),
            real(5, 5),
        ),
        "sdpa_grouped": (
            lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
            real(2, 4, 5, 4),
            real(2, 2, 5, 4),
        ),
        "embedding": (lambda w, i: F.embedding(i, w, padding_idx=0), real(5, 3), classes),
        "embedding_bag": (
            lambda w, i: F.embedding_bag(i, w, torch.tensor([0, 1], device=i.device), mode="mean"),
            real(5, 3),
            classes,
        ),
        "linear": (F.linear, real(3, 4), real(5, 4), real(5)),
        "bilinear": (F.bilinear, real(3, 4), real(3, 2), real(5, 4, 2), real(5)),
        "cosine_similarity": (F.cosine_similarity, real(3, 4), real(3, 4)),
        "pairwise_distance": (F.pairwise_distance, real(3, 4), real(3, 4)),
        "cdist": (torch.cdist, real(3, 4), real(5, 4)),
        # losses
        "cross_entropy": (F.cross_entropy, real(3, 5), classes),
        "cross_entropy_weighted": (
            lambda x, y, w: F.cross_entropy(x, y, w, ignore_index=1, label_smoothing=0.1),
            real(3, 5),
            classes,
            positive(5).detach(),
        ),
        "cross_entropy_soft": (
            lambda x, y: F.cross_entropy(x, y.softmax(1)),
            real(3, 5),
            real(3, 5),
        ),
        "cross_entropy_2d": (
            lambda x: F.cross_entropy(x, torch.ones(2, 6, 6, dtype=torch.long, device=x.device)),
            x4,
        ),
        "nll_loss": (
            lambda x, y: F.nll_loss(x.log_softmax(1), y, reduction="sum"),
            real(3, 5),
            labels,
        ),
        "mse_loss": (F.mse_loss, real(3, 4), real(3, 4)),
        "l1_loss": (F.l1_loss, real(3, 4), real(3, 4)),
        "smooth_l1_loss": (F.smooth_l1_loss, real(3, 4), real(3, 4)),
        "huber_loss": (F.huber_loss, real(3, 4), real(3, 4)),
        "bce": (lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), real(3), real(3)),
        "bce_with_logits": (
            lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=y + 1),
            real(3),
            torch.rand(3, dtype=torch.float64),
        ),
        "kl_div": (
            lambda x, y: F.kl_div(x.log_softmax(0), y.softmax(0), reduction="sum"),
            real(4),
            real(4),
        ),
        "hinge_embedding_loss": (F.hinge_embedding_loss, real(4), torch.tensor([1, -1, 1, -1])),
        "triplet_margin_loss": (F.triplet_margin_loss, real(3, 4), real(3, 4), real(3, 4)),
        "ctc_loss": (
            lambda x: F.ctc_loss(
                x.log_softmax(2),
                torch.tensor([[1, 2], [3, 1]], device=x.device),
                torch.tensor([6, 5]),
                torch.tensor([2, 1]),
            ),
            real(6, 2, 4),
        ),
        # activations
        "activations": (
            lambda x: [
                f(x)
                for f in (
                    F.relu,
                    F.relu6,
                    F.leaky_relu,
                    F.elu,
                    F.selu,
                    F.celu,
                    F.gelu,
                    F.silu,
                    F.mish,
                    F.hardswish,
                    F.hardsigmoid,
                    F.softplus,
                    F.softsign,
                    F.tanhshrink,
                    F.logsigmoid,
                    F.hardtanh,
                    F.hardshrink,
                    F.softshrink,
                    torch.sigmoid,
                    torch.tanh,
                )
            ],
            real(3, 4),
        ),
        "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), real(3, 4)),
        "prelu": (F.prelu, real(3, 4), real(4)),
        "glu": (F.glu, real(3, 4)),
        "softmax": (lambda x: (x.softmax(0), x.log_softmax(1), F.softmin(x, 1)), real(3, 4)),
        # reductions, scans, products
        "reductions": (
            lambda x: [
                x.sum(),
                x.sum(1),
                x.mean(0, keepdim=True),
                x.prod(1),
                x.std(),
                x.var(0),
                x.norm(),
                x.amax(1),
                x.amin(0),
                x.max(1).values,
                x.min(),
                x.median(),
                x.logsumexp((0, 1)),
                x.nansum(),
                x.norm(3, dim=1),
                x.median(1).values,
                x.mode(0).values,
            ],
            real(3, 4),
        ),
        "scans": (
            lambda x: [x.cumsum(1), x.cumprod(0), x.cummax(0).values, x.logcumsumexp(1), x.diff()],
            real(3, 4),
        ),
        "products": (
            lambda a, b, v: [
                a @ b,
                torch.mm(a, b),
                a.mv(v),
                v.dot(v),
                v.outer(v),
                torch.kron(a, b),
                torch.addmm(a @ b, a, b, beta=0.5, alpha=2),
                torch.linalg.multi_dot([a, b, a]),
                torch.tensordot(a, b, dims=([1], [0])),
                torch.addmv(a @ v, a, v),
                torch.trace(a @ b),
            ],
            real(3, 4),
            real(4, 3),
            real(4),
        ),
        "batched_products": (
            lambda a, b: [
                torch.bmm(a, b),
                a @ b[0],
                torch.baddbmm(a @ b, a, b, beta=2),
                torch.einsum("bij,bjk->bik", a, b),
                torch.einsum("bij,bjk->k", a, b),
                torch.einsum("bij->ji", a),
                torch.einsum("bij,bjk,bij->ik", a, b, a),
            ],
            real(2, 3, 4),
            real(2, 4, 3),
        ),
        "elementwise": (
            lambda x: [
                f(x)
                for f in (
                    torch.exp,
                    torch.log,
                    torch.log1p,
                    torch.sqrt,
                    torch.rsqrt,
                    torch.sin,
                    torch.atan,
                    torch.erf,
                    torch.erfc,
                    torch.lgamma,
                    torch.digamma,
                    torch.reciprocal,
                    torch.expm1,
                    torch.asinh,
                    torch.log2,
                    torch.sinc,
                    torch.special.i0,
                    torch.special.ndtri,
                )
            ],
            positive(3, 4).detach().sub(0.45).div(1.2).requires_grad_(),
        ),
        "joining": (
            lambda a, b: [
                torch.cat([a, b]),
                torch.stack([a, b], 1),
                torch.hstack([a, b]),
                torch.where(a > 0, a, b),
                torch.block_diag(a, b),
                torch.cartesian_prod(a[0], b[0]),
                a.repeat(2, 1),
                a.tile(2),
                a.roll(1, 0),
                a.flip(1),
                a.triu(),
                a.clamp(-0.5, 0.5),
                torch.lerp(a, b, 0.3),
                torch.maximum(a, b),
                torch.atan2(a, b),
                torch.meshgrid(a[0], b[0], indexing="ij")[1],
            ],
            real(3, 4),
            real(3, 4),
        ),
        "sorting": (
            lambda x: [x.sort(1).values, x.topk(2, 0).values, x.kthvalue(2).values],
            real(3, 4),
        ),
    }


DIFFERENTIABLE = list(differentiable())


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_forward_and_backward(device, name):
    torch.manual_seed(1)
    fn, *args = differentiable()[name]
    same_gradients(device, fn, *args)


LOWER_PRECISION = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    torch.float16: {"rtol": 5e-3, "atol": 2e-3},
    torch.bfloat16: {"rtol": 3e-2, "atol": 1e-2},
}

LOWER_PRECISION_FUNCTIONS = [
    "conv2d",
    "layer_norm",
    "sdpa",
    "linear",
    "cross_entropy",
    "softmax",
    "max_pool2d",
]


@pytest.mark.parametrize("dtype", LOWER_PRECISION, ids=str)
@pytest.mark.parametrize("name", LOWER_PRECISION_FUNCTIONS)
def test_forward_and_backward_in_lower_precision(device, name, dtype):
    torch.manual_seed(1)
    fn, *args = differentiable()[name]
    args = [a.detach().to(dtype).requires_grad_() if a.is_floating_point() else a for a in args]
    same_gradients(device, fn, *args, **LOWER_PRECISION[dtype])


# ---- state written by an operator ----


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nn.BatchNorm1d(4), (5, 4)),
        (lambda: nn.BatchNorm2d(4), (3, 4, 5, 5)),
        (lambda: nn.BatchNorm3d(4, momentum=None), (2, 4, 2, 3, 3)),
        (lambda: nn.InstanceNorm2d(4, track_running_stats=True, affine=True), (3, 4, 5, 5)),
    ],
    ids=["batch_norm1d", "batch_norm2d", "batch_norm3d", "instance_norm2d"],
)
def test_running_statistics_are_written(device, layer, shape):
    reference, module = layer().double(), layer().double().to(device)
    for i in range(3):
        x = real(*shape, grad=False) * (i + 1) + i
        assert_same(module(x.to(device)), reference(x))
    assert reference.running_mean.abs().min() > 0.01
    assert module.running_mean.device == device
    assert_same(dict(module.state_dict()), dict(reference.state_dict()))
    module.eval(), reference.eval()
    assert_same(module(x.to(device)), reference(x))


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_recurrent_cells(device, name):
    cell = getattr(nn, name)(4, 3, dtype=torch.float64)
    weights = dict(cell.named_parameters())

    def run(x, parameters):
        state = None
        for _ in range(3):
            state = torch.func.functional_call(cell, parameters, (x, state))
        return state

    same_gradients(
        device, run, real(2, 4), {k: v.detach().requires_grad_() for k, v in weights.items()}
    )


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers(device, name, bidirectional):
    layer = getattr(nn, name)(4, 3, 2, bidirectional=bidirectional, dtype=torch.float64)
    weights = {k: v.detach().requires_grad_() for k, v in layer.named_parameters()}
    same_gradients(
        device, lambda x, p: torch.func.functional_call(layer, p, (x,)), real(5, 2, 4), weights
    )


def test_multi_head_attention_with_a_padding_mask(device):
    layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    weights = {k: v.detach().requires_grad_() for k, v in layer.named_parameters()}
    mask = torch.tensor([[False, False, True], [False, True, True]])

    def run(x, p, mask):
        return torch.func.functional_call(layer, p, (x, x, x), {"key_padding_mask": mask})

    same_gradients(device, run, real(2, 3, 8), weights, mask)
