"""The failures that are known and accepted: each is a gap to close, none a test to skip.

A gap must fail in every case that it names, or the run fails and the gap has to go.
"""

from collections.abc import Sequence
from dataclasses import dataclass

ANY = "any"


@dataclass(frozen=True)
class Gap:
    """What is known to fail, and a sentence that a reader can check."""

    operator: str
    check: str
    reason: str
    dtype: str = ANY
    device: str = ANY
    # A gap that only shows with all samples is not missed when there are only the first.
    all_samples_only: bool = False

    def names(self, operator: str, check: str, dtype: str, device: str) -> bool:
        """Whether a case is one that this gap speaks of."""
        wanted = (self.operator, self.check, self.dtype, self.device)
        found = (operator, check, dtype, device)
        return all(want in (ANY, have) for want, have in zip(wanted, found, strict=True))


FLOATS = ("float64", "float32", "bfloat16", "float16")
ON_CUDA = "its means and scales are of float32, as on CUDA"
ONE_COLUMN = (
    "PyTorch's shape function gives dimensions of one element other strides than the CPU's kernel"
)
THOUSANDS = (
    "its softmax is of numbers in the thousands, which half precision rounds to whole numbers"
)


def _gaps(
    operator: str, checks: Sequence[str], reason: str, dtypes: Sequence[str], among_all: bool
) -> tuple[Gap, ...]:
    """On xcpu; `among_all`: they show among all samples, not the first."""
    return tuple(
        Gap(operator, check, reason, dtype, "xcpu", among_all)
        for check in checks
        for dtype in dtypes
    )


LAYOUTS = ("layouts", "layouts_backward")
GAPS: tuple[Gap, ...] = (
    *_gaps(
        "native_layer_norm",
        ("forward", "repeat", "noncontiguous", "negated", "view"),
        ON_CUDA,
        FLOATS[2:],
        False,
    ),
    *_gaps("native_layer_norm", LAYOUTS[:1], ON_CUDA, FLOATS[2:], True),
    *_gaps("native_layer_norm", LAYOUTS, ONE_COLUMN, FLOATS[1:2], True),
    *_gaps("native_layer_norm", LAYOUTS[1:], ONE_COLUMN, FLOATS[2:], True),
    *_gaps("nn.functional.layer_norm", LAYOUTS, ONE_COLUMN, FLOATS[1:], True),
    *_gaps("nn.functional.rms_norm", LAYOUTS, ONE_COLUMN, FLOATS, True),
    *_gaps("nn.functional.multi_head_attention_forward", LAYOUTS[:1], THOUSANDS, FLOATS[2:], True),
)
