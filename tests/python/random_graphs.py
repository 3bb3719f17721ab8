"""Random programs of tensors, the same for each seed, and inputs for them.

A program is text, so that a failure shows it. Sizes are expressions of a and b, the sizes of the first input. Whether
a value is exact is known: only such values are rounded, compared or divided by, since a difference in the last place
would become a large one there.
"""

import random
from dataclasses import dataclass, field, replace

import torch
from random_operators import KINDS, broadcast

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "b8": torch.bool,
}
REALS = ("f32", "f64", "bf16")
LAYOUTS = ("contiguous", "contiguous", "transposed", "sliced", "shifted")
SIZES = [(3, 5), (4, 8), (7, 17), (2, 33), (5, 64), (16, 16), (9, 300), (2, 6), (70, 3)]
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-40]


@dataclass
class Value:
    name: str
    dtype: str
    shape: tuple
    exact: bool = True
    base: str = ""
    """The value whose memory it is in, as far as is known."""

    @property
    def is_real(self):
        return self.dtype in REALS


@dataclass
class Input:
    dtype: str
    shape: tuple
    layout: str
    limit: str = ""
    """Of indices: the size that they are below."""


@dataclass
class Program:
    seed: int
    inputs: list = field(default_factory=list)
    lines: list = field(default_factory=list)
    results: list = field(default_factory=list)
    written: set = field(default_factory=set)
    """Names of inputs that are changed in place."""

    @property
    def source(self):
        names = ", ".join(f"v{i}" for i in range(len(self.inputs)))
        results = ", ".join(value.name for value in self.results)
        body = ["a, b = v0.shape", *self.lines, f"return [{results}]"]
        return f"def program({names}):\n" + "".join(f"    {line}\n" for line in body)

    def function(self, reference=False):
        """As a function; for reference, one that computes all real numbers in float64."""
        dtypes = {k: torch.float64 if reference and k in REALS else v for k, v in DTYPES.items()}
        space = {"torch": torch, "F": torch.nn.functional, **dtypes}
        exec(self.source, space)  # noqa: S102 - the text is made here
        return space["program"]

    def input_value(self, place):
        """What an input is after a call."""
        name = f"v{place}"
        return Value(
            name, self.inputs[place].dtype, self.inputs[place].shape, name not in self.written
        )

    def make_inputs(self, a, b):
        generator = torch.Generator().manual_seed(self.seed)
        return [self._make(one, {"a": a, "b": b}, generator) for one in self.inputs]

    def _make(self, given, sizes, generator):
        shape = [eval(size, {}, sizes) for size in given.shape]
        room, cut = _room(shape, given.layout)
        if given.limit:
            return torch.randint(0, eval(given.limit, {}, sizes), room, generator=generator)
        if given.dtype == "i64":
            return cut(torch.randint(-9, 10, room, generator=generator))
        content = torch.randn(room, generator=generator, dtype=torch.float64) * 2
        if self.seed % 3 == 0 and given.dtype != "b8":
            chosen = torch.randint(0, 40, room, generator=generator)
            for i, special in enumerate(SPECIAL):
                content[chosen == i] = special
        return cut(content > 0 if given.dtype == "b8" else content.to(DTYPES[given.dtype]))


def _room(shape, layout):
    """The shape of the memory, and what makes the tensor of it."""
    if not shape or layout == "contiguous":
        return shape, lambda x: x
    if layout == "transposed":
        return shape[::-1], lambda x: x.permute(*reversed(range(x.dim())))
    if layout == "sliced":
        return [*shape[:-1], 2 * shape[-1]], lambda x: x[..., ::2]
    return [shape[0] + 1, *shape[1:]], lambda x: x[1:]


class Generator:
    """Makes one program: operators add lines to it by what they find in `values`."""

    def __init__(self, seed, nodes):
        self.random = random.Random(seed)
        self.program = Program(seed)
        self.values = []
        self._count = 0
        self._add_inputs()
        made = tries = 0
        while made < nodes and tries < 300:
            (kind,) = self.random.choices([k for k, _ in KINDS], [weight for _, weight in KINDS])
            made += kind(self) is not None
            tries += 1
        self._choose_results()

    def _add_inputs(self):
        main = self.random.choice(["f32", "f32", "f32", "bf16", "f64"])
        self._input(main, ("a", "b"))
        for shape in (("a", "b"), ("b",), ("a", "1"), ("b", "a")):
            if self.random.random() < 0.6:
                self._input(self.random.choice([main, main, *DTYPES]), shape)
        if self.random.random() < 0.3:
            self._input(main, ("2", "a", "b"))
        if self.random.random() < 0.2:
            self._input(main, ())
        self.index_of = {size: self._input("i64", ("4",), size) for size in ("a", "b")}
        self.wide_index = self._input("i64", ("3", "b"), "a")

    def _input(self, dtype, shape, limit=""):
        layout = "contiguous" if limit else self.random.choice(LAYOUTS)
        self.program.inputs.append(Input(dtype, shape, layout, limit))
        name = f"v{self._count}"
        self._count += 1
        value = Value(name, dtype, shape, base=name)
        if not limit:
            self.values.append(value)
        return value

    def _choose_results(self):
        made = [v for v in self.values if int(v.name[1:]) >= len(self.program.inputs)]
        for value in [*self.random.sample(made, min(len(made), 3)), *made[-1:]]:
            if value not in self.program.results:
                self.program.results.append(value)

    def pick(self, want=lambda v: True):
        """One of the values, rather a late one; None if there is none."""
        found = [v for v in self.values if want(v)]
        return self.random.choices(found, range(1, len(found) + 1))[0] if found else None

    def real(self, want=lambda v: True):
        return self.pick(lambda v: v.is_real and want(v))

    def pair(self, want=lambda v: True):
        """Two that can be broadcast, and the shape of both."""
        x = self.pick(want)
        if x is None:
            return None
        y = self.pick(lambda v: want(v) and broadcast(x.shape, v.shape) is not None)
        return x, y, broadcast(x.shape, y.shape)

    def emit(self, text, dtype, shape, exact, base=""):
        name = f"v{self._count}"
        self._count += 1
        self.program.lines.append(f"{name} = {text}")
        self.values.append(Value(name, dtype, tuple(shape), exact, base or name))
        return self.values[-1]

    def view(self, of, text, shape):
        return self.emit(f"{of.name}{text}", of.dtype, shape, of.exact, of.base)

    def write(self, target, text):
        self.program.lines.append(text)
        self.program.written.add(target.base)
        self.values = [replace(v, exact=False) if v.base == target.base else v for v in self.values]
        return text


def make_program(seed, nodes=10):
    return Generator(seed, nodes).program


def sizes_of(seed):
    return SIZES[seed % len(SIZES)]
