"""tools/pytorch-tests tells what passes on the CPU and not on the device, whatever the tests do to it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.accelerator("it chooses its device, so once is enough", only="sim")

TOOL = Path(__file__).parents[2] / "tools" / "pytorch-tests"
REFERENCE = "cpp_extensions/open_registration_extension/torch_openreg/tests"

GENERIC = """
import os
import signal

import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase


class TestOdd(TestCase):
    def test_crashes_sim(self, device):
        if device != "cpu":
            os.abort()

    def test_fails_everywhere(self, device):
        self.fail("here as there")

    def test_fails_there(self, device):
        self.assertEqual(torch.device(device).type, "cpu")

    def test_late(self, device):
        if device != "cpu":
            x, index = torch.arange(4, device=device), torch.tensor([0], device=device)
            x.gather(0, index)
            x.gather(0, index + 100)

    def test_passes(self, device):
        self.assertEqual(torch.arange(4, device=device).sum(), 6)

    def test_skips(self, device):
        self.skipTest(str(os.getpid()))

    def test_waits(self, device):
        if device != "cpu":
            signal.pause()


class TestUnprepared(TestCase):
    @classmethod
    def setUpClass(cls):
        if cls.device_type != "cpu":
            raise RuntimeError("not prepared")

    def test_one(self, device):
        pass


instantiate_device_type_tests(TestOdd, globals())
instantiate_device_type_tests(TestUnprepared, globals(), only_for="cpu")
"""

FOR_ONE_DEVICE = """
import torch
import torch_openreg
from torch.testing._internal.common_utils import TestCase


class TestOpenReg(TestCase):
    def test_name(self):
        tensor = torch.ones(2).openreg()
        self.assertTrue(tensor.is_openreg)
        self.assertEqual(torch.openreg.device_count(), torch.accelerator.device_count())
"""


TEMPLATE = """
import dataclasses
import os

import torch
from torch.testing._internal.common_utils import TestCase


def check_model(self, model, inputs, kwargs=None, *, check_lowp=True):
    self.assertEqual({one.device.type for one in inputs}, {self.device})
    self.assertEqual(model(*inputs).device.type, self.device)


class CommonTemplate:
    def test_crashes(self):
        if self.device != "cpu":
            os.abort()

    def test_fails_there(self):
        self.assertEqual(self.device, "cpu")

    def test_is_moved(self):
        self.common(torch.nn.Linear(3, 2), (torch.ones(4, 3).t().contiguous().t(),), check_lowp=False)


def copy_tests(my_cls, other_cls, suffix):
    for name, value in my_cls.__dict__.items():
        if name.startswith("test_"):
            setattr(other_cls, f"{name}_{suffix}", lambda self, value=value: value(self))


@dataclasses.dataclass
class InputGen:
    n: int
    device: str


class SweepInputs2:
    @classmethod
    def populate(cls):
        def test(self):
            self.assertEqual(torch.ones(1, device=cls.gen.device).device.type, cls.gen.device)

        setattr(cls, f"test_{cls.gen.device}_dense", test)


class SweepInputsCpuTest(SweepInputs2, TestCase):
    gen = InputGen(10, "cpu")


SweepInputsCpuTest.populate()


class CpuTests(TestCase):
    common = check_model
    device = "cpu"


copy_tests(CommonTemplate, CpuTests, "cpu")
"""

KNOWN = """
| test | reason |
|---|---|
| `inductor/test_template SimTests.test_crash*_sim` | it does not like us |
| `inductor/test_template SimTests.test_is_moved_sim` | it did not like us |
| `inductor/test_template SimTests.test_of_another_release_sim` | it is not there |
"""


@pytest.fixture
def folder(tmp_path):
    """What PyTorch's test folder looks like."""
    (tmp_path / "nn").mkdir()
    (tmp_path / "nn" / "test_odd.py").write_text(GENERIC)
    (tmp_path / REFERENCE).mkdir(parents=True)
    (tmp_path / REFERENCE / "test_name.py").write_text(FOR_ONE_DEVICE)
    (tmp_path / "test_other.py").write_text("raise RuntimeError('has no generic tests')")
    return tmp_path


