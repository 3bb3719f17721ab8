"""Warnings that name the user's line, whatever of PyTorch and torchplug lies between."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

import torch

WITHIN = (
    str(Path(torch.__file__).parent),
    str(Path(__file__).parent.parent),
    contextlib.__file__,
)


def warn(message: str) -> None:
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_within(frame.f_code.co_filename):
        frame = frame.f_back
    known = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__", "torchplug")
    warnings.warn_explicit(
        message, UserWarning, frame.f_code.co_filename, frame.f_lineno, module, known
    )


def _is_within(file: str) -> bool:
    """Of PyTorch or torchplug, of code that PyTorch writes, or of a context manager of theirs."""
    return file.startswith(WITHIN) or file.startswith("<")
