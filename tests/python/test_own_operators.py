"""Operators that a plugin defines in its own namespace, on CPU tensors."""

import copy
import threading
import warnings

import pytest
import torch
from helpers import assert_equal, assert_same
from torch._dynamo.testing import CompileCounterWithBackend

pytestmark = pytest.mark.accelerator("the operators run on the CPU, so once is enough", only="sim")


def randn(*sizes, **options):
    return torch.randn(*sizes, **options)


# ---- calls ----


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), ()])
def test_a_result_is_what_the_kernel_computes_the_first_time_and_later(acme, shape):
    for _ in range(3):
        x = torch.randn(shape)
        assert_equal(acme.scale(x, 2.5), x * 2.5)
    assert_equal(acme.scale(x), x)


def test_defaults_keywords_and_absent_tensors_reach_the_kernel(acme):
    x, w, bias = randn(2, 5, 3), randn(4, 3), randn(4)
    assert_same(acme.linear(x, w), torch.nn.functional.linear(x, w))
    assert_same(acme.linear(x, w=w, bias=bias), torch.nn.functional.linear(x, w, bias))


def test_every_type_of_argument_reaches_the_kernel(acme):
    x = torch.ones(2, 3)
    told = acme.told(x, [x, None, x], [4, 5], [0.5], True, "text", torch.float32, number=1.5)
    float32 = 2 | 32 << 8 | 1 << 16
    assert told.tolist() == [6, 3, 1, 5, 50, 1, ord("t"), float32, 150, -1, 0, 8]
    told = acme.told(None, [x], [], [], False, "")
    assert told.tolist() == [-1, 1, 0, -1, -1, 0, 0, -1, 2, -1, 0, 8]


def test_a_kernel_gets_contiguous_tensors_unless_it_takes_others(acme):
    x = randn(4, 3)
    for given in (x, x.t(), x[:, ::2], x.expand(2, 4, 3)):
        assert acme.layout(given)[0] == 1
        assert acme.layout.strided(given)[0] == given.is_contiguous()
        assert_equal(acme.scale(given, 3.0), given * 3)
    negative = torch.randn(3, dtype=torch.complex64).conj().imag
    assert negative.is_neg()
    assert acme.layout(negative)[1] == 0
    assert acme.layout.strided(negative)[1] == 2


def test_determinism_is_told(acme):
    x = torch.ones(1)
    assert acme.layout(x)[2] == 0
    torch.use_deterministic_algorithms(True)
    try:
        assert acme.layout(x)[2] == 1
    finally:
        torch.use_deterministic_algorithms(False)


def test_an_argument_that_is_returned_is_that_argument(acme):
    x, y = randn(3), randn(3)
    expected = x + y
    version = x._version
    assert acme.add_(x, y) is x
    assert_equal(x, expected)
    assert x._version == version + 1


def test_what_is_written_reaches_tensors_with_gaps(acme):
    cache, x = torch.zeros(6, 3), randn(3, 4)
    part = cache[::2]
    version = cache._version
    acme.store(part[:, :], x.t()[0, :], 1)
    assert_equal(cache[2], x.t()[0])
    assert cache._version > version
    assert_equal(cache[[0, 1, 3, 4, 5]], torch.zeros(5, 3))
    base = torch.zeros(3, 2)
    assert_equal(acme.add_(base.t(), torch.ones(2, 3)), torch.ones(2, 3))
    assert_equal(base, torch.ones(3, 2))


def test_memory_that_is_shared_until_it_is_written_is_not_changed_for_others(acme):
    x = torch.zeros(3)
    lazy = torch._lazy_clone(x)
    acme.add_(lazy, torch.ones(3))
    assert_equal(x, torch.zeros(3))


def test_results_may_be_lists(acme):
    xs = [randn(2), randn(3, 1), randn(0)]
    assert_equal(acme.double_each(xs), [x * 2 for x in xs])
    assert acme.double_each([xs[0]])[0].shape == (2,)
    assert_equal(acme.counted(xs[0], 3), [xs[0], xs[0] + 1, xs[0] + 2])
    assert acme.counted(xs[0], 0) == []