def start(*arguments, cwd=None):
    return subprocess.Popen(
        [sys.executable, TOOL, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_results(file):
    """test: (how it ended on the device, and on the CPU), without what they have in common."""
    results = map(json.loads, file.read_text().splitlines())
    return {
        (result["file"], result["test"].partition(".")[2]): (result["outcome"], result["cpu"])
        for result in results
    }


def test_each_test_is_told_by_how_it_ends_on_the_device_and_on_the_cpu(folder):
    file = folder / "results"
    tool = start(folder, "--device", "sim", "--timeout", "5", "--json", file)
    output, errors = tool.communicate()
    assert read_results(file) == {
        ("reference/test_name", "test_name"): ("passed", None),
        ("nn/test_odd", "test_crashes_sim_sim"): ("crashed", "passed"),
        ("nn/test_odd", "test_fails_everywhere_sim"): ("failed", "failed"),
        ("nn/test_odd", "test_fails_there_sim"): ("failed", "passed"),
        ("nn/test_odd", "test_late_sim"): ("failed", "passed"),
        ("nn/test_odd", "test_one_sim"): ("failed", "passed"),
        ("nn/test_odd", "test_passes_sim"): ("passed", None),
        ("nn/test_odd", "test_skips_sim"): ("skipped", None),
        ("nn/test_odd", "test_waits_sim"): ("timed out", "passed"),
    }, errors
    table, _, different = output.partition("\nNot passed on the device")
    assert table.splitlines()[-1].split() == ["all", "2", "1", "1", "0", "3", "1", "1"]
    words = ["SIGABRT", "'sim' != 'cpu'", "late: ", "did not end in time", "not prepared"]
    lines = different.splitlines()[1:]
    assert [word for word, line in zip(words, lines, strict=True) if word in line] == words
    assert tool.returncode == 1


def test_an_interrupt_keeps_what_was_done_and_a_later_run_goes_on(folder):
    file = folder / "results"
    tool = start(folder, "nn/test_odd", "--filter", "skips|waits", "--json", file)
    lines = iter(tool.stdout.readline, "")
    assert "nn/test_odd: 1 of 2\n" in lines
    tool.terminate()  # as Ctrl-C, which a shell may have told its children to ignore
    output, errors = tool.communicate()
    assert tool.returncode == 130, errors
    assert output.splitlines()[-1].split() == ["nn/test_odd", "0", "1", "0", "0", "0", "0", "0"]
    result = json.loads(file.read_text())
    assert result["test"].endswith("test_skips_sim")
    with pytest.raises(ProcessLookupError):
        os.kill(int(result["error"]), 0)  # the tests' process

    tool = start(
        folder, "nn/test_odd", "--filter", "skips|passes", "--json", file, "--resume", "--jobs", "2"
    )
    tool.communicate()
    assert tool.returncode == 0
    assert [json.loads(line)["outcome"] for line in file.open()] == ["skipped", "passed"]


def test_a_template_is_instantiated_for_the_device_with_the_cpu_as_its_twin(folder):
    (folder / "inductor").mkdir()
    (folder / "inductor" / "test_template.py").write_text(TEMPLATE)
    file = folder / "results"
    tool = start(folder, "inductor/test_template", "--device", "sim", "--json", file)
    _, errors = tool.communicate()
    assert {test: ended for (_, test), ended in read_results(file).items()} == {
        "test_crashes_sim": ("crashed", "passed"),
        "test_fails_there_sim": ("failed", "passed"),
        "test_is_moved_sim": ("passed", None),
        "test_sim_dense": ("passed", None),
    }, errors
    assert tool.returncode == 1


def test_what_is_known_is_not_told_again_and_what_passes_by_now_is(folder):
    (folder / "inductor").mkdir()
    (folder / "inductor" / "test_template.py").write_text(TEMPLATE)
    (folder / "known.md").write_text(KNOWN)
    tool = start(folder, "inductor/test_template", "--known", folder / "known.md")
    output, errors = tool.communicate()
    table, _, lists = output.partition("\nNot passed on the device")
    assert table.splitlines()[-1].split()[1:] == ["2", "0", "0", "1", "1", "0", "0"], errors
    different, _, passing = lists.partition(f"\nIn {folder}/known.md, where they need not be:\n")
    assert [line.split()[1] for line in different.splitlines()[1:]] == [
        "SimTests.test_fails_there_sim"
    ]
    assert passing == "inductor/test_template SimTests.test_is_moved_sim\n"
    assert "test_crashes_sim" not in output
    assert tool.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere"], "There is no folder {folder}/nowhere."),
        (["empty"], "{folder}/empty has no device-generic test files"),
        ([".", "test_absent"], "There is no test file {folder}/test_absent.py."),
        (["empty", "reference"], "{folder}/empty lacks the reference backend's tests"),
        ([".", "--jobs", "0"], "'0' is no whole number above 0"),
        ([".", "--filter", "("], "'(' is no regular expression"),
        ([".", "--resume"], "--resume needs --json F"),
        ([".", "--known", "absent.md"], "there is no file absent.md"),
        ([".", "--device", "absent"], "There is no device plugin named 'absent'."),
    ],
)
def test_bad_input_is_one_sentence(folder, arguments, problem):
    (folder / "empty").mkdir()
    tool = start(*arguments, cwd=folder)
    output, errors = tool.communicate()
    assert problem.format(folder=folder) in errors.splitlines()[-1]
    assert output == ""
    assert tool.returncode == 2
