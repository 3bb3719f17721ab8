"""One process for the tests of a plugin that need none of their own: it runs one piece of code after the other."""

import json
import os
import tempfile
import textwrap

import pytest
import warm_interpreter
from helpers import TIMEOUT, environment_of

# Reads pieces of code, a line of JSON each, and answers with what each printed and, if it failed, how.
LOOP = """
import contextlib, io, json, sys, traceback
import torch

answers, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    printed, failure = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(json.loads(line), "<session>", "exec"), {"__name__": "__main__"})
    except BaseException:
        failure = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failure]), file=answers, flush=True)
"""


class Session:
    """As output_of of helpers, in one process that is begun with the first piece. Names are forgotten after each;
    what the plugin and torchplug know stays."""

    def __init__(self, device, **env):
        self.device, self.env, self.running = device, env, None

    def __call__(self, code):
        if self.running is None:
            self.start()
        begin = f"import sys\nimport torch\ndevice = torch.device({self.device!r})\n"
        self.given.write(json.dumps(begin + textwrap.dedent(code)) + "\n")
        self.given.flush()
        answer = self.answers.readline()
        if not answer:
            pytest.fail(f"The process ended with {self.end()}: {self.said()}")
        printed, failure = json.loads(answer)
        assert failure is None, failure
        return printed.strip()

    def start(self):
        there, given = os.pipe()
        answers, here = os.pipe()
        self.given, self.answers = os.fdopen(given, "w"), os.fdopen(answers)
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - kept until the process has ended
        files = [there, here, self.errors.fileno()]
        self.running = warm_interpreter.start(LOOP, [], environment_of(self.env), files)
        os.close(there)
        os.close(here)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self):
        """How the process ends that gets no more to do."""
        self.given.close()
        code = self.running.wait(TIMEOUT)
        self.answers.close()
        self.running = None
        return code

    def close(self):
        assert self.running is None or self.end() == 0, self.said()


class Sessions:
    """A session for each environment; a name of its own for a setting: sessions(code, TORCHPLUG_LAYERS="validate")."""

    def __init__(self, device, plugin, prelude=""):
        self.device, self.plugin, self.prelude, self.by_environment = device, plugin, prelude, {}

    def __call__(self, code, **env):
        key = tuple(sorted(env.items()))
        if key not in self.by_environment:
            self.by_environment[key] = Session(self.device, TORCHPLUG_DEVICE=self.plugin, **env)
        return self.by_environment[key](self.prelude + textwrap.dedent(code))

    def close(self):
        for session in self.by_environment.values():
            session.close()
