"""Checkpoints of transformers and accelerate are loaded onto the device and saved from it."""

import copy

import accelerate
import pytest
import torch
import transformers
from tiny_models import llama, seeded, tokens
from transformers import LlamaForCausalLM, pipeline
from words import tokenizer

LAYERS = {
    "model.embed_tokens": 0,
    "model.layers.0": 0,
    "model.rotary_emb": 0,
    "model.layers.1": 1,
    "model.norm": 1,
    "lm_head": 1,
}


@pytest.fixture(scope="module")
def reference():
    return seeded(llama).eval()


@pytest.fixture(scope="module")
def checkpoint(reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    reference.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def devices_of(model):
    return {parameter.device for parameter in model.parameters()}


def assert_equal_weights(model, reference):
    expected = reference.state_dict()
    weights = model.state_dict()
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        assert torch.equal(weight.cpu(), expected[name]), name


def assert_same_logits(model, reference, where):
    with torch.no_grad():
        logits, expected = model(tokens().to(where)).logits, reference(tokens()).logits
    torch.testing.assert_close(logits.cpu(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", ["string", "type", "device", "dictionary", "number_dictionary"])
def test_device_map_loads_onto_the_device(device, checkpoint, reference, form):
    if form == "number_dictionary" and device.type == "cpu":
        pytest.skip("the CPU stands in: it has no number")
    device_map = {
        "string": str(device),
        "type": device.type,
        "device": device,
        "dictionary": {"": str(device)},
        "number_dictionary": {"": device.index},
    }[form]
    model = LlamaForCausalLM.from_pretrained(checkpoint, device_map=device_map)
    assert devices_of(model) == {device}
    assert_equal_weights(model, reference)
    assert_same_logits(model, reference, device)


@pytest.mark.parametrize("form", ["string", "dictionary", "number"])
def test_device_map_loads_onto_the_second_device(other_device, checkpoint, reference, form):
    device_map = {
        "string": str(other_device),
        "dictionary": {"": str(other_device)},
        "number": other_device.index,
    }[form]
    model = LlamaForCausalLM.from_pretrained(checkpoint, device_map=device_map)
    assert devices_of(model) == {other_device}
    assert_equal_weights(model, reference)
    assert_same_logits(model, reference, other_device)


def test_a_dtype_is_converted_on_the_way(device, checkpoint, reference):
    model = LlamaForCausalLM.from_pretrained(
        checkpoint, dtype=torch.bfloat16, device_map=str(device)
    )
    assert devices_of(model) == {device}
    assert_equal_weights(model, copy.deepcopy(reference).to(torch.bfloat16))


@pytest.mark.parametrize("form", ["context", "default"])
def test_the_default_device_governs_from_pretrained(device, checkpoint, reference, form):
    if form == "context":
        with torch.device(device):
            model = LlamaForCausalLM.from_pretrained(checkpoint)
    else:
        torch.set_default_device(device)
        try:
            model = LlamaForCausalLM.from_pretrained(checkpoint)
        finally:
            torch.set_default_device(None)
    assert devices_of(model) == {device}
    assert_equal_weights(model, reference)


@pytest.mark.accelerator("'auto' finds the CPU at once")
def test_auto_without_memory_sizes_stays_on_the_cpu(checkpoint):
    model = LlamaForCausalLM.from_pretrained(checkpoint, device_map="auto")
    assert devices_of(model) == {torch.device("cpu")}


@pytest.mark.parametrize("plan", ["auto", "balanced"])
def test_auto_with_memory_sizes_spreads_over_the_devices(
    device, other_device, checkpoint, reference, plan
):
    model = LlamaForCausalLM.from_pretrained(
        checkpoint, device_map=plan, max_memory={0: "1GB", 1: "1GB"}
    )
    assert devices_of(model) == {device, other_device}
    assert_equal_weights(model, reference)
    assert_same_logits(model, reference, device)
    prompt = tokens(1)
    options = {"do_sample": False, "max_new_tokens": 4, "min_new_tokens": 4}
    expected = reference.generate(prompt, **options)
    assert model.generate(prompt.to(device), **options).tolist() == expected.tolist()


@pytest.mark.accelerator("offloading from the CPU to the CPU shows nothing")
def test_layers_offloaded_to_the_cpu_are_computed_on_the_device(device, checkpoint, reference):
    model = LlamaForCausalLM.from_pretrained(
        checkpoint, device_map="auto", max_memory={0: "20KB", "cpu": "1GB"}
    )
    assert model.hf_device_map["model.norm"] == "cpu"
    seen = []
    model.model.norm.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].device))
    assert_same_logits(model, reference, device)
    assert seen == [device]


