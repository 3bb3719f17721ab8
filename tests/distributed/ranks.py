"""Groups of processes that stay and carry out one check after the other, each on all ranks.

Starting a process takes longer than most checks. A group in which a check failed, or did not end in time, is ended
and started anew.
"""

import faulthandler
import importlib
import inspect
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import warm_interpreter

HERE = Path(__file__).resolve().parent
LIMIT = 60  # seconds until a check is taken to hang
GROUP_TIMEOUT = 30  # seconds until an operation gives up
# What takes seconds to import is imported once for all ranks.
MODULES = ("torch", "torch.distributed")
START = f"import sys; sys.path[:0] = {[str(HERE), str(HERE.parent)]}; import ranks; ranks.main()"


@dataclass(frozen=True)
class World:
    """What a check is given: which rank it is, of how many, and its device."""

    rank: int
    size: int
    device: object
    directory: Path
    """Empty, and the same for all ranks."""

    @property
    def others(self):
        """The other ranks."""
        return [rank for rank in range(self.size) if rank != self.rank]

    @property
    def store(self):
        """What the ranks know of each other on the host: no device, no communication that is tested."""
        import torch.distributed as dist

        return dist.PrefixStore(self.directory.name, dist.distributed_c10d._get_default_store())


def on_ranks(check):
    """Makes a test of a function of a World, which runs on all ranks at the same time."""

    def test(ranks, tmp_path, **arguments):
        ranks.run(check.__module__, check.__name__, tmp_path, arguments)

    own = list(inspect.signature(check).parameters.values())[1:]
    given = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in ("ranks", "tmp_path")]
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    test.__signature__ = inspect.Signature([*given, *own])
    test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
    test.on_rank = check
    return test


class Process:
    """One rank, as the tests see it."""

    def __init__(self, rank, size, store, backend, timeout, **environment):
        self.rank = rank
        self.connection, child = multiprocessing.connection.Pipe()
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by end()
        with open(os.devnull) as nothing:
            said = self.output.fileno()
            self.process = warm_interpreter.start(
                START,
                [*map(str, [child.fileno(), rank, size, timeout]), store, backend],
                {**os.environ, "GLOO_SOCKET_IFNAME": "lo", **environment},
                [nothing.fileno(), said, said, child.fileno()],
                modules=MODULES,
            )
        child.close()

    def answer(self, deadline):
        """What the rank sends before the deadline, or why it sends nothing."""
        try:
            if self.connection.poll(max(0, deadline - time.monotonic())):
                return self.connection.recv()
        except EOFError:
            return f"the process ended with {self.process.wait(LIMIT)}"
        self.process.send_signal(signal.SIGUSR1)  # it prints where it is
        time.sleep(1)
        return f"no answer within {LIMIT} seconds"

    def said(self):
        self.output.seek(0)
        return self.output.read()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.connection.close()
        self.output.close()


class Ranks:
    """A group of processes of a size."""

    def __init__(self, size, device, backend, timeout=GROUP_TIMEOUT, **environment):
        self.size = size
        self.backend = backend
        self.timeout = timeout
        self.environment = {"TORCHPLUG_DEVICE": device, **environment}
        self.processes = []
        self.folder = None

    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        store = os.path.join(self.folder.name, "store")
        self.processes = [
            Process(rank, self.size, store, self.backend, self.timeout, **self.environment)
            for rank in range(self.size)
        ]

    def answers(self, module, check, directory, arguments):
        """What went wrong on each rank: "" for nothing."""
        if not self.processes:
            self.start()
        for process in self.processes:
            process.connection.send((module, check, str(directory), arguments))
        deadline = time.monotonic() + LIMIT
        return [process.answer(deadline) for process in self.processes]

    def report(self, check, answers):
        """What the ranks answered and printed."""
        return f"{check}\n" + "\n".join(
            f"--- rank {process.rank}: {answer or 'fine'}\n{process.said()}"
            for process, answer in zip(self.processes, answers, strict=True)
        )

    def run(self, module, check, directory, arguments):
        answers = self.answers(module, check, directory, arguments)
        if any(answers):
            report = self.report(check, answers)
            self.end()
            raise AssertionError(report)

    def end(self):
        for process in self.processes:
            process.end()
        self.processes = []
        if self.folder is not None:
            self.folder.cleanup()


def serve(connection, world_of, prepare):
    """Carries out checks until the tests hang up. An empty answer is a good one."""
    faulthandler.register(signal.SIGUSR1)
    while True:
        try:
            module, check, directory, arguments = connection.recv()
        except EOFError:
            return
        try:
            prepare()
            getattr(importlib.import_module(module), check).on_rank(
                world_of(directory), **arguments
            )
            prepare()
            connection.send("")
        except SystemExit:  # a check that is about how a process ends
            raise
        except BaseException:  # noqa: BLE001 - the tests show it
            connection.send(traceback.format_exc())


def main():
    descriptor, rank, size, timeout = map(int, sys.argv[1:5])
    store, backend = sys.argv[5:7]
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.set_debug_level_from_env()  # which the import has read from another environment
    device = torch.device(
        torch.accelerator.current_accelerator().type, rank % torch.accelerator.device_count()
    )
    torch.accelerator.set_device_index(device.index)
    dist.init_process_group(
        backend,
        store=dist.FileStore(store, size),
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=timeout),
    )

    def prepare():
        torch.manual_seed(0)
        torch.accelerator.set_device_index(device.index)
        for index in range(torch.accelerator.device_count()):
            torch.accelerator.synchronize(index)

    connection = multiprocessing.connection.Connection(descriptor)
    serve(connection, lambda directory: World(rank, size, device, Path(directory)), prepare)
    dist.destroy_process_group()
