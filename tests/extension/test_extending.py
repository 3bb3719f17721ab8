"""examples/extending: every form of registration that PyTorch has works on the device and wins over torchplug's."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from filelock import FileLock

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "extending"
CHECKS = re.findall(r"^@check\ndef (\w+)", (HERE / "extending_checks.py").read_text(), re.MULTILINE)

pytestmark = pytest.mark.skipif(
    torch._C._get_privateuse1_backend_name() != "sim",
    reason="its kernels need host_func and host_view, which sim has",
)

BUILT = f"""
from torchplug import cpp_extension
cpp_extension.load(
    "extending", [{str(ROOT / "examples" / "extending" / "extending.cpp")!r}], build_directory={str(BUILD)!r},
    extra_cflags=["-Wall", "-Wextra", "-DAT_PER_OPERATOR_HEADERS"], is_python_module=False,
)
"""


def run(*command):
    result = subprocess.run(
        [sys.executable, *map(str, command)],
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return result


@pytest.fixture(scope="module")
def library():
    """Compiled, where it is not in build/ already, by a process of its own, which loading it changes."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD / "one_at_a_time"):
        (BUILD / "lock").unlink(missing_ok=True)  # PyTorch's own, left by a build that was ended
        built = run("-c", BUILT)
    assert built.returncode == 0, built.stdout + built.stderr
    return BUILD / "extending.so"


@pytest.fixture(scope="module", params=["early", "late"])
def results(request, library):
    done = run(HERE / "extending_checks.py", library, request.param)
    assert done.returncode == 0, done.stderr
    assert "Overriding" not in done.stderr, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("check", CHECKS)
def test_it_holds_that(results, check):
    assert results[check] == "", results[check]
