"""Where the plugins and the programs are that are measured."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torchplug import _plugins

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "direct": "benchmarks",
    "direct_any": "benchmarks",
    "sim": "devices/sim",
    "hello": "examples/hello",
}


class Places(NamedTuple):
    build: Path | None
    """The build folder, if there is one."""
    plugins: dict[str, str]
    """The libraries by the device's name, of those that are here."""
    programs: dict[str, Path]
    """What measures from C++, of what is built."""


def find(build: Path | None = None) -> Places:
    """What there is here, in the build folder that is given or the checkout's."""
    build = (build or CHECKOUT / "build").resolve()
    if not build.is_dir():
        return Places(None, plugins(None), {})
    folder = build / "benchmarks"
    programs = {name: folder / name for name in ("operators", "allocator", "package")}
    return Places(build, plugins(build), {n: p for n, p in programs.items() if p.exists()})


def plugins(build: Path | None) -> dict[str, str]:
    """What is installed, else what is built; `direct` and `direct_any` are only built."""
    found: dict[str, str] = {}
    installed = _plugins.installed_plugins()
    for name, folder in FOLDERS.items():
        built = None if build is None else build / folder / f"lib{name}.so"
        if name in installed:
            found[name] = installed[name].resolve()
        elif built is not None and built.exists():
            found[name] = str(built)
    return found
