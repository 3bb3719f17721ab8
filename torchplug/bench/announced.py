"""Benchmarks that other packages bring, for `torchplug bench --NAME`.

A package announces one in the entry point group `torchplug.benches`: its name, and a function that is given the
words behind `--NAME` and returns the exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

GROUP = "torchplug.benches"


def names() -> list[str]:
    return sorted(entry_points(group=GROUP).names)


def name_of(words: Sequence[str]) -> str:
    """Which benchmark the words behind `torchplug bench` ask for; "" for none of those that are announced."""
    name = words[0].removeprefix("--") if words and words[0].startswith("--") else ""
    return name if name in names() else ""


def run(name: str, words: Sequence[str]) -> int:
    (announced,) = entry_points(group=GROUP, name=name)
    code: int = announced.load()(list(words))
    return code


def refusal(word: str) -> str:
    """What to say of an option that neither `torchplug bench` nor a package has."""
    there = ", ".join(f"--{name}" for name in names()) or "none"
    return (
        f"'{word}' is no option of torchplug bench, and no installed package announces a benchmark of that name: "
        f"install the package that has it (announced are: {there}), and give it first."
    )
