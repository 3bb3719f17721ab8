"""clang-tidy over the core and the plugins, in half the time that it takes file by file.

Most of that time goes into PyTorch's headers. So each file is only compiled by itself, which finds what it does not
include, and the checks see the files in the groups in which they are built.

    lint.py --alone DIR --grouped DIR [--jobs N]     build directories, without and with TORCHPLUG_UNITY
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = Path(sys.executable).with_name("clang-tidy")
QUICK = "-checks=-*,misc-unused-alias-decls"
"""clang-tidy wants one check at least."""
OF_GCC = {ROOT / "src/plugin/team.cpp"}
"""They include omp.h, and clang does not read GCC's."""


def units(build: Path) -> list[Path]:
    """What is compiled there for the core and the plugins: files, or groups of them."""
    commands = json.loads((build / "compile_commands.json").read_text())
    files = {Path(command["file"]) for command in commands} - OF_GCC
    ours = [ROOT / "src", ROOT / "devices", build / "CMakeFiles", build / "devices"]
    return sorted(file for file in files if any(file.is_relative_to(folder) for folder in ours))


def check(build: Path, unit: Path, *options: str) -> bool:
    command = [TIDY, "-p", build, "--quiet", *options, unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode and not done.stdout:
        print(done.stderr, end="", flush=True)
    return done.returncode == 0


def check_all(title: str, build: Path, jobs: int, *options: str) -> bool:
    found = units(build)
    print(f"{title}: {len(found)}", flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        return all(list(pool.map(lambda unit: check(build, unit, *options), found)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--alone", type=Path, required=True)
    parser.add_argument("--grouped", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    passed = [
        check_all("groups of files, all checks", given.grouped.resolve(), given.jobs),
        check_all("files, each by itself", given.alone.resolve(), given.jobs, QUICK),
    ]
    print("lint: clean" if all(passed) else "lint: see above")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
