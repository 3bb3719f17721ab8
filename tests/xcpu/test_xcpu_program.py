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
from torch.export import Dim
from xcpu_decode import packed, plain
from xcpu_decode.generate import generate_packed
from xcpu_decode.pages import Pages
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


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("scripted") / "module.pt"
    torch.jit.script(Mlp().requires_grad_(False)).save(path)
    return path


def test_a_program_without_python_calls_them_and_runs_modules_that_do(program, module):
    assert not re.search(r"lib(torch_)?python", run("ldd", program))
    said = run(program, torchplug_xcpu.library, module)
    assert said.splitlines() == [
        "[3, 40], near the product of matrices",
        "[3, 64], from the module",
    ]


PROMPT = [3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 9, 7, 9, 32, 3, 8, 46, 2, 64]  # more than a page
SHAPE = plain.Shape(vocabulary=80, width=64, layers=2, heads=4, kv_heads=2, inner=96, positions=64)


def script(decoder, folder):
    torch.jit.script(decoder).save(folder / "decoder.pt")
    return folder / "decoder.pt"


def export(decoder, folder):
    step = Pages(16).step({0: PROMPT, 1: PROMPT[::-1]})
    any_length = {0: Dim.AUTO}
    shapes = ([any_length] * 2, *[any_length] * 5, {0: Dim.AUTO, 1: Dim.AUTO})
    given = (decoder.make_caches("int8", 16), *step)
    exported = torch.export.export(decoder, given, dynamic_shapes=shapes)
    path = folder / "decoder.pt2"
    return torch._inductor.aoti_compile_and_package(exported, package_path=str(path))


@pytest.mark.parametrize("made", [script, export])
def test_a_program_without_python_decodes(program, module, tmp_path, made):
    """Prompts, then token after token, each written to the cache; the tokens are those that Python finds."""
    torch.manual_seed(0)
    decoder = packed.Decoder(plain.Decoder(SHAPE).requires_grad_(False), "int8")
    prompts = [PROMPT, PROMPT[::-1]]
    expected = generate_packed(decoder, decoder.make_caches("int8", 16), prompts, len(PROMPT))[0]
    assert expected[0] != expected[1]
    said = run(program, torchplug_xcpu.library, module, made(decoder, tmp_path), *PROMPT)
    *tokens, last = said.splitlines()[-1].split(maxsplit=2 * len(PROMPT))
    assert list(map(int, tokens)) == [*expected[0], *expected[1]]
    assert last == "from the decoder"
