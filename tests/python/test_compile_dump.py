"""`torchplug graph dump`: it shows what torch.compile would give to the device's compiler."""

import io
import json
import warnings
import zipfile
from collections import Counter
from xml.etree import ElementTree

import pytest
import torch
from compiled_models import MODELS
from interpreter import HELLO
from interpreter import run as run_python
from rich.console import Console
from torch import nn

import torchplug.compile
from torchplug import _C
from torchplug.cli import main
from torchplug.dump import exported, svg, table
from torchplug.dump.sheet import Group, Node, Output, Sheet, Source

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def dump(capsys):
    """Runs the command; gives the exit code, standard output and standard error."""

    def run(*words):
        code = main(["graph", "dump", *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def save(path, model, *inputs, **options):
    with torch.no_grad():
        torch.export.save(torch.export.export(model, inputs, **options), path)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A product, which sim does not list, and a group of two behind it."""
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).eval()
    return save(tmp_path_factory.mktemp("model") / "small.pt2", model, torch.randn(2, 8))


class Cache(nn.Module):
    """Writes what it is given into a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 8))

    def forward(self, x):
        self.kept.add_(x)
        return torch.relu(self.kept * 2.0)


# ---- what it shows ----


@pytest.mark.parametrize("name", ["llama", "residual"])
def test_it_is_what_torch_compile_makes_of_the_model(device, tmp_path, name):
    make, inputs, _ = MODELS[name]
    model, given = make().eval(), inputs()
    sheet = exported.read(save(tmp_path / "m.pt2", model, *given), device)
    with torch.no_grad():
        report = torchplug.compile.explain(model.to(device), *(x.to(device) for x in given))
    (graph,) = report.graphs
    counted = [node for node in sheet.nodes if node.computes]
    outside = [(node.operator, node.why) for node in counted if node.group is None]
    assert Counter(outside) == Counter(graph.eager)
    assert (sheet.count, sheet.share) == (graph.nodes, graph.share)
    assert len(sheet.groups) == len(graph.groups)
    for number, group in enumerate(graph.groups):
        members = Counter(node.operator for node in counted if node.group == number)
        assert members == group.operators and members.total() == group.nodes


def test_views_are_shown_and_not_counted(device, tmp_path):
    def through_views(x):
        return (x.t().reshape(2, 8).exp()[:, 2:] @ x.view(8, 2)[2:].sigmoid()).view(4)

    model = nn.Module()
    model.forward = through_views
    sheet = exported.read(save(tmp_path / "m.pt2", model, torch.randn(4, 4)), device)
    work = [node.operator for node in sheet.nodes if node.computes]
    assert sorted(work) == ["aten::clone", "aten::exp", "aten::mm", "aten::sigmoid"]
    assert len(sheet.nodes) > 4 and (sheet.count, sheet.share) == (4, 0.75)


def test_every_node_has_its_type_its_inputs_and_where_it_was_written(dump, small):
    code, output, errors = dump(small, "--json")
    assert code == 0, errors
    found = json.loads(output)
    nodes = {node["operator"]: node for node in found["nodes"]}
    assert found["title"] == "small.pt2" and found["device"] == "sim:0"
    assert found["share"] == 2 / 3 and [len(group["nodes"]) for group in found["groups"]] == [2]
    assert nodes["aten::addmm"]["why"] == "the compiler does not list it"
    assert nodes["aten::addmm"]["types"] == ["f32[2, 8]"]
    (given,) = (source["name"] for source in found["sources"] if not source["is_weight"])
    assert set(nodes["aten::addmm"]["inputs"]) == {"0.bias", given, nodes["aten::t"]["name"]}
    assert nodes["aten::gelu"]["inputs"] == [nodes["aten::addmm"]["name"]]
    assert nodes["aten::gelu"]["group"] == nodes["aten::native_layer_norm"]["group"] == 0
    assert nodes["aten::gelu"]["place"].startswith("activation.py:")
    weights = {source["name"] for source in found["sources"] if source["is_weight"]}
    assert weights == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert [o["node"] for o in found["outputs"]] == [nodes["aten::native_layer_norm"]["name"]]


