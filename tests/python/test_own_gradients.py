"""Gradients of operators that a plugin defines in its own namespace, on CPU tensors."""

import gc
import itertools
import warnings
import weakref

import pytest
import torch
from helpers import assert_equal, assert_same
from torch.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.accelerator("the operators run on the CPU, so once is enough", only="sim")


def randn(*sizes, **options):
    return torch.randn(*sizes, **options)


def test_gradients_are_what_the_text_says(acme):
    x, w, bias = randn(2, 3, 4), randn(5, 4), randn(5)
    mine = [t.clone().requires_grad_() for t in (x, w, bias)]
    theirs = [t.clone().requires_grad_() for t in (x, w, bias)]
    grad = randn(2, 3, 5)
    acme.linear(*mine).backward(grad)
    torch.nn.functional.linear(*theirs).backward(grad)
    assert_same([t.grad for t in mine], [t.grad for t in theirs])


def test_only_what_is_needed_is_computed_and_absent_arguments_have_no_gradient(acme):
    x, w = randn(2, 4), randn(5, 4).requires_grad_()
    acme.linear(x, w).sum().backward()
    assert x.grad is None
    assert_same(w.grad, x.sum(0).expand(5, 4))
    assert not acme.linear(x, w.detach()).requires_grad


class Backwards(TorchDispatchMode):
    """Which gradients acme::linear_backward was asked for, and which it gave."""

    def __init__(self):
        super().__init__()
        self.asked, self.given = [], []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        if function is torch.ops.acme.linear_backward.default:
            self.asked.append(list(args[3]))
            self.given.append([result is not None for result in results])
        return results


@pytest.mark.parametrize("wanted", list(itertools.product([False, True], repeat=3)))
def test_an_entry_for_several_is_told_which_are_wanted(acme, wanted):
    given = [randn(2, 3, 4), randn(5, 4), randn(5)]
    mine, theirs = (
        [t.clone().requires_grad_(w) for t, w in zip(given, wanted, strict=True)] for _ in range(2)
    )
    with Backwards() as seen:
        result = acme.linear(*mine)
        if not any(wanted):
            assert not result.requires_grad
            return
        result.square().sum().backward()
    assert seen.asked == seen.given == [list(wanted)]
    torch.nn.functional.linear(*theirs).square().sum().backward()
    assert_same([t.grad for t in mine], [t.grad for t in theirs], rtol=1e-5, atol=1e-5)


def test_only_what_autograd_is_asked_for_is_wanted(acme):
    x, w = randn(2, 4).requires_grad_(), randn(5, 4).requires_grad_()
    with Backwards() as seen:
        torch.autograd.grad(acme.linear(x, w).sum(), w)
    assert seen.asked == [[False, True, False]]


def test_a_result_without_its_condition_is_none(acme):
    grad, x, w = randn(2, 5), randn(2, 4), randn(5, 4)
    wanted = [False, True, False]
    for _ in range(2):
        dx, dw, db = acme.linear_backward(grad, x, w, wanted)
        assert dx is None and db is None
        assert_same(dw, grad.t() @ x, rtol=1e-5, atol=1e-5)
    meta = [t.to("meta") for t in (grad, x, w)]
    assert [None if t is None else t.shape for t in acme.linear_backward(*meta, wanted)] == [
        None,
        w.shape,
        None,
    ]
    torch.library.opcheck(acme.linear_backward.default, (grad, x, w, wanted))
    with pytest.raises(RuntimeError, match="'wanted' has 1 items, and item 1 is needed"):
        acme.linear_backward(grad, x, w, [True])


def test_compiled_gradients_are_asked_for_as_they_are_wanted(acme):
    w, bias = randn(5, 4).requires_grad_(), randn(5)
    compiled = torch.compile(
        lambda x: acme.linear(x, w, bias).square().sum(), fullgraph=True, backend="aot_eager"
    )
    x = randn(2, 4)
    compiled(x).backward()
    expected = torch.autograd.grad(torch.nn.functional.linear(x, w, bias).square().sum(), w)
    assert_same(w.grad, expected[0], rtol=1e-5, atol=1e-5)


def test_gradients_of_gradients_are_those_of_the_operators_that_are_named(acme):
    x = randn(3, requires_grad=True)
    (first,) = torch.autograd.grad(acme.scale(x, 3.0).square().sum(), x, create_graph=True)
    assert_same(first, 18 * x)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert_same(second, torch.full((3,), 18.0))


