"""torchplug.torchscript.enable() and disable(), and what they refuse."""

import threading

import pytest
import torch
from helpers import output_of
from scripting import as_eager, engine_runs, scripted, x

from torchplug import torchscript

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("groups"),
]


def test_enabling_twice_is_refused():
    with pytest.raises(RuntimeError, match=r"enabled already. Call disable\(\) first\."):
        torchscript.enable()


def test_disabling_twice_is_nothing_and_groups_are_interpreted_from_then_on(device):
    f = scripted("def f(x):\n  return torch.relu(x * 3.5) + x")
    as_eager(f, lambda x: torch.relu(x * 3.5) + x, device, x(3, 3))
    torchscript.disable()
    torchscript.disable()
    assert not torchscript.is_enabled()
    before = engine_runs()
    as_eager(f, lambda x: torch.relu(x * 3.5) + x, device, x(3, 3))
    assert engine_runs() == before
    torchscript.enable()
    as_eager(f, lambda x: torch.relu(x * 3.5) + x, device, x(3, 3))
    assert engine_runs() > before


def test_disabling_while_groups_run_is_safe(device):
    f = scripted("def f(x):\n  return torch.relu(x * 4.5) + x")
    as_eager(f, lambda x: torch.relu(x * 4.5) + x, device, x(3, 3))
    given = x(3, 3).to(device)
    expected = (torch.relu(given * 4.5) + given).cpu()
    wrong = []
    done = threading.Event()

    def work():
        while not done.is_set():
            if not torch.equal(f(given).cpu(), expected):
                wrong.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(50):
        torchscript.disable()
        torchscript.enable()
    done.set()
    thread.join()
    assert wrong == []


def test_what_pytorch_cannot_run_gives_its_error(device):
    f = scripted("def f(x, y):\n  return torch.relu(x) @ y")
    as_eager(f, lambda x, y: torch.relu(x) @ y, device, x(3, 4), x(4, 2), rtol=1e-4, atol=1e-5)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            f(x(3, 4).to(device), x(3, 2).to(device))
    as_eager(f, lambda x, y: torch.relu(x) @ y, device, x(3, 4), x(4, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_error": "never"}, "Option 'on_error' is 'never'. It may be \"raise\" or \"eager\"."),
        ({"engines": 0}, "Option 'engines' is 0. Give at least 1."),
        ({"min_nodes": 0}, "Option 'min_nodes' is 0. Give at least 1."),
    ],
)
def test_an_option_that_is_none_is_refused_in_one_sentence(options, said):
    with pytest.raises(ValueError) as raised:
        torchscript.enable(**options)
    assert str(raised.value) == said


def test_what_is_of_another_type_is_refused_in_one_sentence():
    with pytest.raises(
        TypeError, match=r"Option 'engines' is '8'\. Give an integer of at least 1\."
    ):
        torchscript.enable(engines="8")
    for given in (torch.nn.Linear(2, 2), None):
        with pytest.raises(
            TypeError, match=r"which is no ScriptModule\. Give it torch\.jit\.script"
        ):
            torchscript.lower(given)


FAILING = """
import torch, warnings
warnings.simplefilter("ignore")
from torchplug import _C, torchscript
_C.set_faults("compile:1+")
f = torch.jit.CompilationUnit("def f(x):\\n  return torch.relu(x * 2.0) + x\\n").f
x = torch.ones(3, device="{device}")
for on_error in ("raise", "eager"):
    torchscript.enable(on_error=on_error)
    for _ in range(4):
        try:
            print(f(x).tolist())
        except RuntimeError as error:
            print([line for line in str(error).splitlines() if "compile failed" in line])
    torchscript.disable()
    f = torch.jit.CompilationUnit("def f(x):\\n  return torch.relu(x * 2.0) + x\\n").f
"""


def test_a_compile_that_fails_is_an_error_or_leaves_operators_one_by_one(device, tmp_path):
    said = output_of(
        FAILING.replace("{device}", device.type),
        device,
        TORCHPLUG_LAYERS="fault",
        TORCHPLUG_CACHE_DIR=str(tmp_path),
    )
    right = "[3.0, 3.0, 3.0]"
    wrong = "sim:0: compile failed (internal error): the fault layer was told 'compile:1+'."
    wrong = str([f"RuntimeError: {wrong}"])
    assert said.splitlines() == [right, right, wrong, wrong, *[right] * 4]


REFUSED = """
import torch
from torchplug import torchscript
try:
    torchscript.enable()
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""


def test_a_device_without_a_compiler_is_told_so_in_one_sentence(device):
    said = output_of(REFUSED, device, TORCHPLUG_SIM_COMPILER="off")
    assert said == (
        "Plugin 'sim' has no compiler (plug_module.compiler), so that there is nothing to run groups with. "
        "Run scripted modules as they are."
    )


def test_nothing_of_it_is_loaded_until_it_is_asked_for(device):
    said = output_of(
        'import torch\nimport torchplug\nprint("torchplug_torchscript" in open("/proc/self/maps").read())',
        device,
    )
    assert said == "False"
