"""The rows of the table: what is measured, on which device, and what we aim at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Group(NamedTuple):
    """Rows that share their aims."""

    name: str
    title: str
    device: str
    """The plugin; "" for what is not about one."""
    calls: tuple[str, ...]
    python_aim: float | None = None
    cpp_aim: float | None = None
    first_aims: tuple[float, float] | None = None
    """What was aimed at before, in Python and in C++."""
    way: str = ""
    """Which way the calls must go for the row to mean what it says, as the ledger names it."""
    against: str = "the CPU"
    """What it is compared with."""
    unit: str = "ns"
    figure: str = "x"
    """What the aim is about: "x" the ratio, "us" or "ns" the time itself, "+s" the difference."""
    at_least: bool = False
    """Whether more is better."""
    cpp: bool = False
    """Whether the program `operators` measures it too."""
    program: str = ""
    """The program that alone measures it."""


BORROWED = ("mul", "exp", "sum", "mm", "cat", "sigmoid_")
ASYNCHRONOUS = ("add", "exp")
COPIES = tuple(
    f"{direction}, {kind}"
    for kind in ("pinned", "pageable")
    for direction in ("host to device", "device to host")
)

GROUPS = (
    Group(
        "kernel",
        "bound kernel, synchronous device",
        "direct",
        ("relu", "add"),
        0.5,
        0.25,
        way="kernel",
        cpp=True,
    ),
    Group(
        "borrow",
        "borrowed operator, synchronous device",
        "direct",
        BORROWED,
        1.0,
        1.1,
        first_aims=(1.2, 1.35),
        way="borrow",
        cpp=True,
    ),
    Group(
        "stage",
        "staged operator",
        "hello",
        ("add", "mul", "exp", "sum"),
        3.0,
        4.0,
        way="stage",
        cpp=True,
    ),
    Group("view", "view, transpose", "direct", ("view", "transpose"), 1.1, 1.2, cpp=True),
    Group("item", "item", "direct", ("item",), 2.0, cpp=True),
    Group("empty", "empty and release", "direct", ("empty",), 1.0, 1.0, cpp=True),
    Group(
        "held-kernel",
        "asynchronous kernel, caller held",
        "sim",
        ("add",),
        1.0,
        1.0,
        way="kernel",
        cpp=True,
    ),
    Group(
        "held-borrow",
        "asynchronous borrow, caller held",
        "sim",
        ("exp",),
        1.0,
        1.0,
        way="borrow",
        cpp=True,
    ),
    Group(
        "burst-kernel",
        "asynchronous kernel, burst of 1,000",
        "sim",
        ("add",),
        1.5,
        1.5,
        way="kernel",
        cpp=True,
    ),
    Group(
        "burst-borrow",
        "asynchronous borrow, burst of 1,000",
        "sim",
        ("exp",),
        1.5,
        1.5,
        way="borrow",
        cpp=True,
    ),
    Group(
        "burst-launch",
        "launch of nothing on a stream, burst of 1,000",
        "sim",
        ("launch",),
        cpp_aim=1.0,
        against="",
        figure="us",
        cpp=True,
    ),
    Group(
        "chain",
        "chain of 1,000 borrowed operators",
        "sim",
        ("cos",),
        1.0,
        way="borrow",
        against="direct",
    ),
    Group("step", "training step, transformer of 2 layers", "sim", ("AdamW",), 1.3),
    Group(
        "idle",
        "synchronise with nothing to wait for",
        "sim",
        ("device", "stream"),
        1.0,
        against="",
        figure="us",
    ),
    Group(
        "graph",
        "replay of a step of 200 operators",
        "sim",
        ("forward", "training"),
        3.0,
        against="eager",
        unit="steps/s",
        at_least=True,
    ),
    Group(
        "memory",
        "device memory, had and given back",
        "sim",
        ("512 B", "64 KiB", "512 B, 4 threads", "64 KiB, 4 threads"),
        cpp_aim=60,
        against="",
        figure="ns",
        program="allocator",
    ),
    *(
        Group(
            f"copy-{device}",
            f"copy of 64 MiB, {device}",
            device,
            COPIES,
            0.95,
            against="memcpy",
            unit="GB/s",
            at_least=True,
        )
        for device in ("sim", "hello")
    ),
    Group(
        "import",
        "import torch, with autoload over without",
        "",
        ("import torch",),
        0.1,
        against="without",
        unit="s",
        figure="+s",
    ),
)


def groups_of(device: str) -> Iterator[Group]:
    return (group for group in GROUPS if group.device == device)


def key(group: Group, call: str) -> str:
    """What a row is called in what the measuring processes print."""
    return f"{group.name}/{call}"
