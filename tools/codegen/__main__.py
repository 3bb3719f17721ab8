"""Writes include/torchplug/schemas.h and schemas/torch-*.h, for the PyTorch that is installed.

    python tools/codegen            what this PyTorch says takes the place of what its header said
    python tools/codegen --check    exits with 1, and says where, if that would change a header

The headers of other releases are taken as they are. For a release that is not installed, its torchgen on
PYTHONPATH, beside its torch/version.py, is enough.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bindable
import headers

INCLUDE = Path(__file__).resolve().parents[2] / "include" / "torchplug"


def made(include: Path = INCLUDE) -> dict[str, str]:
    """What the headers should be, {file: text}."""
    by_release = headers.read(include)
    mine = {operator.name: headers.lines_of(operator) for operator in bindable.operators()}
    return headers.texts(by_release | {bindable.release(): mine})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    arguments = parser.parse_args()
    texts = made()
    files = [INCLUDE / file for file in texts]
    changed = [
        f for f in files if not f.exists() or f.read_text() != texts[str(f.relative_to(INCLUDE))]
    ]
    for file in changed:
        name = file.relative_to(INCLUDE)
        if arguments.check:
            print(f"include/torchplug/{name} is not what PyTorch {bindable.release()} says.")
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(texts[str(name)])
            print(f"wrote include/torchplug/{name}")
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
