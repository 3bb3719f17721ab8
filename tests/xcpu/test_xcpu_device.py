"""The device xcpu: everything is right on it, and its operators are those of CPU tensors."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import output_of
from interpreter import run
from xcpu_samples import SAMPLES

import torchplug

HERE = Path(__file__).parent


def test_plug_check_passes():
    words = [sys.executable, "-m", "torchplug", "plug-check", "xcpu"]
    result = subprocess.run(words, check=False, capture_output=True, text=True)
    assert result.returncode == 0 and " 0 failed" in result.stdout, result.stdout


def test_its_operators_give_there_what_they_give_on_the_cpu():
    code = """
import torch
from xcpu_samples import SAMPLES
def to(device, value): return value.to(device) if isinstance(value, torch.Tensor) else value
for sample in SAMPLES:
    values = sample.values()
    there = {name: to("xcpu", value) for name, value in values.items()}
    expected, found = sample.operator(**values), sample.operator(**there)
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (expected, found)]):
        given = [value for value in values.values() if isinstance(value, torch.Tensor)]
        assert other is None or not given or other.device.type == "xcpu", sample
        assert other is None or torch.equal(other.cpu(), one), sample
    for name, value in values.items():
        assert not isinstance(value, torch.Tensor) or torch.equal(there[name].cpu(), value), (sample, name)
print(len(SAMPLES))
"""
    assert run(code, "xcpu", path=HERE)[0] == str(len(SAMPLES))


TRAINING = """
import copy, torch
from torch import nn
torch.manual_seed(0)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.EmbeddingBag(50, 64, mode="mean", padding_idx=0)
        self.convolution = nn.Conv1d(8, 64, 3, padding=1)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(64, 4, 96, dropout=0.0, batch_first=True, activation="gelu") for _ in range(2))
        self.norm, self.gate, self.last = nn.RMSNorm(64), nn.Linear(64, 64), nn.Linear(64, 5)
    def forward(self, x, words):
        x = self.convolution(x).transpose(1, 2) + self.bags(words)[:, None]
        for layer in self.layers:
            x = layer(x, is_causal=True, src_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1], x.device))
        x = self.norm(x)
        q = x.unflatten(2, (4, 16)).transpose(1, 2)
        x = x + nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).transpose(1, 2).flatten(2)
        return self.last(nn.functional.silu(self.gate(x)).mean(1)).log_softmax(-1)
model = Model()
x, words, y = torch.randn(16, 8, 48), torch.randint(0, 50, (16, 6)), torch.randint(0, 5, (16,))
def losses(device, is_mixed):
    net, found = copy.deepcopy(model).to(device), []
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3)
    for _ in range(12):
        with torch.autocast(device, torch.bfloat16, enabled=is_mixed):
            loss = nn.functional.nll_loss(net(x.to(device), words.to(device)).float(), y.to(device))
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        found.append(loss.item())
    return found
for is_mixed, off in ((False, 1e-3), (True, 0.05)):
    cpu, there = losses("cpu", is_mixed), losses("xcpu", is_mixed)
    assert cpu[-1] < 0.5 * cpu[0]
    print(max(abs(a - b) for a, b in zip(cpu, there)) < off, end=" ")
import torchplug
ways = {row.op for row in torchplug.ledger() if row.way == "kernel"}
print(*sorted({"aten::linear", "aten::mm", "aten::_embedding_bag", "aten::gelu", "aten::silu_backward", "aten::_log_softmax",
       "aten::native_layer_norm_backward", "aten::_scaled_dot_product_fused_attention_overrideable_backward"} - ways))
"""


def test_training_gives_the_losses_of_the_cpu():
    assert run(TRAINING, "xcpu")[0] == "True True"


def test_it_says_what_it_is():
    code = "import torch; print(torch.xcpu.device_count(), torch.xcpu.get_device_name(0))"
    count, name = run(code, "xcpu")[0].split(" ", 1)
    assert count == "1" and name.endswith(")")


@pytest.mark.parametrize("layers", ["validate", "fault,validate"])
def test_the_layers_find_nothing(layers):
    code = """
