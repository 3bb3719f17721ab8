"""Plugins that bring operators of their own: with or without a device, beside any other."""

import json
import os
import subprocess
import sys

import pytest
import torch
from helpers import output_of
from interpreter import HELLO, NAME, run, search_path
from vendors import CRASHES, compile_plugin, compile_test_plugin, install

import torchplug

pytestmark = pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")

USES = "import torch; print(torch.ops.acme.scale(torch.ones(2), 3.0).tolist())"

ONE_OPERATOR = """
#include "base.h"
static plug_status run(const plug_call *call) {{ (void)call; return PLUG_OK; }}
static const plug_kernel list[] = {{{{{kernel}, .fn = run}}}};
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {{
  make_device(given, "{name}");
  add_kernels(list, 1);
  module.runtime = NULL;
  *out = &module;
  return PLUG_OK;
}}
"""


def compile_operator(folder, kernel, name="solo"):
    """A plugin without a device that has one operator."""
    return compile_plugin(folder, name, ONE_OPERATOR.format(kernel=kernel, name=name))


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("operators"), "operators")


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    """A device with operators of its own."""
    return compile_test_plugin(tmp_path_factory.mktemp("owner"), "own_device")


# ---- installed ----


@pytest.mark.parametrize("choice", ["none", "hello", None])
def test_installed_operators_are_there_after_import_torch(tmp_path, operators, choice):
    install(tmp_path, "acme", f"PATH = {str(operators)!r}", group="torchplug.operators")
    device = {"none": "privateuseone", "hello": "hello", None: "sim"}[choice]
    output = run(f"{USES}; {NAME}", choice, path=tmp_path)
    assert output == (f"[3.0, 3.0]\n{device}", "")


def test_operators_that_cannot_be_loaded_are_one_warning_and_torch_works(tmp_path, operators):
    install(tmp_path, "acme", f"PATH = {str(operators)!r}", group="torchplug.operators")
    install(tmp_path, "broken", "PATH = '/no/such/library.so'", group="torchplug.operators")
    install(tmp_path, "worse", "raise OSError('no driver')", group="torchplug.operators")
    output, errors = run(USES, "none", path=tmp_path)
    assert output == "[3.0, 3.0]"
    assert errors.count("Warning") == 2
    assert "'broken'" in errors and "/no/such/library.so" in errors and "no driver" in errors


def command(*words, path=None, **environment):
    result = subprocess.run(
        [sys.executable, "-m", "torchplug", *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "TORCHPLUG_DEVICE": "none",
            "PYTHONPATH": search_path(path),
            **environment,
        },
    )
    return result.returncode, result.stdout, result.stderr


def test_the_command_line_tells_of_them(tmp_path, operators):
    install(tmp_path, "acme", f"PATH = {str(operators)!r}", group="torchplug.operators")
    crashing = compile_plugin(tmp_path, "crashing", CRASHES)
    install(tmp_path, "crash", f"PATH = {str(crashing)!r}", group="torchplug.operators")
    code, output, _ = command("devices", "acme", "crash", "--json", path=tmp_path)
    found = {plugin["name"]: plugin for plugin in json.loads(output)["plugins"]}
    assert code == 1 and "crashed" in found["crash"]["error"]
    assert found["acme"]["error"] is None and found["acme"]["is_device"] is False
    (scale,) = [one for one in found["acme"]["operators"] if one["name"] == "acme::scale"]
    assert scale["takes_cpu"] and scale["has_gradient"] and "float by=1." in scale["schema"]
    code, output, _ = command("devices", operators)
    assert code == 0 and "acme::scale" in output and "CPU tensors" in output
    code, output, _ = command("plug-check", operators)
    assert code == 0 and "no device" in output and " 0 failed" in output


# ---- by hand ----


def test_loading_twice_defines_once(operators):
    load = f"torchplug.load_operators({str(operators)!r})"
    code = f"import torch, torchplug; names = {load}; print(names[0], {load} == names)"
    assert run(code, "none") == ("acme::scale True", "")


