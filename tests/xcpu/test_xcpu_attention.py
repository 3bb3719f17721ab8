"""Attention is that of float64, of keys and values in memory and in a paged cache."""

import pytest
import torch
from helpers import assert_equal, assert_same
from xcpu_weights import assert_within, xcpu

KINDS = ["fp32", "bf16", "int8"]


def reference(q, k, v, causal=True, scale=None, window=0, softcap=0.0, alibi=None, sinks=None):
    """Of one sequence, in float64: the last query is where the last key is."""
    q, k, v = (t.double().transpose(0, 1) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.size(0) // t.size(0), 0) for t in (k, v))
    scores = q @ k.transpose(1, 2) * (q.size(-1) ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * (scores / softcap).tanh()
    behind = torch.arange(q.size(1))[:, None] + k.size(1) - q.size(1) - torch.arange(k.size(1))
    if alibi is not None:
        scores = scores - alibi.double()[:, None, None] * behind
    seen = torch.ones_like(behind, dtype=torch.bool)
    if causal:
        seen &= behind >= 0
    if window:
        seen &= behind < window
    scores = scores.masked_fill(~seen, -torch.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.double()[:, None, None].expand(-1, q.size(1), 1)], -1)
    weights = scores.softmax(-1)[..., : k.size(1)]
    return (weights @ v).transpose(0, 1)


def draw(queries, keys, heads=4, kv_heads=2, dim=32, dtype=torch.float32):
    sizes = [(queries, heads, dim), (keys, kv_heads, dim), (keys, kv_heads, dim)]
    return [torch.randn(size).to(dtype) for size in sizes]


OPTIONS = [
    {},
    {"causal": False},
    {"scale": 0.5},
    {"scale": 0.0},
    {"window": 3},
    {"softcap": 5.0},
    {"alibi": torch.tensor([0.5, 0.25, 0.125, 0.0625])},
    {"sinks": torch.tensor([0.0, 1.0, -1.0, 3.0])},
]
options = pytest.mark.parametrize("options", OPTIONS, ids=lambda given: "".join(given) or "plain")


@options
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_sequence_attends_to_itself(options, dtype):
    q, k, v = draw(7, 7, dtype=dtype)
    found = xcpu.attention(q, k, v, **options)
    assert found.dtype == dtype
    slack = 0.02 if dtype == torch.bfloat16 else 1e-5
    assert_within(found, reference(q, k, v, **options), slack)


@options
def test_sequences_of_any_lengths_do_not_see_each_other(options):
    lengths, more = [3, 0, 1, 40], [5, 0, 1, 40]
    sequences = [draw(queries, keys) for queries, keys in zip(lengths, more, strict=True)]
    q, k, v = (torch.cat(parts) for parts in zip(*sequences, strict=True))
    starts = [torch.tensor([0, *torch.tensor(counts).cumsum(0)]) for counts in (lengths, more)]
    found = xcpu.attention(q, k, v, *starts, **options)
    expected = torch.cat([reference(*given, **options) for given in sequences])
    assert_within(found, expected, 1e-5)


@options
def test_the_gradients_of_attention_are_those_of_float64(options):
    lengths, more = [3, 0, 9], [5, 0, 9]
    sequences = [draw(queries, keys) for queries, keys in zip(lengths, more, strict=True)]
    given = [torch.cat(parts) for parts in zip(*sequences, strict=True)]
    starts = [torch.tensor([0, *torch.tensor(counts).cumsum(0)]) for counts in (lengths, more)]
    numbers = {name: value for name, value in options.items() if torch.is_tensor(value)}
    rest = {name: value for name, value in options.items() if name not in numbers}
    # Slopes are constants.
    mine, theirs = (
        [t.to(dtype, copy=True).requires_grad_() for t in (*given, *numbers.values())]
        for dtype in (torch.float32, torch.float64)
    )
    q, k, v, *heads = mine
    found = xcpu.attention(q, k, v, *starts, **dict(zip(numbers, heads, strict=True)), **rest)
    grad = torch.randn_like(found)
    found.backward(grad)
    q, k, v, *heads = theirs
    parts = [t.split(counts) for t, counts in ((q, lengths), (k, more), (v, more))]
    expected = torch.cat(
        [
            reference(*part, **dict(zip(numbers, heads, strict=True)), **rest)
            for part in zip(*parts, strict=True)
        ]
    )
    expected.backward(grad.double())
    if "alibi" in numbers:
        assert mine.pop().grad is None and theirs.pop() is not None
    assert_same([t.grad.double() for t in mine], [t.grad for t in theirs], rtol=1e-4, atol=1e-4)


def test_a_batch_is_sequences_of_one_length_in_any_layout():
    q, k, v = torch.randn(3, 4, 6, 32), *torch.randn(2, 3, 2, 6, 32)  # batch, heads, tokens
    found = xcpu.attention(*(t.transpose(1, 2) for t in (q, k, v)))
    expected = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=True, enable_gqa=True
    )
    assert_same(found.transpose(1, 2), expected)


