"""What the sweep found: the cases, the verdict, and how they read."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path

from .check_names import CHECK_NAMES
from .expected import Gap

# From best to worst: a case is as good as its worst sample.
OUTCOMES = ("match", "refused", "differ", "error", "crash", "hang")
FAILURES = OUTCOMES[2:]


@dataclass
class CaseResult:
    """One check of one operator in one dtype, over all its samples."""

    operator: str
    dtype: str
    check: str
    outcome: str = "match"
    reason: str = ""
    samples: int = 0
    failing: int = 0

    def add(self, index: int, outcome: str, reason: str) -> None:
        """Counts one sample; the worst outcome and its first reason stay."""
        self.samples += 1
        self.failing += outcome in FAILURES
        if self.samples == 1 or OUTCOMES.index(outcome) > OUTCOMES.index(self.outcome):
            self.outcome = outcome
            self.reason = f"sample {index}: {reason}" if outcome in FAILURES else reason

    def line(self) -> str:
        """The case on one line."""
        where = f"{self.operator} {self.check} {self.dtype or 'any dtype'}"
        return f"{where}: {self.outcome} ({self.failing} of {self.samples}): {self.reason}"


@dataclass
class Report:
    """All cases of one run on one device."""

    device: str
    scope: str
    cases: list[CaseResult] = field(default_factory=list)
    gaps: Sequence[Gap] = ()
    seconds: float = 0.0

    def undeclared(self) -> list[CaseResult]:
        """The failures that no gap names."""
        return [case for case in self._failing() if not self._gaps_of(case)]

    def declared(self) -> list[CaseResult]:
        """The failures that a gap names."""
        return [case for case in self._failing() if self._gaps_of(case)]

    def closed(self) -> list[str]:
        """Declared gaps that have started to pass, one line each."""
        lines = []
        for case in self.cases:
            for gap in self._gaps_of(case) if case.outcome not in FAILURES else ():
                if self.scope == "all" or not gap.all_samples_only:
                    lines.append(f"{case.line()}; declared to fail: {gap.reason}")
        return lines

    def passed(self) -> bool:
        """Whether the device does what it promises, and no less than it admits."""
        return bool(self.cases) and not self.undeclared() and not self.closed()

    def text(self) -> str:
        """The table and every failing case."""
        sections = [
            self._table(),
            _section("declared failures", [case.line() for case in self.declared()]),
            _section("FAILURES", [case.line() for case in self.undeclared()]),
            _section("DECLARED FAILURES THAT PASS", self.closed()),
            f"{len(self.cases)} cases on {self.device} in {self.seconds:.0f} s: "
            + ("passed" if self.passed() else "FAILED"),
        ]
        return "\n\n".join(section for section in sections if section)

    def write_json(self, path: Path) -> None:
        """Everything, for programs."""
        content = {
            "device": self.device,
            "samples": self.scope,
            "seconds": round(self.seconds, 1),
            "passed": self.passed(),
            "undeclared": [case.line() for case in self.undeclared()],
            "closed": self.closed(),
            "cases": [asdict(case) for case in self.cases],
        }
        path.write_text(json.dumps(content, indent=1) + "\n")

    def _failing(self) -> list[CaseResult]:
        return [case for case in self.cases if case.outcome in FAILURES]

    def _gaps_of(self, case: CaseResult) -> list[Gap]:
        key = (case.operator, case.check, case.dtype, self.device)
        return [gap for gap in self.gaps if gap.names(*key)]

    def _table(self) -> str:
        counts = Counter((c.dtype or "any", c.check, c.outcome) for c in self.cases)
        dtypes = dict.fromkeys(dtype for dtype, _, _ in counts)
        rows = {(dtype, check) for dtype, check, _ in counts}
        lines = [f"{'dtype':<10} {'check':<24}" + "".join(f"{o:>9}" for o in OUTCOMES)]
        for dtype, check in product(dtypes, CHECK_NAMES):
            if (dtype, check) not in rows:
                continue
            cells = "".join(f"{counts[dtype, check, o] or '-':>9}" for o in OUTCOMES)
            lines.append(f"{dtype:<10} {check:<24}{cells}")
        return "\n".join(lines)


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title} ({len(lines)})", *(f"  {line}" for line in lines)]) if lines else ""