def test_operators_are_no_device(operators):
    for path in (str(operators), operators):
        with pytest.raises(RuntimeError, match=r"'acme'.*no device.*torchplug\.load_operators"):
            torchplug.load(path)


def test_as_the_device_it_is_a_warning_that_says_how_to_load_it(operators):
    code = "import torch; print(torch._C._get_privateuse1_backend_name())"
    output, errors = run(code, operators)
    assert output == "privateuseone"
    assert errors.count("Warning") == 1 and "torchplug.load_operators" in errors


@pytest.mark.parametrize("layers", ["validate", "fault", "validate,fault"])
def test_layers_stand_around_them(operators, layers):
    code = f"""
import torch, torchplug
torchplug.load_operators({str(operators)!r})
x, w = torch.randn(2, 3), torch.randn(4, 3)
acme = torch.ops.acme
for _ in range(2):
    torch.testing.assert_close(acme.linear(x.t().contiguous().t(), w), x @ w.t())
    acme.stacked(x, 2), acme.positive(x), acme.noise([3]), acme.counted(x, 2)
    acme.number_of_plan(x), acme.prepared_columns(x)
    assert acme.add_(x, torch.zeros(2, 3)) is x
try:
    acme.fails(x, 4)
except RuntimeError as error:
    print(error)
"""
    output, errors = run(code, "none", TORCHPLUG_LAYERS=layers)
    assert "it broke later" in output and errors == ""


def test_the_fault_layer_makes_them_fail(operators):
    code = f"""
import torch, torchplug
torchplug.load_operators({str(operators)!r})
for _ in range(2):
    try:
        print(torch.ops.acme.scale(torch.ones(1), 2.0).item())
    except RuntimeError as error:
        print(error)
"""
    output, _ = run(code, "none", TORCHPLUG_LAYERS="fault", TORCHPLUG_FAULT="kernel:1")
    first, second = output.splitlines()
    assert "acme::scale failed" in first and "kernel:1" in first
    assert second == "2.0"
    # They are no work of a device that could be lost.
    output, _ = run(
        code, "none", TORCHPLUG_LAYERS="fault", TORCHPLUG_FAULT="lost:1,slow:*:1ms,later:1"
    )
    assert output.splitlines() == ["2.0", "2.0"]


FORK = """
import os, signal
def in_child(call):
    "What the call gives, or why it gives nothing, in a forked process; one that hangs is ended."
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        signal.alarm(60)
        try: answer = str(call())
        except BaseException as error: answer = str(error)
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    answer = os.fdopen(read).read()
    assert os.waitpid(pid, 0)[1] == 0
    return answer
"""


def test_a_forked_process_may_call_them_as_it_may_the_cpus(operators):
    """Also after PyTorch's threads, which the child has no more, were used in the parent."""
    code = f"""
import torch, torchplug
{FORK}
torchplug.load_operators({str(operators)!r})
torch.set_num_threads(3)
acme, x = torch.ops.acme, torch.ones(2)
torch.ones(1 << 20).exp().sum()
assert acme.threads() == 3 and acme.number_of_plan(x) == 1
assert in_child(lambda: acme.scale(x, 2.0).tolist()) == "[2.0, 2.0]"
assert in_child(lambda: (acme.number_of_plan(x), acme.number_of_plan(torch.ones(5)))) == "(1, 2)"
assert in_child(acme.threads) == "3"
assert in_child(lambda: (torch.set_num_threads(1), acme.threads())) == "(None, 1)"

class Scaled(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return acme.scale(torch.full((2,), float(i)), 2.0)

loader = torch.utils.data.DataLoader(Scaled(), num_workers=1, multiprocessing_context="fork")
assert torch.cat(list(loader)).tolist() == [[2.0 * i] * 2 for i in range(4)]
print(acme.scale(x).tolist(), acme.threads())
"""
    output, _ = run(code, "none")
    assert output == "[1.0, 1.0] 3"


def test_a_forked_process_may_not_call_those_of_a_device(owner):
    code = f"""
import torch, torchplug
{FORK}
x = torch.ones(2)
torch.ones(1, device="owner")
torch.ops.owner.scale(x)
print(in_child(lambda: torch.ops.owner.scale(x)))
print(torch.ops.owner.scale(x).tolist())
"""
    told, works = run(code, owner)[0].splitlines()
    assert "owner::scale" in told and "spawn" in told and works == "[1.0, 1.0]"


