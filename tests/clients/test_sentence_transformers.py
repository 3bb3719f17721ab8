"""sentence-transformers: models encode and train on the device, as on the CPU."""

import functools
import importlib
import itertools

import pytest
import torch
import transformers
from processes import accelerate_on
from tiny_models import SHAPE
from words import tokenizer

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
TEXTS = ["w3 w4 w5", "w6", "w7 w8 w9 w10 w11", "w5 w4", "w12 w3 w40 w41"]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def library():
    """Imported late: it takes long, and not every process that collects these tests runs some."""
    return importlib.import_module("sentence_transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT without dropout."""
    path = tmp_path_factory.mktemp("bert")
    torch.manual_seed(3)
    config = transformers.BertConfig(
        **SHAPE, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3
    )
    transformers.BertModel(config).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)


def encoded(model, device=None):
    return model.encode(TEXTS, convert_to_tensor=True, batch_size=2, device=device)


@pytest.fixture(scope="module")
def expected(library, folder):
    return encoded(library.SentenceTransformer(folder, device="cpu"))


@pytest.mark.parametrize("way", ["index", "type", "to", "device_map", "encode"])
def test_a_model_encodes_on_the_device_it_is_given(device, library, folder, expected, way):
    options = {
        "index": {"device": str(device)},
        "type": {"device": device.type},
        "device_map": {"model_kwargs": {"device_map": str(device)}},
    }
    model = library.SentenceTransformer(folder, **options.get(way, {}))
    if way == "to":
        model.to(device)
    actual = encoded(model, str(device) if way == "encode" else None)
    assert actual.device == device
    torch.testing.assert_close(actual.cpu(), expected, **CLOSE)


def test_the_second_device_encodes_too(other_device, library, folder, expected):
    actual = encoded(library.SentenceTransformer(folder, device=str(other_device)))
    assert actual.device == other_device
    torch.testing.assert_close(actual.cpu(), expected, **CLOSE)


def test_what_is_encoded_is_compared_and_found_as_on_the_cpu(device, library, folder, expected):
    model = library.SentenceTransformer(folder, device=str(device))
    array = model.encode(TEXTS, batch_size=2)
    torch.testing.assert_close(torch.from_numpy(array), expected, **CLOSE)
    actual = encoded(model)
    similar = model.similarity(actual, actual)
    assert similar.device == device
    torch.testing.assert_close(similar.cpu(), model.similarity(expected, expected), **CLOSE)
    found, wanted = (
        library.util.semantic_search(rows[:2], rows, top_k=3) for rows in (actual, expected)
    )
    torch.testing.assert_close(found, wanted, **CLOSE)


def test_a_cross_encoder_judges_on_the_device_as_on_the_cpu(device, library, folder):
    scores = []
    for where in ("cpu", str(device)):
        torch.manual_seed(1)
        model = library.CrossEncoder(folder, num_labels=1, device=where)
        assert str(model.device) == where
        pairs = list(itertools.pairwise(TEXTS))
        scores.append(torch.from_numpy(model.predict(pairs, batch_size=2)))
    torch.testing.assert_close(*scores, **CLOSE)


@pytest.fixture(scope="module")
def train(library, folder, tmp_path_factory):
    """Trains on the device; returns the losses, the model and the folder of the checkpoints."""
    pairs = [{"anchor": f"w{3 + i} w{4 + i}", "positive": f"w{4 + i} w{5 + i}"} for i in range(24)]
    data = importlib.import_module("datasets").Dataset.from_list(pairs)
    losses = importlib.import_module("sentence_transformers.sentence_transformer.losses")

    @functools.cache
    def run(device, resume=None, precision="no", **options):
        results = tmp_path_factory.mktemp("run")
        with accelerate_on(device, ACCELERATE_MIXED_PRECISION=precision):
            model = library.SentenceTransformer(folder)
            trainer = library.SentenceTransformerTrainer(
                model,
                library.SentenceTransformerTrainingArguments(
                    str(results),
                    max_steps=6,
                    save_steps=3,
                    logging_steps=1,
                    per_device_train_batch_size=4,
                    learning_rate=1e-3,
                    report_to=[],
                    disable_tqdm=True,
                    **options,
                ),
                train_dataset=data,
                loss=losses.MultipleNegativesRankingLoss(model),
            )
            trainer.train(resume_from_checkpoint=resume)
            assert trainer.accelerator.mixed_precision == precision
        history = trainer.state.log_history
        return [entry["loss"] for entry in history if "loss" in entry], model, results

    return run


def test_a_model_trains_on_the_device_as_on_the_cpu(device, train):
    losses, model, _ = train(device)
    expected, _, _ = train("cpu")
    assert model.device == device
    assert len(set(expected)) == len(expected) == 6
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-6)


def test_a_resumed_training_ends_where_the_uninterrupted_one_does(device, train):
    losses, model, folder = train(device)
    again, resumed, results = train(device, str(folder / "checkpoint-3"))
    assert not (results / "checkpoint-3").exists(), "it was trained from the beginning"
    assert again == losses
    assert resumed.device == device
    for weight, expected in zip(resumed.parameters(), model.parameters(), strict=True):
        assert torch.equal(weight, expected)


@pytest.mark.usefixtures("mixed_precision")
def test_mixed_precision_comes_from_the_environment(device, train):
    in_full, _, _ = train(device)
    losses, model, _ = train(device, precision="bf16")
    assert model.device == device
    assert losses != in_full, "it computed in float32"
    torch.testing.assert_close(losses, in_full, rtol=0.1, atol=0.02)


@pytest.mark.accelerator("the page is about a device")
def test_with_nothing_said_a_model_is_on_the_cpu(library, folder):
    model = library.SentenceTransformer(folder)
    assert model.device == torch.device("cpu"), "it takes the device: docs/clients.md"


@pytest.mark.accelerator("the page is about a device")
def test_mixed_precision_by_an_argument_is_refused(device, train):
    with pytest.raises(ValueError, match="bf16"):
        train(device, bf16=True)