def test_results_may_be_numbers_or_shaped_by_the_kernel(acme):
    x = torch.tensor([1.0, -2.0, 3.0])
    assert acme.count_positive(x) == 2
    assert_equal(acme.positive(x), torch.tensor([1.0, 3.0]))
    assert_equal(acme.positive(-x), torch.tensor([2.0]))


def test_results_may_be_lists_of_numbers(acme):
    for values in ([1.0, -2.0, 3.0], [-1.0], []):
        positive = [value for value in values if value > 0]
        expected = ([values.index(v) for v in positive], positive, [v > 0 for v in values])
        for _ in range(2):
            assert acme.positives(torch.tensor(values)) == expected
    assert acme.asks_wrongly(torch.ones(1), 4) == []
    assert acme.largest(torch.tensor([1.5, 2.5])) == 2.5
    largest = acme.largest(torch.tensor([7, 3]))
    assert largest == 7 and isinstance(largest, int)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (0, "another dtype"),
        (1, "one dimension"),
        (2, "negative size"),
        (3, "has its shape already"),
    ],
)
def test_a_list_of_numbers_that_is_asked_for_wrongly_is_refused(acme, how, words):
    with pytest.raises(RuntimeError, match=rf"acme::asks_wrongly failed.*{words}"):
        acme.asks_wrongly(torch.ones(1), how)


def test_a_function_may_shape_the_results(acme):
    x = randn(2, 3)
    for times in (2, 1, 0):
        assert_equal(acme.stacked(x, times), x.expand(times, 2, 3).contiguous())
    with pytest.raises(RuntimeError, match=r"acme::stacked.*too many dimensions"):
        acme.stacked(torch.zeros([1] * 8), 2)


def test_a_dtype_argument_decides_where_it_is_given(acme):
    x = torch.ones(5, 2)
    assert [t.dtype for t in acme.halves(x)] == [torch.float32] * 2
    first, second = acme.halves(x, 1, torch.int16)
    assert (first.shape, second.shape, first.dtype) == ((2, 2), (4, 2), torch.int16)


def test_random_numbers_are_repeated_by_the_seed(acme):
    def draw():
        return [acme.noise([4]), acme.noise.like(torch.ones(4))]

    torch.manual_seed(7)
    first = draw()
    torch.manual_seed(7)
    assert_equal(draw(), first)
    assert not torch.equal(first[0], first[1])
    generator = torch.Generator().manual_seed(7)
    again = torch.Generator().manual_seed(7)
    assert_equal(acme.noise([4], generator=generator), acme.noise([4], generator=again))


def test_operators_without_tensors_run_on_the_host(acme):
    assert acme.threads() == torch.get_num_threads()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert acme.threads() == 1
    finally:
        torch.set_num_threads(before)


def test_what_operators_without_tensors_make_is_on_the_cpu_whatever_the_default_device(
    acme, device
):
    with torch.device(device):
        assert torch.empty(2).device.type == device.type
        made = acme.noise([4])
        assert made.device.type == "cpu" and acme.threads() == torch.get_num_threads()
    assert acme.noise.like(made.to(device)).device == device


def test_prepare_is_called_once_for_calls_that_look_alike(acme):
    first = acme.number_of_plan(torch.ones(2))
    assert first > 0
    assert acme.number_of_plan(torch.zeros(2)) == first
    other = acme.number_of_plan(torch.ones(3))
    assert other != first
    assert acme.number_of_plan(torch.ones(2)) == first


def test_calls_with_other_texts_do_not_look_alike(acme):
    x = torch.ones(2)
    numbers = [acme.number_of_plan.word(x, word) for word in ("relu", "silu", "a longer word", "")]
    assert len(set(numbers)) == 4
    assert acme.number_of_plan.word(torch.zeros(2), "silu") == numbers[1]
    # What decides no shape does not count: a kernel reads it at every call.
    by = [acme.number_of_plan.word(x, "silu", by=by) for by in (2.5, 3.5)]
    assert by[0] == by[1]


def test_what_prepare_did_not_keep_is_not_forgotten(acme):
    with pytest.raises(RuntimeError, match="a gear is broken"):
        acme.keeps_nothing(torch.ones(3), 3)
    assert_same(acme.keeps_nothing(torch.ones(3), 5), torch.zeros(3))


