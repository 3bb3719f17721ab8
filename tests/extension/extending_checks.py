"""Runs every form of examples/extending against the CPU, in a process that the example is loaded into.

    python extending_checks.py <library> early|late

`early` loads it before the device's first use, `late` afterwards. Prints, as JSON, what went wrong with each check:
nothing, if it holds.
"""

import io
import json
import sys
import threading
import traceback
import warnings
from pathlib import Path

import torch

import torchplug

LIBRARY, WHEN = sys.argv[1:]
DEVICE = torch._C._get_privateuse1_backend_name()
CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def numbers(*sizes):
    return torch.arange(-8.0, 8.0).reshape(*sizes) / 4


def assert_same(actual, expected):
    assert actual.device.type == DEVICE
    torch.testing.assert_close(actual.cpu(), expected)


def ran_by_torchplug(operator, call):
    torchplug.reset_ledger()
    call()
    return any(entry.op.split(".")[0] == f"aten::{operator}" for entry in torchplug.ledger())


def raises(call, words):
    try:
        call()
    except RuntimeError as error:
        return words in str(error)
    return False


def check_unary(name):
    function, in_place = getattr(torch, name), f"{name}_"
    x = numbers(4, 4)
    for form in (x, x.t(), x[:, ::2], x[0, 0], x[:0]):
        for _ in range(2):
            assert_same(function(form.to(DEVICE)), function(form))
    there, here = x.to(DEVICE), x.clone()
    assert getattr(there.t(), in_place)().data_ptr() == there.data_ptr()
    assert_same(there, getattr(here.t(), in_place)().t())
    out = torch.empty(0, device=DEVICE)
    assert function(x.to(DEVICE), out=out) is out
    assert_same(out, function(x))
    strided = torch.zeros(4, 4, device=DEVICE).t()
    function(x.to(DEVICE), out=strided)
    assert_same(strided, function(x))
    assert not ran_by_torchplug(name, lambda: function(there))


def check_gradient(function, expected):
    there, here = (numbers(16).to(place).requires_grad_() for place in (DEVICE, "cpu"))
    function(there).sum().backward()
    expected(here).sum().backward()
    assert_same(there.grad, here.grad)


@check
def an_out_form_serves_all_forms_of_a_structured_operator():
    check_unary("erf")
    check_gradient(torch.erf, torch.erf)


@check
def an_override_that_throws_leaves_the_device_usable():
    x = torch.ones(2, dtype=torch.float64, device=DEVICE)
    for call in (x.erf, x.erf_, lambda: torch.erf(x, out=torch.empty_like(x))):
        assert raises(call, "takes float32, not Double")
    assert_same(torch.erf(x.float()), torch.erf(torch.ones(2)))


@check
def a_dispatch_stub_is_called_by_pytorchs_own_code():
    check_unary("abs")
    check_gradient(torch.abs, torch.abs)
    assert raises(lambda: torch.ones(2, dtype=torch.float64, device=DEVICE).abs(), "takes float32")


@check
def one_operator_runs_on_the_cpu():
    x = torch.tensor([0, 2, 2, 5])
    assert not ran_by_torchplug(
        "bincount", lambda: assert_same(x.to(DEVICE).bincount(), x.bincount())
    )


@check
def the_fallback_is_asked_first_and_may_decline():
    a, b = numbers(4, 4)[:, :3], numbers(4, 4)[:, 1:]

    def cross():
        assert_same(torch.linalg.cross(a.to(DEVICE), b.to(DEVICE)), torch.linalg.cross(a, b))

    for _ in range(2):
        assert not ran_by_torchplug("linalg_cross", cross)
        assert ran_by_torchplug("cos", lambda: assert_same(a.to(DEVICE).cos(), a.cos()))


@check
def a_new_operator_has_values_a_gradient_and_a_shape():
    cube, x = torch.ops.extending.cube, numbers(4, 4)
    assert_same(cube(x.t().to(DEVICE)), x.t() ** 3)
    check_gradient(cube, lambda x: x**3)
    assert cube(torch.empty(3, 2, device="meta")).shape == (3, 2)
    with torch._subclasses.FakeTensorMode():
        assert cube(torch.empty(3, 2, device=DEVICE)).shape == (3, 2)


@check
def autocast_has_the_extensions_rules():
    x = torch.ones(2, dtype=torch.float16, device=DEVICE)
    with torch.autocast(DEVICE, torch.float16):
        assert torch.ops.extending.cube(x).dtype == torch.float32
        assert x.exp().dtype == torch.float16  # PyTorch's rule is float32
        assert x.log().dtype == torch.float32  # and still is for others


@check
def torchscript_calls_them():
    @torch.jit.script
    def function(x):
        return torch.erf(x) + x.abs() + torch.ops.extending.cube(x)

    x = numbers(16)
    for _ in range(3):
        assert_same(function(x.to(DEVICE)), torch.erf(x) + x.abs() + x**3)


