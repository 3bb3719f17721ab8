"""The package torchplug-xcpu: `import torch` gives the operators, whatever the device; nothing else changes."""

import subprocess
import sys

import pytest
import torch
from interpreter import NAME, run

import torchplug

USES = """
import torch
print(torch.ops.xcpu.linear(torch.ones(1, 32), torch.ops.xcpu.pack(torch.ones(1, 32), "fp32")).item())
"""


@pytest.mark.parametrize("choice", ["none", "hello", "sim", "xcpu", None])
def test_the_operators_are_there_after_import_torch(choice):
    device = {"none": "privateuseone", None: "sim"}.get(choice, choice)
    assert run(USES + NAME, choice) == (f"32.0\n{device}", "")


def test_they_are_there_after_import_torch_in_a_fresh_interpreter():
    assert run(USES, "none", fresh=True) == ("32.0", "")


def test_the_package_imports_nothing_of_pytorch():
    code = "import torchplug_xcpu, sys; print('torch' in sys.modules, 'torchplug' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert result.stdout.split() == ["False", "False"]


def test_the_package_names_the_variables_that_the_kernels_read():
    plugin = torchplug._plugins.installed_plugins()["xcpu"]
    assert list(plugin.options()) == ["TORCHPLUG_XCPU_ISA"]


@pytest.mark.parametrize("isa", ["avx2", "scalar"])
def test_a_lower_instruction_set_may_be_asked_for(isa):
    code = "import torch; torch.ops.xcpu; print(torch.xcpu.get_device_name(0))"
    assert f"({isa})" in run(code, "xcpu", TORCHPLUG_XCPU_ISA=isa)[0]


def test_loading_the_library_by_hand_is_no_second_one():
    import torchplug_xcpu

    names = torchplug.load_operators(torchplug_xcpu.library)
    assert "xcpu::linear" in names
    assert "xcpu::lm_head_topk.rows" in names
    assert all(hasattr(torch.ops.xcpu, name.split("::")[1].split(".")[0]) for name in names)
