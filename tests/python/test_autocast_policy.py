"""What autocast does to each operator: PyTorch's own lists, the same as for its own devices."""

import pytest
import torch
from helpers import assert_equal, assert_same
from torch.nn import functional as F

pytestmark = pytest.mark.accelerator("computes in less than float32", only="sim")

LOWER = [torch.float16, torch.bfloat16]


def matrices(device, count=2, n=8, dtype=torch.float32):
    return [torch.randn(n, n, device=device, dtype=dtype) for _ in range(count)]


NOT_OURS = {
    "aten::_cudnn_rnn",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_transpose",
}
"""Operators that only CUDA has."""


def registered(key):
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return {name for name in torch._C._dispatch_get_all_op_names() if has_kernel(name, key)}


def test_the_operators_are_those_of_pytorch_for_its_own_devices():
    ours = registered("AutocastPrivateUse1")
    assert ours == registered("AutocastCUDA") - NOT_OURS
    assert len(ours) > 100


def image(device, dims, dtype):
    return torch.randn(1, 2, *[4] * dims).to(device, dtype)


def attention_arguments(device):
    return [torch.randn(1, 2, 4, 8, device=device) for _ in range(3)]


def gates(device, count):
    """The products that a recurrent cell of so many gates begins with, and a state."""
    x, weight = torch.randn(3, 8, device=device), torch.randn(8, count * 8, device=device)
    return x @ weight, x @ weight, torch.randn(3, 8, device=device)


# Calls of what the dispatcher has a policy for and PyTorch's own lists of calls leave out, or call by another
# name: operator, the policy, arguments.
LOWERED = {
    "einsum": lambda d: ("ij,jk->ik", matrices(d)),
    "scaled_dot_product_attention": attention_arguments,
    "linear": lambda d: (*matrices(d), torch.randn(8, device=d)),
    "_thnn_fused_lstm_cell": lambda d: gates(d, 4),
    "_thnn_fused_gru_cell": lambda d: gates(d, 3),
}
RAISED = {
    "native_layer_norm": lambda d, t: (image(d, 1, t), [4], None, None, 1e-5),
    "huber_loss": lambda d, t: matrices(d, dtype=t),
    "frobenius_norm.dim": lambda d, t: (*matrices(d, 1, dtype=t), [0, 1]),
    "nuclear_norm": lambda d, t: matrices(d, 1, dtype=t),
    "nuclear_norm.dim": lambda d, t: (*matrices(d, 1, dtype=t), [0, 1]),
    "pow.Scalar": lambda d, t: (1.7, *matrices(d, 1, dtype=t)),
    "linalg_vector_norm": lambda d, t: matrices(d, 1, dtype=t),
    # PyTorch refuses lower types here before it looks at the dtype that autocast gives it.
    "linalg_matrix_norm": lambda d, t: (*matrices(d, 1), 2),
    "linalg_matrix_norm.str_ord": lambda d, t: matrices(d, 1, dtype=t),
    "upsample_nearest1d": lambda d, t: (image(d, 1, t), [8]),
    "_upsample_nearest_exact1d": lambda d, t: (image(d, 1, t), [8]),
    "upsample_linear1d": lambda d, t: (image(d, 1, t), [8], False),
    "upsample_nearest2d": lambda d, t: (image(d, 2, t), [8, 8]),
    "_upsample_nearest_exact2d": lambda d, t: (image(d, 2, t), [8, 8]),
    "upsample_bilinear2d": lambda d, t: (image(d, 2, t), [8, 8], False),
    "_upsample_bilinear2d_aa": lambda d, t: (image(d, 2, t), [8, 8], False),
    "upsample_bicubic2d": lambda d, t: (image(d, 2, t), [8, 8], False),
    "_upsample_bicubic2d_aa": lambda d, t: (image(d, 2, t), [8, 8], False),
    "upsample_nearest3d": lambda d, t: (image(d, 3, t), [8, 8, 8]),
    "_upsample_nearest_exact3d": lambda d, t: (image(d, 3, t), [8, 8, 8]),
    "upsample_trilinear3d": lambda d, t: (image(d, 3, t), [8, 8, 8], False),
}


