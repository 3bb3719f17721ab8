"""The test files in PyTorch's test folder.

A file that calls instantiate_device_type_tests has generic classes, of which PyTorch makes an instance for each
device. The suite of PyTorch's reference backend, torch_openreg, is written for that device alone: copies are run
in which its name is the device's.
"""

from dataclasses import dataclass
from pathlib import Path

REFERENCE = Path("cpp_extensions/open_registration_extension/torch_openreg/tests")
WORD = "reference"


class BadInput(Exception):
    """Something the user has to change, in one sentence."""


@dataclass(frozen=True)
class Suite:
    """One test file."""

    name: str  # relative to the folder, without .py
    file: Path
    folder: Path  # PyTorch's test folder
    every: bool = False  # all its tests are the device's


def find_suites(folder, names):
    """The suites that are named, or all; the reference backend's are not renamed yet."""
    if not folder.is_dir():
        raise BadInput(f"There is no folder {folder}.")
    files = [file for name in names for file in _files(folder, name)]
    if not names:
        files = [file for file in sorted(folder.rglob("test_*.py")) if _is_wanted(file, folder)]
    if not files:
        raise BadInput(
            f"{folder} has no device-generic test files (test_*.py with instantiate_device_type_tests): "
            "give the folder test/ of PyTorch's sources."
        )
    return [_suite(file, folder) for file in files]


def rename(suite, device, copies):
    """The reference backend's suite from a copy, in which the device's name stands for its own."""
    if not suite.every:
        return suite
    text = suite.file.read_text().replace(
        "torch_openreg", "torchplug"
    )  # the package that brings it
    for change in (str.lower, str.upper, str.capitalize):
        text = text.replace(change("openreg"), change(device))
    copy = copies / suite.file.name
    copy.write_text(text.replace("OpenReg", device.capitalize()))
    return Suite(suite.name, copy, suite.folder, every=True)


def _files(folder, name):
    if name == WORD:
        files = sorted((folder / REFERENCE).glob("test_*.py"))
        if not files:
            raise BadInput(
                f"{folder} lacks the reference backend's tests: there is no {REFERENCE}."
            )
        return files
    file = folder / f"{name.removesuffix('.py')}.py"
    if not file.is_file():
        raise BadInput(f"There is no test file {file}.")
    return [file]


def _is_wanted(file, folder):
    generic = "instantiate_device_type_tests(" in file.read_text(errors="replace")
    return generic or file.parent == folder / REFERENCE


def _suite(file, folder):
    is_reference = file.parent == folder / REFERENCE
    name = f"{WORD}/{file.stem}" if is_reference else str(file.relative_to(folder).with_suffix(""))
    return Suite(name, file, folder, every=is_reference)
