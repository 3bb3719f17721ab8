"""Trains two small models on the default device and on the CPU, and compares.

Run by `make demo`. Prints the losses of both, whether they agree, and where the device's operators
ran.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import torchplug

STEPS = 40
TOLERANCE = 1e-3


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
        return self.head(x.mean((2, 3)))


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
        return self.head(self.encoder(self.embed(tokens) + self.place)).transpose(1, 2)


def images() -> Iterator[tuple[Tensor, Tensor]]:
    """Noisy stripes in four directions."""
    generator = torch.Generator().manual_seed(1)
    y, x = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    patterns = torch.stack([torch.sin(p) for p in (x, y, x + y, x - y)])[:, None]
    while True:
        labels = torch.randint(4, (32,), generator=generator)
        noise = torch.randn(32, 1, 12, 12, generator=generator)
        yield patterns[labels] + noise, labels


def sequences() -> Iterator[tuple[Tensor, Tensor]]:
    """Random tokens, and the same backwards."""
    generator = torch.Generator().manual_seed(2)
    while True:
        tokens = torch.randint(12, (64, 8), generator=generator)
        yield tokens, tokens.flip(1)


def train(
    make: Callable[[], nn.Module],
    batches: Iterator[tuple[Tensor, Tensor]],
    device: str,
    progress: Callable[[int], None],
) -> tuple[list[float], float]:
    """The loss of every step, and the seconds it all took."""
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    start = time.perf_counter()
    for step, (inputs, targets) in zip(range(STEPS), batches):  # noqa: B905
        loss = F.cross_entropy(model(inputs.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        progress(step + 1)
    values = torch.stack(losses).tolist()
    return values, time.perf_counter() - start


def show_progress(label: str) -> Callable[[int], None]:
    def show(step: int) -> None:
        if sys.stderr.isatty():
            filled = 30 * step // STEPS
            bar = "#" * filled + "." * (30 - filled)
            end = "\n" if step == STEPS else ""
            print(f"\r  {label:<12} [{bar}] {step}/{STEPS}", end=end, file=sys.stderr, flush=True)
        elif step % 10 == 0:
            print(f"  {label:<12} step {step}/{STEPS}", file=sys.stderr)

    return show


def compare(title: str, make: Callable[[], nn.Module], batches: Callable, device: str) -> bool:
    print(f"\n{title}")
    on_device, seconds = train(make, batches(), device, show_progress(device))
    on_cpu, cpu_seconds = train(make, batches(), "cpu", show_progress("cpu"))
    print(f"  {'step':>6} {device:>12} {'cpu':>12}")
    for step in (0, STEPS // 4, STEPS // 2, 3 * STEPS // 4, STEPS - 1):
        print(f"  {step + 1:>6} {on_device[step]:>12.6f} {on_cpu[step]:>12.6f}")
    difference = max(abs(a - b) for a, b in zip(on_device, on_cpu, strict=True))
    agree = difference <= TOLERANCE and on_device[-1] < on_device[0]
    verdict = "the losses agree" if agree else "THE LOSSES DIFFER"
    print(f"  {verdict} (at most {difference:.1e} apart); {seconds:.2f} s, cpu {cpu_seconds:.2f} s")
    return agree


def print_ledger(most: int = 12) -> None:
    entries = torchplug.ledger()
    total = sum(entry.count for entry in entries)
    print("\nWhere the device's operators ran")
    for way in ("kernel", "borrow", "stage"):
        mine = [entry for entry in entries if entry.way == way]
        count = sum(entry.count for entry in mine)
        moved = sum(entry.bytes for entry in mine)
        if count:
            print(
                f"  {way:<7} {count:>7} calls {count / total:>6.1%}   {moved / 2**20:>8.1f} MiB moved"
            )
    print(f"\n  {'operator':<34} {'way':<7} {'calls':>6}  reason")
    for entry in entries[:most]:
        print(f"  {entry.op:<34} {entry.way:<7} {entry.count:>6}  {entry.reason}")
    if len(entries) > most:
        print(f"  ... and {len(entries) - most} more: torchplug.ledger()")


def main() -> int:
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None:
        print("There is no device. Set TORCHPLUG_DEVICE to one, for example sim.", file=sys.stderr)
        return 2
    device = accelerator.type
    module = torch.get_device_module(device)
    print(f"PyTorch {torch.__version__}, device '{device}': {module.get_device_name()}")
    agree = compare("A residual convolutional net", ConvNet, images, device)
    agree &= compare("A two-layer transformer", Transformer, sequences, device)
    print_ledger()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
