"""The text form of a graph (src/graph/text.h), which the core reads."""

from __future__ import annotations

import re
from pathlib import Path

BEGINNINGS = ("flags", "symbol", "operator", "graph")


def is_text(path: str) -> bool:
    """Whether a file begins as the text of a graph does."""
    with Path(path).open("rb") as file:
        begin = file.read(4096).decode("utf-8", "replace")
    words = re.sub(r"#.*", "", begin).split(None, 1)
    return bool(words) and words[0].partition("(")[0] in BEGINNINGS


def canonical(path: str) -> str:
    """Raises ValueError with a sentence for a text that is none."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C

    try:
        return str(_C.CompilerGraph(Path(path).read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not the text of a graph: it is not UTF-8.") from error
    except _C.GraphError as error:
        raise ValueError(f"{path} is not the text of a graph: {error}.") from error
