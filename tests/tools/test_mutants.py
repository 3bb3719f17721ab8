"""`make mutants` can be run after every change: each of its faults still has its place in the source."""

import sys
from pathlib import Path

MUTANTS = Path(__file__).resolve().parents[1] / "mutants"


def test_every_fault_has_one_place_in_the_source(monkeypatch):
    monkeypatch.syspath_prepend(str(MUTANTS))
    import mutated

    try:
        sources = mutated.mutated_sources()
    finally:
        for name in ("mutated", "faults"):
            sys.modules.pop(name, None)
    assert sum(text.count("is_mutant(") for text in sources.values()) == len(mutated.FAULTS) >= 60
