"""What a plugin's kernel for any operator answers changes no stride, and lets no dtype pass that the CPU refuses."""

import pytest
from helpers import run_python
from session import Sessions
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("it brings its own plugin", only="sim")

PRELUDE = """
import warnings
import torchplug

warnings.filterwarnings("ignore", "An output with one or more elements was resized")
LAYOUTS = {
    "contiguous": torch.rand(2, 3, 4, 5),
    "channels_last": torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    "transposed": torch.rand(5, 4, 3, 2).permute(3, 2, 1, 0),
    "sliced": torch.rand(2, 3, 4, 10)[..., ::2],
    "expanded": torch.rand(2, 1, 1, 5).expand(2, 3, 4, 5),
}
UNARY = "abs neg exp sin sqrt sgn ceil logical_not isnan isinf signbit".split()
BINARY = "add sub mul div maximum eq logical_and atan2 copysign".split()


def there(tensor):
    base = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    return base.copy_(tensor) if 0 not in tensor.stride() else base


def same_strides(what, function, *given):
    expected = function(*given)
    moved = [there(tensor) for tensor in given]
    for _ in range(3):
        made = function(*moved)
        assert made.dtype == expected.dtype and made.shape == expected.shape, what
        assert made.stride() == expected.stride(), (what, made.stride(), expected.stride())
"""

ANSWERS = ["takes", "declines", "prepares_none"]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "any_answers")


@pytest.fixture(scope="module")
def run(plugin):
    sessions = Sessions("any_answers", plugin, PRELUDE)
    yield sessions
    sessions.close()


@pytest.fixture(params=ANSWERS)
def answered(run, request):
    return lambda code: run(code, TORCHPLUG_ANY_ANSWERS_HOW=request.param)


def test_new_results_have_the_strides_that_the_cpu_gives(answered):
    answered("""
for layout, x in LAYOUTS.items():
    for name in UNARY:
        same_strides((name, layout), getattr(torch, name), x)
    for name in BINARY:
        same_strides((name, layout), getattr(torch, name), x, x)
        same_strides((name, layout), getattr(torch, name), x, LAYOUTS["channels_last"])
""")


@pytest.mark.parametrize("size", ["(0,)", "(3,)", "(2, 3, 4, 5)"])
def test_an_output_that_is_resized_has_the_strides_that_the_cpu_gives(answered, size):
    answered(f"""
for layout, x in LAYOUTS.items():
    for name in (*UNARY, *BINARY):
        if name in ("isnan", "isinf"):
            continue  # have no out=
        count = 1 if name in UNARY else 2
        dtype = getattr(torch, name)(*[x] * count).dtype

        def into(*given):
            out = torch.empty({size}, dtype=dtype, device=given[0].device)
            return getattr(torch, name)(*given, out=out)

        same_strides((name, layout, "out="), into, *[x] * count)
""")


def test_lists_have_the_strides_that_the_cpu_gives(answered):
    answered("""
for layout, x in LAYOUTS.items():
    for dtype in (torch.float32, torch.int32, torch.bfloat16):
        expected = torch._foreach_abs([x.to(dtype), x[0].to(dtype)])
        for _ in range(2):
            made = torch._foreach_abs([there(x.to(dtype)), there(x[0].to(dtype))])
            assert [t.stride() for t in made] == [t.stride() for t in expected], (layout, dtype)
""")


def test_an_output_of_a_dtype_that_the_cpu_refuses_is_refused_in_its_words(answered):
    answered("""
calls = {
    "neg": lambda x: torch.neg(x, out=torch.empty(3, dtype=torch.float64, device=x.device)),
    "neg, resized": lambda x: torch.neg(x, out=torch.empty(0, dtype=torch.float64, device=x.device)),
    "add": lambda x: torch.add(x, x, out=torch.empty(3, dtype=torch.int32, device=x.device)),
    "shared": lambda x: torch.add(x[:1].expand(2, 3), x, out=x),
}
for name, call in calls.items():
    errors = []
    for place in ("cpu", device, device):
        try:
            call(torch.ones(3, device=place))
        except RuntimeError as error:
            errors.append(str(error))
    assert len(errors) == 3 and len(set(errors)) == 1, (name, errors)
exact = torch.exp(torch.ones(3, device=device), out=torch.empty(3, dtype=torch.float64, device=device))
assert exact.dtype == torch.float64
""")


UNSHAPED = """
lib = torch.library.Library("unshaped", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.impl("twice", lambda x: torch.cat([x, x]), "CPU")
"""


def test_the_ledger_says_of_prepare_that_it_shaped_nothing(run):
    run(
        UNSHAPED
        + """
for _ in range(2):
    assert torch.ops.unshaped.twice(torch.ones(2, device=device)).tolist() == [1.0] * 4
(entry,) = [entry for entry in torchplug.ledger() if entry.op == "unshaped::twice"]
assert entry.count == 2 and entry.way == "stage"
assert entry.reason == "neither PyTorch nor the plugin's prepare says what shape its results have", entry
""",
        TORCHPLUG_ANY_ANSWERS_HOW="shapes_none",
    )


def test_validate_says_of_prepare_that_it_shaped_nothing(plugin):
    done = run_python(
        UNSHAPED + "torch.ops.unshaped.twice(torch.ones(2, device=device))",
        "any_answers",
        TORCHPLUG_DEVICE=plugin,
        TORCHPLUG_LAYERS="validate",
        TORCHPLUG_ANY_ANSWERS_HOW="shapes_none",
    )
    assert done.returncode != 0
    assert (
        "VALIDATE-kernel-result: prepare of `any` returned PLUG_OK for unshaped::twice"
        in done.stderr
    )
