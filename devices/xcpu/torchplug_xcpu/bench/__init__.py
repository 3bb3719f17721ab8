"""`torchplug bench --xcpu`: the operators of xcpu on CPU tensors, as fractions of what the machine can do at most, and
beside other packages for the same work.

docs/performance.md says what is measured, and how.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from torchplug import bench, cpu
from torchplug.bench import environment
from torchplug.bench.settings import FEWEST_ROUNDS
from torchplug.cli import output
from torchplug_xcpu.bench import cases, processes, report
from torchplug_xcpu.bench.rounds import OURS, Match

ROUNDS = 15
MOST_IDLE = 0.02
"""The share of a processor that a contestant may use while it waits, before that is worth a note."""
CONTESTANTS = (OURS, "torch", *processes.PEERS)


def main(words: Sequence[str]) -> int:
    """0 if all that was to be measured was, 1 if something failed, 2 if there is nothing to measure."""
    args = parse(words)
    try:
        found = json.loads(args.shown.read_text()) if args.shown else measure(args)
    except RuntimeError as error:
        output.complain(str(error))
        return 2
    if args.json is not None and args.shown is None:
        bench.write(found, args.json)
    if args.readme is not None:
        args.readme.write_text(with_table(args.readme.read_text(), report.markdown(found)))
    elif args.json != "-":
        report.show(output.console(), found)
    return 1 if found["failures"] else 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="torchplug bench --xcpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bench.add_measuring_options(parser)
    add = parser.add_argument
    names = ", ".join(group.name for group in cases.groups(cases.Sizes()))
    add("--only", metavar="NAME,...", help=f"these rows: {names}")
    add("--threads", type=bench.positive, help="threads of each contestant (default: all cores)")
    add(
        "--peers",
        type=Path,
        default=Path("build/peers"),
        metavar="DIR",
        help="where make peers has put the others (default: build/peers)",
    )
    add("--readme", type=bench.existing, metavar="PATH", help="write the table into this README")
    return parser.parse_args(words)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    sizes = cases.QUICK if args.quick else cases.Sizes()
    every = {group.name: group for group in cases.groups(sizes)}
    groups = [every[name] for name in bench.chosen_names(args.only, list(every))]
    threads = args.threads or len(os.sched_getaffinity(0))
    rounds = args.rounds or (1 if args.quick else ROUNDS)
    here = environment.describe()
    notes = ["Too few rounds for the numbers to mean anything."] if rounds < FEWEST_ROUNDS else []
    with ExitStack() as stack, output.looking("Measuring") as status:
        match = Match(*start(stack, threads, sizes, args.peers, notes), rounds)
        rows = []
        for group in groups:
            status.update(f"Measuring {group.title}")
            rows += match.play(group)
        notes += [
            f"{name} used {seconds / match.others:.0%} of a processor while others measured."
            for name, seconds in match.idle.items()
            if seconds > MOST_IDLE * match.others
        ]
        here["load_after"] = environment.load()
    here |= {
        "torch": match.contestants[0].torch,
        "kernels": f"kernels for {cpu.report().instruction_set}",
    }
    peers = {each.name: processes.PEERS.get(each.name, each.name) for each in match.contestants[1:]}
    return {
        "environment": here,
        "conditions": conditions(threads, rounds),
        "threads": threads,
        "rounds": rounds,
        "peers": peers,
        "rows": rows,
        "notes": notes,
        "failures": match.failures,
    }


def start(
    stack: ExitStack, threads: int, sizes: cases.Sizes, peers: Path, notes: list[str]
) -> tuple[list[processes.Contestant], processes.Probes | None]:
    """Everybody that takes part. Who cannot is named in the notes; RuntimeError if we ourselves cannot."""
    found = []
    for name in CONTESTANTS:
        try:
            python = processes.python_of(name, peers)
            found.append(stack.enter_context(closing(processes.Contestant(name, python, threads))))
        except RuntimeError as error:
            if name == OURS:
                raise
            notes.append(f"Without {name}: {error}.")
    if not processes.PROBE.exists():
        notes.append("Without shares of the roof: this package has no probes for this processor.")
        return found, None
    return found, stack.enter_context(closing(processes.Probes(threads, sizes.cycle)))


def conditions(threads: int, rounds: int) -> str:
    return (
        f"{threads} threads; bfloat16 inputs and results; weights and caches follow each other in more memory than "
        f"caches have; everybody in a process of its own, in turns, the fastest call of a turn, medians of {rounds} rounds"
    )


BEGIN = "<!-- xcpu numbers: begin. From `torchplug bench --xcpu --readme README.md`. -->\n"
END = "<!-- xcpu numbers: end -->"


def with_table(text: str, table: str) -> str:
    """The README's text with another table; nothing else changes."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise RuntimeError(f"The README has no table between {BEGIN.strip()} and {END}.")
    return f"{before}{BEGIN}{table}\n{END}{after}"