def test_the_files_name_may_be_any(device, small, tmp_path):
    other = tmp_path / "model.bin"
    other.write_bytes(small.read_bytes())
    assert exported.read(other, device).nodes == exported.read(small, device).nodes


class OpenSizes(nn.Module):
    """Sizes that follow from others: of the inputs, and inside."""

    def forward(self, x, y):
        joined = torch.cat([x[1:], y, y])
        return torch.relu(joined.reshape(3, -1)) * x.shape[0]


def test_sizes_may_follow_from_one_another(device, tmp_path):
    rows = torch.export.Dim("rows", min=2, max=64)
    sizes = ({0: rows + 1}, {0: rows})
    given = torch.randn(6, 4), torch.randn(5, 4)
    path = save(tmp_path / "m.pt2", OpenSizes(), *given, dynamic_shapes=sizes)
    sheet = exported.read(path, device)
    assert sheet.share == 1
    assert {source.type.partition(", ")[2] for source in sheet.sources} == {"4]"}
    assert len({source.type for source in sheet.sources}) == 2


def test_what_the_compiler_lists_comes_whole(device, tmp_path):
    assert torch.ops.aten.silu.default in torch._decomp.core_aten_decompositions()
    sheet = exported.read(save(tmp_path / "m.pt2", nn.SiLU(), torch.randn(2, 8)), device)
    assert [node.operator for node in sheet.nodes] == ["aten::silu"]


def test_the_text_of_a_group_reads_back(device, small):
    (group,) = exported.read(small, device).groups
    assert str(_C.CompilerGraph(group.text)) == group.text
    assert "= aten::gelu(%" in group.text and "= aten::native_layer_norm(%" in group.text


def test_nothing_is_compiled_and_nothing_is_kept(device, small, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_CACHE_DIR", str(tmp_path / "engines"))
    module, inputs, _ = exported.flatten(exported.load(small), device)
    (program,) = exported.compile_without_engines(module, inputs)
    assert [group.engines.report()["compiled"] for group in program.groups] == [0]
    assert not (tmp_path / "engines").exists()


def test_open_sizes_are_symbols(device, tmp_path):
    path = save(
        tmp_path / "m.pt2",
        nn.Sequential(nn.Tanh(), nn.GELU()),
        torch.randn(3, 4),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=64)},),
    )
    sheet = exported.read(path, device)
    (size,) = {node.types[0].partition("[")[2].partition(",")[0] for node in sheet.nodes}
    assert not size.isdecimal() and "in 2..64" in sheet.groups[0].text


def test_what_is_written_in_place_is_an_output(device, tmp_path):
    sheet = exported.read(save(tmp_path / "m.pt2", Cache(), torch.randn(4, 8)), device)
    assert [output.updates for output in sheet.outputs if output.updates] == ["kept"]
    assert len([output for output in sheet.outputs if not output.updates]) == 1


def test_a_program_exported_on_the_device_is_the_same(device, tmp_path):
    model, given = nn.Sequential(nn.Linear(8, 8), nn.GELU()).eval(), torch.randn(2, 8)
    here = exported.read(save(tmp_path / "here.pt2", model, given), device)
    there = save(tmp_path / "there.pt2", model.to(device), given.to(device))
    assert exported.read(there, device).nodes == here.nodes


# ---- tables ----


def test_a_pipe_gets_a_line_for_each_node(dump, small):
    code, output, _ = dump(small)
    lines = output.splitlines()
    assert code == 0 and output.isascii() and "\x1b" not in output
    assert lines[0] == "small.pt2 on sim:0: 3 nodes, 67% in 1 engine"
    (product,) = (line for line in lines if line.startswith("aten::addmm "))
    assert "f32[2, 8]" in product and "the compiler does not list it" in product
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1].split(None, 2) == ["0", "2", "aten::gelu, aten::native_layer_norm"]


