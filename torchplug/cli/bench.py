"""`torchplug bench`: how fast a device is."""

from __future__ import annotations

from torchplug.bench import add_options, announced, run

__all__ = ["DESCRIPTION", "NAME", "SUMMARY", "add", "announced", "run"]

NAME = "bench"
SUMMARY = "measure the device"
DESCRIPTION = """Measures operators, copies and synchronization on a device, and compares them with the CPU and memcpy
in the same run.

  torchplug bench --device ./libacme.so --only call,copy
  torchplug bench --NAME [options of its own]    a benchmark that an installed package announces"""

add = add_options
