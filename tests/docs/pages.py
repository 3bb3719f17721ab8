"""What tests of pages in docs/ share: their code, and programs that run it as a reader would."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def read(page):
    return (ROOT / "docs" / page).read_text()


def blocks_of(page):
    """blocks(language): the code of the page in that language, in its order."""
    return functools.partial(blocks_in, read(page))


def blocks_in(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(command, folder, **env):
    """What a program, or lines for a shell, print in this folder."""
    done = subprocess.run(
        command if isinstance(command, list) else ["bash", "-euc", command],
        cwd=folder,
        env=os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"} | env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
