"""The failures that are known and accepted: each is a gap to close, none a test to skip.

A gap must fail in every case that it names, or the run fails and the gap has to go.
"""

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


GAPS: tuple[Gap, ...] = ()