@pytest.mark.parametrize("name", ["columns", "prepared_columns"])
def test_results_have_the_strides_that_the_plugin_gives_them(acme, name):
    x = randn(3, 4)
    for _ in range(3):
        y = getattr(acme, name)(x)
        assert_same(y, x)
        assert y.stride() == (1, 3)
    if name == "columns":
        assert acme.columns(x.to("meta")).stride() == (1, 3)


def test_threads_may_call_at_once(acme):
    x, failures = randn(64), []

    def work(by):
        for _ in range(200):
            if not torch.equal(acme.scale(x, by), x * by):
                failures.append(by)

    threads = [threading.Thread(target=work, args=(by,)) for by in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- refusals ----


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        (0, RuntimeError, "acme::fails failed.*unsupported.*the moon is not full"),
        (1, RuntimeError, "acme::fails failed.*does not take such a call"),
        (2, torch.OutOfMemoryError, "acme::fails failed.*no memory is left"),
        (3, RuntimeError, "acme::fails failed.*a gear is broken"),
        (4, RuntimeError, "acme::fails failed.*it broke later"),
    ],
)
def test_what_a_kernel_answers_is_an_error_in_its_words(acme, how, error, words):
    x = torch.ones(2)
    for _ in range(2):
        with pytest.raises(error, match=words):
            acme.fails(x, how)
    assert_equal(acme.fails(x, 5), torch.zeros(2))


def test_a_sentence_that_an_earlier_call_left_is_nobodys(acme):
    x = torch.ones(2)
    acme.fails(x, 6)
    with pytest.raises(RuntimeError, match="does not take such a call"):
        acme.fails(x, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda acme: acme.scale(torch.ones(2, dtype=torch.int32)), "only float32 can be scaled"),
        (
            lambda acme: acme.linear(torch.ones(2).double(), torch.ones(2, 2)),
            "'x' is of dtype Double",
        ),
        (lambda acme: acme.counted(torch.ones(2), -1), "acme::counted.*-1 tensors"),
        (lambda acme: acme.halves(torch.tensor(1.0)), "acme::halves.*'x' has 0 dimensions"),
        (lambda acme: acme.scale(torch.ones(2).to_sparse()), "acme::scale"),
    ],
)
def test_a_call_that_cannot_be_is_refused_by_name(acme, call, words):
    with pytest.raises((RuntimeError, NotImplementedError), match=words):
        call(acme)


# ---- tracing ----


def test_one_compile_serves_several_lengths_forward_and_backward(acme):
    counter = CompileCounterWithBackend("aot_eager")
    w = randn(4, 3, requires_grad=True)

    def model(x, w):
        first, second = acme.halves(acme.linear(x, w.detach()) + 1, 2)
        return acme.linear(x.relu(), w) * 2, first, second

    compiled = torch.compile(model, backend=counter, dynamic=True, fullgraph=True)
    for length in (5, 7, 11):
        x = randn(length, 3)
        got, expected = compiled(x, w), model(x, w)
        assert_same(got, expected)
        assert_same(torch.autograd.grad(got[0].sum(), w), torch.autograd.grad(expected[0].sum(), w))
    assert counter.frame_count == 1


def test_compiled_programs_may_write_and_call_lists(acme):
    def model(cache, xs):
        acme.store(cache, xs[0], 1)
        return acme.double_each(xs), cache + 1

    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    one, two = torch.zeros(3, 2), torch.zeros(3, 2)
    xs = [randn(2), randn(4)]
    assert_same(compiled(one, xs), model(two, xs))
    assert_equal(one, two)


def test_a_result_that_is_a_number_breaks_the_graph_of_a_compiled_program(acme):
    x = torch.tensor([1.0, -1.0, 2.0])
    compiled = torch.compile(lambda x: x + acme.count_positive(x), backend="aot_eager")
    assert_equal(compiled(x), x + 2)
    with pytest.raises(Exception, match="count_positive"):
        torch.compile(acme.count_positive, backend="aot_eager", fullgraph=True)(x)


def test_a_compiled_backward_without_a_gradient_says_so_too(acme):
    compiled = torch.compile(lambda x: acme.stacked(x, 2) * 2, backend="aot_eager")
    x = randn(3)
    assert_equal(compiled(x), acme.stacked(x, 2) * 2)
    with pytest.raises(Exception, match="acme::stacked has no gradient"):
        compiled(x.clone().requires_grad_()).sum().backward()


