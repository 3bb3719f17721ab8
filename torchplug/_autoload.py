"""Which plugin to load when torch is imported."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

DEFAULT = "sim"


def find_plugin(choice: str) -> str:
    """The path of a plugin given by name or by path."""
    from torchplug import _C

    if os.sep in choice or choice.endswith(".so"):
        return choice
    # Beside the compiled core, which an editable install keeps apart from the Python sources.
    plugins = Path(_C.__file__).parent / "plugins"
    path = plugins / f"lib{choice}.so"
    if not path.exists():
        known = ", ".join(sorted(p.stem.removeprefix("lib") for p in plugins.glob("lib*.so")))
        raise RuntimeError(
            f"There is no device plugin named '{choice}'. Set TORCHPLUG_DEVICE to one of: {known}, "
            "to the path of a plugin, or to none."
        )
    return str(path)


def has_accelerator() -> bool:
    """Whether this PyTorch has an accelerator of its own, whose place the device would take."""
    import torch

    return torch.accelerator.current_accelerator() is not None


def autoload() -> None:
    choice = os.environ.get("TORCHPLUG_DEVICE", "")
    if choice == "none" or (not choice and has_accelerator()):
        return
    try:
        from torchplug import _device

        _device.load(find_plugin(choice or DEFAULT))
    except Exception as error:  # noqa: BLE001 - whatever it is, `import torch` goes on
        warnings.warn(f"torchplug loaded no device: {error}", RuntimeWarning, stacklevel=2)
