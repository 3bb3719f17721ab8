"""`torchplug bench`: torchplug's benchmarks."""

from __future__ import annotations

from torchplug.bench import add_options, run

__all__ = ["DESCRIPTION", "NAME", "SUMMARY", "add", "run"]

NAME = "bench"
SUMMARY = "measure the device"
DESCRIPTION = (
    "Measures what calls, copies and waiting cost, relative to the CPU or memcpy in the same run."
)

add = add_options
