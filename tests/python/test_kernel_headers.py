"""Kernels written with plug.hpp and with plug_util.h give what the CPU gives; every schema can be bound."""

import re
import subprocess

import pytest
import torch
from helpers import output_of, run_python
from vendors import ROOT, compile_test_plugin

pytestmark = pytest.mark.accelerator("plugins of its own, so once is enough", only="sim")

PRELUDE = """
import itertools
import torchplug

torch.manual_seed(0)


def calls_of(name):
    return sum(entry.count for entry in torchplug.ledger() if entry.op == name and entry.way == "kernel")


def there(value):
    '''Its memory, copied whole, and a view of the same strides.'''
    if isinstance(value, list):
        return [there(item) for item in value]
    storage = value.as_strided((value.untyped_storage().nbytes() // value.element_size(),), (1,), 0)
    return storage.to(device).as_strided(value.shape, value.stride(), value.storage_offset())


def same(op, fn, *args, strides=True, **tolerance):
    '''fn gives on the device what it gives on the CPU, by the kernel for `op`, at the first call and the second.'''
    expected = fn(*args)
    before = calls_of(op)
    for _ in range(2):
        actual = fn(*map(there, args))
        assert actual.device.type == device.type
        torch.testing.assert_close(actual.cpu(), expected, equal_nan=True, **tolerance)
        assert not strides or actual.numel() < 2 or actual.stride() == expected.stride(), actual.stride()
    assert calls_of(op) == before + 2, (op, [e for e in torchplug.ledger() if e.op == op])


x = torch.randn(4, 6)
wide = torch.randn(3, 4, 6)
image = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
shapes = [(x, x), (x, x[:1]), (x.t(), torch.randn(6, 4)), (wide, x), (wide.permute(2, 0, 1), torch.randn(3, 1)),
          (x[:, ::2], x[:, 1::2]), (image, image), (image, torch.randn(5)), (torch.tensor(2.0), x),
          (torch.randn(0, 3), torch.randn(3)), (torch.tensor(1.5), torch.tensor(2.5)), (x[1:2].expand(4, 6), x)]
"""


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    plugin = compile_test_plugin(tmp_path_factory.mktemp("plugin"), "typed")
    return lambda code: output_of(PRELUDE + code, "typed", TORCHPLUG_DEVICE=plugin)


@pytest.fixture(scope="module")
def looping(tmp_path_factory):
    plugin = compile_test_plugin(tmp_path_factory.mktemp("plugin"), "looping")
    return lambda code: output_of(PRELUDE + code, "looping", TORCHPLUG_DEVICE=plugin)


def test_a_strided_kernel_of_cpp_takes_any_strides_and_shapes_that_expand(typed):
    typed("""
for a, b in shapes:
    same("aten::mul.Tensor", torch.mul, a, b)
    same("aten::mul.Tensor", torch.mul, a.double(), b.double())
same("aten::mul.Tensor", lambda a: a * 3.0, x)
large = torch.randn(300, 200)  # for several threads
same("aten::mul.Tensor", torch.mul, large, large.t().contiguous().t())
y = there(x)
y.mul_(y)
assert torch.equal(y.cpu(), x * x)
out = torch.empty(6, 4, device=device).t()
torch.mul(there(x), there(x), out=out)
assert torch.equal(out.cpu(), x * x)
""")


def test_a_kernel_of_cpp_computes_mixed_dtypes_as_promoted(typed):
    typed("""
whole = torch.arange(24).reshape(4, 6)
kinds = [x, x.double(), x.half(), x.bfloat16(), whole, whole.int(), whole.to(torch.uint8), whole > 5]
for a, b in itertools.product(kinds, kinds):
    if torch.result_type(a, b) not in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64):
        continue
    for p, q in ((a, b), (a.t(), b[:1].t())):
        same("aten::add.Tensor", torch.add, p, q)
same("aten::add.Tensor", lambda a, b: torch.add(a, b, alpha=2), x, whole)
same("aten::add.Tensor", lambda a: a + 1.5, x.half())
""")


def test_a_reduction_of_cpp_takes_any_dims(typed):
    typed("""
for given in (wide, wide.permute(2, 0, 1), image, wide[:, ::2], wide.double()):
    for count in range(given.dim() + 1):
        for dims in itertools.combinations(range(-given.dim(), 0), count):
            for keepdim in (False, True):
                same("aten::sum.dim_IntList", lambda t: t.sum(dims, keepdim=keepdim), given, rtol=1e-6, atol=1e-6)
same("aten::sum.dim_IntList", lambda t: t.sum(0), torch.randn(0, 3))
same("aten::sum.dim_IntList", lambda t: t.sum(1), torch.randn(0, 3))
same("aten::sum.dim_IntList", lambda t: t.sum(1), torch.randn(5000, 3), rtol=1e-6, atol=1e-6)
""")


def test_a_matrix_product_of_cpp_takes_transposed_matrices_and_a_bias_that_expands(typed):
    typed("""
a, b, bias = torch.randn(5, 7), torch.randn(7, 6), torch.randn(6)
for p, q in ((a, b), (a.t().contiguous().t(), b), (a, b.t().contiguous().t()), (a[:, :0], b[:0])):
    same("aten::addmm", lambda s, m, n: torch.addmm(s, m, n, beta=0.5, alpha=2), bias, p, q, rtol=1e-5, atol=1e-5)
    same("aten::addmm", lambda s, m, n: torch.addmm(s, m, n, beta=0), bias * torch.nan, p, q, rtol=1e-5, atol=1e-5)
model = torch.nn.Linear(7, 6)
expected = model(a)
torch.testing.assert_close(model.to(device)(there(a)).cpu(), expected)
""")


