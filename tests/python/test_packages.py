"""Packages: what `torchplug package` makes of an exported model gives what the model gives, without tracing or compiling."""

import re
import threading

import pytest
import torch
from compiled_models import MODELS, SIZES
from helpers import assert_same, output_of
from package_making import export, package, packaged, there, total
from package_models import Buffered, Everything, Generator
from torch import nn
from torch.export import Dim

import torchplug

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


def agrees(loaded, model, device, args, kwargs=None, **tolerance):
    """The package gives what the model gives on the CPU, and does to its arguments what the model does."""
    kwargs = kwargs or {}
    ours = there(device, (args, kwargs))
    with torch.no_grad():
        expected = model(*args, **kwargs)
    actual = loaded(*ours[0], **ours[1])
    assert_same(actual, expected, **tolerance)
    assert_same(ours, (args, kwargs), **tolerance)
    return actual


# ---- models ----


@pytest.mark.parametrize("name", ["residual", "bert", "llama", "unet"])
def test_a_model_gives_what_it_gives_on_the_cpu(device, tmp_path, name):
    make, inputs, _ = MODELS[name]
    model, args = make().eval(), tuple(inputs())
    loaded = packaged(tmp_path, model, args)
    agrees(loaded, model, device, args, rtol=1e-4, atol=1e-4)
    assert total(loaded, "loaded") == total(loaded, "engines") > 0
    assert total(loaded, "compiled") == total(loaded, "runs_without") == 0


@pytest.mark.parametrize("keeps", ["input", "buffer"])
def test_the_tokens_that_a_decoder_with_a_cache_generates_are_equal(device, tmp_path, keeps):
    model = Generator(SIZES, keeps).eval()
    first = torch.tensor([[3]])
    cache = model.empty_cache()
    example = (first, torch.tensor([0])) + ((cache.clone(),) if keeps == "input" else ())
    loaded = packaged(tmp_path, model, example)

    def generate(call, where, cache):
        token, tokens = first.to(where), []
        for place in range(Generator.LENGTH):
            given = (token, torch.tensor([place], device=where))
            scores = call(*given, *(() if cache is None else (cache.to(where),)))
            token = scores[:, -1:].argmax(-1)
            tokens.append(token.item())
        return tokens

    if keeps == "input":  # which the program writes in place
        mine, its = cache.clone().to(device), cache.clone()
    else:
        mine = its = None
    with torch.no_grad():
        expected = generate(model, "cpu", its)
    assert generate(loaded, device, mine) == expected
    assert len(set(expected)) > 1


# ---- sizes ----


def rows(model=None):
    model = model or nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8))
    return model, (torch.randn(4, 8),), {"dynamic_shapes": ({0: Dim("rows", min=1, max=64)},)}


def test_one_engine_serves_all_sizes(device, tmp_path):
    model, args, options = rows()
    loaded = packaged(tmp_path, model, args, **options)
    for count in (1, 4, 64):
        agrees(loaded, model, device, (torch.randn(count, 8),), rtol=1e-5, atol=1e-5)
    assert (total(loaded, "loaded"), total(loaded, "compiled")) == (len(loaded.report()), 0)


def test_numbers_follow_from_sizes(device, tmp_path):
    model, half = Everything(), Dim("half", min=2, max=64)
    args, kwargs = (torch.randn(6, 8), None), {"y": torch.randn(3)}
    dynamic = {"x": {0: 2 * half}, "n": None, "y": {0: half}}
    loaded = packaged(tmp_path, model, args, kwargs, dynamic_shapes=dynamic)
    for count in (3, 5):
        given = (torch.randn(2 * count, 8), None), {"y": torch.randn(count)}
        agrees(loaded, model, device, *given)


def test_every_open_size_may_be_one(device, tmp_path):
    class Scores(nn.Module):
        def forward(self, x, y):
            return (x @ y.t()).tanh()

    def given(rows, columns):
        return torch.randn(rows, 4), torch.randn(columns, 4)

    open_sizes = {"dynamic_shapes": ({0: Dim("p", min=1, max=9)}, {0: Dim("q", min=1, max=9)})}
    loaded = packaged(tmp_path, Scores(), given(3, 5), **open_sizes)
    for rows, columns in ((2, 2), (1, 3), (3, 1), (1, 1)):
        agrees(loaded, Scores(), device, given(rows, columns))


