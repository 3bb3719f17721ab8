"""docs/torchscript.md: its programs work as they stand, in order, and print what it shows."""

import re
import sys

import pytest
import torch
from filelock import FileLock
from pages import ROOT, blocks_of, read, run

PAGE = read("torchscript.md")
blocks = blocks_of("torchscript.md")
EXAMPLE = ROOT / "examples" / "torchscript"
BUILD = ROOT / "build" / "torchscript-example"

pytestmark = pytest.mark.skipif(
    torch._C._get_privateuse1_backend_name() != "sim",
    reason="its text is what sim's compiler makes",
)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """By the programs of the page, one after another in one process."""
    folder = tmp_path_factory.mktemp("page")
    code = "\nprint('----')\n".join(blocks("python"))
    return run([sys.executable, "-c", code], folder).split("----\n")


def test_the_graph_is_the_one_that_the_page_shows(printed):
    shown = printed[0].split("with ")[0]
    assert re.sub(r"%\d+", "%", shown).strip() == re.sub(r"%\d+", "%", blocks("text")[0]).strip()


def test_the_report_and_the_ledger_are_those_that_the_page_shows(printed):
    assert printed[1:3] == blocks("text")[1:3]


@pytest.fixture(scope="module")
def program():
    """The example, built as the page says, where that was not done before."""
    BUILD.mkdir(parents=True, exist_ok=True)
    command = "\n".join(blocks("sh")[0].splitlines()[:2]).replace("build/torchscript", str(BUILD))
    with FileLock(BUILD / "one_at_a_time"):
        run(["bash", "-euc", command], ROOT, CMAKE_GENERATOR="Ninja")
    return BUILD / "run_script"


def test_a_program_without_python_has_groups(program, tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.LayerNorm(32))
    torch.jit.script(model.eval()).save(tmp_path / "model.pt")
    assert not re.search(r"lib(torch_)?python", run(["ldd", str(program)], tmp_path))
    command = blocks("sh")[0].splitlines()[2].replace("build/torchscript", str(BUILD))
    said = run(["bash", "-euc", command], tmp_path)
    expected = model(torch.arange(3 * 64.0).cos().view(3, 64))
    found = re.match(r"\[3, 32\], from (\S+) to (\S+)\n", said)
    assert found, said
    assert float(found[1]) == pytest.approx(expected.min().item(), abs=1e-3)
    assert float(found[2]) == pytest.approx(expected.max().item(), abs=1e-3)
    assert "sim::CompilationGroup" in said


def test_every_piece_of_code_is_in_the_example():
    (code,) = blocks("cpp")
    assert code in (EXAMPLE / "run_script.cpp").read_text()


def test_every_link_leads_to_a_file():
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)", prose)
    assert links and [link for link in links if not (ROOT / "docs" / link).exists()] == []
