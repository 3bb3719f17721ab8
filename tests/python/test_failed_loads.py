"""Names that are taken, and plugins that cannot be loaded: what is refused, and that nothing is left behind."""

import pytest
from interpreter import HELLO, UNTOUCHED, run
from vendors import REFUSES, compile_plugin, install, install_device

from torchplug import _device

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

# ---- names that are taken ----


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("nn", "torch.nn"),
        ("cuda", "torch.cuda"),
        ("relu", "torch.relu"),
        ("testing", "torch.testing"),
        ("grad", "Tensor.grad"),
        ("leaf", "Tensor.is_leaf"),
        ("parameters", "Module.parameters"),
        ("batch_sizes", "PackedSequence.batch_sizes"),
        ("lambda", "a word of Python's"),
        ("standalone_compile", ""),
    ],
)
def test_what_has_a_name_already_is_known(name, owner):
    assert owner in _device.owner_of_name(name) and bool(owner) == bool(_device.owner_of_name(name))


@pytest.mark.parametrize("name", ["nn", "cuda", "vulkan"])
def test_a_name_that_torch_uses_is_refused_and_nothing_is_changed(tmp_path, name):
    library = compile_plugin(tmp_path, name)
    code = f"""
import torch, torchplug
before = torch.{name} if hasattr(torch, {name!r}) else None
try:
    torchplug.load({str(library)!r})
except RuntimeError as error:
    print(error)
{UNTOUCHED}
assert before is None or torch.{name} is before
print(torchplug.load({HELLO!r}), torch.ones(2, device="hello").sum().item())
"""
    output, errors = run(code, "none")
    refusal, works = output.splitlines()
    assert refusal.startswith(f"A device cannot be called '{name}'") and "another name" in refusal
    assert (works, errors) == ("hello 2.0", "")


def test_an_announced_name_that_torch_uses_is_one_warning_and_nothing_is_changed(tmp_path):
    install_device(tmp_path, "nn")
    code = f"import torch\n{UNTOUCHED}\nprint(torch.nn.Linear(2, 1)(torch.ones(2)).shape)"
    output, errors = run(code, path=tmp_path)
    assert output == "torch.Size([1])"
    assert errors.count("Warning") == 1 and "'nn'" in errors and "another name" in errors


def test_an_announced_library_that_is_not_there_is_one_warning_and_nothing_is_changed(tmp_path):
    install(tmp_path, "acme", "PATH = '/no/such/plugin.so'")
    output, errors = run(f"import torch\n{UNTOUCHED}\nprint('on')", path=tmp_path)
    assert output == "on"
    assert errors.count("Warning") == 1 and "/no/such/plugin.so" in errors


def test_a_wrong_setting_at_a_path_leaves_no_half_device_behind():
    code = f"""
import os, torch, torchplug
{UNTOUCHED}
assert not hasattr(torch, "hello")
os.environ["TORCHPLUG_LAYERS"] = "validate"
print(torchplug.load({HELLO!r}), torch.ones(2, device="hello").sum().item())
"""
    output, errors = run(code, HELLO, TORCHPLUG_LAYERS="nonsense")
    assert output == "hello 2.0"
    told = [line for line in errors.splitlines() if "Warning" in line]
    assert all("'nonsense'" in line for line in told)
    assert len([line for line in told if "loaded no operators" not in line]) == 1


LATE = """
import torch
from torch.utils.data import DataLoader

def refusal(use):
    try:
        use()
    except RuntimeError as error:
        return str(error)

uses = (
    lambda: torch.ones(1, device="acme"),
    lambda: torch.ones(1).to("acme"),
    lambda: torch.ones(1).acme(),
    lambda: torch.acme.synchronize(0),
    lambda: torch.acme.get_device_properties(0),
    lambda: torch.Generator("acme"),
    lambda: torch.Stream("acme"),
)
said = {refusal(use) for use in uses}
print(len(said), said.pop())
print(torch.acme.is_available(), torch.acme.device_count(), torch.accelerator.is_available())

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Dropout(0.5))
optimizer = torch.optim.AdamW(model.parameters())
with torch.random.fork_rng(), torch.autocast("cpu", torch.bfloat16):
    for batch in DataLoader(torch.ones(8, 4), batch_size=4):
        model(batch).sum().backward()
optimizer.step()
with torch.profiler.profile(acc_events=True) as profile:  # else PyTorch 2.11 warns
    torch.ones(3).sum()
print(torch.get_rng_state().numel() > 0, len(profile.events()) > 0)
"""


def test_a_late_load_that_fails_breaks_the_device_alone(tmp_path):
    """Every use gives the same reason; PyTorch and the CPU work as if there were no device."""
    library = compile_plugin(tmp_path, "acme", REFUSES)
    install(tmp_path, "acme", f"PATH = {str(library)!r}")
    output, errors = run(LATE, path=tmp_path)
    reason, available, works = output.splitlines()
    assert reason.startswith("1 ") and "no licence" in reason
    assert (available, works) == ("False 0 False", "True True")
    warnings = [line for line in errors.splitlines() if "Warning" in line]
    assert all("is used beside" in line for line in warnings)  # a profile initialises CUDA


def test_after_a_late_load_that_fails_the_repaired_plugin_can_be_loaded(tmp_path):
    broken = compile_plugin(tmp_path, "acme", REFUSES)
    (tmp_path / "repaired").mkdir()
    repaired = compile_plugin(tmp_path / "repaired", "acme")
    install(tmp_path, "acme", f"PATH = {str(broken)!r}")
    code = f"""
import torch, torchplug
try:
    torch.ones(2, device="acme")
except RuntimeError:
    print(torch.acme.is_available(), torch.accelerator.is_available())
try:
    torchplug.load({HELLO!r})
except RuntimeError as error:
    print(error)
torchplug.load({str(repaired)!r})
print(torch.acme.is_available(), torch.ones(2).acme().sum().item())
"""
    output, errors = run(code, path=tmp_path)
    broken_is, refusal, repaired_is = output.splitlines()
    assert (broken_is, repaired_is, errors) == ("False False", "True 2.0", "")
    assert "'hello'" in refusal and "in place of 'acme'" in refusal
