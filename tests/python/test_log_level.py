"""torchplug.cpu.set_log_level: which messages of plugins are printed from now on."""

import pytest
from helpers import run_python
from machine import words

import torchplug.cpu


@pytest.mark.accelerator("the CPU has no layers")
@pytest.mark.parametrize("level", ["info", 1])
def test_the_log_level_is_in_force_at_once_and_as_often_as_it_is_set(device, level):
    code = f"""
    import ctypes, torchplug.cpu
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(torch.ones(3, device=device)))
    torchplug.cpu.set_log_level("none")
    torchplug.cpu.set_log_level({level!r})
    """
    done = run_python(code, device, TORCHPLUG_LAYERS="validate")
    assert "torchplug info: VALIDATE-leak" in done.stderr
    done = run_python(
        code + "\n    torchplug.cpu.set_log_level('warning')", device, TORCHPLUG_LAYERS="validate"
    )
    assert "VALIDATE-leak" not in done.stderr


@pytest.mark.parametrize("level", ["loud", 5, -1])
def test_a_log_level_that_there_is_not_is_refused(level):
    with pytest.raises(ValueError, match="debug, info, warning, error or none") as error:
        torchplug.cpu.set_log_level(level)
    words(error)