def test_torchplug_may_be_imported_before_torch(tmp_path, operators):
    """In interpreters of their own: what is tested is what the first import of all does."""
    first = "import torchplug, pathlib; "
    for call, expected in [
        (f"torchplug.load_operators(pathlib.Path({str(operators)!r}))[0]", "acme::scale"),
        ("torchplug.ledger()", "[]"),
        ("torchplug.overriding().__enter__()", "None"),
    ]:
        result = subprocess.run(
            [sys.executable, "-c", f"{first}print({call})"],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "TORCHPLUG_DEVICE": "none"},
        )
        assert (result.stdout.strip(), result.stderr) == (expected, "")


# ---- refusals ----

HOST = ".accepts = PLUG_ACCEPTS_HOST"


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (
            f'.schema = "solo::f(Tensor x, -> Tensor", {HOST}',
            ["'solo'", "solo::f(Tensor x, -> Tensor"],
        ),
        (f'.schema = "solo::f(Tensor x) -> Tensor", {HOST}', ["solo::f", ".shapes"]),
        (
            f'.schema = "solo::f(Tensor x) -> Tensor", {HOST}, .shapes = "[y.0] x"',
            ["solo::f", "'y'"],
        ),
        (
            f'.schema = "solo::f(Tensor x) -> Tensor", {HOST} | PLUG_SHAPES_OUTPUT, .shapes = "x"',
            ["solo::f", "two ways"],
        ),
        (
            f'.schema = "solo::f(Tensor x) -> Tensor", {HOST}, .shapes = "x", .gradient = "y: grad"',
            ["solo::f", "gradient", "'y'"],
        ),
        (
            '.schema = "solo::f(Tensor x) -> Tensor", .shapes = "x"',
            ["solo::f", "PLUG_ACCEPTS_HOST"],
        ),
        (f'.schema = "solo::f(Tensor(a) x) -> Tensor(a)", {HOST}', ["solo::f", "view"]),
        (
            f'.schema = "solo::f(Tensor(a!) x) -> ()", {HOST}, .gradient = "x: x"',
            ["solo::f", "gradient", "does not return"],
        ),
        (f'.schema = "solo::f(Tensor x) -> ()", {HOST}, .writes = 1', ["solo::f", "Tensor(a!)"]),
        (f'.schema = "solo::f(Tensor x) -> str", {HOST}', ["solo::f returns str", "numbers"]),
        (
            f'.schema = "solo::f(Tensor x) -> Tensor?", {HOST}, .shapes = "x"',
            ["solo::f returns Tensor?", "cannot give"],
        ),
        (
            f'.schema = "solo::f(Dict(str, Tensor) x) -> Tensor", {HOST}, .shapes = "[1] bool"',
            ["'x' of solo::f is Dict(str, Tensor)", "cannot be given"],
        ),
        (f'.schema = "f(Tensor x) -> Tensor", {HOST}, .shapes = "x"', ["'solo'", '"solo::f(']),
        (f'.schema = "other::f(Tensor x) -> Tensor", {HOST}, .shapes = "x"', ['"solo::f(']),
        (f'.schema = "", {HOST}', ["'solo'", '""']),
    ],
)
def test_what_cannot_be_defined_is_one_sentence(tmp_path, kernel, words):
    with pytest.raises(RuntimeError) as caught:
        torchplug.load_operators(str(compile_operator(tmp_path, kernel)))
    said = str(caught.value)
    assert all(word in said for word in words), said
    assert "\n" not in said
    assert not hasattr(torch.ops.solo, "f")


