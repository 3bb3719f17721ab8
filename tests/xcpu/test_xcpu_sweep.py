"""Every operator that PyTorch describes does on the device xcpu what it does on the CPU.

TORCHPLUG_TEST_SWEEP names the samples of each operator, as for tests/operators: first or all (first). With the
first samples all dtypes and checks are those of the operators that have kernels; of the others a few.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from tests.operators.check_names import CHECK_NAMES
from tests.operators.driver import Options
from tests.operators.sweep import DTYPES, samples, sweep

# What leads to a kernel of devices/xcpu/plugin.
SERVED = (
    "mm",
    "addmm",
    "addmm.decomposed",
    "bmm",
    "matmul",
    "__rmatmul__",
    "linalg.multi_dot",
    "nn.functional.linear",
    "softmax",
    "softmax.with_dtype",
    "_softmax_backward_data",
    "log_softmax",
    "log_softmax.with_dtype",
    "nn.functional.softmin",
    "nn.functional.gelu",
    "nn.functional.silu",
    "nn.functional.embedding_bag",
    "nn.functional.scaled_dot_product_attention",
    "nn.functional.multi_head_attention_forward",
    "nn.functional.layer_norm",
    "native_layer_norm",
    "nn.functional.rms_norm",
)
FEW_CHECKS = ("forward", "view", "inplace", "out")
EXTENT = os.environ.get("TORCHPLUG_TEST_SWEEP", "first")


def run(**options: object) -> None:
    given = Options(device="xcpu", workers=os.cpu_count() or 1, **options)
    report = sweep(given)
    assert report.passed(), "\n" + report.text()


def test_operators_with_kernels_give_the_results_of_the_cpu() -> None:
    timeout = 600.0 if EXTENT == "all" else 60.0
    run(operators=SERVED, dtypes=DTYPES, checks=CHECK_NAMES, limit=samples(EXTENT), timeout=timeout)


def test_every_operator_gives_the_result_of_the_cpu() -> None:
    if EXTENT == "all":
        run(dtypes=DTYPES, checks=CHECK_NAMES, limit=samples(EXTENT), timeout=600.0)
    else:
        run(dtypes=DTYPES[:1], checks=FEW_CHECKS, limit=1, timeout=60.0)
