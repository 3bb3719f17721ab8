"""Builds PyTorch extensions in C++ that use torchplug/torchplug.hpp.

`load` and `CppExtension` are those of torch.utils.cpp_extension, with torchplug's headers and library.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["CppExtension", "cmake_directory", "include_paths", "library_paths", "load"]


def include_paths() -> list[str]:
    """Where torchplug's headers are: torchplug/plug.h, plug_util.h, plug.hpp, schemas.h, torchplug.hpp."""
    return [str(_installed() / "include")]


def library_paths() -> list[str]:
    """Where libtorchplug.so is."""
    return [str(_installed())]


def cmake_directory() -> str:
    """What CMake's find_package(torchplug) is given as torchplug_DIR, for programs without Python."""
    return str(_installed() / "cmake")


def load(name: str, sources: str | list[str], **options: Any) -> Any:
    """Compiles an extension and loads it: torch.utils.cpp_extension.load, which has the options."""
    from torch.utils import cpp_extension

    includes = include_paths() + (options.pop("extra_include_paths", None) or [])
    flags = [flag for path in library_paths() for flag in (f"-L{path}", f"-Wl,-rpath,{path}")]
    flags += ["-ltorchplug", *(options.pop("extra_ldflags", None) or [])]
    return cpp_extension.load(
        name, sources, extra_include_paths=includes, extra_ldflags=flags, **options
    )


def CppExtension(name: str, sources: list[str], **options: Any) -> Any:
    """An extension for setup.py, with torch.utils.cpp_extension.BuildExtension as its `build_ext`."""
    from torch.utils import cpp_extension

    for option, ours in {
        "include_dirs": include_paths(),
        "library_dirs": library_paths(),
        "runtime_library_dirs": library_paths(),
        "libraries": ["torchplug"],
    }.items():
        options[option] = [*ours, *options.get(option, [])]
    extension: Any = cpp_extension.CppExtension  # which has no types
    return extension(name, sources, **options)


def _installed() -> Path:
    """The directory of what was compiled, which an editable install keeps apart from the sources."""
    spec = find_spec("torchplug._C")
    if spec is None or spec.origin is None:
        raise RuntimeError(
            "The compiled part of torchplug is not installed. Install it: pip install torchplug"
        )
    return Path(spec.origin).parent