@pytest.mark.parametrize(
    ("gradient", "place", "why"),
    [
        (
            "x: aten::mull.Tensor(grad, x)",
            "aten::mull.Tensor(grad, x)",
            "no operator aten::mull.Tensor",
        ),
        ("x: aten::mul.Tenso(grad, x)", "aten::mul.Tenso(grad, x)", "no operator aten::mul.Tenso"),
        ("x: aten::neg(solo::g(grad))", "solo::g(grad))", "no operator solo::g"),
        ("x, w: aten::neg(grad)", "aten::neg(grad)", "has 1 result, and 2 gradients"),
        ("x: aten::max.dim(grad, 0)", "aten::max.dim(grad, 0)", "has 2 results; say which"),
        ("x: aten::max.dim(grad, 0).2", "aten::max.dim(grad, 0).2", "has 2 results"),
        ("x: aten::mul.Tensor(grad)", "aten::mul.Tensor(grad)", "its argument 'other'"),
        ("x: aten::mul.Tensor(grad, x, w)", "w)", "takes 2 arguments and is given 3"),
        ("x: aten::add.Tensor(grad, x, alfa=2)", "alfa=2)", "no argument 'alfa'"),
        ("x: aten::mul.Tensor(grad, x, other=x)", "other=x)", "'other' twice"),
        (
            "x: aten::mul.Tensor(grad, by)",
            "by)",
            "'other' of aten::mul.Tensor is Tensor, and a float",
        ),
        ("x: aten::mul.Tensor(grad, None)", "None)", "None is given"),
        ("x: aten::sum.dim_IntList(grad, [0, 1.5])", "1.5])", "a float is given"),
        ("x: aten::mul.Scalar(grad, x)", "x)", "a Tensor is given"),
        ("x: later::f(aten::mull.Tensor(grad, x))", "aten::mull.Tensor(grad, x))", "no operator"),
        ("x: by", "by", "the gradient of 'x' is Tensor"),
    ],
)
def test_a_gradient_that_cannot_be_computed_is_one_sentence_at_load(tmp_path, gradient, place, why):
    kernel = (
        '.schema = "solo::f(Tensor x, Tensor? w=None, float by=1.0, int n=1) -> Tensor", '
        f'{HOST}, .shapes = "x", .gradient = "{gradient}"'
    )
    with pytest.raises(RuntimeError) as caught:
        torchplug.load_operators(compile_operator(tmp_path, kernel))
    said = str(caught.value)
    assert said.startswith(f"The gradient of solo::f, \"{gradient}\", cannot be read at '{place}'")
    assert why in said and "\n" not in said
    assert not hasattr(torch.ops.solo, "f")


def test_a_gradient_that_fails_later_names_the_operator_and_its_text(tmp_path):
    """What only a call can tell: an operator of a library that is not loaded, shapes."""
    for name, gradient, words in [
        ("tardy", "x: later::f(grad)", ["later::f", "no such operator", "load"]),
        ("askew", "x: aten::mm(grad, x)", ["matrix"]),
        ("apt", "x: aten::sum.dim_IntList(aten::mul.Tensor(grad, w), [0], True)", None),
    ]:
        kernel = (
            f'.schema = "{name}::f(Tensor x, Tensor w) -> Tensor", {HOST}, .shapes = "x", '
            f'.gradient = "{gradient}"'
        )
        torchplug.load_operators(compile_operator(tmp_path, kernel, name))
        x = torch.ones(1, requires_grad=True)
        result = getattr(torch.ops, name).f(x, torch.ones(1)).sum()
        if words is None:
            result.backward()
            assert x.grad.tolist() == [1.0]
            continue
        with pytest.raises(RuntimeError) as caught:
            result.backward()
        assert all(word in str(caught.value) for word in [*words, f"{name}::f", gradient])


@pytest.mark.parametrize("name", ["quantized", "prim"])
def test_a_namespace_that_is_taken_is_refused(tmp_path, name):
    kernel = f'.schema = "{name}::f(Tensor x) -> Tensor", {HOST}, .shapes = "x"'
    with pytest.raises(RuntimeError, match=rf"'{name}'.*another library"):
        torchplug.load_operators(str(compile_operator(tmp_path, kernel, name)))


def test_a_namespace_that_python_has_taken_is_refused(tmp_path):
    library = torch.library.Library("taken_by_python", "FRAGMENT")
    library.define("f(Tensor x) -> Tensor")
    name = "taken_by_python"
    kernel = f'.schema = "{name}::g(Tensor x) -> Tensor", {HOST}, .shapes = "x"'
    with pytest.raises(RuntimeError, match=r"another library"):
        torchplug.load_operators(str(compile_operator(tmp_path, kernel, name)))


