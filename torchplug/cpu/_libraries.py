"""Libraries that `torchplug run` needs of the system, and the Debian packages that have them."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import NamedTuple


class Library(NamedTuple):
    """A shared library of the system's."""

    stem: str
    """What its file's name begins with."""
    file: str
    package: str
    """Of Debian's."""


ALLOCATORS = {
    "jemalloc": Library("libjemalloc", "libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": Library("libtcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
}
NUMA = Library("libnuma", "libnuma.so.1", "libnuma1")


def path_of(name: str) -> str:
    """The allocator's library. Raises ValueError if it is not installed."""
    library = ALLOCATORS[name]
    for folder in folders():
        if (folder / library.file).exists():
            return str((folder / library.file).resolve())
    raise ValueError(
        f"{name} is not installed: there is no {library.file}. Debian's package {library.package} has it."
    )


def folders() -> list[Path]:
    """Where the loader looks for libraries: where it is told to, and where its cache knows of any."""
    told = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    try:
        listed = subprocess.run(
            ["ldconfig", "-p"],
            env=os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"},
            capture_output=True,
            text=True,
            check=False,
        ).stdout
    except OSError:
        listed = ""
    cached = [line.partition("=> ")[2] for line in listed.splitlines() if "=> " in line]
    return [
        Path(folder) for folder in dict.fromkeys([*told, *map(os.path.dirname, cached)]) if folder
    ]


def numa() -> ctypes.CDLL:
    """libnuma. Raises ValueError if it is not installed, or the kernel has no policy for memory."""
    try:
        library = ctypes.CDLL(NUMA.file, use_errno=True)
    except OSError:
        raise ValueError(
            f"libnuma is not installed: there is no {NUMA.file}. Debian's package {NUMA.package} has it."
        ) from None
    if library.numa_available() < 0:
        raise ValueError("This kernel lets no process choose the NUMA nodes of its memory.")
    return library
