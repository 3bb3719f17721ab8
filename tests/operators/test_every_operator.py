"""Every operator PyTorch describes does on the device what it does on the CPU.

TORCHPLUG_DEVICE names the device (sim), TORCHPLUG_TEST_SWEEP the samples of each operator: first or
all (first).
"""

import os

from .check_names import CHECK_NAMES
from .driver import Options
from .sweep import DTYPES, samples, sweep


def test_every_operator_gives_the_result_of_the_cpu() -> None:
    options = Options(
        device=os.environ.get("TORCHPLUG_DEVICE", "sim"),
        dtypes=DTYPES,
        checks=CHECK_NAMES,
        limit=samples(os.environ.get("TORCHPLUG_TEST_SWEEP", "first")),
        workers=os.cpu_count() or 1,
    )
    report = sweep(options)
    assert report.passed(), "\n" + report.text()
