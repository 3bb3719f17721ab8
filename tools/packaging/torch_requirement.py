"""What torchplug's wheel requires, for scikit-build-core: the one PyTorch minor that it was built for.

PyTorch's C++ interface changes with every minor, so a wheel is good for one of them; a plugin's wheel is good for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["dynamic_metadata"]


def dynamic_metadata(field: str, settings: Mapping[str, Any]) -> list[str]:
    """The dependencies: those given in pyproject.toml, and PyTorch's minor."""
    if field != "dependencies":
        raise RuntimeError(f"torch_requirement provides dependencies, not {field}.")
    try:
        major, minor = version("torch").split(".")[:2]
    except PackageNotFoundError:
        raise RuntimeError(
            "torchplug is built against an installed PyTorch, and there is none. Install it, then build with "
            "pip's --no-build-isolation."
        ) from None
    return [f"torch>={major}.{minor},<{major}.{int(minor) + 1}", *settings["others"]]
