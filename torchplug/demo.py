"""Trains two small models on the device and on the CPU, and compares.

`make demo`, `torchplug demo` and `python -m torchplug.demo` run it. The losses of both, whether they
agree, and where the device's operators ran are printed on stdout, the progress on stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import torchplug
from torchplug.cli import ledger, output

if TYPE_CHECKING:
    from rich.console import Console

STEPS = 40
TOLERANCE = 1e-3
MOST_OPERATORS = 12

Batches = Iterator[tuple[Tensor, Tensor]]


class ConvNet(nn.Module):
    """A residual net for small images."""

    def __init__(self, channels: int = 16, classes: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.block = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.GroupNorm(4, channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
        )
        self.head = nn.Linear(channels, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = F.relu(self.norm(self.stem(images)))
        x = F.max_pool2d(F.relu(x + self.block(x)), 2)
        logits: Tensor = self.head(x.mean((2, 3)))
        return logits


class Transformer(nn.Module):
    """A two-layer encoder that learns to reverse a sequence."""

    def __init__(self, tokens: int = 12, length: int = 8, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.1)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, tokens)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.encoder(self.embed(tokens) + self.place))
        return logits.transpose(1, 2)


def images() -> Batches:
    """Noisy stripes in four directions."""
    generator = torch.Generator().manual_seed(1)
    y, x = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    patterns = torch.stack([torch.sin(p) for p in (x, y, x + y, x - y)])[:, None]
    while True:
        labels = torch.randint(4, (32,), generator=generator)
        noise = torch.randn(32, 1, 12, 12, generator=generator)
        yield patterns[labels] + noise, labels


def sequences() -> Batches:
    """Random tokens, and the same backwards."""
    generator = torch.Generator().manual_seed(2)
    while True:
        tokens = torch.randint(12, (64, 8), generator=generator)
        yield tokens, tokens.flip(1)


@dataclass
class Task:
    """A model and what it learns."""

    title: str
    model: Callable[[], nn.Module]
    batches: Callable[[], Batches]


TASKS = (
    Task("A residual convolutional net", ConvNet, images),
    Task("A two-layer transformer", Transformer, sequences),
)


@dataclass
class Training:
    """How it went on one device."""

    losses: list[float]
    seconds: float


@dataclass
class Comparison:
    """How it went on the device and on the CPU."""

    task: str
    device: Training
    cpu: Training

    @property
    def difference(self) -> float:
        """The largest between the losses of one step."""
        pairs = zip(self.device.losses, self.cpu.losses, strict=True)
        return max(abs(mine - theirs) for mine, theirs in pairs)

    @property
    def agree(self) -> bool:
        """Whether the device learnt, and learnt what the CPU did."""
        learnt = self.device.losses[-1] < self.device.losses[0]
        return learnt and self.difference <= TOLERANCE


def train(task: Task, device: str, progress: Callable[[float], None]) -> Training:
    """Trains a fresh model; progress is told the loss of every step."""
    torch.manual_seed(0)
    model = task.model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    start = time.perf_counter()
    for _, (inputs, targets) in zip(range(STEPS), task.batches()):  # noqa: B905
        loss = F.cross_entropy(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
        progress(losses[-1])
    return Training(losses, time.perf_counter() - start)


def compare(device: str) -> list[Comparison]:
    """Every task on the device and on the CPU, with a bar for each on stderr."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = output.console(stderr=True)
    loss_column = TextColumn("loss {task.fields[loss]:.4f}")
    columns = (TextColumn("{task.description:<38}"), BarColumn(20), MofNCompleteColumn())
    found = []
    with Progress(*columns, loss_column, console=console) as bars:
        for task in TASKS:
            trainings = []
            for place in (device, "cpu"):
                bar = bars.add_task(f"{task.title} on {place}", total=STEPS, loss=float("nan"))

                def advance(loss: float, bar: Any = bar) -> None:
                    bars.update(bar, advance=1, loss=loss)

                trainings.append(train(task, place, advance))
            found.append(Comparison(task.title, *trainings))
    return found


def show(console: Console, device: str, comparisons: list[Comparison]) -> None:
    """The losses side by side, and a verdict."""
    for comparison in comparisons:
        console.print(f"\n[bold]{comparison.task}[/]")
        table = output.table(console, "step", device, "cpu", right=("step", device, "cpu"))
        for step in (0, STEPS // 4, STEPS // 2, 3 * STEPS // 4, STEPS - 1):
            mine, theirs = comparison.device.losses[step], comparison.cpu.losses[step]
            table.add_row(str(step + 1), f"{mine:.6f}", f"{theirs:.6f}")
        output.put(console, table)
        verdict = "the losses agree" if comparison.agree else "[bold red]THE LOSSES DIFFER[/]"
        console.print(
            f"{verdict} (at most {comparison.difference:.1e} apart); "
            f"{comparison.device.seconds:.2f} s, cpu {comparison.cpu.seconds:.2f} s"
        )


def show_ledger(console: Console) -> None:
    """Where the device's operators ran."""
    entries = torchplug.ledger()
    console.print("\n[bold]Where the device's operators ran[/]")
    for table in ledger.tables(console, entries, MOST_OPERATORS):
        output.put(console, table)
    if len(entries) > MOST_OPERATORS:
        console.print(f"... and {len(entries) - MOST_OPERATORS} more: torchplug.ledger()")


def run(*, as_json: bool = False) -> int:
    """The demo on this process's device; 1 if the losses differ, 2 without a device."""
    try:
        name = torchplug.device_module().get_device_name()
    except RuntimeError as error:
        output.complain(str(error))
        return 2
    device = torch._C._get_privateuse1_backend_name()
    comparisons = compare(device)
    agree = all(comparison.agree for comparison in comparisons)
    if as_json:
        results = [asdict(c) | {"difference": c.difference} for c in comparisons]
        answer = {"torch": torch.__version__, "device": device, "name": name, "agree": agree}
        operators = [asdict(entry) for entry in torchplug.ledger()]
        output.print_json(answer | {"tasks": results, "ledger": operators})
    else:
        console = output.console()
        console.print(f"PyTorch {torch.__version__}, device '{device}': {name}")
        show(console, device, comparisons)
        show_ledger(console)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(run(as_json="--json" in sys.argv[1:]))