def test_a_terminal_gets_no_line_that_is_wider(device, small):
    console = Console(width=80, force_terminal=True, color_system=None, file=io.StringIO())
    table.show(console, exported.read(small, device))
    lines = console.file.getvalue().splitlines()
    assert len(lines) > 8 and max(map(len, lines)) <= 80
    words = {word for line in lines for word in line.split()}
    assert {"aten::native_layer_norm", "compiler", "does"} <= words, "words are not broken"


# ---- the picture ----


def drawing_of(sheet):
    root = ElementTree.fromstring(svg.draw(sheet))
    body = root.findall(f"{SVG}g")[-1]
    frames = [box_of(rect) for rect in body.findall(f"{SVG}rect")]
    shapes = [
        (group.find(f"{SVG}rect").get("class"), box_of(group.find(f"{SVG}rect")), title(group))
        for group in body.findall(f"{SVG}g")
    ]
    return frames, shapes, [line.get("d") for line in body.findall(f"{SVG}path[@class='line']")]


def title(element):
    return element.find(f"{SVG}title").text


def box_of(rect):
    x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def is_inside(a, b):
    return b[0] <= a[0] and b[1] <= a[1] and a[2] <= b[2] and a[3] <= b[3]


def random_sheet(count, seed):
    """Nodes in the order of a program, of which stretches are engines."""
    generator = torch.Generator().manual_seed(seed)

    def below(most):
        return int(torch.randint(most, (), generator=generator))

    sheet = Sheet("random.pt2", "sim", [Source("x", "f32[4]"), Source("w", "f32[4]", True)])
    names = ["x", "w"]
    while len(sheet.nodes) < count:
        group = len(sheet.groups) if below(3) else None
        members = []
        for _ in range(1 + below(12)):
            inputs = {names[-1 - below(min(len(names), 6))], names[below(len(names))]}
            name = f"n{len(sheet.nodes)}"
            why = "" if group is not None else "the compiler does not list it"
            sheet.nodes.append(Node(name, "aten::add.Tensor", ["f32[4]"], [*inputs], group, why))
            names.append(name)
            members.append(name)
        sheet.groups += [Group(members, "")] if group is not None else []
    sheet.outputs = [Output(names[-1])]
    return sheet


@pytest.mark.parametrize(("count", "seed"), [(1, 0), (12, 1), (12, 2), (60, 3), (300, 4)])
def test_nothing_lies_on_anything_else_and_engines_stand_around_their_nodes(count, seed):
    sheet = random_sheet(count, seed)
    frames, shapes, lines = drawing_of(sheet)
    assert len(frames) == len(sheet.groups)
    assert len(shapes) >= len(sheet.nodes) + 1 and len(lines) >= len(sheet.nodes) - 1
    everything = [*frames, *(box for kind, box, _ in shapes if kind != "engine")]
    assert not any(overlap(a, b) for i, a in enumerate(everything) for b in everything[:i])
    for number, frame in enumerate(frames):
        inside = [box for kind, box, text in shapes if text.endswith(f"engine {number}")]
        assert len(inside) == len(sheet.groups[number].nodes)
        assert all(is_inside(box, frame) for box in inside)
        assert not any(overlap(a, b) for i, a in enumerate(inside) for b in inside[:i])


def test_the_picture_says_why_nodes_are_in_no_engine_and_has_no_need_of_other_files(dump, small):
    file = small.with_suffix(".svg")
    code, _, errors = dump(small, "--svg", file)
    assert code == 0, errors
    text = file.read_text()
    assert "the compiler does not list it (1)" in text and "prefers-color-scheme: dark" in text
    assert "href" not in text and "url(" not in text and "@import" not in text
    _, shapes, _ = drawing_of(exported.read(small, torch.device("sim", 0)))
    assert Counter(kind for kind, _, _ in shapes) == Counter(engine=2, eager=1, input=1, output=1)


def test_odd_names_are_text_in_the_picture():
    sheet = Sheet('<a & "b">.pt2', "sim", [Source("x<", "f32[4]")])
    sheet.nodes = [Node("n", "own::a<b>&", ["f32[4]"], ["x<"], None, 'no "why" & <none>')]
    _, shapes, _ = drawing_of(sheet)
    assert "own::a<b>&" in shapes[-1][2] and 'no "why" & <none>' in shapes[-1][2]