def overload(name):
    operator, _, which = name.partition(".")
    return getattr(getattr(torch.ops.aten, operator), which or "default")


def cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    return (
        type(value)(cast(item, dtype) for item in value)
        if isinstance(value, (list, tuple))
        else value
    )


def first(result):
    return result[0] if isinstance(result, (list, tuple)) else result


@pytest.mark.parametrize("dtype", LOWER, ids=str)
@pytest.mark.parametrize("name", LOWERED)
def test_an_operator_that_is_lowered(device, name, dtype):
    arguments = LOWERED[name](device)
    with torch.autocast(device.type, dtype=dtype):
        actual = first(overload(name)(*arguments))
    assert actual.dtype == dtype
    assert_equal(actual, first(overload(name)(*cast(arguments, dtype))))


@pytest.mark.parametrize("dtype", LOWER, ids=str)
@pytest.mark.parametrize("name", RAISED)
def test_an_operator_that_is_raised_to_float32(device, name, dtype):
    arguments = RAISED[name](device, dtype)
    with torch.autocast(device.type, dtype=dtype):
        actual = first(overload(name)(*arguments))
    assert actual.dtype == torch.float32
    assert_equal(actual, first(overload(name)(*cast(arguments, torch.float32))))


def listed(group):
    """(operator, arguments, keywords) of a list of PyTorch's own, made on the CPU."""
    from torch.testing._internal.autocast_test_lists import AutocastTestLists

    torch.manual_seed(0)
    found = []
    for name, arguments, *rest in getattr(AutocastTestLists("cpu"), group):
        if f"aten::{name}" in NOT_OURS or name in ("einsum", "__div__"):
            continue  # the second entry for einsum is malformed, and __div__ is Python 2's
        found.append((name, arguments, rest[0] if rest else {}))
    return found


def cases(*groups):
    return [
        pytest.param(group, index, id=f"{case[0]}-{index}")
        for group in groups
        for index, case in enumerate(listed(group))
    ]


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    return (
        type(value)(moved(item, device) for item in value)
        if isinstance(value, (list, tuple))
        else value
    )


def flat(result):
    return result if isinstance(result, (list, tuple)) else [result]


def functions_for(group, name):
    """The same operator, as each of the places that has it gives it."""
    places = {"nn": torch._C._nn, "linalg": torch._C._linalg, "torch": torch, "methods": None}
    place = places[group.split("_")[0]]
    found = [getattr(place, name)] if place is not None and hasattr(place, name) else []
    return found + ([getattr(torch.Tensor, name)] if hasattr(torch.Tensor, name) else [])


def check_listed(device, group, index, runs_as, gives):
    name, arguments, keywords = listed(group)[index]
    arguments = moved(arguments, device)
    keywords = keywords if isinstance(keywords, dict) else {}
    functions = functions_for(group, name)
    assert functions
    for function in functions:
        with torch.autocast(device.type, dtype=torch.float16):
            actual = function(*arguments, **keywords)
        expected = function(*cast(arguments, runs_as), **keywords)
        if isinstance(actual, torch.Tensor):
            assert actual.dtype == gives
        assert_equal(actual, expected)


@pytest.mark.parametrize(
    ("group", "index"), cases("torch_fp16", "nn_fp16", "linalg_fp16", "methods_fp16")
)
def test_pytorchs_calls_that_are_lowered(device, group, index):
    check_listed(device, group, index, torch.float16, torch.float16)


@pytest.mark.parametrize(("group", "index"), cases("torch_fp32", "nn_fp32", "methods_fp32"))
def test_pytorchs_calls_that_are_raised_to_float32(device, group, index):
    check_listed(device, group, index, torch.float32, torch.float32)


@pytest.mark.parametrize(("group", "index"), cases("torch_need_autocast_promote"))
def test_pytorchs_calls_that_run_in_the_widest_type(device, group, index):
    check_listed(device, group, index, torch.float32, torch.float32)


