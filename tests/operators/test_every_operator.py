"""Every operator PyTorch describes does on the device what it does on the CPU.

TORCHPLUG_DEVICE names the device (sim), TORCHPLUG_TEST_SWEEP the samples of each operator: first or
all (first). With the first samples every dtype is called on sim; elsewhere a real, a complex and an integral one.
"""

import os
import subprocess
from pathlib import Path

import pytest

from .check_names import CHECK_NAMES
from .driver import Options
from .sweep import DTYPES, samples, sweep

FEW_DTYPES = ("float32", "complex64", "int64")
FEW_CHECKS = ("forward", "repeat", "view", "inplace", "out", "out_resized", "out_strided")
ROOT = Path(__file__).resolve().parents[2]


def test_every_operator_gives_the_result_of_the_cpu() -> None:
    device = os.environ.get("TORCHPLUG_DEVICE", "sim")
    extent = os.environ.get("TORCHPLUG_TEST_SWEEP", "first")
    options = Options(
        device=device,
        dtypes=DTYPES if device == "sim" or extent == "all" else FEW_DTYPES,
        checks=CHECK_NAMES,
        limit=samples(extent),
        workers=os.cpu_count() or 1,
        # Of some operators the largest sample takes minutes in half precision, in every layout on both devices.
        timeout=600.0 if extent == "all" else 60.0,
    )
    report = sweep(options)
    assert report.passed(), "\n" + report.text()


def compile_handles(folder: Path) -> Path:
    """The device of tests/plugins whose memory has no addresses, and is seen by the host only while it is mapped."""
    library = folder / "handles.so"
    source = ROOT / "tests" / "plugins" / "handles.c"
    command = ["cc", "-std=c11", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'include'}", str(source)]
    subprocess.run([*command, "-o", str(library), "-lpthread"], check=True)
    return library


@pytest.mark.accelerator("it chooses its plugin, so once is enough", only="sim")
def test_every_operator_is_right_on_a_device_without_addresses(tmp_path: Path) -> None:
    extent = os.environ.get("TORCHPLUG_TEST_SWEEP", "first")
    options = Options(
        device=str(compile_handles(tmp_path)),
        dtypes=FEW_DTYPES if extent == "all" else FEW_DTYPES[:1],
        checks=CHECK_NAMES if extent == "all" else FEW_CHECKS,
        limit=samples("first") if extent == "all" else 1,
        workers=os.cpu_count() or 1,
        timeout=60.0,
    )
    report = sweep(options)
    assert report.passed(), "\n" + report.text()
