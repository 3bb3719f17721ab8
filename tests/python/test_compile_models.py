"""torch.compile(backend="torchplug") on whole models: twenty steps as in eager, and how much of them is in engines."""

import os

import pytest
import torch
from compiled_models import MODELS, Llama
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
KINDS = [
    pytest.param(name, dtype, marks=[] if (name, dtype) in FEW else [SWEEP], id=f"{name}-{dtype}")
    for FEW in [{("residual", torch.float32), ("llama", torch.bfloat16)}]
    for name in MODELS
    for dtype in TOLERANCES
]


@pytest.fixture(autouse=True)
def compiling(compiling_afresh):
    pass


@pytest.mark.parametrize(("name", "dtype"), KINDS)
def test_twenty_steps_of_a_model_are_as_eager(device, name, dtype):
    make, inputs = MODELS[name]
    model, given = trains_as_eager(make, inputs(), device, dtype, **TOLERANCES[dtype])
    model.eval()
    with torch.no_grad():
        assert_same(compiled(model)(*given), model(*given), **TOLERANCES[dtype])


def test_no_group_of_a_model_copies_what_a_view_could_show(device):
    """Whoever takes a part, or another shape, of what a group gives looks at it."""
    for make, inputs in MODELS.values():
        call = compiled(make().to(device))
        call(*(x.to(device) for x in inputs())).float().sum().backward()
    groups = [group for program in _backend.programs for group in program.groups]
    assert len(groups) > 20
    assert [node for group in groups for node in group.outputs if _graph.is_view(node)] == []


def generate(model, call, device, length=6):
    """Tokens that the model finds likeliest, one by one, and its cache."""
    cache = torch.zeros(2, 1, 2, 8, 4, device=device)
    tokens = [torch.tensor([[3]], device=device)]
    for place in range(length):
        logits = call(tokens[-1], cache, torch.tensor(place, device=device))
        tokens.append(logits[:, -1:].argmax(-1))
    return torch.cat(tokens, 1), cache


@torch.no_grad()
def test_a_decoder_generates_as_in_eager_and_writes_its_cache_in_place(device):
    model = Llama().to(device)
    expected = generate(model, model, device)
    actual = generate(model, compiled(model), device)
    assert_same(actual, expected, rtol=1e-4, atol=1e-5)
    assert total("runs") >= 6
    updates = [
        place for program in _backend.programs for g in program.groups for place in g.updates
    ]
    assert any(place >= 0 for place in updates), "the cache is copied"


WHOLE = """
import torchplug.compile
from compiled_models import MODELS
torch.manual_seed(0)
for name, (make, inputs) in MODELS.items():
    model = make().to(device)
    report = torchplug.compile.explain(model, *(x.to(device) for x in inputs()))
    for graph in report.graphs:
        print(name, graph.kind, round(graph.share, 3), len(graph.groups))
"""


def test_a_compiler_of_whole_models_gets_nearly_all_nodes_in_two_groups(device):
    lines = output_of(WHOLE, device, TORCHPLUG_SIM_COMPILER="whole").splitlines()
    assert len(lines) == 2 * len(MODELS)
    for line in lines:
        _, _, share, groups = line.split()
        assert float(share) >= 0.95, line
        assert int(groups) <= 2, line


WHOLE_STEPS = """
from compiled_models import MODELS
from compiling import trains_as_eager
from torchplug.compile import _backend, _graph
_backend.programs = []
make, inputs = MODELS[sys.argv[2]]
trains_as_eager(make, inputs(), device, steps=5, rtol=1e-3, atol=1e-4)
"""


@pytest.mark.parametrize(
    "name",
    [
        "residual",
        pytest.param("bert", marks=SWEEP),
        pytest.param("unet", marks=SWEEP),
        pytest.param(
            "llama",
            marks=[
                SWEEP,
                pytest.mark.xfail(
                    strict=True, reason="sim's attention takes as many heads of k as of q"
                ),
            ],
        ),
    ],
)
def test_a_model_that_is_compiled_whole_trains_as_eager(device, name):
    output_of(WHOLE_STEPS, device, name, TORCHPLUG_SIM_COMPILER="whole")
