"""torchplug.compile.explain and precompile: what they say, and what they leave; waits for compilers that take long."""

import copy
from pathlib import Path

import pytest
import torch
from compiling import (
    compiled,
    perceptron,
)
from helpers import assert_equal, output_of
from torch import nn
from torch.nn import functional as F

import torchplug
from torchplug.compile import _backend, _progress

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


# ---- explain and precompile leave no traces ----


class Stateful(nn.Module):
    """Writes a buffer, its input, and draws random numbers."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.layer = nn.Linear(8, 8)

    def forward(self, x, cache):
        cache.add_(1)
        return F.dropout(self.layer(self.norm(x)), 0.5) + cache.sum()


@pytest.mark.parametrize("tool", ["explain", "precompile"])
def test_a_model_is_as_before_when_it_was_explained_or_precompiled(device, tool):
    model = Stateful().to(device)
    model.layer.weight.grad = torch.ones_like(model.layer.weight)
    x, cache = torch.randn(4, 8, device=device), torch.zeros(3, device=device)
    module = torch.get_device_module(device)
    before = copy.deepcopy(model.state_dict())
    states = torch.get_rng_state(), module.get_rng_state()
    if tool == "explain":
        torchplug.compile.explain(model, x, cache)
    else:
        torchplug.compile.precompile(model, (x, cache))
    assert_equal(model.state_dict(), before)
    assert_equal(cache, torch.zeros(3))
    assert_equal(model.layer.weight.grad, torch.ones(8, 8))
    assert model.layer.bias.grad is None
    assert_equal((torch.get_rng_state(), module.get_rng_state()), states)


class Replacing(nn.Module):
    """Assigns what it has, instead of writing it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3))
        self.calls = 0

    def forward(self, x):
        self.kept = self.kept + x
        self.calls += 1
        self.last = x.exp() * self.kept
        return self.last


@pytest.mark.parametrize("tool", ["explain", "precompile"])
def test_what_a_model_assigns_is_as_before_too(device, tool):
    model = Replacing().to(device)
    before = model.kept
    getattr(torchplug.compile, tool)(model, torch.ones(3, device=device))
    assert model.kept is before and model.calls == 0 and not hasattr(model, "last")
    assert_equal(model.kept, torch.zeros(3))
    assert list(model.state_dict()) == ["kept"]


def test_explain_leaves_other_compiled_functions_as_they_are(device):
    counted = []

    def counting(module, inputs):
        counted.append(1)
        return module.forward

    def fn(x):
        return (x * 2).exp()

    x = torch.randn(3, 4, device=device)
    other = torch.compile(fn, backend=counting)
    ours = compiled(fn)
    other(x), ours(x)
    programs = len(_backend.programs)
    for rows in (3, 5):
        torchplug.compile.explain(fn, torch.randn(rows, 4, device=device))
    other(x), ours(x)
    assert len(counted) == 1
    assert len(_backend.programs) == programs


def test_explain_is_about_the_inputs_that_it_is_given(device):
    def fn(x):
        torch._dynamo.graph_break()
        return x.exp()

    for rows in range(2, 14):  # more than PyTorch would compile one function for
        report = torchplug.compile.explain(fn, torch.randn(rows, 4, device=device))
        (graph,) = report.graphs
        assert graph.groups[0].runs == 1


@pytest.mark.pytorch("what is explained counts among a function's compiles", since=(2, 13))
def test_explain_takes_nothing_of_what_a_function_may_be_compiled_for(device):
    def fn(x):
        torch._dynamo.graph_break()
        return x.exp()

    for rows in range(2, 14):
        torchplug.compile.explain(fn, torch.randn(rows, 4, device=device))
    before = len(_backend.programs)
    call = compiled(fn)
    call(torch.randn(3, 4, device=device))
    assert len(_backend.programs) == before + 1


