"""What a package does not take is refused in one sentence that names it: inputs, sizes, files."""

import os
import shutil

import pytest
import torch
from package_making import export, package, packaged, refusal
from package_models import Everything
from torch import nn
from torch.export import Dim

import torchplug

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]

FULL = os.environ.get("TORCHPLUG_TEST_SWEEP") == "all"


class Pair(nn.Module):
    def forward(self, x, y, scale=1.0):
        return (x.exp() * y).sum(-1) * scale


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """`x` has two rows for each number of `y`, which is 2 to 64, or for one."""
    half = Dim("half", min=2, max=64)
    args = (torch.randn(6, 8), torch.randn(3, 1, 8), 2.0)
    model = Pair()
    model.forward = lambda x, y, scale: (x.unflatten(0, (-1, 2)).exp() * y).sum(-1) * scale
    folder = tmp_path_factory.mktemp("refusals")
    return export(folder / "pair.pt2", model, args, dynamic_shapes=({0: 2 * half}, {0: half}, None))


@pytest.fixture(scope="module")
def path(source):
    return package(source)[0]


@pytest.fixture
def pair(path):
    return torchplug.load_package(path)


# ---- inputs ----

REFUSED = {
    "Input 'x' is to be a tensor or an integer as it was exported, and was given 'text'.": (
        lambda x, y: ("text", y, 2.0)
    ),
    "Input 'x' is to be a tensor, and was given an integer.": lambda x, y: (3, y, 2.0),
    "Input 'y' is to be on sim:0, where the package was loaded, and was given on cpu.": (
        lambda x, y: (x, y.cpu(), 2.0)
    ),
    "Input 'x' is to be float32, and was given as float64.": lambda x, y: (x.double(), y, 2.0),
    "Input 'x' is to be a dense tensor, and was given as a sparse or nested one.": (
        lambda x, y: (x.cpu().to_sparse().to("sim"), y, 2.0)
    ),
    "Input 'y' is to have 3 dimensions, and was given with 2.": lambda x, y: (x, y[0], 2.0),
    "Dimension 1 of input 'x' is to be 8, and was given as 7.": lambda x, y: (x[:, :7], y, 2.0),
    "Dimension 0 of input 'y' may be from 2 to 64, and was given as 1.": lambda x, y: (
        x,
        y[:1],
        2.0,
    ),
    "Dimension 0 of input 'y' may be from 2 to 64, and was given as 70.": (
        lambda x, y: (torch.cat([x] * 24), y.repeat(24, 1, 1)[:70], 2.0)
    ),
    "The package was exported for 2.0 as value 2 of its arguments, and was given 3.0.": (
        lambda x, y: (x, y, 3.0)
    ),
    "The package takes 3 positional arguments, and was given 2 positional arguments.": (
        lambda x, y: (x, y)
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_an_input_that_does_not_fit_is_named(device, pair, sentence):
    x, y = torch.randn(6, 8, device=device), torch.randn(3, 1, 8, device=device)
    with pytest.raises(ValueError) as refused:
        pair(*REFUSED[sentence](x, y))
    assert str(refused.value) == sentence
    pair(x, y, 2.0)


def test_sizes_that_do_not_go_together_are_named(device, pair):
    x, y = torch.randn(8, 8, device=device), torch.randn(3, 1, 8, device=device)
    with pytest.raises(
        ValueError,
        match=r"Dimension 0 of input 'x' is to be 6 \(2\*\w+, where \w+ = 3 by dimension 0 of 'y'\)",
    ):
        pair(x, y, 2.0)


def test_the_arguments_structure_is_that_of_the_export(device, pair):
    x, y = torch.randn(6, 8, device=device), torch.randn(3, 1, 8, device=device)
    with pytest.raises(ValueError, match="lists, tuples and dictionaries"):
        pair([x], y, 2.0)
    with pytest.raises(ValueError, match="and was given 2 positional arguments and scale="):
        pair(x, y, scale=2.0)


def test_what_a_trace_took_for_granted_is_checked(device, tmp_path):
    class Halved(nn.Module):
        def forward(self, x):
            return x.unflatten(0, (2, -1)).exp()

    loaded = packaged(tmp_path, Halved(), (torch.randn(8, 3),), dynamic_shapes=({0: Dim.AUTO},))
    loaded(torch.randn(12, 3, device=device))
    with pytest.raises(ValueError, match="0") as refused:
        loaded(torch.randn(9, 3, device=device))
    assert "\n" not in str(refused.value)


# ---- --shapes ----

SHAPES = {
    "x=6x8,y": "'y'",
    "x": "is not of the form 'x=8x128,y=4'",
    "x=6*8": "is not of the form",
    "x=-6x8": "is not of the form",
    "x=6x8,,": "is not of the form",
    "x=99999999999999999999x8": "is not of the form",
    "x=6x8,x=6x8": "gives 'x' twice",
    "z=3": "names an input 'z', and the model has 'x', 'y'",
    "x=6": "gives 'x' 1 sizes, and it has 2 dimensions",
    "y=3x2x8": "gives 2 for dimension 1 of 'y', and the model was exported for 1",
    "y=1x1x8": "gives 1 for dimension 0 of 'y'",
    "y=65x1x8": "from 2 to 64",
    "x=7x8": "gives 7 for dimension 0 of 'x', and the model was exported for 2*",
    "x=6x8,y=4x1x8": "gives 4 for dimension 0 of 'y'",
    "": "is not of the form",
}


@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes_that_do_not_do_are_named(source, shapes):
    assert SHAPES[shapes] in refusal(source, "--shapes", shapes)


def test_shapes_that_leave_a_size_open_name_it(tmp_path):
    class Two(nn.Module):
        def forward(self, x, y):
            return x.exp().sum() * y

    free = {0: Dim("a", min=1, max=9)}, {0: Dim("b", min=1, max=9)}
    source = export(
        tmp_path / "two.pt2", Two(), (torch.randn(3), torch.randn(4)), dynamic_shapes=free
    )
    assert "leaves dimension 0 of 'y' open" in refusal(source, "--shapes", "x=3")


# ---- files ----


def refused(path):
    with pytest.raises(ValueError) as error:
        torchplug.load_package(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_package_that_is_damaged_anywhere_is_refused(path, tmp_path):
    whole = path.read_bytes()
    damaged = tmp_path / "damaged.plug"
    for place in range(0, len(whole), 1 if FULL else 199):
        changed = bytearray(whole)
        changed[place] ^= 1 + place % 255
        damaged.write_bytes(changed)
        assert refused(damaged)


def test_a_package_that_is_cut_short_is_refused(path, tmp_path):
    whole = path.read_bytes()
    short = tmp_path / "short.plug"
    for length in [*range(0, 200, 7), *range(200, len(whole), 1 if FULL else 499), len(whole) - 1]:
        short.write_bytes(whole[:length])
        assert refused(short)


def test_a_package_of_another_version_says_what_to_do(path, tmp_path):
    later = bytearray(path.read_bytes())
    later[16] = 2
    (tmp_path / "later.plug").write_bytes(later)
    assert "is a package of version 2, and this torchplug reads version 1. Make it anew" in refused(
        tmp_path / "later.plug"
    )


def test_what_is_no_package_is_named(path, source, tmp_path):
    assert "is no package" in refused(source)
    assert "is no file" in refused(tmp_path)
    assert "No such file" in refused(tmp_path / "none.plug")


def test_a_file_that_cannot_be_written_leaves_the_one_before(source, path, tmp_path):
    assert "There is no folder" in refusal(source, "-o", tmp_path / "none" / "model.plug")
    assert "is a folder" in refusal(source, "-o", tmp_path)
    kept = shutil.copy(path, tmp_path / "kept.plug")
    before = (tmp_path / "kept.plug").read_bytes()
    refusal(source, "-o", kept, "--shapes", "x=7x8")
    assert (tmp_path / "kept.plug").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["kept.plug"]


def test_what_is_no_exported_program_is_named(path):
    assert "is not an exported program" in refusal(path)


def test_a_program_that_pytorch_refuses_to_load_has_its_words(tmp_path, caplog):
    class Says(nn.Module):
        def forward(self, x):
            return x + 1, "hello"

    said = refusal(export(tmp_path / "says.pt2", Says(), (torch.randn(3),)))
    assert "(Unable to deserialize output node Argument(as_string=hello))" in said


# ---- models ----


def test_a_model_that_needs_python_names_what_it_calls(tmp_path):
    class Chooses(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.exp(), lambda x: x.tanh(), (x,))

    said = refusal(export(tmp_path / "cond.pt2", Chooses(), (torch.randn(3),)))
    assert "cond" in said and "no package can hold it" in said


def test_a_size_that_the_program_reads_from_a_constant_is_named(tmp_path):
    class Reads(nn.Module):
        def forward(self):
            return torch.full((torch.full((), 11).item(),), 0.0)

    assert "which no package can work out" in refusal(export(tmp_path / "reads.pt2", Reads(), ()))


def test_an_option_that_the_compiler_does_not_have_is_its_own_words(source):
    assert "no_such_option" in refusal(source, "--option", "no_such_option=3")
    assert "is not of the form NAME=VALUE" in refusal(source, "--option", "fast")


def test_a_package_onto_a_device_that_is_none(path):
    with pytest.raises(ValueError, match="cannot be loaded onto cpu"):
        torchplug.load_package(path, "cpu")
    with pytest.raises(RuntimeError, match="99"):
        torchplug.load_package(path, "sim:99")


def test_the_command_says_what_is_in_a_package(tmp_path):
    half = Dim("half", min=2, max=64)
    source = export(
        tmp_path / "model.pt2",
        Everything(),
        (torch.randn(6, 8), None),
        {"y": torch.randn(3)},
        dynamic_shapes={"x": {0: 2 * half}, "n": None, "y": {0: half}},
    )
    _, said = package(source)
    lines = said.splitlines()
    assert lines[0].startswith(str(tmp_path / "model.plug")) and "3 groups, 3 engines" in lines[0]
    (product,) = (line for line in lines if line.startswith("aten::addmm "))
    assert product.split(None, 2)[1:] == ["2", "the compiler does not list it"]
