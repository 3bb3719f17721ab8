"""One build that has every fault, each switched on by its number in the environment variable MUTANT."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
BUILD = ROOT / "build-mutants"
TREE = BUILD / "tree"
SITE = BUILD / "site"

SWITCH = """#pragma once
#include <cstdlib>
inline bool is_mutant(unsigned long number) {
  static const char* const text = std::getenv("MUTANT");
  static const unsigned long chosen = text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
  return chosen == number;
}
"""

# Imported by every process that has SITE on its path, before anything else.
SITE_CUSTOMIZE = '''"""Python finds this torchplug, not the one installed for editing."""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
'''


def switched(fault: Fault) -> str:
    """Source text that is right unless the fault is switched on."""
    test = f"is_mutant({fault.number})"
    if fault.right.endswith(";"):
        return f"if ({test}) {{ {fault.wrong} }} else {{ {fault.right} }}"
    return f"({test} ? ({fault.wrong}) : ({fault.right}))"


def mutated_sources() -> dict[str, str]:
    texts: dict[str, str] = {}
    for fault in FAULTS:
        name = f"src/{fault.file}"
        text = texts.get(name) or (ROOT / name).read_text()
        if text.count(fault.right) != 1:
            times = text.count(fault.right)
            sys.exit(f"{name} has '{fault.right}' {times} times. Give a text that is there once.")
        texts[name] = text.replace(fault.right, switched(fault))
    return texts


def write(path: Path, text: str) -> None:
    """Leaves a file that is right as it is, so that nothing is compiled for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def make_tree() -> None:
    """The checkout, with the faults in its src."""
    mutated = mutated_sources()
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    names = listed.stdout.split()
    for name in names:
        write(TREE / name, mutated.get(name) or (ROOT / name).read_text())
    for stale in set(TREE.glob("src/**/*.*")) - {TREE / name for name in names}:
        stale.unlink()
    write(TREE / "is_mutant.h", SWITCH)
    for entry in ROOT.iterdir():
        link = TREE / entry.name
        if entry.name[0] != "." and not entry.name.startswith("build") and not link.exists():
            link.symlink_to(entry)


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, env=environment())


def build(programs: set[str], jobs: int) -> None:
    """The core, as a package under SITE, and some programs of tests/cpp."""
    make_tree()
    out = BUILD / "out"
    run(
        *("cmake", "-S", TREE, "-B", out, "-G", "Ninja", "--log-level=WARNING"),
        *("-DCMAKE_BUILD_TYPE=Release", "-DTORCHPLUG_TESTS=ON"),
        # What the compiler warns of in a switched fault tells nothing.
        f"-DCMAKE_CXX_FLAGS=-include {TREE / 'is_mutant.h'} -w",
        f"-DCMAKE_PREFIX_PATH={ROOT / '.venv' / 'debian' / 'usr'}",
        f"-DPython_EXECUTABLE={BIN / 'python'}",
    )
    run(
        "cmake",
        "--build",
        out,
        "--parallel",
        jobs,
        "--target",
        "_C",
        "plug-check",
        "plug-replay",
        *programs,
    )
    shutil.rmtree(SITE, ignore_errors=True)
    run("cmake", "--install", out, "--prefix", SITE)
    shutil.copytree(ROOT / "torchplug", SITE / "torchplug", dirs_exist_ok=True)
    (SITE / "sitecustomize.py").write_text(SITE_CUSTOMIZE)


def path_of(program: str) -> Path:
    return BUILD / "out" / "tests" / "cpp" / program
