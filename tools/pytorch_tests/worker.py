"""The child process: imports one test file, tells which tests it has, and runs those it is told to.

    worker.py FILE DEVICE REPLIES [every]

Requests come through standard input and replies go to the descriptor REPLIES, one JSON value a line. With
`every`, the tests of all classes are the device's, not only those of its instances of generic classes.
"""

import faulthandler
import importlib
import json
import os
import re
import signal
import sys
import traceback
import unittest
from pathlib import Path

from templates import instantiate_templates

IMPORT_SECONDS = 1200


def main():
    file, device, replies, *every = sys.argv[1:]
    requests = os.fdopen(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.set_inheritable(int(replies), False)
    channel = os.fdopen(int(replies), "w", buffering=1)
    # The alarm ends the process even where a test hangs in C++; before, each thread's stack is printed.
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(IMPORT_SECONDS)
    try:
        module = import_test_file(file)
    except BaseException as error:  # noqa: BLE001 - a test file may well call sys.exit
        reply(channel, problem=describe(error))
        return
    twins = instantiate_templates(module, device)
    reply(channel, tests=list_tests(module, device, twins, bool(every)))
    for line in requests:
        tests, timeout = json.loads(line)
        result = Result(channel, device, tests, timeout)
        pairs = [test.split(".") for test in tests]
        unittest.TestSuite(getattr(module, one)(method) for one, method in pairs).run(result)
        signal.alarm(0)
        reply(channel, done=True)


def reply(channel, **message):
    channel.write(json.dumps(message) + "\n")


def import_test_file(file):
    """As it is imported when PyTorch runs it as a program in its test folder."""
    sys.argv = [file]
    sys.path[:1] = [str(Path(file).parent), os.getcwd()]
    from torch.testing._internal import common_utils

    common_utils.parse_cmd_line_args()
    return importlib.import_module(Path(file).stem)


def list_tests(module, device, twin_classes, every):
    """(test, its twin on the CPU or None), as Class.method, in alphabetical order."""
    from torch.testing._internal.common_device_type import DeviceTypeTestBase, PrivateUse1TestBase

    classes = {
        name: one
        for name, one in sorted(vars(module).items())
        if isinstance(one, type) and issubclass(one, unittest.TestCase)
    }
    methods = {name: unittest.TestLoader().getTestCaseNames(one) for name, one in classes.items()}
    tests = []
    for name, one in classes.items():
        is_plain = not issubclass(one, DeviceTypeTestBase)
        if issubclass(one, PrivateUse1TestBase) or name in twin_classes or (every and is_plain):
            # PyTorch names a class after the device, or, as long as it has not looked, after the key.
            cpu = twin_classes.get(name) or re.sub(f"({device.upper()}|PRIVATEUSE1)$", "CPU", name)
            twins = set(methods.get(cpu, []))
            for method in methods[name]:
                places = re.finditer(f"_{device}(?=_|$)", method)
                renamed = {f"{method[: p.start()]}_cpu{method[p.end() :]}" for p in places}
                twin = next((f"{cpu}.{same}" for same in renamed & twins), None)
                tests.append((f"{name}.{method}", twin))
    return tests


def describe(error):
    """What an error says, in one line."""
    while type(error) is Exception and error.__cause__:  # "Caused by sample input at ..."
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])}"[:300]


class Result(unittest.TestResult):
    """Tells the parent how each test ends, once the device has done all that the test gave it to do."""

    def __init__(self, channel, device, tests, timeout):
        super().__init__()
        self.channel, self.device, self.timeout = channel, device, timeout
        self.waiting = dict.fromkeys(tests)
        self.clear()

    def clear(self):
        self.outcome, self.error, self.details = "passed", "", ""
        signal.alarm(self.timeout)

    def startTest(self, test):
        super().startTest(test)
        self.clear()
        os.ftruncate(1, 0)
        reply(self.channel, start=identify(test))

    def stopTest(self, test):
        super().stopTest(test)
        try:
            self.wait_for_device()
        except Exception as error:  # noqa: BLE001 - whatever the device calls it
            self.fail(error, "late: ")
        self.tell(identify(test))

    def wait_for_device(self):
        import torch

        module = torch.get_device_module(self.device)
        for index in range(module.device_count()):
            module.synchronize(index)

    def fail(self, error, note=""):
        if self.outcome != "failed":
            self.outcome, self.error = "failed", note + describe(error)
        self.details += "".join(traceback.format_exception(error))

    def tell(self, test):
        self.waiting.pop(test, None)
        result = {"outcome": self.outcome, "error": self.error, "details": self.details}
        reply(self.channel, test=test, **result)
        self.clear()

    def addError(self, test, error):
        if isinstance(test, unittest.TestCase):
            self.fail(error[1])
            return
        # "setUpClass (module.Class)", "setUpModule (module)": tests that will not run; or "tearDownClass (...)".
        where = test.id()
        for one in list(self.waiting) or [where]:
            if f".{one.split('.')[0]})" in where or "Module" in where or not self.waiting:
                self.fail(error[1], f"{where}: ")
                self.tell(one)

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.fail(error[1])

    def addSkip(self, test, reason):
        if self.outcome != "failed":
            self.outcome, self.error = "skipped", reason

    def addUnexpectedSuccess(self, test):
        self.outcome, self.error = "failed", "it passes, which PyTorch does not expect"


def identify(test):
    return f"{type(test).__name__}.{test._testMethodName}"


if __name__ == "__main__":
    main()
