"""The headers are C and C++ for every compiler, and the binary layout of plug.h is the recorded one."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "torchplug" / "plug.h"
RECORDED = ROOT / "tests" / "abi" / "plug_v0.txt"
HELLO = ROOT / "examples" / "hello" / "hello.c"
HELLO_COMMAND = "cc -std=c11 -shared -fPIC -Iinclude hello.c -o libhello.so"

# What is named PLUG_ and is no constant: the include guard's kin, and macros with arguments.
NOT_CONSTANTS = {"PLUG_EXPORT", "PLUG_HAS", "PLUG_DTYPE", "PLUG_DTYPE_BYTES"}


def load_tool(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


layout = load_tool(ROOT / "tools" / "abi" / "layout.py")


def run(*command, **options):
    result = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{command}:\n{result.stdout}{result.stderr}"
    return result.stdout


# What a header is written in: the compiler, the oldest standard and the newest.
IN_C = [("cc", "c99"), ("cc", "c11")]
IN_EITHER = [*IN_C, ("c++", "c++11"), ("c++", "c++20")]
IN_CPP = [("c++", "c++17"), ("c++", "c++20")]
HEADERS = {
    "plug.h": IN_EITHER,
    "plug_element.h": IN_EITHER,
    "plug_util.h": IN_EITHER,
    "schemas.h": IN_EITHER,
    "schemas/torch-2.11.h": IN_C,
    "schemas/torch-2.12.h": IN_C,
    "schemas/torch-2.13.h": IN_C,
    "plug.hpp": IN_CPP,
    "plug_call.hpp": IN_CPP,
    "plug_kernel.hpp": IN_CPP,
    "plug_loop.hpp": IN_CPP,
    "plug_schema.hpp": IN_CPP,
}


def compile_alone(code, compiler, standard, folder):
    source = folder / ("header.c" if compiler == "cc" else "header.cpp")
    source.write_text(code)
    warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
    command = [compiler, f"-std={standard}", *warnings, f"-I{ROOT / 'include'}", "-fsyntax-only"]
    return subprocess.run([*command, source], check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("header", "compiler", "standard"),
    [(header, *way) for header, ways in HEADERS.items() for way in ways],
)
def test_the_header_alone_compiles_without_a_warning(header, compiler, standard, tmp_path):
    code = f'#include "torchplug/{header}"\nint not_empty;\n'
    done = compile_alone(code, compiler, standard, tmp_path)
    assert done.returncode == 0, done.stderr


def test_every_header_is_compiled_here_but_the_one_that_needs_pytorch():
    folder = HEADER.parent
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.h*")}
    assert found - {"torchplug.hpp"} == HEADERS.keys()


KERNEL = """#include "torchplug/plug.hpp"
namespace {{
void f(plug::Call&, {parameters}) {{}}
constexpr plug::Kernel kernels[] = {{plug::kernel<&f>("{schema}")}};
}}
const plug_kernel* list = kernels;
"""
MISFITS = {
    "another type": (
        "plug::Tensor, std::int64_t, plug::Out",
        "aten::op(Tensor self, float p) -> Tensor",
        "the_parameter_is_of_another_type_than_the_schema_says",
    ),
    "not optional": (
        "plug::Tensor, plug::Tensor, plug::Out",
        "aten::op(Tensor self, Tensor? weight) -> Tensor",
        "the_parameter_is_of_another_type_than_the_schema_says",
    ),
    "no list": (
        "plug::Tensor, std::int64_t, plug::Out",
        "aten::op(Tensor self, int[1] dim) -> Tensor",
        "the_parameter_is_of_another_type_than_the_schema_says",
    ),
    "written": (
        "plug::Tensor, plug::Out",
        "aten::op(Tensor(a!) self) -> Tensor(a!)",
        "the_parameter_is_of_another_type_than_the_schema_says",
    ),
    "a result for an argument": (
        "plug::Out, plug::Out",
        "aten::op(Tensor self) -> Tensor",
        "the_parameter_is_of_another_type_than_the_schema_says",
    ),
    "a result of another type": (
        "plug::Tensor, plug::Returned<bool>",
        "aten::op(Tensor self) -> Tensor",
        "the_parameter_is_of_another_type_than_the_schema_says",
    ),
    "too few": (
        "plug::Tensor, plug::Out",
        "aten::op(Tensor self, *, Scalar alpha=1) -> Tensor",
        "the_function_has_not_one_parameter_for_each_argument_and_result",
    ),
    "unreadable": (
        "plug::Tensor, plug::Out",
        "aten::op(Tensor self -> Tensor",
        "the_schema_cannot_be_read",
    ),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_a_kernel_that_does_not_fit_its_schema_is_a_compile_error(misfit, tmp_path):
    parameters, schema, error = MISFITS[misfit]
    code = KERNEL.format(parameters=parameters, schema=schema)
    done = compile_alone(code, "c++", "c++17", tmp_path)
    assert done.returncode != 0 and error in done.stderr, done.stderr


def test_in_newer_cpp_it_is_one_even_where_no_constant_is_asked_for(tmp_path):
    parameters, schema, error = MISFITS["another type"]
    code = KERNEL.format(parameters=parameters, schema=schema).replace("constexpr ", "const ")
    done = compile_alone(code, "c++", "c++20", tmp_path)
    assert done.returncode != 0 and error in done.stderr, done.stderr


def test_a_kernel_that_fits_its_schema_compiles(tmp_path):
    parameters = "plug::Tensor, std::optional<plug::Scalar>, plug::Out"
    schema = "aten::op(Tensor self, Scalar? by=None) -> Tensor"
    code = KERNEL.format(parameters=parameters, schema=schema)
    assert compile_alone(code, "c++", "c++17", tmp_path).returncode == 0


def test_the_layout_is_the_recorded_one():
    assert layout.layout() == RECORDED.read_text(), (
        "The binary interface of plug.h is not the one in tests/abi/plug_v0.txt. Every plugin has to be "
        "built anew for such a change; from version 1 on, only appended members and new constants are "
        "allowed. If it is meant: python tools/abi/layout.py > tests/abi/plug_v0.txt, and say so in the "
        "commit."
    )


def struct_members(text):
    """{struct: (size, [(member, offset, size)])} as the layout's text has them, union members left out."""
    found = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"struct (\w+) (\d+)", line):
            members = []
            found[match[1]] = (int(match[2]), members)
        elif match := re.match(r"  (\w+) (\d+) (\d+): ", line):
            members.append((match[1], int(match[2]), int(match[3])))
    return found