def test_kernels_of_cpp_have_scratch_lists_and_optional_arguments(typed):
    typed("""
same("aten::_softmax", lambda t: torch.softmax(t, -1), wide)
same("aten::_softmax", lambda t: torch.softmax(t, 1), torch.randn(500, 3))
same("aten::_softmax", lambda t: torch.softmax(t, 0), torch.tensor(2.0))
same("aten::cat", lambda list: torch.cat(list), [x, x + 1, x[:1]])
same("aten::cat", lambda list: torch.cat(list, -1), [x.t(), torch.randn(6, 2), torch.randn(6, 0), torch.randn(0)])
same("aten::cat", lambda list: torch.cat(list, 1), [image, image + 1])
same("aten::clamp", lambda t: torch.clamp(t, min=-0.5), x)
same("aten::clamp", lambda t: torch.clamp(t, max=0.5), x.t())
same("aten::clamp", lambda t: torch.clamp(t, -1, 1), torch.tensor([torch.nan, -5.0, 5.0, torch.inf]))
same("aten::nonzero", lambda t: torch.nonzero(t), x.clamp(min=0), strides=False)
""")


def test_an_exception_of_a_kernel_of_cpp_is_the_error_and_what_it_declines_runs_on_the_cpu(typed):
    typed("""
try:
    torch.sinh(torch.ones(2, device=device))
except RuntimeError as error:
    assert "the sine unit is on fire" in str(error), error
else:
    raise AssertionError("no error")
assert torch.equal((there(x) * 2).cpu(), x * 2)
assert torch.equal(torch.clamp(there(x.double()), min=0).cpu(), x.double().clamp(min=0))
assert torch.equal(torch.softmax(there(x), 0).cpu(), torch.softmax(x, 0))
""")


def test_kernels_of_c_take_any_strides_dtypes_and_dims(looping):
    looping("""
whole = torch.arange(24, dtype=torch.int32).reshape(4, 6)
for a, b in shapes:
    same("aten::add.Tensor", lambda p, q: torch.add(p, q, alpha=2), a, b)
same("aten::add.Tensor", torch.add, x, whole)
same("aten::add.Tensor", torch.add, whole > 3, x.t().contiguous().t())
same("aten::add.Tensor", lambda a: a + 1.5, x)
for count in range(4):
    for dims in itertools.combinations(range(3), count):
        for keepdim in (False, True):
            same("aten::sum.dim_IntList", lambda t: t.sum(dims, keepdim=keepdim), wide, rtol=1e-6, atol=1e-6)
same("aten::sum.dim_IntList", lambda t: t.sum(1), torch.randn(1000, 3).t().contiguous().t(), rtol=1e-6, atol=1e-6)
""")


# ---- the schemas ----

EVERYTHING = """
#include "base.h"
#include "torchplug/schemas/torch-{release}.h"
static plug_status decline(const plug_call *call) {{
  (void)call;
  return PLUG_UNSUPPORTED;
}}
static const plug_kernel list[] = {{
{lines}
}};
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {{
  make_device(given, "everything");
  add_kernels(list, sizeof list / sizeof *list);
  *out = &module;
  return PLUG_OK;
}}
"""


def test_a_kernel_can_be_bound_by_every_schema_of_the_headers(tmp_path):
    release = ".".join(torch.__version__.split(".")[:2])
    include = ROOT / "include" / "torchplug"
    files = (include / "schemas.h", include / "schemas" / f"torch-{release}.h")
    names = re.findall(
        r"^#define (PLUG_SCHEMA_\w+)", "".join(f.read_text() for f in files), re.MULTILINE
    )
    lines = "\n".join(f"    {{.schema = {name}, .fn = decline}}," for name in names)
    source = tmp_path / "everything.c"
    source.write_text(EVERYTHING.format(release=release, lines=lines))
    library = tmp_path / "everything.so"
    paths = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'plugins'}"]
    subprocess.run(
        ["cc", "-std=c11", "-shared", "-fPIC", *paths, source, "-o", library], check=True
    )
    done = run_python("torch.ones(1, device=device)", "everything", TORCHPLUG_DEVICE=library)
    assert done.returncode == 0, done.stderr
    refused = re.findall(
        r"for (aten::[\w.]+)\(.*? is not used: (.*?)\.?$", done.stderr, re.MULTILINE
    )
    assert not refused


SANITIZED = """
#include "torchplug/plug.hpp"

inline constexpr char kTwice[] = "acme::twice(Tensor x) -> Tensor";
plug_status twice(plug::Call&, plug::Tensor, plug::Out);
constexpr plug_kernel kKernel = plug::kernel<&twice>(kTwice);
"""


def test_the_schema_of_a_kernel_of_cpp_is_read_by_the_compiler_under_a_sanitizer_too(tmp_path):
    source = tmp_path / "sanitized.cpp"
    source.write_text(SANITIZED)
    compiler = ["c++", "-std=c++17", "-fsyntax-only", f"-I{ROOT / 'include'}"]
    for flags in ([], ["-fsanitize=address,undefined"]):
        done = subprocess.run(
            [*compiler, *flags, source], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