@pytest.mark.parametrize(
    ("size", "exported_for", "others"),
    [
        (lambda n: 2 * n, 16, (4, 30)),
        (lambda n: n + 1, 16, (4, 9)),
        (lambda n: 4 * n - 1, 15, (7, 31)),
    ],
    ids=["2*n", "n+1", "4*n-1"],
)
def test_a_size_may_be_known_by_what_is_made_of_it(device, tmp_path, size, exported_for, others):
    class Sine(nn.Module):
        def forward(self, x):
            return x[1:].exp().sin()

    dynamic = ({0: size(Dim("n", min=2, max=32))},)
    loaded = packaged(tmp_path, Sine(), (torch.randn(exported_for, 3),), dynamic_shapes=dynamic)
    for rows in others:
        agrees(loaded, Sine(), device, (torch.randn(rows, 3),))
    with pytest.raises(ValueError, match="Dimension 0 of input 'x'"):
        loaded(torch.randn(1000, 3, device=device))


def test_integers_are_inputs_too(device, tmp_path):
    class Shifted(nn.Module):
        def forward(self, x, by):
            return x.exp() * by, by + 1

    loaded = packaged(tmp_path, Shifted(), (torch.randn(4), 5), dynamic_shapes=(None, Dim.DYNAMIC))
    agrees(loaded, Shifted(), device, (torch.randn(4), 7))


def test_numbers_are_shifted(device, tmp_path):
    class Shifted(nn.Module):
        def forward(self, x):
            return x + (x.shape[0] >> 1) + (x.shape[0] << 2)

    dynamic = ({0: Dim("rows", min=2, max=64)},)
    loaded = packaged(tmp_path, Shifted(), (torch.randn(4, 2),), dynamic_shapes=dynamic)
    agrees(loaded, Shifted(), device, (torch.randn(7, 2),))


def test_sizes_that_the_program_computes(device, tmp_path):
    class Picked(nn.Module):
        def forward(self, x):
            found = x.nonzero()
            return found.exp() * found.shape[0], found.sum(), found.shape[0] + 1

    loaded = packaged(tmp_path, Picked(), (torch.tensor([1.0, 0, 2]),))
    for given in ([1.0, 0, 2], [1.0, 2, 3], [0.0, 0, 1]):
        agrees(loaded, Picked(), device, (torch.tensor(given),))


# ---- what a package is given, and gives ----


