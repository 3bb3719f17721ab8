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
model = nn.Sequential(
    nn.Conv1d(8, 32, 3, padding=1), nn.GELU(), nn.Flatten(1), nn.Linear(32 * 16, 64), nn.LayerNorm(64),
    nn.SiLU(), nn.Unflatten(1, (4, 16)),
    nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), nn.Flatten(1), nn.Linear(64, 5))
x, y = torch.randn(32, 8, 16), torch.randint(0, 5, (32,))
def losses(device):
    net, found = copy.deepcopy(model).to(device), []
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    for _ in range(12):
        loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        found.append(loss.item())
    return found
cpu, there = losses("cpu"), losses("xcpu")
assert cpu[-1] < 0.5 * cpu[0]
print(max(abs(a - b) for a, b in zip(cpu, there)) < 1e-3)
"""


def test_training_gives_the_losses_of_the_cpu():
    assert run(TRAINING, "xcpu")[0] == "True"


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
