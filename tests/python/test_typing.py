"""An editor or a type checker knows torchplug, and torch.<device> through torchplug.device_module()."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import torchplug
from torchplug import _C, _device_module

pytestmark = pytest.mark.accelerator("types are the same for every device", only="sim")

PACKAGE = Path(torchplug.__file__).parent
CACHE = Path(__file__).resolve().parents[2] / ".mypy_cache"
"""Of `make check`."""


RIGHT = """
import torch
import torchplug

device = torchplug.device_module()
count: int = device.device_count()
free, total = device.mem_get_info("sim:0")
name: str = device.get_device_properties(0).name + str(free / total)
stream: torch.Stream = device.Stream(priority=-1)
with device.device(1), device.stream(stream):
    event: torch.Event = device.Event(enable_timing=True)
    event.record()
x: torch.Tensor = device.FloatTensor(2, 3)
generators: tuple[torch.Generator, ...] = device.default_generators
device.manual_seed_all(3)
loaded: str = torchplug.load("libacme.so")
slow = [entry.op for entry in torchplug.ledger() if entry.way != "kernel" and entry.count > 1]
"""

WRONG = """
import torchplug

device = torchplug.device_module()
count: str = device.device_count()
device.synchronize(1.5)
device.nonsense()
torchplug.ledger()[0].nonsense
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy --strict says of the users' programs right.py and wrong.py."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text(WRONG)
    if CACHE.exists():  # or it would take a while to read all of PyTorch
        shutil.copytree(CACHE, folder / "cache")
    site = PACKAGE.parent
    # Where torchplug is installed for development, it is not where mypy looks.
    environment = {} if site.name == "site-packages" else {"MYPYPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "right.py", "wrong.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "checked 2 source files" in done.stdout, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_users_program_passes(complaints):
    assert [line for line in complaints if line.startswith("right.py")] == []


def test_mistakes_are_found(complaints):
    for line, word in ((5, "int"), (6, "float"), (7, "nonsense"), (8, "nonsense")):
        assert any(s.startswith(f"wrong.py:{line}:") and word in s for s in complaints)


def test_the_stub_of_the_core_names_what_the_core_has():
    stub = ast.parse((PACKAGE / "_C.pyi").read_text())
    named = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    # A TypedDict is a type only.
    classes = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    named |= {node.name for node in classes if "TypedDict" not in map(ast.unparse, node.bases)}
    assert named == {name for name in dir(_C) if not name.startswith("_")}


def test_every_public_function_has_a_docstring():
    module = _device_module.DeviceModule
    public = [name for name in vars(module) if not name.startswith("_")]
    assert [name for name in public if not getattr(module, name).__doc__] == []
