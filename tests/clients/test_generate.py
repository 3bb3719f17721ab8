"""generate() on the device gives the CPU's tokens."""

import copy
import threading

import pytest
import torch
from tiny_models import TOKENS, llama, mamba, mixtral, on, qwen2, seeded, t5, text, tokens
from transformers import TextIteratorStreamer
from words import tokenizer

MODELS = {"llama": llama, "qwen2": qwen2, "mixtral": mixtral, "mamba": mamba, "t5": t5}
NEW = 8

WAYS = {
    "greedy": {},
    "beam_search": {"num_beams": 3},
    "several_beams_returned": {"num_beams": 4, "num_return_sequences": 2, "length_penalty": 0.5},
    "without_a_cache": {"use_cache": False},
    "dynamic_cache": {"cache_implementation": "dynamic"},
    "static_cache": {"cache_implementation": "static"},
    "beam_search_in_a_static_cache": {"cache_implementation": "static", "num_beams": 2},
    "penalties": {"repetition_penalty": 1.4, "no_repeat_ngram_size": 2, "bad_words_ids": [[7]]},
}
SAMPLING = {"do_sample": True, "top_k": 30, "top_p": 0.95, "temperature": 1.5}


def generate(model, **options):
    options = {"do_sample": False, "max_new_tokens": NEW, "min_new_tokens": NEW, **options}
    return model.generate(**on(model.device, text("left")), **options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_the_tokens_are_the_cpus(device, name, way):
    model = seeded(MODELS[name]).eval()
    expected = generate(model, **WAYS[way])
    generated = generate(model.to(device), **WAYS[way])
    assert generated.device == device
    assert generated.tolist() == expected.tolist()
    assert expected[:, -NEW:].unique().numel() > 2, "too monotonous to show anything"


@pytest.mark.parametrize("name", MODELS)
def test_sampling_repeats_with_the_seed(device, name):
    model = seeded(MODELS[name]).eval().to(device)

    def sample(seed):
        torch.manual_seed(seed)
        return generate(model, **SAMPLING).tolist()

    first = sample(1)
    assert sample(1) == first
    assert sample(2) != first
    assert all(0 <= token < TOKENS for row in first for token in row)


def test_scores_are_the_cpus(device):
    options = {"output_scores": True, "return_dict_in_generate": True}
    model = seeded(llama).eval()
    expected = generate(model, **options)
    generated = generate(model.to(device), **options)
    for score, reference in zip(generated.scores, expected.scores, strict=True):
        torch.testing.assert_close(score.cpu(), reference, rtol=1e-4, atol=1e-4)


def test_a_cache_is_carried_from_one_call_to_the_next(device):
    model = seeded(llama).eval()
    whole = model.generate(tokens(1), do_sample=False, max_new_tokens=6, min_new_tokens=6)
    model.to(device)
    options = {"do_sample": False, "return_dict_in_generate": True}
    first = model.generate(tokens(1).to(device), max_new_tokens=3, min_new_tokens=3, **options)
    second = model.generate(
        first.sequences,
        past_key_values=first.past_key_values,
        max_new_tokens=3,
        min_new_tokens=3,
        **options,
    )
    assert second.sequences.tolist() == whole.tolist()


def test_an_assistant_model_changes_no_token(device):
    model = seeded(llama).eval()
    expected = model.generate(tokens(1), do_sample=False, max_new_tokens=NEW)
    assistant = seeded(llama, num_hidden_layers=1).eval().to(device)
    generated = model.to(device).generate(
        tokens(1).to(device), assistant_model=assistant, do_sample=False, max_new_tokens=NEW
    )
    assert generated.tolist() == expected.tolist()


def test_a_streamer_in_another_thread_gets_the_same_text(device):
    words = tokenizer()
    model = seeded(llama).eval()
    options = {"do_sample": False, "max_new_tokens": NEW, "min_new_tokens": NEW}
    expected = words.decode(model.generate(tokens(1), **options)[0])
    model.to(device)
    streamer = TextIteratorStreamer(words, timeout=60)
    arguments = {"input_ids": tokens(1).to(device), "streamer": streamer, **options}
    thread = threading.Thread(target=model.generate, kwargs=arguments)
    thread.start()
    streamed = "".join(streamer)
    thread.join()
    assert streamed == expected


def test_two_devices_generate_beside_each_other(device, other_device):
    model = seeded(llama).eval()
    expected = generate(model).tolist()
    copies = [copy.deepcopy(model).to(where) for where in (device, other_device)]
    results = {}

    def work(index):
        results[index] = generate(copies[index]).tolist()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: expected, 1: expected}
