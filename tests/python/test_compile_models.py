"""torch.compile(backend="torchplug") on whole models: twenty steps as in eager, and how much of them is in engines."""

import os

import pytest
import torch
from compiled_models import MODELS, SIZES, TRACED
from compiling import compiled, total, trains_as_eager
from helpers import assert_same, output_of

from torchplug.compile import _backend, _graph

pytestmark = pytest.mark.accelerator("it has a compiler", only="sim")

SWEEP = pytest.mark.skipif(
    os.environ.get("TORCHPLUG_TEST_SWEEP") != "all", reason="a case for TORCHPLUG_TEST_SWEEP=all"
)
TOLERANCES = {
    torch.float32: {"rtol": 1e-3, "atol": 1e-4},
    torch.bfloat16: {"rtol": 6e-2, "atol": 6e-2},
}


def kinds(few):
    """Every model with every dtype; those that are not among the few only in test-full."""
    return [
        pytest.param(name, dtype, marks=[] if (name, dtype) in few else [SWEEP])
        for name in MODELS
        for dtype in TOLERANCES
    ]


@pytest.fixture(autouse=True)
def compiling(compiling_afresh):
    with torch._dynamo.config.patch(TRACED):
        yield


FEW = {("residual", torch.float32), ("llama", torch.bfloat16), ("mixture", torch.float32)}


@pytest.mark.parametrize(("name", "dtype"), kinds(FEW))
def test_twenty_steps_of_a_model_are_as_eager(device, name, dtype):
    make, inputs, _ = MODELS[name]
    model, given = trains_as_eager(make, inputs(), device, dtype, **TOLERANCES[dtype])
    model.eval()
    with torch.no_grad():
        assert_same(compiled(model)(*given), model(*given), **TOLERANCES[dtype])


def test_no_group_of_a_model_copies_what_a_view_could_show(device):
    """Whoever takes a part, or another shape, of what a group gives looks at it."""
    for make, inputs, _ in MODELS.values():
        call = compiled(make().to(device))
        call(*(x.to(device) for x in inputs())).float().sum().backward()
    groups = [group for program in _backend.programs for group in program.groups]
    assert len(groups) > 20
    assert [node for group in groups for node in group.outputs if _graph.is_view(node)] == []


def generate(model, call, device, length=6):
    """Tokens that the model finds likeliest, one by one, and its cache."""
    head_width = SIZES.width // SIZES.heads
    cache = torch.zeros(SIZES.layers, 2, 1, SIZES.heads // 2, 8, head_width, device=device)
    tokens = [torch.tensor([[3]], device=device)]
    for place in range(length):
        logits = call(tokens[-1], cache, torch.tensor(place, device=device))
        tokens.append(logits[:, -1:].argmax(-1))
    return torch.cat(tokens, 1), cache


@torch.no_grad()
def generates_as_eager(model, device):
    expected = generate(model, model, device)
    actual = generate(model, compiled(model), device)
    assert_same(actual, expected, rtol=1e-4, atol=1e-5)
    assert total("runs") >= 6
    updates = [
        place for program in _backend.programs for g in program.groups for place in g.updates
    ]
    assert any(place >= 0 for place in updates), "the cache is copied"


def test_a_decoder_generates_as_in_eager_and_writes_its_cache_in_place(device):
    generates_as_eager(MODELS["llama"].make().to(device), device)


# ---- a compiler of whole models, in a process of its own ----

WHOLE = """
import torchplug.compile
from compiled_models import MODELS, TRACED
torch.manual_seed(0)
with torch._dynamo.config.patch(TRACED):
    for name, (make, inputs, _) in MODELS.items():
        report = torchplug.compile.explain(make().to(device), *(x.to(device) for x in inputs()))
        for graph in report.graphs:
            declined = sum(len(group.declined) for group in graph.groups)
            outside = ",".join(sorted({operator for operator, _ in graph.eager}))
            print(name, graph.kind, graph.share, len(graph.groups), declined, outside)
"""


@pytest.fixture(scope="module")
def shares(device, engine_directory):
    """Of each model: for each graph the share of nodes in groups, how many these are, how many were declined, what is in none."""
    env = {"TORCHPLUG_SIM_COMPILER": "whole", "TORCHPLUG_CACHE_DIR": engine_directory}
    found = {}
    for line in output_of(WHOLE, device, **env).splitlines():
        name, _, share, groups, declined, *outside = line.split()
        found.setdefault(name, []).append((float(share), int(groups), int(declined), outside))
    return found


@pytest.mark.parametrize("name", list(MODELS))
def test_a_compiler_of_whole_models_gets_nearly_all_nodes_in_two_groups(shares, name):
    assert len(shares[name]) == 2, "forward and backward"
    for share, groups, declined, outside in shares[name]:
        assert share >= 0.95
        assert groups <= 2
        assert declined == 0
        assert outside == [] or (name, outside) == ("mixture", ["aten::nonzero"])


WHOLE_STEPS = """
from compiled_models import MODELS, TRACED
from compiling import trains_as_eager
from torchplug.compile import _backend, _graph
_backend.programs = []
make, inputs, _ = MODELS[sys.argv[2]]
dtype = getattr(torch, sys.argv[3])
rtol, atol = map(float, sys.argv[4:])
with torch._dynamo.config.patch(TRACED):
    trains_as_eager(make, inputs(), device, dtype, rtol=rtol, atol=atol)
"""


@pytest.mark.parametrize(("name", "dtype"), kinds({("residual", torch.float32)}))
def test_a_model_that_is_compiled_whole_trains_as_eager(device, name, dtype):
    short, tolerance = str(dtype).removeprefix("torch."), TOLERANCES[dtype].values()
    output_of(WHOLE_STEPS, device, name, short, *tolerance, TORCHPLUG_SIM_COMPILER="whole")


WHOLE_DECODER = """
from compiled_models import MODELS
from test_compile_models import generates_as_eager
from torchplug.compile import _backend
_backend.programs = []
generates_as_eager(MODELS["llama"].make().to(device), device)
"""


def test_a_decoder_that_is_compiled_whole_generates_as_in_eager(device):
    output_of(WHOLE_DECODER, device, TORCHPLUG_SIM_COMPILER="whole")