@check
def a_capture_replays_them():
    def work(x):
        return torch.ops.extending.cube(torch.erf(x).abs().cos())

    x = torch.ones(4, device=DEVICE)
    work(x)  # every operator has its plan
    graph = torch.accelerator.Graph()
    with torch.Stream(DEVICE), graph:
        y = work(x)
    for value in (-1.0, 0.5):
        x.fill_(value)
        torch.accelerator.synchronize()
        graph.replay()
        torch.accelerator.synchronize()
        here = torch.full((4,), value)
        assert_same(y, torch.erf(here).abs().cos() ** 3)


@check
def threads_call_them():
    x, wrong = numbers(16), []

    def work():
        there = x.to(DEVICE)
        for _ in range(20):
            if not torch.allclose(torch.erf(there).abs().cpu(), torch.erf(x).abs()):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@check
def a_tensor_of_another_class_works():
    tag, tag_of = torch.ops.extending.tag, torch.ops.extending.tag_of
    x = numbers(4, 4)
    tagged = tag(x.to(DEVICE)[:, 1:], "here")
    assert tag_of(tagged) == "here"
    assert_same(tagged, x[:, 1:])
    assert_same(tagged * 2 + tagged.sum(), x[:, 1:] * 2 + x[:, 1:].sum())
    assert_same(tagged.erf_().cos_(), x[:, 1:].clone().erf_().cos_())
    assert_same(tagged[0].view(-1), x[0, 1:].erf().cos())
    assert tag_of(tagged + 1) == ""


@check
def storages_are_of_the_extensions_class_wherever_they_come_from():
    number, x = torch.ops.extending.storage_number, torch.empty(4, device=DEVICE)
    first = number(x)
    assert first > 0
    assert number(x[1:]) == number(x.view(2, 2)) == number(x.detach()) == first
    assert number(x.resize_(100)) == first
    assert number(torch.empty(0, device=DEVICE).set_(x.untyped_storage())) == first
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    others = [
        x + 1,
        x.cos(),
        x.clone(),
        torch.empty_strided((2, 2), (1, 2), device=DEVICE),
        torch.empty(0, device=DEVICE),
        torch.load(file),
        x.cpu().to(DEVICE),
        torch.empty(2, device=DEVICE).set_(),
        torch.tensor([1.0], device=DEVICE),
        torch.empty(0, device=DEVICE).set_(torch.UntypedStorage(8, device=DEVICE)),
        x._lazy_clone(),
    ]
    found = [number(other) for other in others]
    assert 0 not in found, found
    assert len({first, *found}) == len(found) + 1


@check
def an_operator_can_be_taken_over_later_and_again():
    x = numbers(16)
    for _ in range(2):
        torch.ops.extending.override_relu()
        assert_same(x.to(DEVICE).relu(), x.relu())
    assert not ran_by_torchplug("relu", x.to(DEVICE).relu)
    check_gradient(torch.relu, torch.relu)


@check
def python_registers_what_cpp_does():
    import extending

    x = numbers(16)
    operator = torch.nn.functional.hardswish
    assert_same(operator(x.to(DEVICE)), operator(x))
    assert not ran_by_torchplug("hardswish", lambda: operator(x.to(DEVICE)))
    check_gradient(operator, operator)
    assert_same(extending.scale(x.to(DEVICE), 3.0), x * 3)
    check_gradient(lambda x: extending.scale(x, 3.0), lambda x: x * 3)
    shift = torch.ops.extending_py.shift
    assert_same(shift(x.to(DEVICE), 2.0), shift(x, 2.0))
    check_gradient(lambda x: shift(x, 2.0) * x, lambda x: (x + 2) * x)
    with torch._subclasses.FakeTensorMode():
        assert extending.scale(torch.empty(3, device=DEVICE), 2.0).shape == (3,)


@check
def torchplugs_kernel_is_back_when_a_library_is_gone():
    x = numbers(16)
    library = torch.library.Library("aten", "IMPL")
    with torchplug.overriding(), torchplug.overriding():
        library.impl("cos", lambda x: x + 100, "PrivateUse1")
    assert_same(x.to(DEVICE).cos(), x + 100)
    library._destroy()
    assert_same(x.to(DEVICE).cos(), x.cos())


@check
def pytorchs_warning_is_left_for_others():
    """Last: it is given once."""
    assert not [entry for entry in warnings.filters if "once" in str(entry[1])]
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in ("sin", "tan"):
            library.impl(name, lambda x: x, "PrivateUse1")
    assert ["Overriding a previously" in str(warning.message) for warning in caught] == [True]
    library._destroy()


def load():
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "extending"))
    torch.ops.load_library(LIBRARY)
    import extending  # noqa: F401


def main():
    warnings.simplefilter("error", UserWarning)
    if WHEN == "early":
        load()
    else:
        x = torch.ones(4, device=DEVICE)
        for function in (
            torch.erf,
            torch.erf_,
            torch.abs,
            torch.relu,
            torch.nn.functional.hardswish,
        ):
            function(x)
        with torchplug.overriding():
            load()
    results = {}
    for name, function in CHECKS.items():
        try:
            function()
            results[name] = ""
        except Exception:  # noqa: BLE001  whatever it is, the others are run
            results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
