"""The command line: what to run, and on which device."""

import argparse
import os
import re
import signal
import sys
import tempfile
import warnings
from pathlib import Path

from .report import Report
from .runner import Runner
from .suites import BadInput, find_suites, rename

EPILOG = """\
DIR is the folder test/ of the sources of the PyTorch that is installed. FILE is a test file in it (test_indexing,
nn/test_pooling) or "reference": the suite of PyTorch's reference backend, with the device's name in place of its
own. Without FILE: all files with device-generic tests, and that suite. The tests of Inductor, whose classes PyTorch
makes from a template for the CPU and its own GPUs (inductor/test_torchinductor), are run where they are named.

A test that does not pass on the device is run on the CPU, too. Exit code 0: nothing differs, but for what --known
names, and all of that; 1: something passes on the CPU only, or a file cannot be imported; 2: bad input; 130: interrupted.
"""


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the worker processes end, too
    try:
        return run(options)
    except BadInput as problem:
        print(f"pytorch-tests: {problem}", file=sys.stderr)
        return 2


def run(options):
    suites = find_suites(options.folder, options.files)
    device = find_device(options.device)
    report = Report(options.json, options.resume, options.known)
    with tempfile.TemporaryDirectory() as copies:
        suites = [rename(suite, device, Path(copies)) for suite in suites]
        try:
            Runner(device, options, report).run(suites)
        except KeyboardInterrupt:
            report.print_summary()
            print("interrupted; this is what was done by then", file=sys.stderr)
            return 130
    if not report.results and not report.problems:
        raise BadInput(f"No test matches the filter '{options.filter}'.")
    report.print_summary()
    return 1 if report.different() or report.no_longer_known() or report.problems else 0


def find_device(wish):
    """The name of the device that TORCHPLUG_DEVICE=`wish` gives, here and in the workers."""
    if wish:
        os.environ["TORCHPLUG_DEVICE"] = wish
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import torch
    except ImportError as error:
        raise BadInput(
            f"{sys.executable} has no PyTorch ({error}): use .venv/bin/python."
        ) from None
    device = torch._C._get_privateuse1_backend_name()
    if device == "privateuseone":
        said = [str(warning.message) for warning in caught]
        said = [text for text in said if "torchplug" in text] or ["There is no torchplug device."]
        raise BadInput(said[0])
    try:
        torch.empty(1, device=device)
    except RuntimeError as error:
        raise BadInput(f"The device '{device}' does not open: {error}") from None
    return device


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="pytorch-tests",
        description="Runs PyTorch's device-generic tests on a torchplug device and prints what passes on "
        "the CPU and not there.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", metavar="DIR", type=lambda text: Path(text).resolve())
    add("files", metavar="FILE", nargs="*")
    add(
        "--device",
        metavar="NAME",
        help="what TORCHPLUG_DEVICE takes; without, what torchplug gives",
    )
    add("--jobs", metavar="N", type=positive, default=1, help="processes at a time (1)")
    add(
        "--filter",
        metavar="EXPR",
        type=expression,
        default="",
        help="a regular expression, looked for in file.class.test",
    )
    add("--sample", metavar="N", type=positive, default=1, help="every Nth test of each file")
    add("--timeout", metavar="S", type=positive, default=120, help="seconds for one test (120)")
    add("--json", metavar="F", type=Path, help="write the results to F, one JSON object a line")
    add("--resume", action="store_true", help="go on: the tests whose results are in F are not run")
    add(
        "--known",
        metavar="F",
        type=table,
        help="a table in Markdown of what need not pass: `FILE TEST` | reason; * is any text",
    )
    options = parser.parse_args()
    if options.resume and not options.json:
        parser.error("--resume needs --json F, the results to go on from")
    return options


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number above 0")
    return int(text)


def table(text):
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return Path(text)


def expression(text):
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from None
    return text
