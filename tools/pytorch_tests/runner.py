"""Worker processes, and what they are told to run.

Each of `jobs` threads takes an equal share of every file's tests and runs it in a process of its own, batch by batch:
on the device, then the CPU twins of what failed there. A test that crashes or hangs takes its process with it; the
next process goes on after it.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
BATCH = 200


class NotRun(Exception):
    """The test file cannot be imported, or the user has stopped the run."""


class Runner:
    def __init__(self, device, options, report):
        self.device = device
        self.options = options
        self.report = report
        self.lock = threading.Lock()
        self.sessions = []  # under lock, as is_stopping
        self.is_stopping = False

    def run(self, suites):
        """Raises KeyboardInterrupt when the user has had enough."""
        with ThreadPoolExecutor(self.options.jobs) as pool:
            jobs = range(self.options.jobs)
            shares = [pool.submit(self._run_share, suites, share) for share in jobs]
            try:
                for share in shares:
                    share.result()
            except BaseException:
                with self.lock:
                    self.is_stopping = True
                    for session in self.sessions:
                        session.process.kill()
                raise

    def _run_share(self, suites, share):
        for suite in suites:
            session = Session(self, suite)
            try:
                self._run_suite(session, share)
            except NotRun as problem:
                if self.is_stopping:
                    return
                self.report.add_problem(suite, problem)
            finally:
                session.close()

    def _run_suite(self, session, share):
        suite, options, report = session.suite, self.options, self.report
        twins = dict(session.start())
        tests = [test for test in twins if re.search(options.filter, f"{suite.name}.{test}")]
        tests = tests[:: options.sample]
        if share == 0:
            report.begin(suite, len(tests))
        tests = [test for test in tests[share :: options.jobs] if not report.knows(suite, test)]
        for begin in range(0, len(tests), BATCH):
            failed = {}
            for result in session.run(tests[begin : begin + BATCH]):
                twin = twins.get(result["test"])
                if result["outcome"] in ("passed", "skipped") or twin is None:
                    report.add(suite, result, None)
                else:
                    failed[twin] = result
            for result in session.run(list(failed)):
                if result["test"] in failed:
                    report.add(suite, failed[result["test"]], result["outcome"])


class Session:
    """One test file in a process, or in another once a test has ended that."""

    def __init__(self, runner, suite):
        self.runner = runner
        self.suite = suite
        self.process = None

    def start(self):
        """Starts the process and gives all tests: (test, its twin on the CPU or None)."""
        self.close()
        self.log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed by close
        read, write = os.pipe()
        self.replies = os.fdopen(read)
        with self.runner.lock:
            if self.runner.is_stopping:
                raise NotRun
            self.process = self._popen(write)
            self.runner.sessions.append(self)
        os.close(write)
        self.reaper = threading.Thread(target=self._reap, daemon=True)
        self.reaper.start()
        message = self._receive() or {"problem": self._how_it_ended()[1]}
        if "problem" in message:
            raise NotRun(message["problem"])
        return message["tests"]

    def run(self, tests):
        """The result of each test, as it ends."""
        waiting = dict.fromkeys(tests)
        while waiting:
            if not self.reaper.is_alive():
                self.start()
            for result in self._ask(list(waiting)):
                result["test"] = result["test"] or next(iter(waiting), "after the last test")
                waiting.pop(result["test"], None)
                if self.runner.is_stopping:
                    raise NotRun
                yield result

    def close(self):
        if self.process is not None:
            with self.runner.lock:
                self.runner.sessions.remove(self)
            self.process.kill()
            self.reaper.join()
            for file in (self.process.stdin, self.replies, self.log):
                with contextlib.suppress(BrokenPipeError):  # of what the process did not read
                    file.close()
            self.process = None

    def _popen(self, write):
        every = ["every"] if self.suite.every else []
        device = self.runner.device
        return subprocess.Popen(
            [sys.executable, WORKER, self.suite.file, device, str(write), *every],
            pass_fds=(write,),
            stdin=subprocess.PIPE,
            stdout=self.log,
            stderr=self.log,
            cwd=self.suite.folder,
            env=os.environ
            | {
                # Files that list their devices take this one, too, and none but it and the CPU.
                "PYTORCH_TESTING_DEVICE_FOR_CUSTOM": f"privateuse1,{device}",
                "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu,privateuse1",
                "PYTORCH_PRINT_REPRO_ON_FAILURE": "0",
            },
            start_new_session=True,
            text=True,
        )

    def _ask(self, tests):
        """Results until all tests are done or the process is dead, which is the current one's result."""
        current = None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps([tests, self.runner.options.timeout]) + "\n")
            self.process.stdin.flush()
        while message := self._receive():
            if "done" in message:
                return
            current = message.get("start")
            if current is None:
                yield message
        outcome, error = self._how_it_ended()
        self.log.seek(0)
        details = self.log.read()[-10_000:].decode(errors="replace")
        yield {"test": current, "outcome": outcome, "error": error, "details": details}

    def _receive(self):
        line = self.replies.readline()
        return json.loads(line) if line.endswith("\n") else None

    def _reap(self):
        """Ends what the process leaves behind, too, which would keep the pipe open."""
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _how_it_ended(self):
        self.reaper.join()
        code = self.process.returncode
        if code == -signal.SIGALRM:
            return "timed out", "it did not end in time"
        end = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        return "crashed", f"its process was ended {end}"