import torch, torchplug
x = torch.randn(64, 256, device="xcpu")
weight = torch.ops.xcpu.pack(torch.randn(48, 256).to("xcpu"), "int4", 64)
print(torch.ops.xcpu.linear(x.t().contiguous().t(), weight).sum().isfinite().item())
"""
    assert run(code, "xcpu", TORCHPLUG_LAYERS=layers) == ("True", "")


def test_it_is_no_default():
    assert not torchplug._plugins.installed_plugins()["xcpu"].is_default


NORMS = """
import torch
from torch.nn import functional
from helpers import same_gradients, same_as_cpu
device, names = torch.device("xcpu:0"), {"aten::native_layer_norm", "aten::_fused_rms_norm"}
layer = lambda x, *rest: functional.layer_norm(x, (6, 16), *rest, eps=1e-4)
for dtype, off in ((torch.float64, 1e-10), (torch.float32, 1e-4), (torch.bfloat16, 0.05), (torch.float16, 0.01)):
    tolerance = {"rtol": off, "atol": off}
    x = torch.randn(5, 3, 6, 16).to(dtype).requires_grad_()
    w, b = (torch.randn(6, 16).to(dtype).requires_grad_() for _ in range(2))
    for eps in (1e-4, None):
        rms = lambda x, *rest: functional.rms_norm(x, (6, 16), *rest, eps=eps)
        for given in ((x,), (x, w), (x[:0], w), (x.transpose(0, 1), w)):
            same_gradients(device, rms, *[t.detach().requires_grad_() for t in given], **tolerance)
    for given in ((x,), (x, w), (x, w, b), (x[:0], w, b)):
        same_gradients(device, layer, *[t.detach().requires_grad_() for t in given], **tolerance)
    same_as_cpu(device, layer, x.detach(), w.detach(), **tolerance)
import torchplug
ways = {(row.op, row.way) for row in torchplug.ledger()}
print(all((name + end, "kernel") in ways for name in names for end in ("", "_backward")))
"""


def test_norms_and_their_gradients_are_those_of_the_cpu():
    assert output_of(NORMS, "xcpu", TORCHPLUG_DEVICE="xcpu") == "True"


# Each call with a dtype for which there is a kernel and with others, which are the CPU's.
OPERATORS = """
import torch, torchplug
from torch.nn import functional
from helpers import same_as_cpu, same_gradients
device = torch.device("xcpu:0")
OFF = {torch.float64: 1e-10, torch.float32: 1e-4, torch.bfloat16: 0.13, torch.float16: 0.02}  # two steps of what is summed up

smooth = lambda result: result

def by_kernel(name):
    return sum(row.count for row in torchplug.ledger() if row.op == "aten::" + name and row.way == "kernel")

def check(names, function, *tensors, second=True):
    "The CPU's result and gradients, by the kernels of those names where the dtype has one."
    for dtype, off in OFF.items():
        given = [t.detach().to(dtype) if t.is_floating_point() else t for t in tensors]
        before = [by_kernel(name) for name in names]
        same_as_cpu(device, function, *given, rtol=off, atol=off)
        if second:
            given = [t.requires_grad_() for t in given]
            same_gradients(device, lambda *given: smooth(function(*given)), *given, rtol=off, atol=off)
        if dtype in (torch.float32, torch.bfloat16):
            after = [by_kernel(name) for name in names]
            assert all(b > a for a, b in zip(before, after)), (names, dtype, before, after)
        assert dtype != torch.float64 or before == [by_kernel(name) for name in names], names
"""

PRODUCTS = (
    OPERATORS
    + """
