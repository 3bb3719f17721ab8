"""The rows of the table: what is measured, on which of our devices, and what we aim at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchplug.bench import rows
from torchplug.bench.rows import Group

DEVICES = ("direct", "direct_any", "sim", "hello")


class Target(NamedTuple):
    """Rows that share their aims."""

    group: Group
    device: str
    """The plugin; "" for what is not about one."""
    python_aim: float | None = None
    cpp_aim: float | None = None
    first_aims: tuple[float, float] | None = None
    """What was aimed at before, in Python and in C++."""
    way: str = ""
    """How the calls must run for the row to mean what it says, as the ledger names it."""
    cpp: str = ""
    """How the program `operators` measures it too: a key of native.KINDS."""
    program: str = ""
    """The program that alone measures it."""

    @property
    def from_python(self) -> bool:
        return self.python_aim is not None


BORROWED = ("mul", "exp", "sum", "mm", "cat", "sigmoid_")


def calls(name: str, title: str, operators: tuple[str, ...], kind: str = "call") -> Group:
    return Group(name, title, kind, operators)


def beside(name: str, title: str, operators: tuple[str, ...]) -> Group:
    """Calls that are timed beside a bound kernel of the same device."""
    return Group(name, title, "pair", operators, against="a bound kernel")


TARGETS = (
    Target(
        calls("kernel", "bound kernel, synchronous device", ("relu", "add")),
        "direct",
        0.5,
        0.25,
        way="kernel",
        cpp="plain",
    ),
    Target(
        beside("own", "own operator over a bound kernel", ("own relu", "own add")),
        "direct",
        1.0,
        1.0,
        way="kernel",
        cpp="plain",
    ),
    Target(
        beside("any", "kernel for any operator over a bound one", ("neg", "sub")),
        "direct_any",
        1.3,
        1.6,
        way="any",
        cpp="plain",
    ),
    Target(
        calls("borrow", "borrowed operator, synchronous device", BORROWED),
        "direct",
        1.0,
        1.1,
        first_aims=(1.2, 1.35),
        way="borrow",
        cpp="plain",
    ),
    Target(
        calls("stage", "staged operator", ("add", "mul", "exp", "sum")),
        "hello",
        3.0,
        4.0,
        way="stage",
        cpp="plain",
    ),
    Target(rows.VIEW, "direct", 1.1, 1.2, cpp="plain"),
    Target(rows.ITEM, "direct", 2.0, cpp="plain"),
    Target(rows.EMPTY, "direct", 1.0, 1.0, cpp="plain"),
    *(
        Target(
            calls(f"{name}-{way}", f"asynchronous {way}, {until}", (operator,), kind),
            "sim",
            aim,
            aim,
            way=way,
            cpp=name,
        )
        for name, until, kind, aim in (
            ("launch", "until the call returns", "call", 1.0),
            ("burst", "1,000 calls and synchronize", "burst", 1.5),
        )
        for way, operator in (("kernel", "add"), ("borrow", "exp"))
    ),
    Target(
        Group(
            "burst-launch",
            "launch of an empty host function, 1,000 and synchronize",
            "",
            ("launch",),
            against="",
            figure="us",
        ),
        "sim",
        cpp_aim=1.0,
        cpp="burst",
    ),
    Target(rows.SHAPES, "sim", 1.2),
    Target(
        rows.CHAIN._replace(
            title="chain of 1,000 borrowed operators, sim over direct", against="direct"
        ),
        "sim",
        1.0,
        way="borrow",
    ),
    Target(rows.STEP, "sim", 1.3),
    Target(rows.LARGE, "sim", 1.05),
    Target(rows.STAGING, "hello", 1.1),
    Target(rows.IDLE, "sim", 1.0),
    Target(rows.GRAPH, "sim", 3.0),
    Target(
        Group(
            "package",
            "package in C++, over a run of its engine by itself",
            "",
            ("50 layers",),
            against="the engine",
        ),
        "sim",
        cpp_aim=1.05,
        program="package",
    ),
    Target(
        Group(
            "memory",
            "allocate and free device memory",
            "",
            ("512 B", "64 KiB", "512 B, 4 threads", "64 KiB, 4 threads"),
            against="",
            figure="ns",
        ),
        "sim",
        cpp_aim=60,
        program="allocator",
    ),
    *(
        Target(
            rows.COPY._replace(name=f"copy-{device}", title=f"copy of 64 MiB, {device}"),
            device,
            0.95,
        )
        for device in ("sim", "hello")
    ),
    Target(rows.CAST, "sim", 1.1),
    Target(rows.FUSED, "sim", 0.9),
    Target(rows.FUSED_ALL, "sim", 0.9),
    Target(rows.ENGINE, "sim", 1.1),
    Target(rows.DECODE, "sim", 1.1),
    Target(rows.SCRIPTED, "sim", 0.9),
    Target(rows.INDUCTOR, "sim", 1.1),
    Target(rows.DISK, "sim", 10.0),
    Target(rows.IMPORT, "", 0.1),
)


def targets_of(device: str) -> Iterator[Target]:
    return (target for target in TARGETS if target.device == device)


def devices_of(target: Target) -> set[str]:
    """The devices that must be here for its rows."""
    return {target.device, target.group.against} & set(DEVICES)


def groups_of(device: str) -> list[Group]:
    """What is measured of a device from Python; `direct` is also what a chain is compared with."""
    own = [target.group for target in targets_of(device) if target.from_python]
    return own + [t.group for t in TARGETS if t.group.against == device]
