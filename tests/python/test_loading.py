"""Which plugin `import torch` loads, and what it says when it cannot."""

import os
import subprocess
import sys

import pytest

import torchplug
from torchplug import _C
from torchplug._autoload import find_plugin

HELLO = find_plugin("hello")


def run(code, choice=None, **environment):
    """Runs code in a fresh interpreter; returns its standard output and standard error."""
    env = {k: v for k, v in os.environ.items() if k != "TORCHPLUG_DEVICE"} | environment
    if choice is not None:
        env["TORCHPLUG_DEVICE"] = choice
    result = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip(), result.stderr


NAME = "import torch; print(torch._C._get_privateuse1_backend_name())"


@pytest.mark.parametrize("name", ["sim", "hello"])
def test_import_torch_is_enough(name):
    code = f"import torch; print(torch.ones(2, device='{name}').sum().item())"
    assert run(code, name) == ("2.0", "")


def test_sim_is_the_default():
    assert run(NAME) == ("sim", "")


def test_none_loads_nothing():
    assert run(NAME, "none") == ("privateuseone", "")


def test_a_plugin_can_be_given_by_path():
    assert run(NAME, HELLO) == ("hello", "")


def test_a_plugin_can_be_loaded_by_hand():
    code = f"import torch, torchplug; print(torchplug.load('{HELLO}'))"
    assert run(code, "none") == ("hello", "")


def test_loading_a_plugin_twice_does_nothing():
    code = f"import torch, torchplug; print(torchplug.load('{HELLO}'), torch.ones(1, device='hello').item())"
    assert run(code, "hello") == ("hello 1.0", "")


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("nonsense", ["no device plugin named 'nonsense'", "hello", "sim"]),
        ("/no/such/plugin.so", ["/no/such/plugin.so", "No such file"]),
        (_C.__file__, ["is not a torchplug plugin", "torchplug_plugin_v0"]),
        (__file__, ["cannot be loaded", "invalid ELF header"]),
    ],
    ids=["unknown_name", "no_file", "no_plugin", "no_library"],
)
def test_a_plugin_that_cannot_be_loaded_is_a_warning_and_torch_works(choice, words):
    output, errors = run("import torch; print(torch.ones(2).sum().item())", choice)
    assert output == "2.0"
    assert errors.count("Warning") == 1
    for word in words:
        assert word in errors


def test_a_second_device_plugin_is_refused_and_both_are_named():
    code = f"""
import torch, torchplug
try:
    torchplug.load('{HELLO}')
except RuntimeError as error:
    print(error)
print(torch.ones(1, device="sim").item())
"""
    output, _ = run(code, "sim")
    assert "'hello'" in output and "'sim'" in output and "libhello.so" in output
    assert output.endswith("1.0")


def test_importing_starts_no_thread():
    count = "import os; n = len(os.listdir('/proc/self/task')); print(n)"
    with_device, _ = run(f"import torch; {count}", "sim")
    without, _ = run(f"import torch; {count}", "none")
    assert with_device == without


def test_a_bad_setting_of_the_device_says_what_to_set():
    _, errors = run("import torch", "sim", TORCHPLUG_SIM_MEMORY="lots")
    assert "TORCHPLUG_SIM_MEMORY" in errors or "sim.memory" in errors
    assert "lots" in errors


def test_a_bad_fallback_policy_says_what_to_set():
    code = """
import torch
try:
    torch.ones(2, device="hello").exp()
except RuntimeError as error:
    print(error)
"""
    output, _ = run(code, "hello", TORCHPLUG_FALLBACK="maybe")
    assert "TORCHPLUG_FALLBACK is 'maybe'" in output and "allow, warn or error" in output


def test_the_package_knows_its_version():
    assert torchplug.__version__.count(".") == 2


@pytest.mark.parametrize("name", ["sim", "hello"])
def test_a_script_that_ends_right_after_backward_ends_well(name):
    """torchplug._patches.finish_backward: without it about one such script in three aborts."""
    code = f"""
import torch
torch.nn.Linear(4, 2).to("{name}")(torch.ones(3, 4, device="{name}")).sum().backward()
"""
    for _ in range(5):
        assert run(code, name) == ("", "")


def test_finish_backward_is_still_needed():
    """Fails when PyTorch no longer leaves a Python object with autograd's threads."""
    import inspect

    import torch

    source = inspect.getsource(torch.autograd.graph._engine_run_backward)
    assert "_stash_obj_in_tls" in source
