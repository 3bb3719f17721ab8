"""PLUG_DECOMPOSE: an operator without a kernel runs as the operators that PyTorch decomposes it into, if the plugin has
kernels for all of them; traced once, then without Python. tests/plugins/decomposes.c has the kernels."""

import json

import pytest
from helpers import output_of
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PRELUDE = """
import threading
import torchplug
from torchplug import _C
from helpers import on, same_as_cpu, same_gradients, tensors_in

F = torch.nn.functional
aten = torch.ops.aten
device = torch.device(device.type, 0)
torch.ones(1, device=device)


def count(op, way):
    return sum(entry.count for entry in torchplug.ledger() if entry.op == op and entry.way == way)


def reasons(op):
    return [entry.reason for entry in torchplug.ledger() if entry.op == op]


def python_calls(fn):
    # The Python functions that run while fn does, which is called first.
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        fn()
    finally:
        sys.setprofile(None)
    return seen[1:]


def decomposed(op, fn, *args, calls=1, rtol=1e-5, atol=1e-6):
    # As on the CPU in values, dtypes, shapes and strides, and by the way of the decomposition.
    before = count(op, "decomposed")
    for _ in range(2):
        here, there = on("cpu", args), on(device, args)
        for a, b in zip(tensors_in(here), tensors_in(there)):
            assert a.stride() == b.stride(), (op, a.stride(), b.stride())
        expected, actual = fn(*here), fn(*there)
        for a, b in zip(tensors_in(actual), tensors_in(expected), strict=True):
            assert a.device == device and a.dtype == b.dtype and a.shape == b.shape
            assert a.stride() == b.stride(), (op, a.stride(), b.stride())
            torch.testing.assert_close(a.cpu().double(), b.double(), rtol=rtol, atol=atol, equal_nan=True)
        for a, b in zip(tensors_in(there), tensors_in(here), strict=True):
            torch.testing.assert_close(a.cpu().double(), b.double(), rtol=rtol, atol=atol, equal_nan=True)
    assert count(op, "decomposed") == before + 2 * calls, (op, reasons(op))
"""


