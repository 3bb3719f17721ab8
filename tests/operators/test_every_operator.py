"""Every operator PyTorch describes does on the device what it does on the CPU.

TORCHPLUG_DEVICE names the device (sim), TORCHPLUG_TEST_SWEEP the samples of each operator: first or
all (first). With the first samples every dtype is called on sim; elsewhere a real, a complex and an integral one.
"""

import os

from .check_names import CHECK_NAMES
from .driver import Options
from .sweep import DTYPES, samples, sweep

FEW_DTYPES = ("float32", "complex64", "int64")


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