def test_the_layout_leaves_no_part_of_a_struct_out():
    """Between members there is padding only: less than what follows is long."""
    structs = struct_members(layout.layout())
    assert {
        "plug_mem",
        "plug_tensor",
        "plug_value",
        "plug_host",
        "plug_runtime",
        "plug_call",
    } <= set(structs)
    for struct, (size, members) in structs.items():
        end = 0
        for name, offset, length in members:
            assert 0 <= offset - end < min(length, 8), f"something lies before {struct}.{name}"
            end = offset + length
        assert 0 <= size - end < 8, f"something lies behind the last member of {struct}"


def test_the_layout_has_every_struct_and_as_many_members_as_the_header_declares():
    code = re.sub(
        r"/\*.*?\*/|^#.*?(?<!\\)$", "", HEADER.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    declared = re.findall(r"struct (\w+) \{(.*?)^\}", code, flags=re.DOTALL | re.MULTILINE)
    text = layout.layout()
    assert [name for name, _ in declared] == re.findall(r"^struct (\w+)", text, flags=re.MULTILINE)
    for name, body in declared:
        block = text.split(f"\nstruct {name} ")[1].split("\n\n")[0]
        assert body.count(";") == block.count("\n  "), name


def test_the_layout_has_every_constant_of_the_header():
    named = set(
        re.findall(r"\bPLUG_\w+", re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL))
    )
    listed = set(re.findall(r"^constant (\w+)", layout.layout(), flags=re.MULTILINE))
    assert listed == named - NOT_CONSTANTS


def test_constants_of_one_kind_do_not_collide():
    """Flags of one enum are distinct bits or distinct numbers."""
    values = dict(re.findall(r"^constant (\w+) (-?\d+)", layout.layout(), flags=re.MULTILINE))
    code = layout.without_comments(HEADER.read_text())
    for _, body in layout.blocks(code, r"\benum"):
        names = re.findall(r"(\w+) *=", body)
        assert len({values[name] for name in names}) == len(names), names


def test_hello_is_built_by_the_command_it_gives_and_is_short(tmp_path):
    source = HELLO.read_text()
    assert HELLO_COMMAND in source
    assert len(source.splitlines()) <= 130
    (tmp_path / "include").symlink_to(ROOT / "include")
    (tmp_path / "hello.c").write_text(source)
    run(*HELLO_COMMAND.split(), cwd=tmp_path)
    symbols = run("nm", "-D", "--defined-only", "--format=posix", tmp_path / "libhello.so")
    assert [line.split()[0] for line in symbols.splitlines()] == ["torchplug_plugin_v0"]


def test_no_comment_is_broken_where_a_formatter_wrapped_it():
    """clang-format begins a line that it makes in a comment of `**` with one `*` and no space."""
    folders = ("include", "tools", "devices", "examples", "tests/plugins")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.[ch]*")]
    broken = [
        f"{file.relative_to(ROOT)}: {line}"
        for file in files
        if file.suffix in (".h", ".hpp", ".c", ".cpp")
        for line in re.findall(r"^ ?\*[A-Za-z`].*", file.read_text(), re.MULTILINE)
    ]
    assert files and not broken, broken
