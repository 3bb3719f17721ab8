"""The layers between PyTorch and a plugin, as a user of Python meets them; docs/layers.md."""

import re
import subprocess
from pathlib import Path

import pytest
from helpers import output_of, run_python
from vendors import compile_test_plugin

import torchplug._C
from torchplug.cli import plug_check

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "layers.md").read_text()

MODEL = """
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).to(device)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    model(torch.ones(4, 8, device=device)).sum().backward()
    optimizer.step()
torch.accelerator.synchronize()
"""


def test_the_page_lists_every_id_with_its_meaning():
    listed = dict(re.findall(r"^\| `(VALIDATE-[a-z-]+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert listed == torchplug._C.validation_rules()


def test_the_page_lists_every_check_of_plug_check():
    program = [plug_check.program(), "--list"]
    output = subprocess.run(program, capture_output=True, text=True, check=True)
    listed = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert listed == [tuple(line.split(None, 1)) for line in output.stdout.splitlines()]


@pytest.mark.accelerator("the CPU has no layers")
def test_validate_has_nothing_to_say_of_training(device):
    code = MODEL + (
        "from torchplug import _C\nprint(_C.active_layers(), _C.validation_messages())\n"
    )
    done = run_python(code, device, TORCHPLUG_LAYERS="validate")
    assert (done.stdout, done.stderr) == ("['validate'] []\n", "")


@pytest.mark.accelerator("the CPU has no layers")
def test_what_is_not_given_back_is_listed_and_what_is_only_cached_is_not(device):
    settings = {"TORCHPLUG_LAYERS": "validate", "TORCHPLUG_LOG": 1}
    code = (
        "import ctypes; ctypes.pythonapi.Py_IncRef(ctypes.py_object(torch.ones(3, device=device)))"
    )
    held = run_python(code, device, **settings)
    assert "VALIDATE-leak: Not released at exit: 1 allocation (" in held.stderr
    code = MODEL + "del model, optimizer; import gc; gc.collect()"
    assert "VALIDATE" not in run_python(code, device, **settings).stderr


@pytest.mark.accelerator("the CPU has no layers")
def test_uninitialised_memory_shows(device):
    code = "print(torch.empty(1000, device=device).isnan().all().item())"
    assert output_of(code, device, TORCHPLUG_LAYERS="validate") == "True"


@pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")
@pytest.mark.parametrize(
    ("plugin", "id"),
    [("misaligned", "VALIDATE-alloc-alignment"), ("overruns", "VALIDATE-red-zone")],
)
def test_a_broken_plugin_raises_with_the_id(tmp_path, plugin, id):
    library = compile_test_plugin(tmp_path, plugin)
    code = "x = torch.ones(128, device=device); torch.accelerator.synchronize()"
    environment = {"TORCHPLUG_LAYERS": "validate", "TORCHPLUG_NO_MEMORY_CACHING": "1"}
    done = run_python(code, plugin, TORCHPLUG_DEVICE=library, **environment)
    assert done.returncode == 1 and id in done.stderr.splitlines()[-1]


@pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")
def test_validate_can_log_and_go_on(tmp_path):
    library = compile_test_plugin(tmp_path, "overruns")
    code = (
        "x = torch.ones(128, device=device); torch.accelerator.synchronize()\n"
        "from torchplug import _C\n"
        "print(x.sum().item(), [id for id, count, last in _C.validation_messages()])"
    )
    environment = {
        "TORCHPLUG_DEVICE": library,
        "TORCHPLUG_LAYERS": "validate",
        "TORCHPLUG_NO_MEMORY_CACHING": "1",  # a red zone behind every tensor, not behind every segment
    }
    done = run_python(code, "overruns", TORCHPLUG_VALIDATE="log", **environment)
    assert done.stdout == "128.0 ['VALIDATE-red-zone']\n"
    assert "VALIDATE-red-zone: Something wrote 0 bytes behind the end" in done.stderr


FAULTS = """
from torchplug import _C

def raises(kind, *words):
    class Context:
        def __enter__(self): pass
        def __exit__(self, type, error, _):
            assert type is not None and issubclass(type, kind), (type, error)
            assert all(word in str(error) for word in words), error
            _C.set_faults("")
            return True
    return Context()

x = torch.arange(6.0, device=device)
_C.set_faults("alloc>1048576")
with raises(torch.OutOfMemoryError, "alloc>1048576"):
    torch.empty(1 << 20, device=device)
_C.set_faults("copy:1")
with raises(RuntimeError, "copy failed (internal error)", "copy:1"):
    x.cpu()
_C.set_faults("later:1")
with raises(RuntimeError, "later:1"):
    x.clone()
    torch.accelerator.synchronize()
with raises(RuntimeError, "'nonsense:1'", "character 1"):
    _C.set_faults("nonsense:1")
assert (x + x).cpu().tolist() == [0, 2, 4, 6, 8, 10]
_C.set_faults("lost:1")
for _ in range(2):
    try:
        x.cpu()
    except torch.AcceleratorError as error:
        assert "device lost" in str(error)
    else:
        raise AssertionError("the device is there")
print("done")
"""


@pytest.mark.accelerator("the CPU has no layers")
@pytest.mark.parametrize("layers", ["fault", "validate,fault"])
def test_faults_can_be_armed_before_the_call_under_test(device, layers):
    assert output_of(FAULTS, device, TORCHPLUG_LAYERS=layers) == "done"


@pytest.mark.accelerator("the CPU has no layers")
def test_a_fault_from_the_environment(device):
    code = "torch.ones(3, device=device)"
    done = run_python(code, device, TORCHPLUG_LAYERS="fault", TORCHPLUG_FAULT="alloc:1+")
    last = done.stderr.splitlines()
    assert done.returncode == 1 and any("OutOfMemoryError" in line for line in last)
    done = run_python(code, device, TORCHPLUG_LAYERS="fault", TORCHPLUG_FAULT="alloc:1+,slow")
    assert "TORCHPLUG_FAULT 'alloc:1+,slow' is invalid at character 14" in done.stderr


@pytest.mark.accelerator("the CPU has no layers")
def test_an_unknown_layer_is_one_sentence(device):
    done = run_python("torch.ones(3, device=device)", device, TORCHPLUG_LAYERS="validete")
    assert "TORCHPLUG_LAYERS is 'validete'" in done.stderr


@pytest.mark.accelerator("the CPU has no layers")
def test_faults_without_the_layer_say_what_to_set(device):
    code = "from torchplug import _C\n_C.set_faults('alloc:1')"
    assert "Set TORCHPLUG_LAYERS=fault" in run_python(code, device).stderr
