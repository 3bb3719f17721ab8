"""Where the plugins and the program are that are measured."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torchplug import _plugins

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = {"direct": "benchmarks", "hello": "examples/hello", "sim": "devices/sim"}


class Places(NamedTuple):
    build: Path | None
    """The build folder of the checkout that this is part of, if it is."""
    plugins: dict[str, str]
    """The libraries by the device's name, of those that are here."""
    program: Path | None
    """`operators`, which measures from C++, if it is built."""


def find(build: Path | None = None, program: Path | None = None) -> Places:
    """What there is here, in the build folder and with the program that are given or the checkout's."""
    if build is None and (CHECKOUT / "benchmarks" / "operators.cpp").exists():
        build = CHECKOUT / "build"
        build = build if build.is_dir() else None
    if program is None and build is not None:
        program = build / "benchmarks" / "operators"
    return Places(
        build, plugins(build), program.resolve() if program and program.exists() else None
    )


def plugins(build: Path | None) -> dict[str, str]:
    """What is installed, else what is built; `direct` is only built."""
    found: dict[str, str] = {}
    installed = _plugins.installed_plugins()
    for name, folder in FOLDERS.items():
        built = None if build is None else build / folder / f"lib{name}.so"
        if name in installed:
            found[name] = installed[name].resolve()
        elif built is not None and built.exists():
            found[name] = str(built.resolve())
    return found