def test_kernels_for_other_operators_are_reported(tmp_path, capfd):
    kernel = '.schema = "aten::relu(Tensor self) -> Tensor"'
    library = compile_operator(tmp_path, kernel, "helpless")
    assert torchplug.load_operators(str(library)) == []
    said = capfd.readouterr().err
    assert said.count("Warning") == 1 and "aten::relu" in said and "no device" in said


# ---- with a device ----

ON_DEVICE = """
import torch, torchplug, torch._dynamo.testing
own, device = torch.ops.owner, torch.device("owner")
def same(a, b): torch.testing.assert_close(a.cpu(), b)
x, w, bias = torch.randn(2, 3), torch.randn(4, 3), torch.randn(4)
dx, dw, db = (t.to(device) for t in (x, w, bias))
for _ in range(3):
    same(own.linear(dx, dw, db), torch.nn.functional.linear(x, w, bias))
    same(own.linear(dx.t().contiguous().t(), dw), x @ w.t())
    same(own.scale(dx, 2.0), x * 2)
same(own.linear(dx[:1], dw), x[:1] @ w.t())
def refusal(call):
    try: call()
    except (RuntimeError, NotImplementedError) as error: return str(error)
# Where it is, and that a device is told.
assert own.linear(dx, dw).device == torch.device("owner", 0)
assert own.told(dx, [dx, None], [1], [], True, "a")[9].item() == 0
# What is written.
y = dx.clone()
version = y._version
assert own.add_(y, dx) is y and y._version == version + 1
same(y, 2 * x)
cache = torch.zeros(4, 6, device=device)
own.store(cache[:, ::2], dx[0], 1)
expected = torch.zeros(4, 6)
expected[1, ::2] = x[0]
same(cache, expected)
# Shapes by the kernel, by a function; numbers; lists by way of the CPU.
same(own.positive(dx), x[x > 0])
same(own.stacked(dx, 2), x.expand(2, 2, 3))
same(own.stacked(dx, 3), x.expand(3, 2, 3))
assert own.count_positive(dx) == int((x > 0).sum())
assert own.positives(dx) == own.positives(x) and own.positives(dx)[2] == (x > 0).flatten().tolist()
assert own.largest(dx) == x.max().item() and own.largest(torch.tensor([7, 3], device=device)) == 7
for how in range(4):
    assert "host->output" in refusal(lambda: own.asks_wrongly(dx, how))
for here, there in zip(own.double_each([x, w]), own.double_each([dx, dw])): same(there, here)
# The dtypes of the device are not asked.
double = torch.randn(3, dtype=torch.float64)
same(own.halve(double.to(device)), double / 2)
# Random numbers of the device.
torch.manual_seed(3)
first = own.noise.like(dx).cpu()
torch.manual_seed(3)
same(own.noise.like(dx), first)
# Gradients.
gx, gw = dx.clone().requires_grad_(), dw.clone().requires_grad_()
hx, hw = x.clone().requires_grad_(), w.clone().requires_grad_()
own.linear(gx, gw, db).square().sum().backward()
torch.nn.functional.linear(hx, hw, bias).square().sum().backward()
same(gx.grad, hx.grad), same(gw.grad, hw.grad)
# One compile.
count = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
compiled = torch.compile(lambda x, w: own.linear(x, w) + 1, backend=count, dynamic=True)
for rows in (2, 5, 9): same(compiled(torch.ones(rows, 3, device=device), dw), torch.ones(rows, 3) @ w.t() + 1)
assert count.frame_count == 1
checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
torch.library.opcheck(own.scale.default, (dx.clone().requires_grad_(), 2.0), test_utils=checks)
# A graph.
static, graph = dx.clone(), torch.owner.Graph() if hasattr(torch.owner, "Graph") else None
if graph is not None:
    own.scale(static, 3.0)
    with torch.owner.graph(graph):
        out = own.scale(static, 3.0)
        own.add_(static, out)
    static.copy_(dx)
    graph.replay()
    same(out, 3 * x), same(static, 4 * x)
# What is refused.
own.fails(dx, 6)
assert "an old sentence" not in refusal(lambda: own.fails(dx, 1))
assert "the moon is not full" in refusal(lambda: own.fails(dx, 0)), refusal(lambda: own.fails(dx, 0))
assert "owner::fails" in refusal(lambda: own.fails(dx, 0))
assert "only float64" in refusal(lambda: own.halve(dx))
assert "same device" in refusal(lambda: own.linear(dx, w))
assert "takes tensors of the device 'owner' only" in refusal(lambda: own.halve(double))
# The ledger, and PyTorch's own operators.
ways = {entry.op: entry.way for entry in torchplug.ledger()}
assert ways["owner::linear"] == ways["owner::scale"] == ways["owner::halve"] == "kernel"
assert ways["owner::double_each"] == "kernel"
same(dx.relu(), x.relu())
# CPU tensors of the same operators.
same(own.linear(x, w), x @ w.t())
print("all")
"""


