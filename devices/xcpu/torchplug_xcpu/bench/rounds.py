"""Rounds: every contestant and the probes in turns, one call after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from torchplug.bench.rounds import Result, ratio, summarize
from torchplug_xcpu.bench.cases import Call, Group
from torchplug_xcpu.bench.processes import Contestant, Probes

OURS = "xcpu"
TOLERANCE = {"linear-int8": 0.03, "linear-int4": 0.2, "decode-int8": 0.03}
"""The largest relative error of a result that is still one; of bf16 the default."""
BF16_TOLERANCE = 0.02
SETTLING = 0.01
"""Seconds for which threads of OpenMP may still look for work after a call, and disturb the next contestant."""
MOST_CALLS = 64


@dataclass
class Times:
    """Of one call, one number a round: seconds."""

    reading: list[float] = field(default_factory=list)
    multiplying: list[float] = field(default_factory=list)
    of: dict[str, list[float]] = field(default_factory=dict)
    ways: dict[str, str] = field(default_factory=dict)


@dataclass
class Match:
    """What takes part, and what goes wrong."""

    contestants: list[Contestant]
    probes: Probes | None
    rounds: int
    failures: list[str] = field(default_factory=list)
    idle: dict[str, float] = field(default_factory=dict)
    """Seconds of processors that each has used while others measured."""
    others: float = 0.0
    """Seconds for which others measured."""

    def play(self, group: Group) -> list[dict[str, Any]]:
        """The rows of a group."""
        times = {name: Times() for name in group.calls}
        ready = [each for each in self.contestants if self.prepare(each, group, times)]
        for number in range(self.rounds):
            for name, call in group.calls.items():
                self.probe(call, times[name])
                turns = [each for each in ready if each.name in times[name].of]
                first = number % max(1, len(turns))
                for each in turns[first:] + turns[:first]:
                    self.measure(each, group, name, times[name])
        return [row(group, name, times[name]) for name in group.calls if OURS in times[name].of]

    def prepare(self, each: Contestant, group: Group, times: dict[str, Times]) -> bool:
        try:
            calls = each.wish(prepare=group.work)["calls"]
        except RuntimeError as error:
            self.failures.append(f"{group.title}, {each.name}: {error}")
            return False
        for name, found in calls.items():
            if not found["error"] < TOLERANCE.get(group.name, BF16_TOLERANCE):
                said = f"its result is wrong by {found['error']:.2g}"
                self.failures.append(f"{group.title}, {name}, {each.name}: {said}")
                continue
            times[name].of[each.name] = []
            times[name].ways[each.name] = found["way"]
        return True

    def probe(self, call: Call, times: Times) -> None:
        if self.probes is None:
            return
        if call.bytes:
            times.reading.append(call.bytes / self.probes.read_bandwidth(call.bytes))
        if call.products:
            peak = self.probes.products(call.unit)
            times.multiplying.append(call.products / peak if peak else 0.0)

    def measure(self, each: Contestant, group: Group, name: str, times: Times) -> None:
        time.sleep(SETTLING)
        waiting = [other for other in self.contestants if other is not each]
        before = {other.name: other.seconds() for other in waiting}
        start = time.perf_counter()
        calls = calls_of(group, group.calls[name])
        times.of[each.name].append(each.wish(measure=name, calls=calls)["seconds"])
        self.others += time.perf_counter() - start
        for other in waiting:
            used = other.seconds() - before[other.name]
            self.idle[other.name] = self.idle.get(other.name, 0.0) + used


def calls_of(group: Group, call: Call) -> int:
    """Once through all copies, of which a call takes `rows` where they are sequences; large calls are few."""
    if call.products and call.rows > 64:
        return 2
    each = call.rows if group.what == "decode" else 1
    copies = int(group.sizes["copies"]) // each
    return min(MOST_CALLS, max(16, copies))


def row(group: Group, name: str, times: Times) -> dict[str, Any]:
    call = group.calls[name]
    ours = times.of[OURS]
    roof, probe = roof_of(call, times)
    return {
        "group": group.name,
        "title": group.title,
        "call": name,
        "seconds": against(ours, ours)["device"],
        "roof": probe,
        "of_roof": against(roof, ours) if roof else None,
        "roof_aim": call.of_roof,
        "peers": {peer: against(ours, theirs) for peer, theirs in times.of.items() if peer != OURS},
        "peer_aim": call.of_peer,
        "ways": times.ways,
    }


def roof_of(call: Call, times: Times) -> tuple[list[float], str]:
    """The seconds that each round's roof is, and of what; no seconds without a probe."""
    longer = max(times.reading, times.multiplying, key=lambda seconds: median(seconds or [0.0]))
    if not longer:
        return [], ""
    return longer, "read" if longer is times.reading else call.unit


def against(one: Sequence[float], other: Sequence[float]) -> Result:
    """The ratio of the one to the other, round by round."""
    return summarize(list(zip(one, other, strict=True)), ratio)
