"""Programs for TorchScript, drawn at random: operators, views, writes in place, a branch or a loop."""

from __future__ import annotations

from random import Random

ONE = (
    "torch.relu({a})",
    "torch.sigmoid({a})",
    "{a} * 2.0",
    "{a} + 1",
    "{a}.t()",
    "{a}.reshape(-1).view({a}.size(0), -1)",
    "torch.softmax({a}, -1)",
    "{a}.sum(0, keepdim=True) + {a}",
    "torch.layer_norm({a}, [{a}.size(-1)])",
    "{a}.clone()",
    "{a}[:, 0:2].mean() + {a}",
    "{a}.contiguous()",
    "{a}.expand(3, 3)",
    "torch.dropout({a}, 0.3, False)",
    "torch.lgamma({a}.abs() + 1.0)",
    "{a}.to(torch.float64).to(torch.float32)",
    "{a}.argmax(-1).unsqueeze(-1) + {a}",
    "torch.where({a} > 0, {a}, {a} * 0.1)",
    "torch.chunk({a}, 3, 0)[1] + {a}",
    "torch.stack([{a}, {a}], 0).sum(0)",
)
TWO = (
    "{a} + {b}",
    "{a} * {b}",
    "{a} - {b}",
    "torch.matmul({a}, {b})",
    "torch.cat([{a}, {b}], 0)[1:4]",
    "torch.maximum({a}, {b})",
    "{a} / ({b}.abs() + 1.0)",
    "torch.where({a} > {b}, {a}, {b})",
)
WRITES = (
    "{a}.add_(1.0)",
    "{a}.mul_({b})",
    "{a}.relu_()",
    "{a}[0].zero_()",
    "{a}.t()[1].add_(2.0)",
    "{a}.copy_({b})",
)


class Program:
    """A function f(x, y, n) of two tensors of 3 x 3 and a number."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.lines: list[str] = []
        self.known = ["x", "y"]
        self.count = 0

    def text(self) -> str:
        self.add_lines(2, 6)
        kind = self.draw.random()
        if kind < 0.3:
            self.add_branch()
        elif kind < 0.6:
            self.add_loop()
        self.add_lines(1, 4)
        given = self.draw.sample(self.known, self.draw.randint(1, min(3, len(self.known))))
        body = "\n".join(self.lines)
        return f"def f(x, y, n: int):\n{body}\n    return ({', '.join(given)},)"

    def add_lines(self, least: int, most: int) -> None:
        for _ in range(self.draw.randint(least, most)):
            self.add_line("    ")

    def add_line(self, indent: str) -> None:
        kind = self.draw.random()
        a, b = self.draw.choice(self.known), self.draw.choice(self.known)
        if kind < 0.14:
            self.lines.append(indent + self.draw.choice(WRITES).format(a=a, b=b))
            return
        name = self.new_name()
        made = self.draw.choice(ONE if kind < 0.6 else TWO).format(a=a, b=b)
        self.lines.append(f"{indent}{name} = {made}")
        self.known.append(name)

    def new_name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def add_branch(self) -> None:
        name, source, before = self.new_name(), self.draw.choice(self.known), list(self.known)
        self.lines += [f"    {name} = {source}", "    if n > 1:"]
        self.add_line("        ")
        self.lines += [f"        {name} = {self.known[-1]} * 1.5", "    else:"]
        self.lines.append(f"        {name} = torch.tanh({source})")
        self.known = [*before, name]

    def add_loop(self) -> None:
        name, before = self.new_name(), list(self.known)
        self.lines += [f"    {name} = {self.draw.choice(self.known)}", "    for i in range(n):"]
        self.known.append(name)
        self.add_line("        ")
        self.lines.append(f"        {name} = torch.tanh({self.known[-1]} + {name} * 0.5)")
        self.known = [*before, name]
