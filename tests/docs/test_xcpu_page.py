"""The page on xcpu: its code prints what it shows, and its reference is what the operators are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/xcpu.md").read_text()
sys.path.append(str(ROOT / "tests/xcpu"))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("code", "shown"), [*zip(blocks("python"), blocks("text"), strict=True)])
def test_the_code_prints_what_is_shown(code, shown):
    path = os.pathsep.join(filter(None, [str(ROOT / "examples"), os.environ.get("PYTHONPATH")]))
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == shown


def test_the_reference_is_what_the_script_writes():
    import xcpu_table

    assert xcpu_table.with_reference(PAGE) == PAGE, "run: python tests/xcpu/xcpu_table.py"


def test_every_operator_is_described():
    from xcpu_samples import operators

    described = set(re.findall(r"`(\w+)`", PAGE[: PAGE.index("## Reference")]))
    computed = re.compile(r".*_(grad|backward|inverse)$")
    names = {name.split(".")[0] for name in operators()}
    assert [name for name in names - described if not computed.match(name)] == []
    assert hasattr(torch.ops.xcpu, "linear")


def test_every_link_leads_to_a_file_or_a_heading():
    headings = re.findall(r"^#+ (.*)", PAGE, re.MULTILINE)
    anchors = {"#" + heading.lower().replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(([^)]+)\)", PAGE))
    assert links & anchors
    assert [link for link in links - anchors if not (ROOT / "docs" / link).exists()] == []
