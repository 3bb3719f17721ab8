"""A whole decoder, whose cache is written in place, gives the same tokens as a program: compiled, exported, scripted, traced."""

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from helpers import assert_equal
from torch._dynamo.testing import CompileCounterWithBackend
from torch.export import Dim
from xcpu_decode import packed, plain
from xcpu_decode.generate import generate_packed
from xcpu_decode.pages import Pages

SHAPE = plain.Shape(vocabulary=80, width=64, layers=2, heads=4, kv_heads=2, inner=96, positions=96)
BATCHES = [[[1, 2, 3], [4] * 19], [[5], [6, 7], [8] * 40], [[9, 10, 11, 12]], [[13] * 17, [14]]]


@pytest.fixture(scope="module")
def decoder():
    torch.manual_seed(0)
    return packed.Decoder(plain.Decoder(SHAPE).requires_grad_(False), "int8")


def caches_of(decoder):
    return decoder.make_caches("int8", 16)


def tokens_of(decoder, program, batches=BATCHES):
    """Of batches of other sizes and lengths one after the other; each has a cache of its own."""
    return [generate_packed(program, caches_of(decoder), batch, 20)[0] for batch in batches]


@pytest.fixture(scope="module")
def expected(decoder):
    return tokens_of(decoder, decoder)


def first_step():
    return Pages(16).step(dict(enumerate(BATCHES[0])))


def exported(decoder):
    """Every length may change but those of the cache's tokens."""
    any_length = {0: Dim.AUTO}
    shapes = ([any_length] * 2, *[any_length] * 5, {0: Dim.AUTO, 1: Dim.AUTO})
    given = (caches_of(decoder), *first_step())
    return torch.export.export(decoder, given, dynamic_shapes=shapes)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_compiled_decoder_serves_every_batch(decoder, expected, backend):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(decoder, backend=counter, dynamic=True, fullgraph=True)
    # Otherwise PyTorch takes sizes that are equal at the first call for ones that always are.
    with torch.fx.experimental._config.patch(use_duck_shape=False), torch.no_grad():
        assert tokens_of(decoder, compiled) == expected
        # Sequences of any number and length; PyTorch has 1 for itself: one sequence, and its one token.
        assert counter.frame_count == 3


def test_a_compiled_decoder_is_the_same_without_gradients_of_any_kind(decoder, expected):
    torch._dynamo.reset()
    compiled = torch.compile(decoder, backend="aot_eager", dynamic=True, fullgraph=True)
    with torch.inference_mode():
        assert tokens_of(decoder, compiled) == expected
    assert tokens_of(decoder, compiled) == expected


def test_an_exported_decoder_serves_every_batch_also_from_a_file(decoder, expected):
    program, file = exported(decoder), io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    # PyTorch exports sizes that change for two and more.
    for each in (program, torch.export.load(file)):
        assert tokens_of(decoder, each.module(), BATCHES[:2]) == expected[:2]


def test_a_decoder_whose_exported_program_has_no_mutations_writes_its_cache_too(decoder, expected):
    functional = exported(decoder).run_decompositions()
    assert "auto_functionalized" in str(functional.graph)
    assert tokens_of(decoder, functional.module(), BATCHES[:2]) == expected[:2]


@pytest.mark.parametrize("way", ["script", "trace", "freeze"])
def test_a_scripted_decoder_serves_every_batch_also_from_a_file(decoder, expected, way):
    if way == "trace":
        made = torch.jit.trace(decoder, (caches_of(decoder), *first_step()))
    else:
        made = torch.jit.script(copy.deepcopy(decoder).eval())
    made = torch.jit.freeze(made.eval()) if way == "freeze" else made
    file = io.BytesIO()
    torch.jit.save(made, file)
    file.seek(0)
    for each in (made, torch.jit.load(file)):
        for _ in range(2):  # the second call is optimised
            assert tokens_of(decoder, each) == expected


def test_copies_and_threads_change_nothing(decoder, expected):
    assert tokens_of(decoder, copy.deepcopy(decoder)) == expected
    assert tokens_of(decoder, pickle.loads(pickle.dumps(decoder))) == expected
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        assert tokens_of(decoder, decoder) == expected


def test_several_threads_decode_at_once_each_with_a_cache_of_its_own(decoder, expected):
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: tokens_of(decoder, decoder), range(3))) == [expected] * 3


def test_a_step_twice_is_a_step_once(decoder):
    """What is written to the cache depends on the step alone."""
    caches, step = caches_of(decoder), first_step()
    first, kept = decoder(caches, *step), copy.deepcopy(caches)
    assert_equal(decoder(caches, *step), first)
    assert_equal(caches, kept)