def test_sinks_and_slopes_may_be_of_the_models_dtype():
    q, k, v = draw(5, 5)
    numbers = {"sinks": torch.randn(4).bfloat16(), "alibi": torch.rand(8).half()[::2]}
    wide = {name: value.float() for name, value in numbers.items()}
    assert_equal(xcpu.attention(q, k, v, **numbers), xcpu.attention(q, k, v, **wide))


def test_casting_a_module_leaves_its_cache_alone():
    module = torch.nn.Module()
    for kind in KINDS:
        module.register_buffer(kind, xcpu.make_cache(kind, 1, 1, 16))
    dtypes = [cache.dtype for cache in module.buffers()]
    assert [cache.dtype for cache in module.bfloat16().buffers()] == dtypes


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_to_a_cache_is_read_from_it(kind):
    cache = xcpu.make_cache(kind, 4, 2, 40, 32)
    k, v = torch.randn(2, 6, 2, 40)
    slots = torch.tensor([0, 31, 32, 127, -1, 70])
    version = cache._version
    assert xcpu.cache_write(cache, slots, k, v) is None
    assert cache._version == version + 1
    found = xcpu.cache_read(cache, slots, 40)
    for one, given in zip(found, (k, v), strict=True):
        assert_equal(one[4], torch.zeros(2, 40))
        one, given = one[[0, 1, 2, 3, 5]], given[[0, 1, 2, 3, 5]]
        if kind == "fp32":
            assert_equal(one, given)
        elif kind == "bf16":
            assert_equal(one, given.bfloat16().float())
        else:
            step = given.abs().amax(-1, keepdim=True) / 127
            assert ((one - given).abs() <= 0.51 * step).all()
    half = xcpu.cache_read(cache, slots, 40, dtype=torch.float16)
    assert_equal(half, [one.half() for one in found])