def test_exported_programs_keep_symbols(acme):
    class Model(torch.nn.Module):
        def forward(self, x, w):
            return acme.linear(x, w), acme.two(x)[1]

    length = torch.export.Dim("length", min=4, max=64)
    program = torch.export.export(
        Model(), (randn(5, 3), randn(4, 3)), dynamic_shapes={"x": {0: length}, "w": None}
    )
    x, w = randn(9, 3), randn(4, 3)
    assert_same(program.module()(x, w), Model()(x, w))
    assert "acme.linear" in program.graph_module.code


def test_torchscript_calls_them(acme):
    @torch.jit.script
    def scripted(x, w):
        y = torch.ops.acme.linear(x, w)
        torch.ops.acme.add_(y, torch.ones_like(y))
        return torch.ops.acme.double_each([y, x])

    x, w = randn(2, 3), randn(4, 3)
    for _ in range(3):
        assert_same(scripted(x, w), [2 * (acme.linear(x, w) + 1), 2 * x])
    traced = torch.jit.trace(lambda x: acme.scale(x, 2.0) + 1, x)
    assert_same(traced(randn(5, 3) * 0), torch.ones(5, 3))


def test_opcheck_finds_nothing(acme):
    opcheck, x = torch.library.opcheck, randn(4, 3)
    opcheck(acme.scale.default, (x.clone().requires_grad_(), 2.0))
    opcheck(acme.linear.default, (x, randn(5, 3, requires_grad=True), randn(5)))
    # PyTorch functionalises no operator of others that returns an argument.
    opcheck(acme.add_.default, (x.clone(), x), test_utils=("test_schema", "test_faketensor"))
    opcheck(acme.store.default, (torch.zeros(2, 3), x[0], 1))
    opcheck(acme.halves.default, (x, 1))
    opcheck(acme.double_each.default, ([x, x[0]],))
    opcheck(acme.two.default, (x.clone().requires_grad_(),))


def test_a_batch_falls_back_or_is_refused_by_name(acme):
    xs = randn(5, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(torch.vmap(lambda x: acme.scale(x, 2.0))(xs), xs * 2)
    with pytest.raises(RuntimeError, match="acme::store"):
        torch.vmap(lambda c, x: acme.store(c, x, 0))(torch.zeros(5, 2, 3), xs)


def test_autocast_leaves_them_alone(acme):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert acme.scale(torch.ones(2)).dtype == torch.float32


def test_meta_tensors_have_the_shapes(acme):
    x = torch.empty(6, 3, device="meta")
    assert acme.linear(x, torch.empty(4, 3, device="meta")).shape == (6, 4)
    assert acme.stacked(x, 2).shape == (2, 6, 3)
    assert [t.shape for t in acme.counted(x, 2)] == [(6, 3)] * 2
    assert acme.add_(x, x) is x


def test_tensors_with_contents_beside_ones_on_meta_are_refused(acme):
    x, w = torch.empty(6, 3), torch.empty(4, 3)
    for given, name in (((x.to("meta"), w), "w"), ((x, w.to("meta")), "x")):
        with pytest.raises(RuntimeError, match=rf"meta and cpu! \(acme::linear, '{name}'\)"):
            acme.linear(*given)


def test_modules_with_them_are_copied_and_saved(acme, tmp_path):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(randn(4, 3))

        def forward(self, x):
            return torch.ops.acme.linear(x, self.w)

    layer, x = Layer(), randn(2, 3)
    assert_equal(copy.deepcopy(layer)(x), layer(x))
    torch.jit.script(layer).save(str(tmp_path / "layer.pt"))
    assert_equal(torch.jit.load(str(tmp_path / "layer.pt"))(x), layer(x))


# ---- tensors of a device that is another plugin's ----


def test_device_tensors_are_borrowed_or_staged_for_them(acme, device):
    x, w = randn(2, 3), randn(4, 3)
    there = acme.linear(x.to(device), w.to(device))
    assert there.device.type == device.type
    assert_same(there, acme.linear(x, w))
    y = x.to(device)
    assert acme.add_(y, y.clone()) is y
    assert_same(y, 2 * x)
    assert_same(acme.double_each([y])[0], 4 * x)
    with pytest.raises(RuntimeError, match="same device"):
        acme.linear(x.to(device), w)
