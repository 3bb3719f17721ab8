"""A plug_compiler that is not one is refused in a sentence; the three functions are enough for torch.compile."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from helpers import output_of
from session import Session
from vendors import compile_example, compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

FAULT = "TORCHPLUG_ODD_COMPILER_FAULT"
LOAD = """
import os
from torchplug import _C
os.environ["{variable}"] = {fault!r}
try:
    _C.plugin_name({path!r})
except RuntimeError as error:
    print(str(error).splitlines()[0])
else:
    print("loaded")
"""
COMPILE = """
from torchplug import _C
module = torch.get_device_module(device)
x = torch.tensor([-1.0, 2.0, -3.0, 4.0], device=device)
try:
    (listed,) = _C.compiler_operators(0).values()
    text = f"operator {listed['place']} {listed['schema']}\\n"
    text += "graph(%x: f32[4]) {\\n  %y: f32[4] = aten::relu(%x)\\n  return %y\\n}\\n"
    group = _C.EngineGroup(0, _C.CompilerGraph(text), [], 8, False, "", [None])
    results = group.run([x], [])
    print(results if results is None else results[0].tolist())
except RuntimeError as error:
    print(str(error).splitlines()[0])
assert x.neg().sum().item() == -2  # the device is none the worse
"""


def is_one_sentence(text):
    return text.endswith(".") and "\n" not in text and "plugin 'odd_compiler'" in text.lower()


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "odd_compiler")


@pytest.fixture(scope="module")
def refusal_of(plugin, tmp_path_factory):
    """refusal_of(fault): why the plugin is not loaded. A library of its own for each."""
    session = Session("sim", TORCHPLUG_DEVICE="sim")

    def ask(fault):
        path = shutil.copy(plugin, tmp_path_factory.mktemp("copy") / "odd_compiler.so")
        return session(LOAD.format(variable=FAULT, fault=fault, path=str(path)))

    yield ask
    session.close()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no size", "plug_compiler"),
        ("no compile", "without compile. Implement"),
        ("no run", "without run. Implement"),
        ("no engine_destroy", "without engine_destroy. Implement"),
        ("identity alone", "part of identity, engine_save and engine_load"),
        ("no list", "1 schemas but no list"),
        ("no schema", "lists no operator"),
    ],
)
def test_a_compiler_that_is_none_is_refused_when_the_plugin_is_loaded(refusal_of, fault, words):
    said = refusal_of(fault)
    assert words in said and is_one_sentence(said)


def test_one_that_only_fails_later_is_loaded(refusal_of):
    assert refusal_of("a schema that is NULL") == "loaded"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("a schema that is NULL", "Schema 1 of the compiler of plugin 'odd_compiler' is NULL."),
        ("list_schemas fails", "the device does not answer"),
    ],
)
def test_a_list_that_is_none_is_refused_when_it_is_asked_for(plugin, fault, said):
    printed = output_of(COMPILE, "odd_compiler", TORCHPLUG_DEVICE=plugin, **{FAULT: fault})
    assert said in printed


@pytest.fixture(scope="module")
def session(plugin):
    """A process with the plugin, which looks for its fault at each call."""
    session = Session("odd_compiler", TORCHPLUG_DEVICE=str(plugin))
    yield session
    session.close()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("none", "[0.0, 2.0, 0.0, 4.0]"),
        ("an engine that is NULL", "compile returned PLUG_OK and no engine."),
        ("compile fails", "the chip has no such unit"),
        ("run fails", "the unit has overheated"),
        ("run says what plug.h has not", "failed (unknown status 77)"),
        ("run declines", "None"),  # then its nodes are run one by one
    ],
)
def test_what_a_compiler_then_gives_is_looked_at_too(session, fault, said):
    assert said in session(f"import os\nos.environ[{FAULT!r}] = {fault!r}\n{COMPILE}")


MODEL = """
import torchplug.compile

compiled = torch.compile(lambda x: torch.relu(x) * 2, backend="torchplug")
x = torch.tensor([-1.0, 2.0], device=device)
try:
    print([compiled(x).tolist() for _ in range(2)])
    report = torchplug.compile.explain(lambda x: torch.relu(x) * 2, x)
    print([(group.compiled, group.disk) for graph in report.graphs for group in graph.groups])
    print([why for graph in report.graphs for _, why in graph.eager])
except Exception as error:
    print(str(error))