@options
@pytest.mark.parametrize("kind", KINDS)
def test_attention_over_a_cache_is_that_of_what_is_in_it(kind, options):
    cache = xcpu.make_cache(kind, 9, 2, 32)
    lengths, queries = [20, 1, 33], [4, 1, 1]
    table = torch.tensor([[7, 2, 0], [5, 0, 0], [1, 8, 3]])
    sequences = [draw(count, length) for count, length in zip(queries, lengths, strict=True)]
    for (_, k, v), row, length in zip(sequences, table, lengths, strict=True):
        places = torch.arange(length)
        xcpu.cache_write(cache, row[places // 16] * 16 + places % 16, k, v)
    starts = torch.tensor([0, *torch.tensor(queries).cumsum(0)])
    q = torch.cat([given[0] for given in sequences])
    found = xcpu.paged_attention(q, cache, torch.tensor(lengths), table, starts, **options)
    expected = torch.cat([reference(*given, **options) for given in sequences])
    assert_within(found, expected, {"fp32": 1e-5, "bf16": 0.03, "int8": 0.08}[kind])
    # The last tokens by themselves, as a decoding step has them.
    last = xcpu.paged_attention(q[starts[1:] - 1], cache, torch.tensor(lengths), table, **options)
    assert_within(last, found[starts[1:] - 1].double(), 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_shared_copied_and_taken_out_as_rows_of_the_tensor(kind):
    """Two sequences with a common prefix of 20 tokens; the second has a copy of the page that both write to."""
    q, k, v = draw(2, 22)
    cache = xcpu.make_cache(kind, 4, 2, 32)
    xcpu.cache_write(cache, torch.arange(21), k[:21], v[:21])
    cache[3] = cache[1]
    xcpu.cache_write(cache, torch.tensor([3 * 16 + 4]), k[21:], v[21:])
    table = torch.tensor([[0, 1], [0, 3]])
    both = xcpu.paged_attention(q, cache, torch.tensor([21, 21]), table)
    other = [*range(20), 21]
    expected = [reference(q[:1], k[:21], v[:21]), reference(q[1:], k[other], v[other])]
    assert_within(both, torch.cat(expected), {"fp32": 1e-5, "bf16": 0.03, "int8": 0.08}[kind])
    taken, room = cache[[0, 3]].clone(), xcpu.make_cache(kind, 8, 2, 32)
    room[[5, 2]] = taken
    again = xcpu.paged_attention(q[1:], room, torch.tensor([21]), torch.tensor([[5, 2]]))
    assert_same(again, both[1:])


def test_sequences_without_new_tokens_and_batches_without_sequences_are_nothing():
    cache = xcpu.make_cache("bf16", 2, 2, 32)
    q, k, v = draw(1, 1)
    xcpu.cache_write(cache, torch.tensor([16]), k, v)
    garbage = torch.tensor([[-9], [1], [7]])
    lengths, starts = torch.tensor([0, 1, 0]), torch.tensor([0, 0, 1, 1])
    alone = xcpu.paged_attention(q, cache, lengths[1:2], garbage[1:2])
    assert_equal(xcpu.paged_attention(q, cache, lengths, garbage, starts), alone)
    none = torch.zeros(0, dtype=torch.int64)
    assert xcpu.paged_attention(q[:0], cache, none, garbage[:0]).shape == (0, 4, 32)
    assert xcpu.paged_attention(
        q[:0], cache, lengths[:2] * 0, garbage[:2], starts[:1].repeat(3)
    ).shape == (0, 4, 32)
    before = cache.clone()
    xcpu.cache_write(cache, none, k[:0], v[:0])
    assert_equal(cache, before)
    assert xcpu.cache_read(cache, none, 32)[0].shape == (0, 2, 32)


def test_a_cache_in_a_compiled_step_is_written_in_place():
    torch._dynamo.reset()

    def step(cache, slots, q, k, v, lengths, table):
        xcpu.cache_write(cache, slots, k, v)
        return xcpu.paged_attention(q, cache, lengths, table)

    compiled = torch.compile(step, fullgraph=True, dynamic=True, backend="aot_eager")
    q, k, v = draw(1, 5)
    caches = [xcpu.make_cache("bf16", 2, 2, 32) for _ in range(2)]
    for i in range(5):
        rest = (torch.tensor([16 + i]), q, k[i : i + 1], v[i : i + 1])
        place = (torch.tensor([i + 1]), torch.tensor([[1]]))
        expected, found = step(caches[0], *rest, *place), compiled(caches[1], *rest, *place)
        assert_equal(found, expected)
    assert_equal(caches[1], caches[0])


CACHE = xcpu.make_cache("int8", 2, 2, 32)
Q, K, V = draw(3, 3)
ONE = torch.tensor([1, 1, 1])
SLOTS = torch.arange(4)
TABLE = torch.zeros(3, 1, dtype=torch.int64)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: xcpu.attention(Q, K, V[:2]), r"v has the sizes \[2, 2, 32\]"),
        (lambda: xcpu.attention(Q, K[..., :8], V), "k is float32 .*head_dim of q"),
        (lambda: xcpu.attention(Q[:, :3], K, V), "q is .* multiple of the 2 of k"),
        (lambda: xcpu.attention(Q[0], K, V), r"q has the sizes \[4, 32\].*heads, head_dim"),
        (lambda: xcpu.attention(Q.double(), K, V), "q is float64"),
        (lambda: xcpu.attention(Q, K, V, ONE), "q_starts begins with 1 and ends with 1"),
        (lambda: xcpu.attention(Q, K, V, torch.tensor([0.0, 3.0])), "q_starts is float32"),
        (lambda: xcpu.attention(Q, K, V, window=-1), "window is -1"),
        (lambda: xcpu.attention(Q, K, V, alibi=SLOTS), "alibi is int64"),
        (lambda: xcpu.attention(Q, K, V, sinks=torch.ones(3)), r"sinks has the sizes \[3\]"),
        (lambda: xcpu.paged_attention(Q, K, ONE, TABLE), "cache is float32"),
        (lambda: xcpu.paged_attention(Q, CACHE.half(), ONE, TABLE), "cache is float16"),
        (
            lambda: xcpu.paged_attention(Q[..., :16], CACHE, ONE, TABLE),
            "cache is int8.*head_dim of 16",
        ),
        (lambda: xcpu.paged_attention(Q, CACHE[:, :1], ONE, TABLE), "cache has the strides"),
        (lambda: xcpu.paged_attention(Q, CACHE, ONE[:2], TABLE), r"lengths has the sizes \[2\]"),
        (lambda: xcpu.paged_attention(Q, CACHE, ONE, TABLE[:2]), "block_table has the sizes"),
        (lambda: xcpu.paged_attention(Q, CACHE, ONE * 0, TABLE), r"lengths.* is 0"),
        (lambda: xcpu.paged_attention(Q, CACHE, ONE * 17, TABLE), "lengths has 17.*16 tokens"),
        (lambda: xcpu.paged_attention(Q, CACHE, ONE, TABLE + 2), "block_table.* is 2"),
        (lambda: xcpu.paged_attention(Q, CACHE, ONE, TABLE.int()), "block_table is int32"),
        (lambda: xcpu.cache_write(CACHE, ONE[:2], K, V), "slots is int64 .*3 tokens"),
        (lambda: xcpu.cache_write(CACHE, ONE * 32, K, V), "slot.* is 32"),
        (lambda: xcpu.cache_write(CACHE, ONE, K[:, :1], V[:, :1]), "k is .*cache has 2 heads"),
        (lambda: xcpu.cache_read(CACHE, ONE, 40), "cache is int8.*head_dim of 40"),
        (lambda: xcpu.make_cache("int4", 1, 1, 16), 'kind is "int4"'),
        (lambda: xcpu.make_cache("int8", 1, 1, 16, 17), "page_tokens is 17"),
        (lambda: xcpu.make_cache("int8", -1, 1, 16), "pages is -1"),
    ],
)
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(RuntimeError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
