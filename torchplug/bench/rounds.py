"""Rounds: two things timed in turns, and what is made of their times.

Other load on the machine slows both halves of a round, so the ratio is taken within each round; the
median of the rounds leaves out those that something disturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from statistics import median, quantiles
from typing import NamedTuple, TypedDict

Clock = Callable[[], float]
"""Does the thing and returns how long it took."""


class Contest(NamedTuple):
    """What is measured, and beside what; both clocks tell the time in the same unit."""

    device: Clock
    reference: Clock | None


class Result(TypedDict):
    """Medians over the rounds."""

    device: float
    reference: float | None
    figure: float
    """What the aim is about; the median of the rounds' own figures."""
    low: float
    high: float
    """Their first and third quartile."""
    rounds: int


Figure = Callable[[float, float], float]
"""Of the times of one round: the device's and the reference's, which is nan without one."""


def ratio(device: float, reference: float) -> float:
    return device / reference


def play(rounds: int, contests: Mapping[str, Contest], figure: Figure = ratio) -> dict[str, Result]:
    """Each round times every contest once, so that a disturbance spoils one round of each and not
    all rounds of one. Who begins alternates."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contests}
    for contest in contests.values():  # what happens only the first time
        once(contest, device_first=True)
    for number in range(rounds):
        for name, contest in contests.items():
            times[name].append(once(contest, device_first=number % 2 == 0))
    return {name: summarize(pairs, figure) for name, pairs in times.items()}


def once(contest: Contest, *, device_first: bool) -> tuple[float, float]:
    if contest.reference is None:
        return contest.device(), float("nan")
    if device_first:
        device = contest.device()
        return device, contest.reference()
    reference = contest.reference()
    return contest.device(), reference


def summarize(times: list[tuple[float, float]], figure: Figure) -> Result:
    figures = [figure(device, reference) for device, reference in times]
    low, _, high = quantiles(figures, n=4, method="inclusive") if len(figures) > 1 else figures * 3
    reference = median(reference for _, reference in times)
    return {
        "device": median(device for device, _ in times),
        "reference": None if isnan(reference) else reference,
        "figure": median(figures),
        "low": low,
        "high": high,
        "rounds": len(times),
    }
