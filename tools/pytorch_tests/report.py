"""What is told: progress, results on disk that a later run takes up, the table and the list at the end."""

import fnmatch
import json
import re
import threading
import time
from collections import Counter

COLUMNS = ("passed", "skipped", "failed on both", "known", "device only", "crashed", "timed out")
NOTABLE = ("device only", "crashed", "timed out")
QUIET_SECONDS = 15
KNOWN = re.compile(r"^\| `([^`]+)` \| .+ \|$", re.MULTILINE)


class Report:
    """The results so far, by file and test. Any thread may add one."""

    def __init__(self, path, resume, known=None):
        """`known`: a file with a table of the tests that need not pass, "`file test` | reason"; `*` in a name is any part."""
        self.lock = threading.Lock()
        self.known_by = known
        self.known = set(KNOWN.findall(known.read_text())) if known else set()
        self.results = {}
        self.problems = {}  # of files that are not run
        self.expected = {}
        self.spoken = float("-inf")
        if resume and path.exists():
            for line in path.read_text().splitlines():
                result = json.loads(line)
                self.results[result["file"], result["test"]] = result
        self.disk = open(path, "a" if resume else "w") if path else None  # noqa: SIM115

    def knows(self, suite, test):
        return (suite.name, test) in self.results

    def begin(self, suite, tests):
        self.expected[suite.name] = tests
        print(f"{suite.name}: {tests} tests", flush=True)

    def add_problem(self, suite, problem):
        """The file, or the rest of it, cannot be run."""
        self.problems[suite.name] = f"{suite.name}: not run: {problem}"
        print(self.problems[suite.name], flush=True)

    def add(self, suite, result, cpu):
        """`cpu` is how its twin ended, None if that was not run."""
        result = {"file": suite.name, **result, "cpu": cpu}
        with self.lock:
            self.results[suite.name, result["test"]] = result
            if self.disk:
                print(json.dumps(result), file=self.disk, flush=True)
            if self.column(result) in NOTABLE:
                print(describe(result), flush=True)
            elif time.monotonic() - self.spoken > QUIET_SECONDS:
                self.spoken = time.monotonic()
                done = sum(file == suite.name for file, _ in self.results)
                print(f"{suite.name}: {done} of {self.expected[suite.name]}", flush=True)

    def column(self, result):
        column = classify(result)
        return "known" if column in NOTABLE and self.is_known(result) else column

    def is_known(self, result):
        return any(fnmatch.fnmatchcase(name(result), one) for one in self.known)

    def different(self):
        return [one for _, one in sorted(self.results.items()) if self.column(one) in NOTABLE]

    def no_longer_known(self):
        """What is in the table of those that need not pass, where none that was run fails on the device alone."""
        named = {one: fnmatch.filter(map(name, self.results.values()), one) for one in self.known}
        failed = {name(result) for result in self.results.values() if classify(result) in NOTABLE}
        return sorted(one for one, tests in named.items() if tests and not failed & set(tests))

    def print_summary(self):
        counts = {}
        for (file, _), result in self.results.items():
            counts.setdefault(file, Counter())[self.column(result)] += 1
        if len(counts) > 1:
            counts["all"] = sum(counts.values(), Counter())
        width = max(map(len, counts), default=0)
        print("\n" + " " * width, *COLUMNS, sep="  ")
        for file, count in counts.items():
            cells = (f"{count[column]:{len(column)}}" for column in COLUMNS)
            print(f"{file:{width}}", *cells, sep="  ")
        print(*self.problems.values(), sep="\n", end="\n" if self.problems else "")
        if self.different():
            print("\nNot passed on the device, though the CPU passes or has no such test:")
        for result in self.different():
            print(describe(result))
        if self.no_longer_known():
            print(f"\nIn {self.known_by}, where they need not be:")
        for one in self.no_longer_known():
            print(one)


def classify(result):
    """The column of a result: what the CPU does not pass either is no difference."""
    if result["cpu"] in ("failed", "crashed", "timed out"):
        return "failed on both"
    return "device only" if result["outcome"] == "failed" else result["outcome"]


def name(result):
    return f"{result['file']} {result['test']}"


def describe(result):
    return f"{name(result)} {result['outcome']}: {result['error']}"