@pytest.mark.parametrize(("group", "index"), cases("torch_need_autocast_promote"))
def test_in_the_widest_type_is_half_where_all_are_half(device, group, index):
    name, arguments, _ = listed(group)[index]
    halves = moved(cast(arguments, torch.float16), device)
    for function in functions_for(group, name):
        expected = function(*halves)
        with torch.autocast(device.type, dtype=torch.float16):
            actual = function(*halves)
        for one, other in zip(flat(actual), flat(expected), strict=True):
            assert one.dtype == other.dtype
        assert_equal(actual, expected)


@pytest.mark.parametrize(
    ("group", "index"), cases("torch_expect_builtin_promote", "methods_expect_builtin_promote")
)
def test_pytorchs_calls_that_promote_by_themselves(device, group, index):
    gives = listed(group)[index][2]
    check_listed(device, group, index, torch.float32, gives)


def test_every_operator_of_the_policy_is_called_above():
    called = {name.split(".")[0] for name in (*LOWERED, *RAISED)}
    for group in ("torch_fp16", "nn_fp16", "linalg_fp16", "torch_fp32", "nn_fp32"):
        called |= {case[0] for case in listed(group)}
    called |= {case[0] for case in listed("torch_need_autocast_promote")}
    called |= {"binary_cross_entropy", "_scaled_dot_product_flash_attention"}
    policy = {
        name.removeprefix("aten::").split(".")[0] for name in registered("AutocastPrivateUse1")
    }
    assert policy - called == set()


def test_binary_cross_entropy_is_refused_with_the_advice_to_use_logits(device):
    p = torch.rand(4, 4, device=device)
    with torch.autocast(device.type):
        with pytest.raises(RuntimeError, match=r"(?s)unsafe to autocast.*BCEWithLogitsLoss"):
            F.binary_cross_entropy(p, p)
        assert F.binary_cross_entropy_with_logits(p, p).dtype == torch.float32
    assert_same(F.binary_cross_entropy(p, p), F.binary_cross_entropy(p.cpu(), p.cpu()))


def test_an_operator_of_the_policy_that_no_cpu_has_is_refused_in_one_sentence(device):
    with (
        torch.autocast(device.type),
        pytest.raises(NotImplementedError, match="neither its plugin"),
    ):
        torch.ops.aten._scaled_dot_product_flash_attention(*attention_arguments(device))


def test_operators_without_a_policy_compute_in_the_type_of_their_arguments(device):
    x = torch.randn(4, 4, device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        for fn in (torch.relu, torch.add, torch.sin, torch.nn.functional.gelu):
            assert (fn(x, x) if fn is torch.add else fn(x)).dtype == torch.float32
            half = x.bfloat16()
            assert (fn(half, half) if fn is torch.add else fn(half)).dtype == torch.bfloat16


def test_what_is_not_a_lowerable_number_stays_as_it_is(device):
    doubles = torch.randn(4, 4, device=device, dtype=torch.float64)
    complexes = doubles.to(torch.complex64)
    integers = torch.arange(16, device=device).reshape(4, 4)
    with torch.autocast(device.type, dtype=torch.float16):
        assert (doubles @ doubles).dtype == torch.float64
        assert (complexes @ complexes).dtype == torch.complex64
        assert (integers @ integers).dtype == torch.int64
        assert integers.sum().dtype == torch.int64
        assert torch.softmax(integers.half(), 0, dtype=torch.float64).dtype == torch.float64
        out = torch.empty(4, 4, device=device)
        torch.mm(out, out, out=torch.empty_like(out))  # out= forms are left alone
        assert torch.mm(out.zero_(), out, out=torch.empty_like(out)).dtype == torch.float32


def test_autocast_of_another_device_does_nothing_here(device):
    x, y = matrices(device)
    a, b = matrices("cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ y).dtype == torch.float32
        with torch.autocast(device.type, dtype=torch.float16):
            assert (x @ y).dtype == torch.float16
            assert (a @ b).dtype == torch.bfloat16