# ---- the text form ----

TEXT = """
operator - aten::relu(Tensor self)   ->   Tensor
graph( %x : f32[2,3] ) {   # a graph
 %y: f32[2,3] = aten::relu( self = %x )
 return %y }
"""


def test_a_text_is_printed_back_canonically(dump, tmp_path):
    file = tmp_path / "graph.txt"
    file.write_text(TEXT)
    code, output, errors = dump(file)
    assert code == 0, errors
    assert output.splitlines()[1:] == [
        "graph(%x: f32[2, 3]) {",
        "  %y: f32[2, 3] = aten::relu(%x)",
        "  return %y",
        "}",
    ]
    file.write_text(output)
    assert dump(file)[1] == output


# ---- what is wrong ----


NEITHER = "is neither an exported program, which is a zip archive, nor the text of a graph, which is UTF-8."


def wrong_files(folder):
    def made(name, content):
        path = folder / name
        path.write_bytes(content)
        return path

    empty_zip = folder / "empty.pt2"
    with zipfile.ZipFile(empty_zip, "w") as archive:
        archive.writestr("a", "b")
    weights, script = folder / "weights.pt2", folder / "script.pt2"
    torch.save({"a": torch.zeros(2)}, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        torch.jit.save(torch.jit.script(nn.ReLU()), script)
    program = save(folder / "program.pt2", nn.ReLU(), torch.zeros(2)).read_bytes()
    return {
        folder / "none.pt2": "There is no ",
        folder: "Is a directory",
        made("nothing.pt2", b""): "line 1, column 1: expected 'graph', but the text ends",
        made("noise.pt2", bytes(range(256))): f"noise.pt2 {NEITHER}",
        made("notes.txt", b"hello"): "line 1, column 1: expected 'graph', but found 'hello'",
        empty_zip: "empty.pt2 is not an exported program (",
        weights: "is not an exported program: it was written by torch.save. Write one",
        script: "is not an exported program: it is a TorchScript program. Write one",
        made("part.pt2", program[:900]): "it is a zip archive that is damaged or cut off. Write",
        made("a.txt", TEXT.replace("relu(", "relu[", 2).encode()): ": line ",
        made(
            "b.txt", b"graph(%x: f33[2]) {\n return %x\n}"
        ): "line 1, column 11: 'f33' is no dtype",
        made("c.txt", b"graph(%x: f32[2]) { \xff"): f"c.txt {NEITHER}",
    }


def assert_sentence(answer, words):
    code, output, errors = answer
    assert (code, output) == (2, ""), errors
    assert words in errors and errors.startswith("torchplug: ")
    assert errors.count("\n") == 1 and errors.endswith(".\n")


def test_a_file_that_is_none_is_a_sentence(dump, tmp_path):
    for path, words in wrong_files(tmp_path).items():
        assert_sentence(dump(path), words)


def test_a_picture_that_cannot_be_written_is_a_sentence(dump, small, tmp_path):
    assert_sentence(
        dump(small, "--svg", tmp_path / "no" / "a.svg"), f"There is no folder {tmp_path / 'no'}."
    )
    text = tmp_path / "graph.txt"
    text.write_text(TEXT)
    assert_sentence(dump(text, "--svg", tmp_path / "a.svg"), "--svg and --json are for exported")


COMMAND = """import torch, sys
from torchplug.cli import main
print(main(["graph", "dump", {path!r}]))
"""


@pytest.mark.parametrize(
    ("choice", "words"),
    [(HELLO, "Device hello has no compiler"), ("none", "There is no device to compile for")],
    ids=["hello", "none"],
)
def test_a_device_without_a_compiler_is_a_sentence(small, choice, words):
    output, errors = run_python(COMMAND.format(path=str(small)), choice)
    assert output == "2" and words in errors and errors.count("\n") == 1


def test_an_unknown_device_is_a_sentence(dump, small):
    assert_sentence(dump(small, "--device", "abacus"), "no device plugin named 'abacus'")
