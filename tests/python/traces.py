"""What the tests of the profiler share: a trace by its parts, and the lines of a table."""

import json
from collections import Counter, defaultdict

import torch
from torch.profiler import ProfilerActivity

ACTIVITIES = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


class Trace:
    """A Chrome trace by its parts."""

    def __init__(self, path):
        with open(path) as file:
            self.json = json.load(file)
        self.events = self.json["traceEvents"]
        self.spans = [event for event in self.events if event["ph"] == "X"]

    def of(self, *categories, name=""):
        """By when they began; the file has them in any order."""
        found = [e for e in self.spans if e.get("cat") in categories and name in e["name"]]
        return sorted(found, key=lambda event: event["ts"])

    @property
    def work(self):
        return self.of(*ON_DEVICE)

    def arrows(self, kind="ac2g"):
        """The pairs of spans that the arrows of a kind connect."""
        ends = defaultdict(dict)
        for event in self.events:
            if event.get("cat") == kind:
                assert event["ph"] not in ends[event["id"]], "one arrow has two ends of a kind"
                ends[event["id"]][event["ph"]] = event
        assert all(pair.keys() == {"s", "f"} for pair in ends.values()), "an arrow with one end"
        return [(self.at(pair["s"]), self.at(pair["f"])) for pair in ends.values()]

    def at(self, end):
        place = ("pid", "tid", "ts")
        found = [e for e in self.spans if all(e[key] == end[key] for key in place)]
        categories = (*ON_DEVICE, "privateuse1_runtime", "cpu_op")
        (span,) = [e for e in found if e["cat"] in categories] or [None]
        return span

    def operator(self, span):
        """The operator that a span says it belongs to."""
        number = span["args"]["External id"]
        (found,) = [e for e in self.of("cpu_op") if e["args"].get("External id") == number]
        return found

    def lanes(self):
        names = [e for e in self.events if e["ph"] == "M" and e["name"] == "thread_name"]
        return {(e["pid"], e["tid"]): e["args"]["name"] for e in names}


def within(inner, outer):
    return outer["ts"] <= inner["ts"] and end(inner) <= end(outer)


def end(span):
    return span["ts"] + span["dur"]


def rows(profiler):
    """The lines of the table by name, those of operators apart from those of the device's work."""
    cpu = torch.autograd.DeviceType.CPU
    averages = profiler.key_averages()
    operators = [event for event in averages if event.device_type == cpu]
    work = [event for event in averages if event.device_type != cpu]
    assert max(Counter(event.key for event in operators).values()) == 1, "an operator twice"
    assert max(Counter(event.key for event in work).values()) == 1
    return {e.key: e for e in operators}, {e.key: e for e in work}
