"""docs/packages.md: its commands and programs work as they stand, in order, and print what it shows."""

import re
import subprocess
import sys

import pytest
import torch
from filelock import FileLock
from pages import ROOT, blocks_of, read, run

PAGE = read("packages.md")
blocks = blocks_of("packages.md")
EXAMPLE = ROOT / "examples" / "package"
BUILD = ROOT / "build" / "package-example"

pytestmark = pytest.mark.skipif(
    torch._C._get_privateuse1_backend_name() != "sim",
    reason="its text is what sim's compiler makes",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the first program and the first command of the page have run."""
    folder = tmp_path_factory.mktemp("page")
    exported, _ = blocks("python")
    run([sys.executable, "-c", exported], folder)
    return folder


@pytest.fixture(scope="module")
def said(folder):
    return run(blocks("sh")[0], folder, TORCHPLUG_CACHE_DIR=str(folder / "engines"))


@pytest.fixture(scope="module")
def program():
    """The example, built as the page says, where that was not done before."""
    BUILD.mkdir(parents=True, exist_ok=True)
    command = "\n".join(blocks("sh")[1].splitlines()[:2]).replace("build/package", str(BUILD))
    with FileLock(BUILD / "one_at_a_time"):
        run(command, ROOT, CMAKE_GENERATOR="Ninja")
    return BUILD / "run_package"


def shape_of(text):
    """Without the sizes of what the system's compiler makes."""
    return re.sub(r"[\d.]+ [KM]?i?B", "SIZE", re.sub(r" +", " ", text))


def test_the_command_says_what_the_page_shows(said):
    assert shape_of(said) == shape_of(blocks("text")[0])


def test_the_package_is_called_in_python(folder, said):
    _, called = blocks("python")
    code = "import torch\n" + called + "print(y.shape, packaged.report()[0].compiled)"
    assert run([sys.executable, "-c", code], folder) == "torch.Size([3, 64]) 0\n"


def test_the_example_runs_it_without_python_and_gives_what_the_model_gives(folder, said, program):
    assert not re.search(r"lib(torch_)?python", run(["ldd", str(program)], folder))
    command = blocks("sh")[1].splitlines()[2].replace("build/package", str(BUILD))
    printed = run(command, folder)
    module = torch.export.load(folder / "model.pt2").module()
    expected = module(torch.arange(3 * 64.0).cos().view(3, 64))
    for text in (printed, blocks("text")[1]):
        found = re.fullmatch(r"output \[3, 64\], from (\S+) to (\S+)\n", text)
        assert found, text
        assert float(found[1]) == pytest.approx(expected.min().item(), abs=1e-4)
        assert float(found[2]) == pytest.approx(expected.max().item(), abs=1e-4)


def test_the_example_says_in_one_sentence_what_is_wrong(folder, said, program):
    import torchplug_sim

    command = [str(program), torchplug_sim.library, "model.plug", "2000"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == blocks("text")[2]


def test_engines_for_sizes_that_are_named(folder):
    said = run(blocks("sh")[2], folder, TORCHPLUG_CACHE_DIR=str(folder / "engines"))
    assert "1 group, 1 engine" in said


def test_every_piece_of_code_is_in_the_example():
    (code,), (build,) = blocks("cpp"), blocks("cmake")
    assert code in (EXAMPLE / "run_package.cpp").read_text()
    assert build in (EXAMPLE / "CMakeLists.txt").read_text()


def test_every_link_leads_to_a_file():
    links = re.findall(r"\]\(([^)#]+)", PAGE)
    assert links and [link for link in links if not (ROOT / "docs" / link).exists()] == []
