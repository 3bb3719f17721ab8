"""Runs the operators in worker processes and survives whatever happens there.

One thread per worker. A worker lives for as many operators as it survives; when it dies or
hangs, the check it had announced is charged, and a fresh worker takes up the operator after it.
"""

import json
import os
import queue
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .report import CaseResult

# The package is imported by the name of its folder alone and from nowhere else, so that a worker
# sees the installed torchplug and not the sources that happen to lie in the working directory.
TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS))
import warm_interpreter

START = (
    "import sys; sys.path = [path for path in sys.path if path] + [{path!r}]; "
    "from {package}.worker import main; main()"
)
START_SECONDS = 300.0
# What takes seconds to import is imported once for all workers.
MODULES = ("torch", "torch.testing._internal.common_methods_invocations")
# After that many hangs in one operator and dtype, its other checks are not waited for.
HANGS = 2


class CannotStart(Exception):
    """The device does not open, or a worker dies before it has done anything."""


class WorkerLost(Exception):
    """The worker died ("crash") or had to be killed ("hang")."""

    def __init__(self, outcome: str, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


@dataclass(frozen=True)
class Options:
    """What to run, where and how."""

    device: str
    dtypes: tuple[str, ...]
    checks: tuple[str, ...]
    operators: tuple[str, ...] = ()
    limit: int | None = 2
    workers: int = 1
    timeout: float = 60.0
    adapter: str | None = None


class Worker:
    """A worker process and the two pipes to it."""

    def __init__(self, options: Options) -> None:
        self.timeout = options.timeout
        self.errors = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed by close
        read, self.requests = os.pipe()
        self.replies, write = os.pipe()
        self.buffer = b""
        # Where the output of the current request begins.
        self.mark = 0
        start = START.format(path=str(TESTS), package=Path(__file__).parent.name)
        arguments = [str(read), str(write), options.device, options.adapter or ""]
        with open(os.devnull) as nothing:
            printed = self.errors.fileno()
            self.process = warm_interpreter.start(
                start,
                arguments,
                _environment(options.device),
                [nothing.fileno(), printed, printed, read, write],
                modules=MODULES,
            )
        os.close(read)
        os.close(write)

    def wait_until_ready(self) -> None:
        """Returns when the device is open."""
        try:
            reply = self.receive(START_SECONDS)
        except WorkerLost as lost:
            raise CannotStart(f"a worker did not start: {lost}\n{self.printed()}") from None
        if reply["kind"] == "broken":
            raise CannotStart(reply["reason"])

    def send(self, **request: Any) -> None:
        """Asks for something; the answers come through receive."""
        self.mark = os.fstat(self.errors.fileno()).st_size
        try:
            os.write(self.requests, json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            raise WorkerLost("crash", self._last_words()) from None

    def receive(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message."""
        timeout = self.timeout if timeout is None else timeout
        until = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.replies], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                self.process.kill()
                raise WorkerLost("hang", f"no answer in {timeout:g} s")
            data = os.read(self.replies, 65536)
            if not data:
                raise WorkerLost("crash", self._last_words())
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        os.close(self.requests)
        os.close(self.replies)
        self.errors.close()

    def printed(self) -> str:
        """The end of what the worker printed since the last request."""
        size = os.fstat(self.errors.fileno()).st_size
        self.errors.seek(max(self.mark, size - 100_000))
        return self.errors.read().decode(errors="replace").strip()

    def _last_words(self) -> str:
        code = self.process.wait()
        ended = signal.Signals(-code).name if code < 0 else f"exit {code}"
        # What the program said itself comes before faulthandler's stack.
        said = self.printed().partition("Fatal Python error")[0].strip().splitlines()
        return f"{ended}: {said[-1][:300]}" if said else ended


@dataclass
class Task:
    """One operator in one dtype (none: its error inputs) and how far it has come."""

    operator: str
    dtype: str
    checks: list[str] = field(default_factory=list)
    begun: tuple[str, int] | None = None
    after: tuple[str, int] | None = None
    lost: list[str] = field(default_factory=list)
    hangs: int = 0

    def remaining(self) -> list[str]:
        """The checks that have not begun."""
        return self.checks[self.checks.index(self.after[0]) + 1 :] if self.after else self.checks


class Driver:
    """Deals operators out to workers and gathers what they find."""

    def __init__(self, options: Options, progress: Callable[[int, int, int], None]) -> None:
        self.options = options
        self.progress = progress
        self.tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self.results: dict[tuple[str, str, str], CaseResult] = {}
        self.results_lock = threading.Lock()
        self.total = 0
        self.finished = 0
        self.failing = 0
        self.failure: BaseException | None = None

    def run(self) -> list[CaseResult]:
        """All cases, in no order."""
        workers = [Worker(self.options) for _ in range(self.options.workers)]
        try:
            for worker in workers:
                worker.wait_until_ready()
            self._plan(workers[0])
        except BaseException:
            for worker in workers:
                worker.close()
            raise
        threads = [threading.Thread(target=self._serve, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException as interrupt:  # noqa: BLE001 - raised again below
            self.failure = interrupt
        if self.failure is not None:
            raise self.failure
        return list(self.results.values())

    def _plan(self, worker: Worker) -> None:
        """Queues every operator in every dtype, and once, with no dtype, for its error inputs."""
        worker.send(kind="list", dtypes=self.options.dtypes)
        catalogue = worker.receive(START_SECONDS)["operators"]
        wanted = set(self.options.operators)
        unknown = wanted - {name for name, _ in catalogue}
        if unknown:
            raise CannotStart(f"no such operator: {', '.join(sorted(unknown))}")
        for operator, dtypes in catalogue:
            if not wanted or operator in wanted:
                for dtype in (*dtypes, ""):
                    self.tasks.put(Task(operator, dtype))
        self.total = self.tasks.qsize()

    def _serve(self, worker: Worker | None) -> None:
        try:
            while self.failure is None:
                try:
                    task = self.tasks.get_nowait()
                except queue.Empty:
                    break
                worker = self._run(worker, task)
                self._advance()
        except BaseException as failure:  # noqa: BLE001 - raised again by run
            self.failure = failure
        finally:
            if worker is not None:
                worker.close()

    def _run(self, worker: Worker | None, task: Task) -> Worker | None:
        """Runs all checks of an operator, with as many workers as it takes."""
        while True:
            worker = worker or self._restart()
            try:
                self._listen(worker, task)
                return worker
            except WorkerLost as lost:
                worker.close()
                worker = None
                if not self._charge(task, lost):
                    return None

    def _restart(self) -> Worker:
        worker = Worker(self.options)
        try:
            worker.wait_until_ready()
        except BaseException:
            worker.close()
            raise
        return worker

    def _listen(self, worker: Worker, task: Task) -> None:
        task.begun = None
        worker.send(
            kind="run",
            operator=task.operator,
            dtype=task.dtype,
            limit=self.options.limit,
            checks=self.options.checks,
            after=task.after,
            lost=task.lost,
        )
        while True:
            reply = worker.receive()
            if reply["kind"] == "checks":
                task.checks = reply["checks"]
            elif reply["kind"] == "begin":
                task.begun = task.after = (reply["check"], reply["index"])
            elif reply["kind"] == "end":
                self._add(task, *task.begun, reply["outcome"], reply["reason"])
            elif reply["kind"] == "failed":
                self._give_up(task, "error", reply["reason"])
                return
            else:
                return

    def _charge(self, task: Task, lost: WorkerLost) -> bool:
        """Books what became of the worker; says whether the operator is worth another one."""
        if task.begun is None:
            self._give_up(task, lost.outcome, f"before the check began: {lost}")
            return False
        check, index = task.begun
        self._add(task, check, index, lost.outcome, str(lost))
        # One crash says enough about a check: its other samples are left out.
        task.lost.append(check)
        task.hangs += lost.outcome == "hang"
        if task.hangs == HANGS:
            self._give_up(task, "hang", f"not run: {HANGS} checks of this operator hung before")
            return False
        return True

    def _give_up(self, task: Task, outcome: str, reason: str) -> None:
        for check in task.remaining():
            self._add(task, check, 0, outcome, reason)

    def _add(self, task: Task, check: str, index: int, outcome: str, reason: str) -> None:
        if outcome == "none":
            return
        with self.results_lock:
            key = (task.operator, task.dtype, check)
            case = self.results.setdefault(key, CaseResult(*key))
            before = case.failing
            case.add(index, outcome, reason)
            self.failing += before == 0 and case.failing > 0

    def _advance(self) -> None:
        with self.results_lock:
            self.finished += 1
            self.progress(self.finished, self.total, self.failing)


def _environment(device: str) -> dict[str, str]:
    environment = dict(os.environ)
    if device != "cpu":
        environment["TORCHPLUG_DEVICE"] = device
    return environment
