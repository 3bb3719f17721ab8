"""What quantised weights and caches cost a model that has learnt something: perplexity on text it has not seen."""

import random

import pytest
import torch
from torch.nn import functional
from xcpu_decode import packed, plain
from xcpu_decode.pages import Pages

NOUNS = {"s": ["cat", "dog", "bird", "king", "child"], "p": ["cats", "dogs", "birds", "kings"]}
VERBS = {"s": ["sees", "likes", "hears", "follows"], "p": ["see", "like", "hear", "follow"]}
ADJECTIVES = ["old", "young", "small", "wise", "grey"]
OPEN, CLOSE = ["(", "[", "{"], {"(": ")", "[": "]", "{": "}"}
WORDS = [".", "the", "that", *ADJECTIVES, *OPEN, *CLOSE.values()]
WORDS += [word for words in (*NOUNS.values(), *VERBS.values()) for word in words]
LENGTH = 64


def noun_phrase(draw: random.Random, depth: int) -> tuple[list[str], str]:
    """Its words and its number: "the old cat that the dogs see"."""
    number = draw.choice("sp")
    words = ["the", *draw.sample(ADJECTIVES, draw.choice([0, 0, 1, 2])), draw.choice(NOUNS[number])]
    if depth > 0 and draw.random() < 0.4:
        inner, of = noun_phrase(draw, depth - 1)
        words += ["that", *inner, draw.choice(VERBS[of])]
    return words, number


def sentence(draw: random.Random) -> list[str]:
    """Verbs agree with nouns far before them, brackets close as they were opened."""
    subject, number = noun_phrase(draw, 2)
    words = [*subject, draw.choice(VERBS[number]), *noun_phrase(draw, 1)[0]]
    if draw.random() < 0.3:
        bracket = draw.choice(OPEN)
        words += [bracket, *noun_phrase(draw, 0)[0], CLOSE[bracket]]
    return [*words, "."]


def texts(count: int, seed: int) -> torch.Tensor:
    draw, words = random.Random(seed), []
    while len(words) < count * LENGTH:
        words += sentence(draw)
    numbers = {word: i for i, word in enumerate(WORDS)}
    tokens = torch.tensor([numbers[word] for word in words[: count * LENGTH]])
    return tokens.view(count, LENGTH)


SHAPE = plain.Shape(
    len(WORDS), width=128, layers=2, heads=4, kv_heads=2, inner=256, positions=LENGTH
)
HELD_OUT = texts(48, seed=1)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model, data = plain.Decoder(SHAPE), texts(2048, seed=0)
    positions = torch.arange(LENGTH - 1).expand(16, -1)
    steps, threads = 120, torch.get_num_threads()
    torch.set_num_threads(1)  # small operators
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps)
    for i in range(steps):
        batch = data[torch.arange(16 * i, 16 * (i + 1)) % len(data)]
        loss = functional.cross_entropy(model(batch[:, :-1], positions).mT, batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    torch.set_num_threads(threads)
    return model.requires_grad_(False)


def perplexity_of(losses: torch.Tensor) -> float:
    return losses.double().mean().exp().item()


def perplexity(decoder: packed.Decoder, cache_kind: str) -> float:
    """As a server meets it: every token by itself, all before it in the cache."""
    pages, count = Pages(4 * len(HELD_OUT)), len(HELD_OUT)
    caches, losses = decoder.make_caches(cache_kind, 4 * count), []
    for now, following in zip(HELD_OUT.T[:-1], HELD_OUT.T[1:], strict=True):
        step = pages.step({i: [token] for i, token in enumerate(now.tolist())})
        values, indices = decoder(caches, *step)
        logits = torch.empty_like(values).scatter_(1, indices, values)
        losses.append(functional.cross_entropy(logits, following, reduction="none"))
    return perplexity_of(torch.stack(losses))


def packed_perplexity(model, kind, group=0, cache_kind="bf16"):
    return perplexity(packed.Decoder(model, kind, group, top=len(WORDS)), cache_kind)


@pytest.fixture(scope="module")
def of_bf16(model):
    return packed_perplexity(model, "bf16")


def test_the_model_has_learnt_the_grammar(model):
    """It knows far more of the next word than how often words are, and more than the word before tells."""
    known = texts(2048, seed=0)
    pairs = torch.ones(len(WORDS), len(WORDS)).double()
    pairs.index_put_((known[:, :-1], known[:, 1:]), torch.tensor(1.0).double(), accumulate=True)
    now, following = HELD_OUT[:, :-1], HELD_OUT[:, 1:]
    of_pairs = perplexity_of(-(pairs / pairs.sum(1, keepdim=True))[now, following].log())
    of_words = perplexity_of(-(pairs.sum(0) / pairs.sum())[following].log())
    logits = model(now, torch.arange(LENGTH - 1).expand_as(now))
    found = perplexity_of(functional.cross_entropy(logits.mT, following, reduction="none"))
    assert found < 0.85 * of_pairs < of_words


def test_bf16_costs_next_to_nothing(model, of_bf16):
    now, following = HELD_OUT[:, :-1], HELD_OUT[:, 1:]
    logits = model.double()(now, torch.arange(LENGTH - 1).expand_as(now))
    model.float()
    exact = perplexity_of(functional.cross_entropy(logits.mT, following, reduction="none"))
    assert abs(of_bf16 / exact - 1) < 0.002


@pytest.mark.parametrize("cache_kind", ["bf16", "int8"])
def test_int8_is_within_one_percent_of_bf16(model, of_bf16, cache_kind):
    found = packed_perplexity(model, "int8", 0, cache_kind)
    assert found < 1.01 * of_bf16


@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("cache_kind", ["bf16", "int8"])
def test_int4_is_within_five_percent_of_bf16(model, of_bf16, group, cache_kind):
    found = packed_perplexity(model, "int4", group, cache_kind)
    assert found < 1.05 * of_bf16