x, w, b = torch.randn(6, 40), torch.randn(24, 40), torch.randn(24)
for given in ((x, w), (x, w, b), (torch.randn(2, 3, 40), w, b), (torch.randn(40), w, b)):
    check(["linear"], functional.linear, *given)
check([], functional.linear, torch.randn(3, 2, 40).transpose(0, 1), w, b)
for a in (x, torch.randn(40, 6).t(), torch.randn(6, 80)[:, :40]):
    check(["mm"], torch.mm, a, torch.randn(40, 24))
    check(["addmm"], torch.addmm, b, a, torch.randn(40, 24))
check(["addmm"], torch.addmm, b, x, w.t())
check(["mm"], torch.mm, torch.randn(40, 6).t(), w.t())
check(["bmm"], torch.bmm, torch.randn(3, 6, 40), torch.randn(3, 40, 24))
check(["bmm"], torch.bmm, torch.randn(3, 40, 6).mT, torch.randn(3, 40, 24))
check([], lambda b, a, m: torch.addmm(b, a, m, beta=0.5, alpha=2), b, x, w.t())
check([], torch.addmm, torch.randn(6, 24), x, w.t())
check([], torch.mm, x[:0], w.t())
check([], torch.mm, x[:, :0], w.t()[:0])
check([], torch.bmm, x[:1].expand(6, 40)[None], w.t()[None])
for dtype in (torch.int64, torch.complex64):
    same_as_cpu(device, torch.mm, x.to(dtype), w.t().to(dtype))
for dtype in (torch.float32, torch.bfloat16):
    for out in (torch.empty(6, 24), torch.empty(24, 6).t(), torch.empty(6, 48)[:, ::2], torch.empty(0)):
        there = torch.empty_strided(out.size(), out.stride(), dtype=dtype, device=device)
        torch.mm(x.to(device, dtype), w.t().to(device, dtype), out=there)
        torch.testing.assert_close(there.cpu(), x.to(dtype) @ w.t().to(dtype), rtol=0.02, atol=0.06)
"""
)

ATTENTION = (
    OPERATORS
    + """
smooth = torch.square  # what is summed up is the size of each result, whose gradient jumps at 0
attend, name = functional.scaled_dot_product_attention, "_scaled_dot_product_fused_attention_overrideable"
def heads(batches, count, tokens, dim, is_transposed):
    return torch.randn(batches, tokens, count, dim).transpose(1, 2) if is_transposed else torch.randn(batches, count, tokens, dim)
for turn in ([False] * 3, [True] * 3, [True, False, True]):
    q, k, v = (heads(2, 4, 70, 16, t) for t in turn)
    for options in ({}, {"is_causal": True}, {"scale": 0.3}, {"scale": 0.0}):
        check([name], lambda q, k, v: attend(q, k, v, **options), q, k, v)
    k, v = (heads(2, 2, 90, 16, t) for t in turn[:2])
    check([name], lambda q, k, v: attend(q, k, v, enable_gqa=True), q, k, v)
    check([name], lambda q, k, v: attend(q, k.expand(2, 4, 90, 16), v.expand(2, 4, 90, 16)), q, k[:, :1], v[:, :1])
q, k, v = (torch.randn(2, 3, 70, 16) for _ in range(3))
check([], lambda q, k, v: attend(q, k, v[..., :5]), q, k, v)
check([], lambda q, k, v: attend(q, k[:, :, :40], v[:, :, :40], is_causal=True), q, k, v)
check([], attend, q, k, v, torch.randn(70, 70))
check([], attend, q[:, :, :1], k, v)
check([], attend, q[0], k[0], v[0])
for given in (q[:, :1], q[:1, :1].expand(2, 1, 70, 16)), (q[:1, :1].expand(2, 1, 70, 16), q[:, :1]):
    check([name], lambda q, k: attend(q, k, k), *given)  # one head, whose batches are one and the same