def test_a_model_saved_from_the_device_is_the_one_saved_from_the_cpu(device, reference, tmp_path):
    copy.deepcopy(reference).to(device).save_pretrained(tmp_path)
    loaded = LlamaForCausalLM.from_pretrained(tmp_path)
    assert devices_of(loaded) == {torch.device("cpu")}
    assert_equal_weights(loaded, reference)


def test_a_large_model_is_saved_from_the_device_in_shards(device, reference, tmp_path):
    copy.deepcopy(reference).to(device).save_pretrained(tmp_path, max_shard_size="10KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    loaded = LlamaForCausalLM.from_pretrained(tmp_path, device_map=str(device))
    assert devices_of(loaded) == {device}
    assert_equal_weights(loaded, reference)


def test_an_encoded_batch_moves_to_the_device(device):
    batch = tokenizer()(["w3 w4 w5", "w6"], padding=True, return_tensors="pt").to(device)
    assert {tensor.device for tensor in batch.values()} == {device}
    assert batch["input_ids"].tolist() == [[3, 4, 5], [0, 0, 6]]


@pytest.mark.parametrize("form", ["string", "device"])
def test_a_pipeline_runs_on_the_device_it_is_given(device, checkpoint, form):
    options = {"do_sample": False, "max_new_tokens": 4}
    expected = pipeline("text-generation", model=str(checkpoint), device="cpu")
    given = {"string": str(device), "device": device}[form]
    generator = pipeline("text-generation", model=str(checkpoint), device=given)
    assert devices_of(generator.model) == {device}
    texts = ["w3 w4", "w5 w6 w7"]
    assert generator(texts, batch_size=2, **options) == expected(texts, batch_size=2, **options)


@pytest.mark.accelerator("a number means no CPU")
def test_a_pipeline_takes_a_bare_number_for_the_cpu(checkpoint):
    generator = pipeline("text-generation", model=str(checkpoint), device=0)
    assert devices_of(generator.model) == {torch.device("cpu")}


def test_dispatch_model_spreads_a_model_over_two_devices(device, other_device, reference):
    names = {key: str([device, other_device][index]) for key, index in LAYERS.items()}
    for device_map in (LAYERS, names):
        model = accelerate.dispatch_model(copy.deepcopy(reference), device_map)
        assert devices_of(model) == {device, other_device}
        assert_same_logits(model, reference, "cpu")


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_an_offloaded_model_computes_on_the_device(device, reference, place, tmp_path):
    model = copy.deepcopy(reference)
    seen = []
    model.model.norm.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].device))
    if place == "memory":
        model = accelerate.cpu_offload(model, execution_device=device)
    else:
        model = accelerate.disk_offload(model, str(tmp_path), execution_device=device)
    assert_same_logits(model, reference, "cpu")
    assert seen == [device]


@pytest.mark.accelerator("the CPU has no number")
def test_load_checkpoint_and_dispatch_takes_the_number_of_a_device(device, checkpoint, reference):
    with accelerate.init_empty_weights():
        model = LlamaForCausalLM(reference.config)
    model = accelerate.load_checkpoint_and_dispatch(
        model, checkpoint, device_map={"": device.index}
    )
    assert devices_of(model) == {device}
    assert_equal_weights(model, reference)
    assert_same_logits(model.eval(), reference, device)


def test_a_vision_model_loads_onto_the_device(device, tmp_path):
    config = transformers.ViTConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=8,
        patch_size=4,
    )
    reference = transformers.ViTModel(config).eval()
    reference.save_pretrained(tmp_path)
    model = transformers.ViTModel.from_pretrained(tmp_path, device_map=str(device)).eval()
    pixels = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        actual = model(pixels.to(device)).last_hidden_state
        expected = reference(pixels).last_hidden_state
    assert actual.device == device
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-5)
