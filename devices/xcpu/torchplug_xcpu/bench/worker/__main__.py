"""`python .../worker NAME THREADS`: one contestant, in a process and with a PyTorch of its own.

It needs nothing of torchplug. Each line of stdin is a wish in JSON and is answered with a line: {"prepare": work} with
what each call came to beside a reference, {"measure": call, "calls": n} with seconds. Between two lines it waits.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import given
import torch

Way = Callable[[int], Any]
"""Does the work once, with the copy of that number."""


def seconds_of(way: Way, number: int) -> float:
    """By the time of day; with one thread by its processor's time, where that is less: somebody else came between.
    The probes' clocks are the same."""
    begin, start = time.thread_time(), time.perf_counter()
    way(number)
    seconds = time.perf_counter() - start
    return min(seconds, time.thread_time() - begin) if torch.get_num_threads() == 1 else seconds


class Call:
    """One call, in the fastest of the ways that the contestant has for it."""

    def __init__(self, ways: dict[str, Way]) -> None:
        self.next = 0
        seconds = {}
        for name, way in ways.items():
            self.way = way
            seconds[name] = self.fastest(3)
        self.name = min(seconds, key=lambda name: seconds[name])
        self.way = ways[self.name]

    def fastest(self, calls: int) -> float:
        """Seconds, of calls that take different copies. One before them wakes the threads up."""
        best = float("inf")
        for call in range(calls + 1):
            seconds = seconds_of(self.way, self.next)
            self.next += 1
            if call:
                best = min(best, seconds)
        return best


class Worker:
    def __init__(self, contestant: Any) -> None:
        self.contestant = contestant
        self.calls: dict[str, Call] = {}

    def answer(self, wish: dict[str, Any]) -> dict[str, Any]:
        if "prepare" in wish:
            return self.prepare(wish["prepare"])
        return {"seconds": self.calls[wish["measure"]].fastest(wish["calls"])}

    def prepare(self, work: dict[str, Any]) -> dict[str, Any]:
        """Forgets what was prepared before: memory is for one work at a time."""
        self.calls = {}
        make = getattr(self.contestant, work["what"], None)
        if make is None:
            return {"calls": {}}
        inputs = given.GIVEN[work["what"]](**work["sizes"])
        ways_of = make(inputs)
        if ways_of is None:
            return {"calls": {}}
        found = {}
        for name, rows in work["rows"].items():
            x = inputs.input(rows)
            ways = ways_of(x)
            expected = inputs.reference(x)
            error = max(given.distance(way(0), expected) for way in ways.values())
            self.calls[name] = Call(ways)
            found[name] = {"error": error, "way": self.calls[name].name}
        return {"calls": found}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # where libraries print
    torch.set_num_threads(int(sys.argv[2]))
    with torch.inference_mode():
        worker = Worker(import_module(f"of_{sys.argv[1]}"))
        print(json.dumps({"torch": torch.__version__}), file=answers, flush=True)
        for line in sys.stdin:
            try:
                answer = worker.answer(json.loads(line))
            except Exception as error:  # noqa: BLE001 - what a peer cannot do is told, and costs its row
                said = str(error).strip().partition("\n")[0]
                answer = {"failed": f"{type(error).__name__}: {said}"}
            print(json.dumps(answer), file=answers, flush=True)


main()
