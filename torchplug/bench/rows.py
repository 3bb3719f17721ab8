"""What is measured of a device, whichever it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Group(NamedTuple):
    """Rows that are measured in the same way."""

    name: str
    title: str
    kind: str
    """How: a key of worker.KINDS, or "import"."""
    calls: tuple[str, ...]
    against: str = "the CPU"
    """What it is compared with."""
    unit: str = "ns"
    figure: str = "x"
    """What the result is: "x" the ratio, "us" or "ns" the time itself, "+s" the difference."""
    at_least: bool = False
    """Whether more is better."""


OPERATORS = ("relu", "add", "mul", "exp", "sum", "mm", "cat", "sigmoid_")
COPIES = tuple(
    f"{direction}, {kind}"
    for kind in ("pinned", "pageable")
    for direction in ("host to device", "device to host")
)

CALL = Group("call", "small operator, until the call returns", "call", OPERATORS)
BURST = Group("burst", "small operator, 1,000 calls and synchronize", "burst", OPERATORS)
VIEW = Group("view", "view, transpose", "call", ("view", "transpose"))
ITEM = Group("item", "item", "call", ("item",))
EMPTY = Group("empty", "allocate and free a tensor", "call", ("empty",))
SHAPES = Group(
    "shapes", "small operator, a new shape at every call", "shapes", ("mul", "add", "exp")
)
CHAIN = Group("chain", "chain of 1,000 small operators", "chain", ("cos",))
STEP = Group("step", "training step, small transformer of 2 layers", "step", ("AdamW",))
IDLE = Group(
    "idle", "synchronize an idle device", "idle", ("device", "stream"), against="", figure="us"
)
GRAPH = Group(
    "graph",
    "graph replay of 200 operators, speed over eager",
    "graph",
    ("forward", "training"),
    against="eager",
    unit="steps/s",
    at_least=True,
)
COPY = Group("copy", "copy of 64 MiB", "copy", COPIES, against="memcpy", unit="GB/s", at_least=True)
CAST = Group(
    "cast",
    "cast of 64 MiB",
    "cast",
    ("float32 to bfloat16", "bfloat16 to float32"),
    against="copy_ of its wider side",
)
LARGE = Group(
    "large",
    "large operators, all threads",
    "large",
    ("add of 8M", "matmul of 1,024", "training step of a 2 x 768 transformer"),
)
STAGING = Group(
    "staging",
    "staged operator of 64 MiB",
    "staging",
    ("sin of 16M",),
    against="CPU + 2 memcpy",
)
FUSED_CALLS = (
    "block of 64 x 1,024",
    "block of 1,024 x 1,024",
    "six sigmoid steps of 1,024 x 1,024",
)
FUSED = Group(
    "fused",
    "compiled block and chain over Inductor's, one thread",
    "fused",
    FUSED_CALLS,
    against="Inductor on the CPU",
    unit="calls/s",
    at_least=True,
)
FUSED_ALL = FUSED._replace(
    name="fused-all",
    title="compiled block and chain over Inductor's, all threads",
    kind="fused-all",
)
ENGINE = Group(
    "engine",
    "call of a small engine, until it returns",
    "engine",
    ("relu(x * y + 2) - x",),
    against="Inductor on the CPU",
)
DECODE = Group(
    "decode",
    "decode step, cache of 64 MiB over one of 1 MiB",
    "decode",
    ("8 heads of 64",),
    against="1 MiB",
)
SCRIPTED = Group(
    "scripted",
    "scripted block in groups over torch.compile's",
    "scripted",
    FUSED_CALLS[:2],
    against="torch.compile",
    unit="calls/s",
    at_least=True,
)
INDUCTOR = Group(
    "inductor",
    "model compiled by Inductor",
    "inductor",
    tuple(
        f"{kind}, {model}"
        for model in ("small transformer", "2 x 768 transformer")
        for kind in ("inference", "training step")
    ),
    against="Inductor on the CPU",
)
DISK = Group(
    "disk",
    "engines of a second process over compiling them",
    "disk",
    ("block of 64 x 1,024",),
    against="compiling",
    unit="engines/s",
    at_least=True,
)
IMPORT = Group(
    "import",
    "import torch, added by autoload",
    "import",
    ("import torch",),
    against="without",
    unit="s",
    figure="+s",
)

GROUPS = (
    CALL,
    BURST,
    VIEW,
    ITEM,
    EMPTY,
    SHAPES,
    CHAIN,
    STEP,
    IDLE,
    GRAPH,
    COPY,
    CAST,
    LARGE,
    STAGING,
    FUSED,
    FUSED_ALL,
    ENGINE,
    DECODE,
    SCRIPTED,
    INDUCTOR,
    DISK,
    IMPORT,
)

DEFAULT_THREADS = ("cast", "large", "staging", "fused-all", "inductor")
"""Kinds that are measured with PyTorch's default number of threads; all others with one."""
OF_COMPILERS = ("fused", "fused-all", "engine", "decode", "scripted", "disk")
"""Kinds that need a plugin with a compiler."""
COMPILING = (*OF_COMPILERS, "inductor")
"""Kinds that compile something."""


def key(group: Group, call: str) -> str:
    """What a row is called in what the measuring processes print."""
    return f"{group.name}/{call}"


def calls_of(groups: Iterable[Group]) -> Iterator[tuple[str, str]]:
    """The keys of all rows with their calls."""
    return ((key(group, call), call) for group in groups for call in group.calls)