CASES = {
    "operators_that_kernels_cover_run_as_those": """
x, y, z = torch.randn(3, 2, 3, 4).unbind()
w, b = torch.randn(2, 4).unbind()
decomposed("aten::_softmax", lambda x: x.softmax(-1), x)
decomposed("aten::_softmax", lambda x: x.softmax(1), x)
decomposed("aten::_log_softmax", lambda x: x.log_softmax(0), x)
decomposed("aten::silu", F.silu, x)
decomposed("aten::sigmoid", torch.sigmoid, x.double(), rtol=1e-12, atol=1e-12)
decomposed("aten::hardswish", F.hardswish, x * 4)
decomposed("aten::leaky_relu", F.leaky_relu, x)
decomposed("aten::relu", torch.relu, torch.tensor([1.0, float("nan"), -2.0, -0.0]))
decomposed("aten::addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.25), x, y[:1], z[..., :1])
decomposed("aten::native_layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b), x, w, b)
decomposed("aten::native_layer_norm", lambda x: F.layer_norm(x, (3, 4)), x)
decomposed("aten::native_group_norm", lambda x: F.group_norm(x, 2), torch.randn(2, 4, 3))
decomposed("aten::mean.dim", lambda x: x.mean((0, 2)), x)
decomposed("aten::var.correction", lambda x: x.var(1, correction=0), x)
decomposed("aten::mse_loss", F.mse_loss, x, y)
decomposed("aten::exp", torch.exp, torch.tensor([1, 2, 3]))
decomposed("aten::addcdiv", torch.addcdiv, x, y, z * z + 1)
decomposed("aten::sigmoid", torch.sigmoid, torch.tensor(0.5))
decomposed("aten::addcmul", lambda x, y: torch.addcmul(x, y, torch.tensor(2.0)), x, y)
decomposed("aten::mul.Tensor", lambda x: torch.tensor([True, False], device=x.device) * x, x[..., :2])
decomposed("aten::mul.Tensor", lambda x: x * 0.5, torch.tensor([1, 2, 3]))
decomposed("aten::mul.Tensor", lambda x: x * 0.75, torch.tensor([1, 2, 3]))
decomposed("aten::_softmax", lambda x: x.softmax(0), torch.tensor(0.5))
""",
    "strides_are_the_cpus": """
image = torch.randn(2, 4, 3, 5)
for x in (image.to(memory_format=torch.channels_last), image.transpose(1, 3), image[:, ::2], image[..., 1:],
          image[:, :1], image.expand(2, 4, 3, 5), torch.randn(1, 4, 1, 5).expand(2, 4, 3, 5)):
    decomposed("aten::silu", F.silu, x)
    decomposed("aten::_softmax", lambda x: x.softmax(1), x)
    decomposed("aten::leaky_relu", F.leaky_relu, x)
    decomposed("aten::mean.dim", lambda x: x.mean(1, keepdim=True), x)
    decomposed("aten::addcmul", lambda x, y: torch.addcmul(y, x, y), x, torch.randn(x.shape))
    decomposed("aten::native_layer_norm", lambda x: F.layer_norm(x, x.shape[-1:]), x)
    decomposed("aten::native_group_norm", lambda x: F.group_norm(x, x.size(1)), x)
decomposed("aten::silu", F.silu, torch.randn(0, 3))
# What the meta kernels say of these is not what the CPU does.
decomposed("aten::native_batch_norm", lambda x: aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5),
           torch.randn(5, 5, 5).transpose(0, 1))
decomposed("aten::pixel_shuffle", lambda x: F.pixel_shuffle(x, 2),
           torch.randn(1, 8, 2, 3).to(memory_format=torch.channels_last))
decomposed("aten::native_layer_norm", lambda x: F.layer_norm(x, (3,)), torch.randn(0, 3))
""",
    "a_repeated_call_runs_no_python_and_works_from_threads_and_torchscript": """
x = torch.randn(3, 4)
there = x.to(device)
assert any("trace" in name for name in python_calls(lambda: torch.nn.functional.silu(there)))
silu = torch._C._nn.silu
assert python_calls(lambda: silu(there)) == []
softmax = torch.jit.trace(lambda x: torch.softmax(x, 1), x)
results = []
threads = [threading.Thread(target=lambda: results.append(softmax(there))) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
for result in results:
    torch.testing.assert_close(result.cpu(), x.softmax(1))
assert count("aten::_softmax", "decomposed") >= 4
""",
    "numbers_that_a_plan_does_not_tell_apart_are_the_calls": """
x, y, z = (torch.rand(3, 4) + 0.5 for _ in range(3))
for value in (0.25, 0.5, 0.125, 1.0, 1.5, 2.5, -0.5, 0.0, 3, -2):
    decomposed("aten::addcmul", lambda *args: torch.addcmul(*args, value=value), x, y, z)
    decomposed("aten::leaky_relu", lambda x: F.leaky_relu(x - 1, value), x)
    decomposed("aten::addcdiv", lambda *args: torch.addcdiv(*args, value=value), x, y, z)
there = on(device, (x, y, z))
torch.addcmul(*there, value=0.3)
assert python_calls(lambda: aten.addcmul.default(*there, value=0.35)) in ([], ["__call__"])
# What a number decides has a plan for each, and not for ever new ones.
for i in range(60):
    value = 1 / (i + 3)
    torch.testing.assert_close(F.softplus(there[0], beta=value).cpu(), F.softplus(x, beta=value))
""",
    "ever_new_shapes_are_not_traced_for_ever": """
x = torch.randn(200)
there = x.to(device)
for n in range(1, 200):
    torch.testing.assert_close(F.hardswish(there[:n]).cpu(), F.hardswish(x[:n]))
before = count("aten::hardswish", "decomposed")
assert before < 199, before
assert any("too many shapes" in reason for reason in reasons("aten::hardswish"))
for _ in range(3):  # what comes again is
    torch.testing.assert_close(F.hardswish(there[:199]).cpu(), F.hardswish(x[:199]))
assert count("aten::hardswish", "decomposed") >= before + 2
""",
    "what_has_no_kernel_is_the_cpus_and_says_what_is_missing": """
x = torch.randn(3, 4)
same_as_cpu(device, F.gelu, x)
assert count("aten::gelu", "decomposed") == 0
assert any("it decomposes into aten::erf, which has no kernel" in why for why in reasons("aten::gelu")), reasons("aten::gelu")
same_as_cpu(device, torch.erf, x)
assert any("no decomposition" in why for why in reasons("aten::erf")), reasons("aten::erf")
same_as_cpu(device, F.silu, x.to(torch.complex64))
why = reasons("aten::silu")
assert any("whose kernel does not take ComplexFloat" in text for text in why), why
same_as_cpu(device, lambda x: x.mm(x.t()), x)
same_as_cpu(device, F.silu, x.bfloat16(), rtol=0.02, atol=0.02)
torch.manual_seed(0)
torch.bernoulli(torch.full((4,), 0.5, device=device))
assert count("aten::bernoulli", "decomposed") == 0
same_as_cpu(device, torch.nonzero, x)
for wrong in (lambda d: F.layer_norm(x.to(d), (3,)), lambda d: torch.addcmul(x.to(d), x[:2].to(d), x.to(d)),
              lambda d: x.to(d).softmax(5), lambda d: F.mse_loss(x.to(d), torch.ones(5, device=d))):
    errors = []
    for where in ("cpu", device):
        try:
            wrong(where)
        except Exception as error:
            errors.append(type(error))
    assert len(errors) == 2 and errors[0] is errors[1], errors
""",
    "forms_in_place_and_with_out": """
x, y, z = torch.randn(3, 3, 4).unbind()
decomposed("aten::silu_", lambda x: F.silu(x, inplace=True), x)
decomposed("aten::silu_", lambda x: F.silu(x.t()[1:], inplace=True), x)
decomposed("aten::addcmul_", lambda x, y, z: x.addcmul_(y, z, value=0.5), x, y, z)
decomposed("aten::addcmul.out", lambda x, y, z, out: torch.addcmul(x, y, z, out=out), x, y, z, torch.empty(3, 4))
decomposed("aten::addcmul.out", lambda x, y, z, out: torch.addcmul(x, y, z, out=out), x, y, z, torch.empty(4, 3).t())
decomposed("aten::addcmul.out", lambda x, y, z, out: torch.addcmul(x, y, z, out=out), x, y, z, torch.empty(0))
decomposed("aten::sigmoid.out", lambda x, out: torch.sigmoid(x, out=out), x, torch.empty(0))
# Memory that is shared, another dtype, an output that overlaps itself: as the CPU has it.
same_as_cpu(device, lambda x: torch.sigmoid(x, out=x), x)
same_as_cpu(device, lambda x: torch.sigmoid(x, out=torch.empty(3, 4, dtype=torch.float64, device=x.device)), x)
same_as_cpu(device, lambda x, y: x.addcmul_(x, y), x, y)
there = torch.empty(1, 4, device=device).expand(3, 4)
try:
    torch.sigmoid(x.to(device), out=there)
    raise SystemExit("was not refused")
except RuntimeError as error:
    assert "single memory location" in str(error), error
""",
    "running_statistics_are_updated": """
norm = torch.nn.BatchNorm2d(3)
there = torch.nn.BatchNorm2d(3).to(device)
for _ in range(3):
    x = torch.randn(2, 3, 4, 4)
    torch.testing.assert_close(there(x.to(device)).cpu(), norm(x), rtol=1e-4, atol=1e-5)
assert count("aten::native_batch_norm", "decomposed") == 3, reasons("aten::native_batch_norm")
for name, buffer in norm.named_buffers():
    torch.testing.assert_close(getattr(there, name).cpu(), buffer, rtol=1e-4, atol=1e-5)
""",
    "training_autocast_and_modes": """
x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
w = torch.randn(4, dtype=torch.float64, requires_grad=True)
for fn in (F.silu, F.leaky_relu, lambda x: x.softmax(1), lambda x: x.log_softmax(-1), lambda x: x.mean(1),
           lambda x: F.layer_norm(x, (4,)), torch.sigmoid, lambda x: x.var(1)):
    same_gradients(device, fn, x)
same_gradients(device, lambda x, w: F.layer_norm(x, (4,), w), x, w)
for op in ("_softmax_backward_data", "_log_softmax_backward_data", "silu_backward", "native_layer_norm_backward"):
    assert count("aten::" + op, "decomposed"), reasons("aten::" + op)
with torch.inference_mode(), torch.device(device):
    torch.testing.assert_close(F.hardswish(x.to(device)).cpu(), F.hardswish(x.cpu()))
    torch.testing.assert_close(torch.func.vmap(F.hardsigmoid)(x.detach().to(device)).cpu(), F.hardsigmoid(x.detach().cpu()))
with torch.autocast(device.type, dtype=torch.bfloat16):
    assert F.silu(x.float().to(device)).dtype == torch.float32
""",
    "the_first_call_may_be_in_a_capture": """
module = torchplug.device_module()
x = torch.randn(3, 4)
there = x.to(device)
module.synchronize()
graph = module.Graph()
with module.graph(graph), torch.no_grad():
    y = F.silu(there.softmax(1))
assert count("aten::silu", "decomposed") == 1, reasons("aten::silu")
for _ in range(2):
    x = torch.randn(3, 4)
    there.copy_(x)
    graph.replay()
    torch.testing.assert_close(y.cpu(), F.silu(x.softmax(1)))
""",
    "a_kernel_that_declines_within_leaves_its_operator_to_the_cpu": """
x = torch.randn(7)
decomposed("aten::silu", F.silu, x)
assert count("aten::exp", "kernel") == 0 and count("aten::exp", "borrow") + count("aten::exp", "stage") == 2
assert any("an unlucky number of elements" in why for why in reasons("aten::exp"))
decomposed("aten::silu", F.silu, torch.randn(6))
assert count("aten::exp", "kernel") == 2
""",
}

