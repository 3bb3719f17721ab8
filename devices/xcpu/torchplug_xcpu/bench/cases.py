"""What is measured, and what is aimed at. docs/performance.md explains the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Probe = Literal["read", "bf16", "int8"]


@dataclass(frozen=True)
class Call:
    """A row. Its roof is the longer of reading `bytes` and of `products`, multiplications and additions."""

    rows: int
    bytes: int = 0
    products: int = 0
    unit: Probe = "bf16"
    """Whose probe says how fast products are."""
    of_roof: float | None = None
    """The least share of the roof that is aimed at."""
    of_peer: float | None = None
    """The most time that is aimed at, of the fastest peer's."""


@dataclass(frozen=True)
class Group:
    """Rows that share what is prepared for them, which no other group's is beside."""

    name: str
    title: str
    what: str
    """A class of worker/given.py, and a function of each contestant."""
    sizes: dict[str, Any]
    calls: dict[str, Call]

    @property
    def work(self) -> dict[str, Any]:
        """What contestants are told."""
        rows = {name: call.rows for name, call in self.calls.items()}
        return {"what": self.what, "sizes": self.sizes, "rows": rows}


@dataclass(frozen=True)
class Sizes:
    """How large everything is."""

    n: int = 8192
    k: int = 2048
    cycle: int = 512 << 20
    """The least bytes of what calls go through in turn."""
    tokens: int = 1024
    """Of a prompt, and in the cache of a sequence."""

    def copies(self, each: int) -> int:
        return -(-self.cycle // each)


QUICK = Sizes(n=512, k=256, cycle=1 << 20, tokens=64)

LINEAR_AIMS = {
    "bf16": (0.97, 0.97, 0.96, 0.90),
    "int8": (0.95, 0.95, 0.93, 0.85),
    "int4": (0.90, 0.88, 0.80, 0.70),
}
FEW_ROWS = (1, 2, 4, 8)
BITS = {"bf16": 16, "int8": 8, "int4": 4}
OF_LINEAR, OF_DECODE, OF_OTHERS = 0.95, 0.8, 0.9
OF_PRODUCTS = 0.85
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
NORM_COLUMNS = 4096


def groups(sizes: Sizes) -> list[Group]:
    return [
        *(linear(kind, sizes) for kind in LINEAR_AIMS),
        decode("bf16", sizes),
        decode("int8", sizes),
        rms_norm(sizes),
        rotary(sizes),
        mlp(sizes),
    ]


def linear(kind: str, sizes: Sizes) -> Group:
    weights = sizes.n * sizes.k
    read = weights * BITS[kind] // 8
    calls = {
        f"M = {rows}": Call(
            rows,
            bytes=read,
            products=2 * weights * rows,
            unit="bf16" if kind == "bf16" else "int8",
            of_roof=aim,
            of_peer=OF_LINEAR,
        )
        for rows, aim in zip(FEW_ROWS, LINEAR_AIMS[kind], strict=True)
    }
    calls[f"M = {sizes.tokens:,}"] = Call(
        sizes.tokens,
        products=2 * weights * sizes.tokens,
        of_roof=OF_PRODUCTS,
    )
    details = {"kind": kind, "n": sizes.n, "k": sizes.k, "copies": sizes.copies(read)}
    name = "int4, groups of 128" if kind == "int4" else kind
    return Group(f"linear-{kind}", f"linear, {name}", "linear", details, calls)


def decode(kind: str, sizes: Sizes) -> Group:
    """Scores and sums of 32 query heads are few products beside what is read. Scales are not counted."""
    each = 2 * sizes.tokens * KV_HEADS * HEAD_DIM * BITS[kind] // 8
    aim = OF_DECODE if kind == "bf16" else None
    calls = {
        "1 sequence": Call(1, bytes=each, of_peer=aim),
        "4 sequences": Call(4, bytes=4 * each, of_peer=aim),
    }
    details = {"kind": kind, "length": sizes.tokens, "copies": max(4, sizes.copies(each) // 4 * 4)}
    title = f"decode attention, {kind}, {sizes.tokens:,} tokens in the cache"
    return Group(f"decode-{kind}", title, "decode", details, calls)


def rms_norm(sizes: Sizes) -> Group:
    calls = {
        f"{rows:,} x {NORM_COLUMNS:,}": Call(rows, of_peer=OF_OTHERS) for rows in (1, sizes.tokens)
    }
    return Group("rms-norm", "RMS norm", "rms_norm", {"columns": NORM_COLUMNS, "copies": 4}, calls)


def rotary(sizes: Sizes) -> Group:
    calls = {f"tokens: {rows:,}": Call(rows, of_peer=OF_OTHERS) for rows in (1, sizes.tokens)}
    title = f"rotary, {HEADS} and {KV_HEADS} heads of {HEAD_DIM}"
    return Group("rotary", title, "rotary", {"copies": 4}, calls)


def mlp(sizes: Sizes) -> Group:
    weights = 3 * sizes.n * sizes.k
    calls = {
        f"M = {rows:,}": Call(
            rows, bytes=2 * weights, products=2 * weights * rows, of_peer=OF_OTHERS
        )
        for rows in (1, sizes.tokens)
    }
    details = {"width": sizes.k, "hidden": sizes.n, "copies": sizes.copies(2 * weights)}
    return Group("mlp", "MLP of SiLU, bf16", "mlp", details, calls)