class WritesBesideAConstant(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.ones(4, 4)

    def forward(self, x):
        found = self.table + 2
        found.sub_(1)
        return found + x


class HasNoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.tensor([1.0, 2.0])

    def forward(self):
        return self.kept.clone().sin()


@pytest.mark.parametrize("kind", [WritesBesideAConstant, HasNoInputs])
def test_tensors_that_are_neither_weights_nor_buffers_are_constants(device, tmp_path, kind):
    args = (torch.randn(4, 4),) if kind is WritesBesideAConstant else ()
    loaded = packaged(tmp_path, kind(), args)
    for _ in range(3):
        agrees(loaded, kind(), device, args)


def test_any_number_of_arguments_may_share_an_open_size(device, tmp_path):
    class Sums(nn.Module):
        def forward(self, x, *more):
            return x + more[0].sum() + more[1]

    def given(rows, others):
        return torch.randn(rows), torch.randn(others), torch.randn(rows)

    rows, others = Dim("rows", min=1, max=9), Dim("others", min=1, max=9)
    dynamic = ({0: rows}, ({0: others}, {0: rows}))
    loaded = packaged(tmp_path, Sums(), given(4, 3), dynamic_shapes=dynamic)
    agrees(loaded, Sums(), device, given(5, 2))
    with pytest.raises(ValueError, match="Dimension 0 of input 'more_1' is to be 5"):
        loaded(*there(device, (torch.randn(5), torch.randn(2), torch.randn(4))))


def test_keywords_come_in_any_order_and_results_keep_their_structure(device, tmp_path):
    class Nested(nn.Module):
        def forward(self, pair, *, scale, shift):
            return {"sum": [pair[0] * scale, (pair[1]["b"] + shift,)], "same": pair[0]}

    def given():
        return ((torch.randn(2, 3), {"b": torch.randn(3)}),), {
            "scale": torch.randn(3),
            "shift": torch.randn(1),
        }

    loaded = packaged(tmp_path, Nested(), *given())
    assert loaded.outputs == ["sum.0", "sum.1.0", "same"]
    args, kwargs = given()
    agrees(loaded, Nested(), device, args, dict(reversed(kwargs.items())))


def test_an_input_that_is_returned_is_itself(device, tmp_path):
    class Same(nn.Module):
        def forward(self, x):
            return x, x.exp()

    loaded = packaged(tmp_path, Same(), (torch.randn(3),))
    x = torch.randn(3, device=device)
    assert loaded(x)[0] is x


def test_inputs_of_other_strides_are_taken(device, tmp_path):
    class Flat(nn.Module):
        def forward(self, x):
            return x.view(-1).exp(), x * 2

    loaded = packaged(tmp_path, Flat(), (torch.randn(4, 6),))
    x = torch.randn(6, 4)
    assert_same(loaded(x.to(device).t())[0], x.t().reshape(-1).exp())


def test_an_input_of_other_strides_is_written_in_place(device, tmp_path):
    class Written(nn.Module):
        def forward(self, x, y):
            x.copy_(y.exp() + x)
            return x.sum()

    loaded = packaged(tmp_path, Written(), (torch.randn(4, 6), torch.randn(4, 6)))
    x, y = torch.randn(6, 4), torch.randn(4, 6)
    ours = x.to(device).t()
    result = loaded(ours, y.to(device))
    expected = y.exp() + x.t()
    assert_same(ours, expected)
    assert_same(result, expected.sum(), rtol=1e-5, atol=1e-5)


def test_results_need_no_gradient_and_autocast_does_not_count(device, tmp_path):
    model, args, options = rows()
    loaded = packaged(tmp_path, model, args, **options)
    x = args[0].to(device).requires_grad_()
    with torch.autocast(device.type, torch.bfloat16):
        result = loaded(x)
    assert not result.requires_grad and result.dtype == torch.float32


# ---- weights and state ----


def test_a_weight_that_is_tied_is_there_once(device, tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(512, 64)
            self.head = nn.Linear(64, 512, bias=False)
            self.head.weight = self.words.weight

        def forward(self, tokens):
            return self.head(self.words(tokens).tanh())

    model = Tied()
    source = export(tmp_path / "tied.pt2", model, (torch.randint(0, 512, (2, 3)),))
    path, _ = package(source)
    once = model.words.weight.nbytes
    assert once < path.stat().st_size < 2 * once
    agrees(
        torchplug.load_package(path),
        model,
        device,
        (torch.randint(0, 512, (2, 3)),),
        rtol=1e-4,
        atol=1e-4,
    )


def test_buffers_are_state_that_each_package_has_for_itself(device, tmp_path):
    source = export(tmp_path / "model.pt2", Buffered(), (torch.randn(3),))
    path, _ = package(source)
    model, first, second = Buffered(), torchplug.load_package(path), torchplug.load_package(path)
    for _ in range(3):
        agrees(first, model, device, (torch.randn(3),))
    assert_same(first.weights["kept"], model.kept)
    agrees(second, Buffered(), device, (torch.randn(3),))
    first.weights["kept"].zero_()
    agrees(first, Buffered(), device, (torch.randn(3),))


def test_weights_that_are_written_count_from_the_next_call_on(device, tmp_path):
    model, args, options = rows()
    loaded = packaged(tmp_path, model, args, **options)
    with torch.no_grad():
        model[2].weight.mul_(3)
        loaded.weights["2.weight"].mul_(3)
    agrees(loaded, model, device, args, rtol=1e-5, atol=1e-5)


def test_threads_share_a_package(device, module, tmp_path):
    model, args, options = rows()
    loaded = packaged(tmp_path, model, args, **options)
    inputs = [torch.randn(n, 8) for n in (2, 3, 5, 7)]
    results = [[] for _ in inputs]

    def call(place):
        with module.stream(module.Stream()):
            for _ in range(20):
                results[place].append(loaded(inputs[place].to(device)).cpu())

    threads = [threading.Thread(target=call, args=(place,)) for place in range(len(inputs))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for given, found in zip(inputs, results, strict=True):
        assert len(found) == 20
        for result in found:
            assert_same(result, model(given).detach(), rtol=1e-5, atol=1e-5)


def test_calls_on_several_streams_write_the_state_one_after_another(device, module, tmp_path):
    source = export(tmp_path / "model.pt2", Buffered(), (torch.randn(3),))
    loaded = torchplug.load_package(package(source)[0])
    x = torch.ones(3, device=device)
    streams = [module.Stream() for _ in range(3)]
    module.synchronize()
    for number in range(30):
        with module.stream(streams[number % 3]):
            loaded(x)
    module.synchronize()
    assert_same(loaded.weights["kept"], torch.full((3,), 30.0))


# ---- engines ----

OTHERS = """
    import warnings
    import torchplug
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        loaded = torchplug.load_package(sys.argv[2])
    x = torch.arange(32.0).view(4, 8).cos()
    result = loaded(x.to(device))
    print(len(heard), *(str(one.message) for one in heard if "anew" in str(one.message)))
    print(*(sum(getattr(group, name) for group in loaded.report()) for name in ("compiled", "loaded", "runs", "runs_without")))
    print(result.double().sum().item())
"""


def in_another_process(path, device, folder, **settings):
    said, counts, sum_ = output_of(
        OTHERS, device, path, TORCHPLUG_CACHE_DIR=folder / "engines", **settings
    ).splitlines()
    return said, [int(count) for count in counts.split()], float(sum_)


@pytest.fixture
def kept(tmp_path):
    """A package of a model with open sizes, and what it gives for the numbers of OTHERS."""
    model, args, options = rows()
    path, _ = package(export(tmp_path / "model.pt2", model, args, **options))
    with torch.no_grad():
        return path, model(torch.arange(32.0).view(4, 8).cos()).double().sum().item()


def test_another_process_compiles_nothing(device, kept, tmp_path):
    path, expected = kept
    said, counts, found = in_another_process(path, device, tmp_path)
    assert (said, counts[0], counts[3]) == ("0", 0, 0) and counts[1] == counts[2] > 0
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_compiler_of_another_identity_compiles_anew_and_says_so(device, kept, tmp_path):
    path, expected = kept
    settings = {"CXX": "g++ -DANOTHER"}
    said, counts, found = in_another_process(path, device, tmp_path, **settings)
    assert re.search(
        "are compiled anew: its engines were made for '.*', and here it is '.*-DANOTHER .*'", said
    )
    assert counts[0] > 0 and counts[1] == 0
    assert found == pytest.approx(expected, abs=1e-4)
    _, counts, _ = in_another_process(path, device, tmp_path, **settings)
    assert counts[0] == 0 and counts[1] > 0, "what was compiled anew is kept with other engines"


def test_without_a_compiler_it_runs_operator_by_operator(device, kept, tmp_path):
    path, expected = kept
    _, counts, found = in_another_process(path, device, tmp_path, TORCHPLUG_SIM_COMPILER="off")
    assert counts == [0, 0, 0, 0]
    assert found == pytest.approx(expected, abs=1e-4)


def test_another_device_runs_it(kept, tmp_path):
    path, expected = kept
    _, counts, found = in_another_process(path, "hello", tmp_path, TORCHPLUG_DEVICE="hello")
    assert counts == [0, 0, 0, 0]
    assert found == pytest.approx(expected, abs=1e-4)


STATIC = """
    import torchplug
    from package_making import package
    import pathlib
    path, said = package(pathlib.Path(sys.argv[2]), "--shapes", "input=4x8", "--shapes", "input=2x8")
    loaded = torchplug.load_package(path)
    for rows in (4, 2, 3):
        loaded(torch.ones(rows, 8, device=device))
    group, = loaded.report()
    print(group.loaded, group.compiled)
"""


def test_a_compiler_of_fixed_sizes_has_an_engine_for_each_of_shapes(device, tmp_path):
    model, args, options = rows(nn.Sequential(nn.GELU(), nn.LayerNorm(8)))
    source = export(tmp_path / "model.pt2", model, args, **options)
    settings = {"TORCHPLUG_SIM_COMPILER": "static", "TORCHPLUG_CACHE_DIR": tmp_path / "engines"}
    assert output_of(STATIC, device, source, **settings) == "2 1"


LOADED_ALONE = """
    import torchplug
    before = set(sys.modules)
    loaded = torchplug.load_package(sys.argv[2])
    loaded(torch.ones(4, 8, device=device))
    unwanted = ("torch._dynamo", "torch.export", "torch._functorch", "torch.fx", "sympy", "torchplug.compile")
    print("loaded", *sorted(name for name in set(sys.modules) - before if name.startswith(unwanted)))
"""


def test_loading_and_calling_import_neither_dynamo_nor_what_traces(device, kept):
    assert output_of(LOADED_ALONE, device, kept[0]) == "loaded"