def test_a_gradient_that_nobody_gave_is_zero(acme):
    x = randn(3, requires_grad=True)
    first, second = acme.two(x)
    assert_same(torch.autograd.grad(second.sum(), x, retain_graph=True)[0], 2 * x)
    assert_same(torch.autograd.grad(first.sum(), x, retain_graph=True)[0], torch.ones(3))
    assert_same(torch.autograd.grad((first + second).sum(), x)[0], 1 + 2 * x)


def test_lists_have_gradients(acme):
    xs = [randn(2, requires_grad=True), randn(3), randn(1, requires_grad=True)]
    sum((y.sum() for y in acme.double_each(xs)), torch.zeros(())).backward()
    assert_same([xs[0].grad, xs[2].grad], [torch.full((2,), 2.0), torch.full((1,), 2.0)])
    assert xs[1].grad is None


def test_in_place_operators_have_gradients(acme):
    x, y = randn(3, requires_grad=True), randn(3, requires_grad=True)
    z = x * 2
    acme.add_(z, y)
    z.square().sum().backward()
    assert_same([x.grad, y.grad], [4 * (2 * x + y), 2 * (2 * x + y)])
    with pytest.raises(RuntimeError, match="leaf Variable"):
        acme.add_(x, y)


def test_what_is_saved_of_a_written_argument_does_not_keep_itself_alive(acme):
    class Upstream(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.witness = witnesses[0]
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Witness:
        pass

    witnesses = [Witness()]
    found = weakref.ref(witnesses[0])
    x = randn(3, requires_grad=True)
    z = acme.invert_(Upstream.apply(x))
    z.sum().backward(retain_graph=True)
    assert_same(x.grad, -1 / x.detach() ** 2)
    view = Upstream.apply(x)[:2]
    acme.invert_(view).sum().backward(retain_graph=True)
    assert_same(x.grad[:2], -2 / x.detach()[:2] ** 2)
    del witnesses[0], z, view
    gc.collect()
    assert found() is None


def test_what_was_saved_and_written_since_is_found_out(acme):
    x, w = randn(2, 4), randn(5, 4, requires_grad=True)
    y = acme.linear(x, w)
    acme.add_(x, torch.ones_like(x))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_graph_is_used_once_unless_it_is_kept(acme):
    x, w = randn(2, 4), randn(5, 4, requires_grad=True)
    y = acme.linear(x, w).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_gradients_agree_with_finite_differences(acme):
    def smooth(x):  # the kernels are of float32
        first, second = acme.two(x.float())
        return first.double() * second.double()

    x = randn(4, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(smooth, x, eps=1e-2, atol=1e-2, rtol=1e-2)


def test_without_a_gradient_a_call_works_and_backward_says_what_to_do(acme):
    x = randn(3, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = acme.stacked(x, 2)
        assert_equal(y.detach(), x.detach().expand(2, 3))
        with pytest.raises(
            NotImplementedError, match=r"acme::stacked has no gradient.*register_autograd"
        ):
            y.sum().backward()
        with torch.no_grad():
            assert not acme.stacked(x, 2).requires_grad
        assert not acme.stacked(x.detach(), 2).requires_grad


def test_writing_without_a_gradient_is_found_out(acme):
    cache, x = torch.zeros(2, 3), randn(3, requires_grad=True)
    acme.store(cache, x, 0)
    with pytest.raises(NotImplementedError, match="acme::store has no gradient"):
        cache.sum().backward()
    leaf = torch.zeros(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        acme.store(leaf, x, 0)


def test_a_gradient_may_be_registered_in_python_without_a_warning(acme):
    x = randn(3, requires_grad=True)
    acme.counted(x, 2)  # before, and after
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library = torch.library.Library("acme", "FRAGMENT")
        torch.library.register_autograd(
            "acme::counted", lambda ctx, grads: (grads[0] + grads[1], None), lib=library
        )
        torch.library.register_autograd(
            "acme::noise.like",
            lambda ctx, grad: grad * 5,
            setup_context=lambda ctx, inputs, keyword_only_inputs, output: None,
            lib=library,
        )
        sum(acme.counted(x, 2)).sum().backward()
        assert_same(x.grad, torch.full((3,), 2.0))
        (found,) = torch.autograd.grad(acme.noise.like(x).sum(), x)
        assert_same(found, torch.full((3,), 5.0))


def test_forward_mode_is_refused_by_name(acme):
    with (
        torch.autograd.forward_ad.dual_level(),
        pytest.raises(NotImplementedError, match=r"acme::scale.*forward mode"),
    ):
        acme.scale(torch.autograd.forward_ad.make_dual(randn(3), randn(3)))


def test_functional_gradients_work(acme):
    x = randn(3)
    assert_same(torch.func.grad(lambda x: acme.two(x)[1].sum())(x), 2 * x)
