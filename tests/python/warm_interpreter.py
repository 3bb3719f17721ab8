"""Fresh interpreters without the seconds that `import torch` takes.

One process imports PyTorch, with no device, and waits. Each run is a fork of it, which gets the environment, loads
the device as `import torch` would, runs the code as `python -c` does, and ends as an interpreter ends.
"""

import atexit
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import types

# Read while an interpreter or its libraries start: too late for a fork.
READ_AT_START = ("PYTHON", "TORCH_", "LD_", "OMP_", "MKL_", "KINETO_")


class WarmInterpreter:
    """The process that waits, of which a test process has one."""

    def __init__(self):
        self.here, there = socket.socketpair()
        with there:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(there.fileno())],
                env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
                pass_fds=[there.fileno()],
            )
        self.answers = self.here.makefile("r")
        atexit.register(self.close)

    def run(self, code, args, environment, timeout):
        """As subprocess.run with captured text."""
        command = ["python", "-c", code, *args]
        request = json.dumps([code, args, environment]).encode()
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            files = [output.fileno(), errors.fileno()]
            socket.send_fds(self.here, [len(request).to_bytes(8, "little")], files)
            self.here.sendall(request)
            pid = int(self.answers.readline())
            self.here.settimeout(timeout)
            try:
                status = int(self.answers.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self.close()
                raise subprocess.TimeoutExpired(command, timeout) from None
            finally:
                self.here.settimeout(None)
            said = []
            for file in (output, errors):
                file.seek(0)
                said.append(file.read())
        code = os.waitstatus_to_exitcode(status)
        return subprocess.CompletedProcess(command, code, *said)

    def is_closed(self):
        return self.here.fileno() < 0

    def close(self):
        self.answers.close()
        self.here.close()
        self.process.wait()


_warm = None


def run(code, args, environment, timeout):
    global _warm
    if _warm is None or _warm.is_closed():
        _warm = WarmInterpreter()
    return _warm.run(code, args, environment, timeout)


def is_too_late_for(names):
    return any(name.startswith(READ_AT_START) for name in names)


# ---- in the process that waits ----


def next_request(connection):
    """Serves runs until this process is one of them: its code, arguments and environment; None at the end."""
    while True:
        size, files, _, _ = socket.recv_fds(connection, 8, 2)
        if not size:
            return None
        request = b""
        while len(request) < int.from_bytes(size, "little"):
            request += connection.recv(1 << 16)
        pid = os.fork()
        if pid == 0:
            for number, file in enumerate(files, start=1):
                os.dup2(file, number)
                os.close(file)
            connection.close()
            return json.loads(request)
        for file in files:
            os.close(file)
        connection.sendall(f"{pid}\n".encode())
        connection.sendall(f"{os.waitpid(pid, 0)[1]}\n".encode())


def become(args, environment):
    """Makes this process what `python -c` with the arguments and the environment is after `import torch`."""
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    paths = list(filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)))
    sys.path[:1] = ["", *paths]
    sys.argv = ["-c", *args]
    for path in paths:
        if os.path.exists(first := os.path.join(path, "sitecustomize.py")):
            runpy.run_path(first)
    if environment.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
        torch._import_device_backends()


if __name__ == "__main__":
    import torch

    request = next_request(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        source, arguments, variables = request
        become(arguments, variables)
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(source, "<string>", "exec"), vars(main))  # noqa: S102 - it is what python -c does
