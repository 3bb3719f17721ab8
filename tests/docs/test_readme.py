"""The README says what is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def run(*command):
    environment = os.environ | {"TORCHPLUG_DEVICE": "sim", "COLUMNS": "80"}
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def code_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_every_link_leads_to_a_file():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_example_runs():
    (example,) = code_blocks("python")
    assert run(sys.executable, "-c", example).strip().endswith(" sim")


def test_the_demo_prints_what_is_shown():
    (shown,) = (block for block in code_blocks("") if "A two-layer transformer" in block)

    def facts(text):
        """Without what depends on the machine: seconds, the last digits, and PyTorch's version."""
        text = re.sub(r"\d+\.\d+ s|\d\.\de-\d\d", "...", text)
        return re.sub(r"PyTorch \S+,", "PyTorch,", text)

    printed = facts(run(sys.executable, "-m", "torchplug.demo"))
    for line in facts(shown).splitlines():
        if line.startswith(("aten::", "kernel", "borrow")):
            assert line.split()[0] in printed
        # Losses depend on the CPU's arithmetic in the last digits.
        elif not re.match(r" +\d+ ", line) and line != "...":
            assert line in printed.splitlines()


def test_every_command_shown_exists():
    assert set(re.findall(r"^ {4}torchplug (\w+)", README, re.MULTILINE)) <= set(
        re.findall(r"^ {4}(\w+) ", run(sys.executable, "-m", "torchplug", "--help"), re.MULTILINE)
    )
