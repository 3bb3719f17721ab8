"""tools/codegen: the headers of schemas are what the installed PyTorch says."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "torchplug"
RELEASE = ".".join(torch.__version__.split(".")[:2])
RELEASES = ["2.11", "2.12", "2.13"]
SCHEMA = re.compile(r'^#define PLUG_SCHEMA_\w+ "(.*)"$', re.MULTILINE)


def load(name):
    sys.path.insert(0, str(ROOT / "tools" / "codegen"))
    try:
        spec = importlib.util.spec_from_file_location(
            f"codegen_{name}", ROOT / f"tools/codegen/{name}.py"
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.pop(0)


headers = load("headers")


@pytest.fixture(scope="module")
def schemas():
    """Those of the installed release, as the headers have them."""
    texts = [(INCLUDE / file).read_text() for file in ("schemas.h", f"schemas/torch-{RELEASE}.h")]
    return [text.replace('\\"', '"') for text in SCHEMA.findall("".join(texts))]


def test_the_headers_are_what_the_installed_pytorch_says():
    made = load("__main__").made()
    assert f"schemas/torch-{RELEASE}.h" in made
    for file, text in made.items():
        assert (INCLUDE / file).read_text() == text, f"{file}: run python tools/codegen"


def test_every_release_has_a_header_and_says_which_it_is():
    files = sorted(path.name for path in (INCLUDE / "schemas").iterdir())
    assert files == [f"torch-{release}.h" for release in RELEASES]
    for release in RELEASES:
        assert f"PyTorch {release}" in (INCLUDE / f"schemas/torch-{release}.h").read_text()


def test_no_release_has_what_is_common_to_all():
    shared = headers.entries_in((INCLUDE / "schemas.h").read_text())
    for release in RELEASES:
        own = headers.entries_in((INCLUDE / f"schemas/torch-{release}.h").read_text())
        assert not shared.keys() & own.keys()


def parsed(schema):
    """What a schema says but for the spelling of defaults: int reduction=Mean is printed as 1."""
    schema = torch._C.parse_schema(schema)
    arguments = [(a.name, str(a.type), a.has_default_value()) for a in schema.arguments]
    return schema.name, schema.overload_name, arguments, [str(r.type) for r in schema.returns]


def test_every_schema_is_an_operator_of_the_installed_pytorch(schemas):
    assert len(schemas) > 800
    known = {(s.name, s.overload_name): s for s in torch._C._jit_get_all_schemas()}
    for schema in schemas:
        name, overload, arguments, results = parsed(schema)
        other = known[name, overload]
        assert arguments == [(a.name, str(a.type), a.has_default_value()) for a in other.arguments]
        assert results == [str(r.type) for r in other.returns]


@pytest.mark.parametrize(
    "name",
    ["relu", "add.Tensor", "addmm", "convolution", "convolution_backward", "native_layer_norm",
     "_softmax", "_softmax_backward_data", "threshold_backward", "normal_", "arange.start_out",
     "_foreach_add_.List", "_fused_adamw_", "linear", "linear_backward", "uniform", "cat", "index.Tensor",
     "_scaled_dot_product_fused_attention_overrideable"],
)  # fmt: skip
def test_what_authors_bind_is_there(schemas, name):
    assert [s for s in schemas if s.startswith(f"aten::{name}(")]


@pytest.mark.parametrize(
    "name",
    ["relu_", "add.out", "view", "conv2d", "empty.memory_format", "copy_", "convolution_overrideable",
     "_cudnn_rnn", "select.int", "_fused_adamw"],
)  # fmt: skip
def test_what_cannot_be_bound_is_not_there(schemas, name):
    assert not [s for s in schemas if s.startswith(f"aten::{name}(")]


def test_a_place_is_where_the_argument_stands(tmp_path):
    """For every operator: the enumerators count the arguments of the parsed schema."""
    entries = headers.entries_in((INCLUDE / "schemas.h").read_text())
    for name, block in entries.items():
        key = headers.constant(name)
        schema = torch._C.parse_schema(SCHEMA.search(block)[1].replace('\\"', '"'))
        (places,) = re.findall(r"enum \{ (PLUG_ARGS?_.*?) \};", block)
        expected = [f"PLUG_ARG_{key}_{a.name.upper()}" for a in schema.arguments]
        assert places.split(", ") == [*expected, f"PLUG_ARGS_{key}"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("const char *s = PLUG_SCHEMA_ADD_TENSR;", "PLUG_SCHEMA_ADD_TENS"),
        ("int i = PLUG_ARG_ADD_TENSOR_BETA;", "PLUG_ARG_ADD_TENSOR_BETA"),
        ("int i = PLUG_ARG_ADD_TENSOR_ALPHA; const char *s = PLUG_SCHEMA_ADD_TENSOR;", None),
    ],
)
def test_a_typing_mistake_is_a_compile_error(tmp_path, code, error):
    source = tmp_path / "typo.c"
    source.write_text(f'#include "torchplug/schemas.h"\n{code}\n')
    command = ["cc", "-fsyntax-only", f"-I{ROOT / 'include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (error is None), done.stderr
    assert error is None or error in done.stderr
