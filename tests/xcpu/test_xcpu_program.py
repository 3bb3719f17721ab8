"""The operators work in a program in C++ without Python: examples/xcpu_operators."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torchplug_xcpu
from filelock import FileLock
from xcpu_modules import Mlp

from torchplug import cpp_extension

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "xcpu-program"
BIN = Path(sys.executable).parent


def run(*command):
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program():
    BUILD.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD / "one_at_a_time"):
        run(
            *("cmake", "-G", "Ninja", "-S", ROOT / "examples" / "xcpu_operators", "-B", BUILD),
            *("-D", f"torchplug_DIR={cpp_extension.cmake_directory()}"),
        )
        run("cmake", "--build", BUILD)
    return BUILD / "run_xcpu"


def test_a_program_without_python_calls_them_and_runs_modules_that_do(program, tmp_path):
    torch.jit.script(Mlp().requires_grad_(False)).save(tmp_path / "module.pt")
    assert not re.search(r"lib(torch_)?python", run("ldd", program))
    said = run(program, torchplug_xcpu.library, tmp_path / "module.pt")
    assert said.splitlines() == [
        "[3, 40], near the product of matrices",
        "[3, 64], from the module",
    ]