RUN_ALL = """
import json
import traceback

failures = {}
for name, code in CASES.items():
    torchplug.reset_ledger()
    try:
        exec(code, globals())
    except BaseException:
        failures[name] = traceback.format_exc()
print(json.dumps(failures))
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "decomposes")


@pytest.fixture(scope="module")
def failures(plugin):
    """By case what went wrong. The first trace of a process imports half of PyTorch: one process for all."""
    code = f"{PRELUDE}\nCASES = {CASES!r}\n{RUN_ALL}"
    env = {"TORCHPLUG_DEVICE": plugin, "TORCHPLUG_DECOMPOSES_DECLINES": "7"}
    return json.loads(output_of(code, "decomposes", **env).splitlines()[-1])


@pytest.mark.parametrize("case", CASES)
def test_decomposed(case, failures):
    assert case not in failures, failures[case]


def test_fallback_error_lets_decomposed_calls_pass_and_says_what_is_missing(plugin):
    code = """
x = torch.randn(3, 4).to(device)
F.silu(x), x.softmax(1)
try:
    F.gelu(x)
    raise SystemExit("was not refused")
except NotImplementedError as error:
    assert "aten::erf, which has no kernel" in str(error), error
assert not torchplug.coverage()
"""
    output_of(PRELUDE + code, "decomposes", TORCHPLUG_DEVICE=plugin, TORCHPLUG_FALLBACK="error")