def test_explain_of_a_compiled_model_is_about_the_model(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    call = compiled(model)
    call(x)
    assert len(torchplug.compile.explain(call, x).graphs) == 2
    fn = compiled(lambda x: x.exp() + 1)
    fn(x)
    assert len(torchplug.compile.explain(fn, x).graphs) == 1


def test_explain_sums_up_seconds_and_cache_hits(device, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_CACHE_DIR", str(tmp_path / "engines"))
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    first = torchplug.compile.explain(model, x)
    again = torchplug.compile.explain(model, x)
    count = sum(len(graph.groups) for graph in first.graphs)
    assert (first.compiled, first.loaded) == (count, 0)
    assert (again.compiled, again.loaded) == (0, count)
    assert first.seconds > again.seconds > 0
    assert (
        str(first).splitlines()[-1]
        == f"engines: {count} compiled, 0 from disk, {first.seconds:.2f} s"
    )


# ---- compilers that take long, in processes of their own ----

WAITED = """
import torchplug.compile
from torchplug.compile import _backend
_backend.programs = []
layer = torch.nn.Linear(4, 4).to(device)
fn = lambda x: layer(x * 2).softmax(-1)
x = torch.randn(3, 4, device=device)
call = torchplug.compile.precompile(fn, x, options={"background": True, "cache": False})
call(x).sum().backward()
groups = [group.engines.report() for program in _backend.programs for group in program.groups]
print(all(group["compiled"] == 1 and group["runs"] == 1 for group in groups), len(groups) > 1)
"""


def test_precompile_waits_for_engines_that_are_made_in_the_background(device):
    assert output_of(WAITED, device, TORCHPLUG_SIM_COMPILE_SECONDS="1") == "True True"


def test_precompile_says_what_failed_in_the_background(device, monkeypatch):
    options = {"background": True, "cache": False, "plugin": {"unknown": "1"}}
    with pytest.raises(RuntimeError, match="names 'unknown', but sim's compiler has no options"):
        torchplug.compile.precompile(
            lambda x: x.exp() * 5, torch.ones(3, device=device), options=options
        )
    options["on_error"] = "eager"
    x = torch.ones(3, device=device)
    with pytest.warns(UserWarning, match="Its operators run one by one") as told:
        call = torchplug.compile.precompile(lambda x: x.exp() * 6, x, options=options)
    assert_equal(call(x), x.exp() * 6)
    assert {Path(one.filename).name for one in told} == {Path(__file__).name}


INTERRUPTED = """
import signal, threading, time
import torchplug.compile
from torchplug import _C

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the parent process ignores

def interrupt():
    while not _C.compilations_under_way():
        time.sleep(0.01)
    began.append(time.monotonic())
    signal.raise_signal(signal.SIGINT)

began = []
call = torch.compile(lambda x: (x * 2).exp(), backend="torchplug", options={"cache": False})
threading.Thread(target=interrupt).start()
try:
    call(torch.ones(3, device=device))
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - began[0] < 2)
"""


def test_ctrl_c_ends_the_wait_for_a_compiler_at_once(device):
    assert output_of(INTERRUPTED, device, TORCHPLUG_SIM_COMPILE_SECONDS="600") == "interrupted True"


LEFT = """
import torchplug.compile
from torchplug import _C
call = torch.compile(
    lambda x: (x * 2).exp(), backend="torchplug", options={"background": True, "cache": False}
)
print(call(torch.zeros(3, device=device)).tolist(), len(_C.compilations_under_way()))
"""


def test_a_process_ends_while_a_compiler_works(device):
    """Within the time that a child process has; the compiler would take five times that."""
    assert output_of(LEFT, device, TORCHPLUG_SIM_COMPILE_SECONDS="600") == "[1.0, 1.0, 1.0] 1"


WAITING = """
import atexit, threading, time
import torchplug.compile
from torchplug import _C

call = torch.compile(lambda x: (x * 2).exp(), backend="torchplug", options={"cache": False})
x = torch.ones(3, device=device)
threading.Thread(target=lambda: call(x), daemon=True).start()
while not _C.compilations_under_way():
    time.sleep(0.01)
time.sleep(0.2)  # it waits, and looks whether it is to go on waiting
print("ends")
"""


def test_a_process_ends_while_a_thread_of_it_waits_for_a_compiler(device):
    assert output_of(WAITING, device, TORCHPLUG_SIM_COMPILE_SECONDS="600") == "ends"


SHOWN = """
import io, sys
import torchplug.compile

class Terminal(io.StringIO):
    def isatty(self):
        return sys.argv[2] == "terminal"

sys.stderr = Terminal()
call = torch.compile(lambda x: (x * 2).exp(), backend="torchplug", options={"cache": False})
call(torch.zeros(3, device=device))
said, sys.stderr = sys.stderr.getvalue(), sys.__stderr__
print("torchplug waits for the compiler of an engine" in said, said == "")
"""


@pytest.mark.parametrize(
    ("place", "expected"), [("terminal", "True False"), ("pipe", "False True")]
)
def test_a_terminal_shows_that_a_compiler_is_waited_for_and_a_pipe_does_not(
    device, place, expected
):
    settings = {"TORCHPLUG_SIM_COMPILE_SECONDS": "2", "TERM": "xterm"}
    # Of a GPU beside the device, which PyTorch's compiler looks at, there would be a warning.
    printed = output_of(SHOWN, device, place, CUDA_VISIBLE_DEVICES="", **settings)
    assert printed == expected


def test_what_is_shown_of_a_wait():
    assert _progress.line([0.25, 0.5], 3.2) == (
        "torchplug waits for the compiler of 2 engines: 3 s, 38% done"
    )
    assert _progress.line([0.0], 61.0) == "torchplug waits for the compiler of an engine: 61 s"