one = torch.randn(1, 70, 1, 16).expand(2, 70, 1, 16)  # keys and values of a single token
check([name], lambda q, k: attend(q.expand(2, 70, 70, 16), k, k), q[:, :1], one)
large = [torch.randn(1, 2, 300, 16) for _ in range(3)]
check([name, name + "_backward"], attend, *large)
"""
)

ROWS = (
    OPERATORS
    + """
for shape in ((5, 130), (2, 3, 150), (1,), ()):
    x = torch.randn(shape)
    check(["_softmax"], lambda x: torch.softmax(x, -1), x)
    check(["_log_softmax", "_log_softmax_backward_data"], lambda x: torch.log_softmax(x, -1), x)
check(["_softmax", "_softmax_backward_data"], lambda x: torch.softmax(x, 1), torch.randn(140, 6).t())
check([], lambda x: torch.softmax(x, 0), torch.randn(5, 7))
check([], lambda x: torch.softmax(x, -1), torch.randn(0, 7))
check(["_softmax"], lambda x: torch.softmax(x, -1), torch.randn(1, 7).expand(5, 7))
image = torch.randn(2, 3, 4, 5)
for x in (image, image.to(memory_format=torch.channels_last), image[..., ::2], torch.randn(()), torch.randn(1, 4).expand(3, 4)):
    check(["gelu", "gelu_backward"], lambda x: functional.gelu(x, approximate="tanh"), x)
    check(["gelu", "gelu_backward"], functional.gelu, x)
    check(["silu", "silu_backward"], functional.silu, x)
check([], functional.silu, image[:0])
same_as_cpu(device, functional.silu, torch.randn(4, dtype=torch.complex64))
for dtype in (torch.float32, torch.bfloat16):
    rows = torch.tensor([[float("-inf")] * 9, [1.0] * 8 + [float("nan")], [float("inf")] + [0.0] * 8, [-200.0] * 9])
    same_as_cpu(device, lambda x: torch.softmax(x, -1), rows.to(dtype))
    same_as_cpu(device, lambda x: torch.log_softmax(x, -1), rows.to(dtype))
"""
)

BAGS = (
    OPERATORS
    + """
table, weights = torch.randn(20, 24), torch.randn(15)
indices, offsets = torch.randint(0, 20, (15,)), torch.tensor([0, 3, 3, 9])
for mode in ("sum", "mean", "max"):
    for padding in (None, 3):
        for is_last in (False, True):
            starts = torch.cat([offsets, torch.tensor([15])]) if is_last else offsets
            bag = lambda t: functional.embedding_bag(indices.to(t.device), t, starts.to(t.device), mode=mode, padding_idx=padding,
                                                     include_last_offset=is_last)
            taken = [] if mode == "max" else ["_embedding_bag"]
            check(taken, bag, table)
            check([name + "_forward_only" for name in taken], bag, table, second=False)
bag = lambda t, w: functional.embedding_bag(indices.to(t.device), t, offsets.to(t.device), mode="sum", per_sample_weights=w)
check(["_embedding_bag"], bag, table, weights)
check([], lambda t: functional.embedding_bag(indices.int().to(t.device), t, offsets.int().to(t.device)), table)
check([], lambda t: functional.embedding_bag(indices.to(t.device), t.t(), offsets.to(t.device)), torch.randn(24, 20))
try:
    functional.embedding_bag(torch.tensor([20]).to(device), table.to(device), torch.tensor([0]).to(device))
except (RuntimeError, IndexError) as error:
    assert "20" in str(error)
else:
    raise AssertionError("an index beyond the table")
"""
)


@pytest.mark.parametrize(
    "code", [PRODUCTS, ATTENTION, ROWS, BAGS], ids=["products", "attention", "rows", "bags"]
)
def test_operators_of_pytorch_and_their_gradients_are_those_of_the_cpu(code):
    assert output_of(code + "print(True)", "xcpu", TORCHPLUG_DEVICE="xcpu") == "True"
