"""What the kernels of one instruction set define is theirs alone: run with the set's name and its object files.

A function that two sets define is kept once by the linker, maybe with instructions that a machine does not have.
"""

import subprocess
import sys


def defined(objects: list[str]) -> list[str]:
    """The names that other object files can see."""
    listed = subprocess.run(
        ["nm", "--demangle", "--defined-only", "--extern-only", *objects],
        check=True,
        capture_output=True,
        text=True,
    )
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [row[2] for row in rows if len(row) == 3]


def main() -> None:
    isa, *objects = sys.argv[1:]
    names = defined(objects)
    foreign = [name for name in names if f"xcpu::{isa}::" not in name]
    if not names:
        sys.exit(f"{isa} defines nothing: {objects}")
    if foreign:
        sys.exit(f"{isa} defines what others may define too: {', '.join(foreign)}")
    print(f"{isa}: {len(names)} names, all in its namespace")


if __name__ == "__main__":
    main()
