"""Fresh interpreters without the seconds that `import torch` takes.

One process imports PyTorch, with no device, and waits. Each run is a fork of it, which gets the environment, loads
the device as `import torch` would, runs the code as `python -c` does, and ends as an interpreter ends.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import types

# Read while an interpreter or its libraries start: too late for a fork.
READ_AT_START = ("PYTHON", "TORCH_", "LD_", "OMP_", "MKL_", "KINETO_")
# Where a fork keeps the files it was given until they have the numbers they are to have.
KEPT_FROM = 500


class Run:
    """A run that has begun: as much of subprocess.Popen as the tests use."""

    def __init__(self, pid, status, args):
        self.pid, self._status, self.args = pid, status, args
        self.returncode = None

    def wait(self, timeout=None):
        """The exit code, negative for a signal."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = os.waitstatus_to_exitcode(int(os.read(self._status, 20)))
            os.close(self._status)
        return self.returncode

    def poll(self):
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class WarmInterpreter:
    """The process that waits. It has imported the modules."""

    def __init__(self, modules):
        self.here, there = socket.socketpair()
        with there:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(there.fileno()), *modules],
                env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
                pass_fds=[there.fileno()],
            )
        self.answers = self.here.makefile("r")
        atexit.register(self.close)

    def start(self, request, files):
        """`files`: what its standard input, output and errors are, and others that keep their numbers."""
        ended, status = os.pipe()
        request = json.dumps([*request, files[3:]]).encode()
        socket.send_fds(self.here, [len(request).to_bytes(8, "little")], [status, *files])
        self.here.sendall(request)
        os.close(status)
        return Run(int(self.answers.readline()), ended, ["python", "-c", request])

    def close(self):
        self.answers.close()
        self.here.close()
        self.process.wait()


_warm = {}


def start(code, args, environment, files, *, autoload=True, cwd=None, modules=("torch",)):
    """Begins to run code as `python -c` does, in a process that has imported the modules.

    `autoload`: loads the device first, as `import torch` does.
    """
    if modules not in _warm:
        _warm[modules] = WarmInterpreter(modules)
    request = (code, args, environment, autoload, str(cwd or os.getcwd()))
    return _warm[modules].start(request, files)


def run(code, args, environment, timeout, *, input="", **options):
    """As subprocess.run with captured text."""
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as output,
        tempfile.TemporaryFile("w+") as errors,
    ):
        given.write(input)
        given.seek(0)
        files = [file.fileno() for file in (given, output, errors)]
        running = start(code, args, environment, files, **options)
        try:
            running.wait(timeout)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            raise
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(
            running.args, running.returncode, output.read(), errors.read()
        )


def is_too_late_for(names):
    return any(name.startswith(READ_AT_START) for name in names)


# ---- in the process that waits ----


def next_request(connection):
    """Serves runs until this process is one of them: what it was asked for; None at the end."""
    running = {}  # a run by the file that says when it has ended: its process, and where its status goes
    while True:
        for file in select.select([connection, *running], [], [])[0]:
            if file in running:
                pid, status = running.pop(file)
                os.write(status, str(os.waitpid(pid, 0)[1]).encode())
                os.close(status)
                os.close(file)
        if not select.select([connection], [], [], 0)[0]:
            continue
        size, files, _, _ = socket.recv_fds(connection, 8, 16)
        if not size:
            return None
        request = b""
        while len(request) < int.from_bytes(size, "little"):
            request += connection.recv(1 << 16)
        status, *files = files
        pid = os.fork()
        if pid == 0:
            connection.close()
            for file in (status, *running, *(status for _, status in running.values())):
                os.close(file)
            *asked, numbers = json.loads(request)
            give_numbers(files, [0, 1, 2, *numbers])
            return asked
        for file in files:
            os.close(file)
        running[os.pidfd_open(pid)] = pid, status
        connection.sendall(f"{pid}\n".encode())


def give_numbers(files, numbers):
    kept = [fcntl.fcntl(file, fcntl.F_DUPFD, KEPT_FROM) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(kept, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def become(args, environment, autoload, cwd):
    """Makes this process what `python -c` with the arguments and the environment is after `import torch`."""
    os.chdir(cwd)
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    paths = list(filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)))
    sys.path[:1] = ["", *paths]
    sys.argv = ["-c", *args]
    for path in paths:
        if os.path.exists(first := os.path.join(path, "sitecustomize.py")):
            runpy.run_path(first)
    if autoload and environment.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
        sys.modules["torch"]._import_device_backends()


if __name__ == "__main__":
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # a fork that ends need not go through all that
    request = next_request(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        source, *rest = request
        become(*rest)
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(source, "<string>", "exec"), vars(main))  # noqa: S102 - it is what python -c does