def test_a_devices_own_operators_work_on_it_and_on_the_cpu(owner):
    # Of a GPU beside the device, which PyTorch's compiler looks at, there would be a warning.
    assert run(ON_DEVICE, owner, CUDA_VISIBLE_DEVICES="") == ("all", "")


def test_a_device_loaded_for_its_operators_may_become_the_device_later(owner):
    code = f"""
import torch, torchplug
names = torchplug.load_operators({str(owner)!r})
assert "owner::scale" in names
assert torch.ops.owner.scale(torch.ones(2), 2.0).tolist() == [2.0, 2.0]
assert torch._C._get_privateuse1_backend_name() == "privateuseone"
torchplug.load({str(owner)!r})
assert torch.ops.owner.scale(torch.ones(2, device="owner"), 2.0).tolist() == [2.0, 2.0]
assert torchplug.load_operators({str(owner)!r}) == names
print("all")
"""
    assert run(code, "none") == ("all", "")


def test_a_device_gives_its_tensors_to_another_plugins_operators(operators):
    code = f"""
import torch, torchplug
torchplug.load_operators({str(operators)!r})
x = torch.randn(2, 3, device="hello")
print(torch.equal(torch.ops.acme.scale(x, 2.0).cpu(), x.cpu() * 2))
"""
    assert run(code, HELLO) == ("True", "")


ON_STREAMS = """
from helpers import capture
own, module = torch.ops.own_streams, torch.own_streams
x = torch.arange(6.0, device="own_streams")
default = own.where(x)
assert default[1] is False
# A stream of its own, behind work that takes a while.
slow = torch.randn(300, 300, device=x.device)
for turn in range(3):
    stream = module.Stream()
    stream.wait_stream(module.current_stream())
    with module.stream(stream):
        y = x + turn
        for _ in range(5):
            slow @ slow
        y.mul_(3)
        z = own.twice(y)
        assert own.where(x) == own.where(y) != default
    module.current_stream().wait_stream(stream)
    assert (z + 0).tolist() == [(i + turn) * 6 for i in range(6)]
assert own.where(x) == default
# In a graph: replays read what is there then.
def step():
    return own.twice(own.twice(x + 1)) + 1
graph, out = capture(module, step)
for start in (0.0, 5.0):
    x.copy_(torch.arange(6.0) + start)
    graph.replay()
    assert out.tolist() == [(i + start + 1) * 4 + 1 for i in range(6)]
told = []
with module.graph(module.Graph()):
    try: told.append(own.where(x)[1])
    except RuntimeError as error: told.append(str(error))
print(told)
"""


@pytest.mark.parametrize("layers", [{}, {"TORCHPLUG_LAYERS": "validate"}])
def test_own_operators_keep_to_their_stream_and_are_captured(tmp_path_factory, layers):
    plugin = compile_test_plugin(tmp_path_factory.mktemp("plugin"), "own_streams")
    assert output_of(ON_STREAMS, "own_streams", TORCHPLUG_DEVICE=plugin, **layers) == "[True]"
