"""docs/compile.md: its code runs as it stands, its options and reasons are those there are."""

import dataclasses
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from torchplug.cli import main
from torchplug.compile import _check, _explain, _options

pytestmark = pytest.mark.accelerator("the CPU has no plugin with a compiler", only="sim")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compile.md").read_text()
SOURCES = [*(ROOT / "torchplug" / "compile").glob("*.py"), ROOT / "src" / "graph" / "groups.cpp"]


def blocks(language, text=PAGE):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block_after(words, language="text"):
    """The first behind a sentence, wherever that stands in a line."""
    sentence = re.search(r"\s+".join(map(re.escape, words.split())), PAGE)
    return blocks(language, PAGE[sentence.end() :])[0]


def rows(text):
    found = re.findall(r"^\| `(.*?)` \| (.*) \|$", text, re.MULTILINE)
    return {name: rest.split(" | ") for name, rest in found}


def without_numbers(line):
    """Counts and times depend on the release of PyTorch and on the machine."""
    return re.sub(r"\bgroups?\b", "group", re.sub(r"[\d.]+", "0", line))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page's code runs."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def names(folder):
    """What the page's code has defined at its end, run from top to bottom."""
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TORCHPLUG_CACHE_DIR", str(folder / "engines"))
        torch._dynamo.reset()
        for block in blocks("python"):
            exec(compile(block, "docs/compile.md", "exec"), names)  # noqa: S102
        torch._dynamo.reset()
    return names


def test_the_code_runs_and_trains(names):
    model, x = names["model"], names["x"]
    expected = torch.nn.Sequential(*model).cpu()(x.cpu())
    grad = model[0].weight.grad
    assert grad is not None and grad.abs().sum().item() > 0
    model.to("sim")
    torch.testing.assert_close(names["y"].detach().cpu(), expected.detach())
    torch.testing.assert_close(names["compiled"](x).detach().cpu(), expected.detach())


def test_explain_prints_lines_like_those_shown(names):
    printed = {without_numbers(line) for line in str(names["report"]).splitlines()}
    shown = block_after("the report is text:")
    assert {without_numbers(line) for line in shown.splitlines()} <= printed


@pytest.mark.usefixtures("names")
def test_the_command_prints_and_writes_what_is_shown(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (command,) = blocks("sh")
    assert main(command.split()[1:]) == 0
    lines = {" ".join(without_lines(line).split()) for line in capsys.readouterr().out.splitlines()}
    shown = block_after("and where it was written:")
    assert {" ".join(without_lines(line).split()) for line in shown.splitlines()} <= lines
    assert ElementTree.parse(folder / "model.svg").getroot().tag.endswith("svg")
    (group,) = json.loads((folder / "model.json").read_text())["groups"]
    (folder / "group.txt").write_text(group["text"])
    assert main(["graph", "dump", "group.txt"]) == 0
    assert capsys.readouterr().out == group["text"]


def without_lines(line):
    """Where in PyTorch's own files a node comes from depends on its release."""
    return re.sub(r"\.py:\d+", ".py", line)


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    headings = [line.removeprefix("## ") for line in PAGE.splitlines() if line.startswith("## ")]
    places = {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}
    for link in links:
        file, _, place = link.partition("#")
        assert (ROOT / "docs" / file).exists() if file else place in places


def test_the_report_has_what_is_named():
    text = PAGE.partition("The same is there as data")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", text))
    have = {field.name for field in dataclasses.fields(_explain.GroupReport)}
    have |= {field.name for field in dataclasses.fields(_explain.GraphReport)} | {"share"}
    assert named == have


def test_the_options_are_those_there_are():
    table = PAGE.partition("<!-- options: begin")[2].partition("<!-- options: end")[0]
    shown = {name: default for name, (default, _) in rows(table).items()}
    options = _options.Options()
    real = {field.name: repr(getattr(options, field.name)) for field in dataclasses.fields(options)}
    assert shown == real


def test_the_reasons_are_those_there_are():
    table = PAGE.partition("| reason |")[2].partition("\n\n")[0]
    sources = "".join(path.read_text() for path in SOURCES)
    assert len(rows(table)) >= 8
    assert [reason for reason in rows(table) if reason not in sources] == []


def test_the_message_of_check_is_as_shown():
    shown = block_after("where you wrote it, and how much:")
    actual, expected = torch.zeros(1, 3), torch.zeros(1, 3)
    actual[0, 2], expected[0, 2] = 3.25, 3.0
    assert (
        f" differs in an engine from the operator {_check.difference(actual, expected)}.\n" in shown
    )
    text = PAGE.partition("Allowed are, ")[2].partition(";")[0]
    named = {dtype: float(number) for number, dtype in re.findall(r"(\S+) for (\w+)", text)}
    real = {str(dtype).removeprefix("torch."): value for dtype, value in _check.TOLERANCES.items()}
    assert named == {name: value for name, value in real.items() if "complex" not in name}


def test_the_numbers_it_names_are_the_sources():
    store = (ROOT / "src" / "graph" / "engine_store.h").read_text()
    assert "At most 4 GiB" in PAGE and "kDefaultLimit = uint64_t{4} << 30" in store
    binding = (ROOT / "src" / "python" / "compile.cpp").read_text()
    assert "one and a half seconds" in PAGE and "milliseconds(1500)" in binding
