"""A fused attention that takes some calls only: the others are composed, forward and backward alike."""

import pytest
from session import Sessions
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PRELUDE = """
import ctypes
import os
import torchplug
from helpers import same_gradients

plugin = ctypes.CDLL(os.environ["TORCHPLUG_DEVICE"])
plugin.attention_reset()
device = torch.device(device.type, 0)
late = "TORCHPLUG_ATTENTION_LATE" in os.environ
attend = torch.nn.functional.scaled_dot_product_attention


def leaf(*sizes, dtype=torch.float32):
    return torch.randn(*sizes, dtype=dtype, requires_grad=True)


def check(fused, *args, **options):
    "How often the kernels are called for the call and its gradient, which are the CPU's."
    before = plugin.attention_forward(), plugin.attention_backward()
    bfloat = args[0].dtype == torch.bfloat16
    tolerance = dict(rtol=2e-2, atol=2e-2) if bfloat else dict(rtol=1e-4, atol=1e-5)
    with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH,
                                         torch.nn.attention.SDPBackend.OVERRIDEABLE]):
        for _ in range(2):
            same_gradients(device, lambda *given: attend(*given, **options), *args, **tolerance)
    done = plugin.attention_forward() - before[0], plugin.attention_backward() - before[1]
    assert done == ((2, 2) if fused else (0, 0)), (done, options)
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "attention")


@pytest.fixture(scope="module")
def sessions(plugin):
    sessions = Sessions("attention", plugin, PRELUDE)
    yield sessions
    sessions.close()


@pytest.fixture(params=["beforehand", "late"])
def run(sessions, request):
    """Code on the device, whose kernel declines before it is chosen, or when it is called."""
    env = {"TORCHPLUG_ATTENTION_LATE": "1"} if request.param == "late" else {}
    return lambda code: sessions(code, **env)


def test_calls_that_the_kernel_takes_and_those_it_declines(run):
    run("""
q, k, v = leaf(2, 3, 4, 8), leaf(2, 3, 5, 8), leaf(2, 3, 5, 6)
check(True, q, k, v)
check(True, q, k, v, is_causal=True)
check(True, q, k, v, scale=0.3)
check(False, q, k, v, torch.randn(4, 5))
check(False, q, k, v, torch.randn(2, 3, 4, 5) > -0.5)
check(False, q, k, v, torch.zeros(4, 5, dtype=torch.bool))
check(False, q, k, v, leaf(2, 1, 4, 5))
check(False, *(leaf(2, 3, n, 8, dtype=torch.float64) for n in (4, 5, 5)), is_causal=True)
check(False, *(leaf(2, 3, n, 8, dtype=torch.bfloat16) for n in (4, 5, 5)))
check(False, leaf(2, 6, 4, 8), leaf(2, 2, 5, 8), leaf(2, 2, 5, 8), enable_gqa=True)
if late:
    assert plugin.attention_asked() == 0
else:
    assert plugin.attention_asked() > 0
""")


def test_dropout_that_is_composed_drops_the_same_backward(run):
    run("""
torch.manual_seed(3)
torch.get_device_module(device).manual_seed(3)
p = 0.4
q, k = (torch.randn(2, 3, 16, 8).to(device).requires_grad_() for _ in range(2))
# With these values a result is the weights themselves, so what was dropped can be seen.
v = torch.eye(16).expand(2, 3, 16, 16).contiguous().to(device).requires_grad_()
out = attend(q, k, v, dropout_p=p)
with torch.no_grad():
    expected = torch.softmax(q.cpu() @ k.cpu().transpose(-1, -2) / 8**0.5, -1) / (1 - p)
kept = out.detach().cpu() != 0
assert 0.5 < kept.double().mean() < 0.7
torch.testing.assert_close(out.detach().cpu(), expected * kept)
weight = torch.randn(out.shape)
(out * weight.to(device)).sum().backward()
a, b, c = (t.detach().cpu().requires_grad_() for t in (q, k, v))
again = (torch.softmax(a @ b.transpose(-1, -2) / 8**0.5, -1) * kept / (1 - p)) @ c
(again * weight).sum().backward()
for there, here in ((q, a), (k, b), (v, c)):
    torch.testing.assert_close(there.grad.cpu(), here.grad)
assert plugin.attention_forward() == plugin.attention_backward() == 0
""")


def test_nothing_is_asked_for_tensors_of_a_trace(run):
    run("""
from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode() as mode:
    fake = torch.empty(2, 3, 4, 8, device=device)
    assert attend(fake, fake, fake).shape == (2, 3, 4, 8)
meta = torch.empty(2, 3, 4, 8, device="meta")
assert attend(meta, meta, meta).shape == (2, 3, 4, 8)
assert plugin.attention_asked() == plugin.attention_forward() == 0
""")


def test_a_kernel_without_one_for_the_gradient(sessions):
    sessions(
        """
q, k, v = leaf(2, 3, 4, 8), leaf(2, 3, 5, 8), leaf(2, 3, 5, 8)
same_gradients(device, attend, q, k, v, rtol=1e-4, atol=1e-5)
assert plugin.attention_forward() == 1 and plugin.attention_backward() == 0
there = [t.detach().to(device).requires_grad_() for t in (q, k, v)]
attend(*there, dropout_p=0.5).sum().backward()
assert plugin.attention_forward() == 1
""",
        TORCHPLUG_ATTENTION_ALONE="1",
    )
