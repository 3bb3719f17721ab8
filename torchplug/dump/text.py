"""The text form of a graph (src/graph/text.h), which the core reads."""

from __future__ import annotations

from pathlib import Path


def is_text(path: str) -> bool:
    """Whether a file is none of the zip archives that programs are, not even one that is cut off."""
    with Path(path).open("rb") as file:
        return file.read(4) != b"PK\3\4"


def canonical(path: str) -> str:
    """Raises ValueError with a sentence for a text that is none."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C

    try:
        return str(_C.CompilerGraph(Path(path).read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is neither an exported program, which is a zip archive, nor the text of a graph, which is UTF-8."
        ) from error
    except _C.GraphError as error:
        raise ValueError(f"{path} is not the text of a graph: {error}.") from error