"""


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("identity fails", "the chip has no name"),
        ("saves none", "the plugin cannot save this engine"),
        ("saves nothing", "engine_save returned PLUG_OK and wrote nothing."),
    ],
)
def test_engines_that_cannot_be_kept_are_compiled_in_each_process(plugin, tmp_path, fault, said):
    settings = {FAULT: fault, "TORCHPLUG_CACHE_DIR": tmp_path}
    results, groups, _ = output_of(
        MODEL, "odd_compiler", TORCHPLUG_DEVICE=plugin, **settings
    ).splitlines()
    assert results == "[[0.0, 4.0], [0.0, 4.0]]"
    assert groups.startswith("[(1, ") and said in groups


def test_what_a_partition_says_is_text_whatever_its_bytes(plugin, tmp_path):
    settings = {FAULT: "partition is no text", "TORCHPLUG_CACHE_DIR": tmp_path}
    printed = output_of(MODEL, "odd_compiler", TORCHPLUG_DEVICE=plugin, **settings)
    assert printed.splitlines()[0] == "[[0.0, 4.0], [0.0, 4.0]]" and "'it is ??'" in printed


def test_a_partition_that_is_none_names_the_plugin(plugin, tmp_path):
    settings = {FAULT: "groups what is not listed", "TORCHPLUG_CACHE_DIR": tmp_path}
    printed = output_of(MODEL, "odd_compiler", TORCHPLUG_DEVICE=plugin, **settings)
    assert "Plugin 'odd_compiler': the compiler's partition puts" in printed


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ({"LAYERS": "validate"}, "[0.0, 2.0, 0.0, 4.0]"),
        ({"LAYERS": "fault", "FAULT": "kernel:1:timeout"}, "timeout"),
    ],
    ids=["validate", "fault"],
)
def test_engines_are_called_through_the_layers_around_kernels(plugin, layers, said):
    settings = {f"TORCHPLUG_{name}": value for name, value in layers.items()}
    printed = output_of(COMPILE, "odd_compiler", TORCHPLUG_DEVICE=plugin, **settings)
    assert said in printed


# ---- the example ----


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return compile_example(tmp_path_factory.mktemp("example"))


EXAMPLE = """
import torchplug
import torchplug.compile

def f(x, y):
    return torch.relu(x * y + 2.5).tanh().exp() + x.cumsum(0)

x, y = torch.randn(3, 5), torch.randn(3, 5)
compiled = torch.compile(f, backend="torchplug", dynamic=True)
for rows in (3, 2, 3):  # an engine for each, since the example takes no symbols
    there = compiled(x[:rows].to(device), y[:rows].to(device)).cpu()
    torch.testing.assert_close(there, f(x[:rows], y[:rows]))
assert sum(e.count for e in torchplug.ledger() if e.way == "engine") >= 3
(graph,) = torchplug.compile.explain(f, x.to(device), y.to(device)).graphs
assert ("aten::cumsum", "the compiler does not list it") in graph.eager
assert sum(group.compiled for group in graph.groups) == len(graph.groups) > 0

w = torch.randn(5, requires_grad=True)
def loss(x, w):
    return (torch.relu(x * w).tanh() * x).sum()

there = w.detach().to(device).requires_grad_()
torch.compile(loss, backend="torchplug")(x.to(device), there).backward()
loss(x, w).backward()
torch.testing.assert_close(there.grad.cpu(), w.grad)
"""


def test_the_example_is_short_and_torch_compile_uses_it(example):
    assert len((ROOT / "examples" / "compiler" / "compiler.c").read_text().splitlines()) <= 200
    output_of(EXAMPLE, "fuse", TORCHPLUG_DEVICE=example)


STRIDES = """
def as_they_lie(x):
    y = x.t().relu()
    return y, y.as_strided((12,), (1,)).exp()

def behind_a_break(x):
    y = x.t().relu()
    torch._dynamo.graph_break()
    return y.t().view(-1) * 2, y.as_strided((12,), (1,))

def trained(x):
    y = (x.t() * 2).tanh().exp()
    return (y.t().reshape(-1) * torch.arange(12.0, device=x.device)).sum()

x = torch.arange(12.0).view(3, 4)
for dynamic in (False, True):
    for f in (as_they_lie, behind_a_break):
        for given in (x, x.view(4, 3)):
            torch._dynamo.reset()
            there = torch.compile(f, backend="torchplug", dynamic=dynamic)(given.to(device))
            for actual, expected in zip(there, f(given), strict=True):
                torch.testing.assert_close(actual.cpu(), expected)
                assert actual.stride() == expected.stride()
    torch._dynamo.reset()
    here, there = (x.clone().to(one).requires_grad_() for one in ("cpu", device))
    trained(here).backward()
    torch.compile(trained, backend="torchplug", dynamic=dynamic)(there).backward()
    torch.testing.assert_close(there.grad.cpu(), here.grad)
"""


def test_results_have_pytorchs_strides_though_the_compiler_takes_none(example):
    output_of(STRIDES, "fuse", TORCHPLUG_DEVICE=example)
