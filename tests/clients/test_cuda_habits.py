"""What a script written for CUDA does besides training, with the device's name in place of "cuda"."""

import copy
import io
import threading

import einops
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import profile

accelerator_only = pytest.mark.accelerator("the CPU has no such method, module or stream")


def network():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))


# Names


@accelerator_only
def test_everything_named_after_cuda_is_named_after_the_device(device, module):
    name = device.type
    x = torch.ones(2)
    assert getattr(torch, name) is module
    assert torch.get_device_module(name) is torch.get_device_module(device) is module
    assert torch.get_device_module() is module
    assert getattr(x, name)().device == device
    assert getattr(x, name)(device).device == device
    assert getattr(x.to(device), f"is_{name}") and not getattr(x, f"is_{name}")
    assert getattr(network(), name)()[0].weight.device == device
    assert getattr(nn.Parameter(x.to(device)), f"is_{name}")
    assert module.is_available() and module.device_count() == torch.accelerator.device_count()


@pytest.mark.parametrize("form", ["string", "indexed", "device", "like"])
def test_a_model_and_its_batch_move_to_the_device(device, form):
    target = {
        "string": device.type,
        "indexed": str(device),
        "device": device,
        "like": torch.zeros(0, device=device),
    }[form]
    net, x = network(), torch.randn(5, 4)
    expected = net(x)
    if form == "like":
        moved = net.to(device)(x.to(target))
    else:
        moved = net.to(target)(x.to(target, non_blocking=True))
    assert moved.device == device
    torch.testing.assert_close(moved.cpu(), expected)


@accelerator_only
def test_the_usual_choice_of_a_device_finds_it(device):
    chosen = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
    assert torch.empty(1, device=chosen).device == device


@accelerator_only
def test_a_number_means_the_device(device):
    assert torch.ones(1).to(0).device == device
    assert torch.ones(1, device=0).device == device
    assert network().to(0)[0].weight.device == device


@pytest.mark.parametrize("form", ["context", "default"])
def test_tensors_and_modules_are_made_on_the_default_device(device, form):
    def made():
        values = [torch.ones(2), torch.tensor([1]), torch.arange(3), torch.randperm(4)]
        return {value.device for value in [*values, network()[0].weight]}

    if form == "context":
        with torch.device(device.type):
            assert made() == {device}
    else:
        torch.set_default_device(device.type)
        try:
            assert made() == {device}
        finally:
            torch.set_default_device(None)
    assert made() == {torch.device("cpu")}


@accelerator_only
def test_a_script_may_ask_whether_bfloat16_is_supported(device, module):
    assert module.is_bf16_supported()
    x = torch.ones(2, 2, device=device, dtype=torch.bfloat16)
    assert (x @ x).tolist() == [[2, 2], [2, 2]]


@accelerator_only
def test_a_context_makes_the_device_of_a_tensor_current(module, device, other_device):
    x = torch.ones(1, device=other_device)
    with module.device_of(x):
        assert module.current_device() == other_device.index
    assert module.current_device() == device.index


@accelerator_only
def test_a_script_may_print_a_summary_of_the_memory(module):
    assert "memory" in module.memory_summary().lower()
    module.reset_accumulated_memory_stats()


# Copies


def test_a_deep_copy_of_a_model_is_equal_and_apart(device):
    net = network().to(device)
    twin = copy.deepcopy(net)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), twin.parameters(), strict=True))
    with torch.no_grad():
        twin[0].weight.zero_()
    assert twin[0].weight.device == device
    assert net[0].weight.abs().sum() > 0


@accelerator_only
@pytest.mark.filterwarnings("ignore:The argument 'device' of Tensor.:DeprecationWarning")
def test_memory_is_pinned_for_the_device(device):
    x = torch.arange(6.0)
    for pinned in (x.pin_memory(), x.pin_memory(device.type), torch.empty(6, pin_memory=True)):
        assert pinned.is_pinned() and pinned.is_pinned(device.type)
        assert pinned.device == torch.device("cpu")
    assert x.pin_memory().to(device, non_blocking=True).tolist() == x.tolist()
    assert not x.is_pinned()


def test_results_go_to_numpy_through_the_cpu(device):
    x = torch.arange(4.0, device=device) * 2
    assert x.cpu().numpy().tolist() == x.numpy(force=True).tolist() == [0, 2, 4, 6]
    if device.type != "cpu":
        with pytest.raises(TypeError, match=r"Tensor\.cpu\(\)"):
            x.numpy()


def test_a_dlpack_capsule_carries_a_tensor_without_a_copy(device):
    x = torch.arange(4.0, device=device)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    assert y.device == device
    y += 1
    assert x.tolist() == [1, 2, 3, 4]


# Streams, events, memory


@pytest.mark.accelerator("streams are real or absent", only="sim")
def test_a_side_stream_computes_between_two_waits(device, module):
    side, x = module.Stream(), torch.full((64, 64), 2.0, device=device)
    side.wait_stream(module.current_stream())
    with module.stream(side):
        assert module.current_stream() == side
        y = x @ x
        x.record_stream(side)
    module.current_stream().wait_stream(side)
    y.record_stream(module.current_stream())
    assert (y + 1).unique().tolist() == [257.0]


@accelerator_only
def test_two_events_enclose_work(device, module):
    start, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
    start.record()
    torch.ones(8, device=device).sum()
    end.record()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0


@accelerator_only
def test_memory_is_counted_and_given_back(device, module):
    module.empty_cache()
    module.reset_peak_memory_stats()
    before = module.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    assert module.memory_allocated() - before >= x.nbytes
    del x
    assert module.memory_allocated() == before
    assert module.max_memory_allocated() - before >= 1 << 20
    module.synchronize()
    free, total = module.mem_get_info()
    assert 0 < free <= total == module.get_device_properties(0).total_memory


@accelerator_only
def test_too_large_a_tensor_is_an_out_of_memory_error(device):
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        torch.empty(1 << 46, dtype=torch.uint8, device=device)
    assert torch.ones(3, device=device).sum().item() == 3


# Random numbers


def test_one_seed_governs_the_device(device):
    def draw():
        torch.manual_seed(7)
        return torch.randn(4, device=device).tolist()

    assert draw() == draw()


def test_a_generator_of_the_device_is_its_own(device):
    def draw():
        generator = torch.Generator(device=device).manual_seed(3)
        return torch.rand(4, device=device, generator=generator).tolist()

    first = draw()
    torch.rand(3, device=device)
    assert draw() == first


@accelerator_only
def test_forked_random_numbers_leave_the_device_as_it_was(device):
    torch.manual_seed(7)
    expected = torch.rand(4, device=device).tolist()
    torch.manual_seed(7)
    with torch.random.fork_rng([0]), torch.random.fork_rng([0], device_type=device.type):
        torch.rand(9, device=device)
    assert torch.rand(4, device=device).tolist() == expected


def test_distributions_sample_and_score_on_the_device(device):
    mean = torch.zeros(2000, device=device, requires_grad=True)
    normal = torch.distributions.Normal(mean, 1.0)
    sample = normal.rsample()
    assert sample.device == device and abs(sample.mean().item()) < 0.2
    values = sample.detach().cpu()
    expected = torch.distributions.Normal(torch.zeros(2000), 1.0).log_prob(values)
    torch.testing.assert_close(normal.log_prob(sample.detach()).cpu(), expected)
    sample.sum().backward()
    assert mean.grad.unique().tolist() == [1.0]
    choice = torch.distributions.Categorical(probs=torch.tensor([0.0, 1.0, 0.0], device=device))
    assert choice.sample((5,)).tolist() == [1] * 5


# Mixed precision


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_training_under_autocast_and_a_scaler_learns(device, dtype):
    assert torch.amp.is_autocast_available(device.type)
    net = network().to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
    scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)
    x = torch.randn(32, 4, device=device)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=dtype):
            assert torch.is_autocast_enabled(device.type)
            loss = F.mse_loss(net(x).float(), x[:, :3])
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_a_scaler_skips_a_step_with_infinite_gradients(device):
    net = network().to(device)
    before = copy.deepcopy(net.state_dict())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device.type, init_scale=1024.0)
    scaler.scale(net(torch.full((2, 4), float("inf"), device=device)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 512.0
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())


# Graphs of a program


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


PROGRAMS = {
    "perceptron": (network, lambda: torch.randn(5, 4)),
    "attention": (Attention, lambda: torch.randn(2, 5, 8)),
}


def results_of(net, compiled, x):
    """Of the network in its compiled form, and the gradients of its parameters."""
    net.zero_grad()
    out = compiled(x)
    out.square().sum().backward()
    # Clones: moving the network moves its gradients too.
    gradients = [parameter.grad.clone() for parameter in net.parameters()]
    return [value.detach().cpu() for value in (out, *gradients)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_compiled_model_gives_the_results_and_gradients_of_the_cpu(device, program, backend):
    torch._dynamo.reset()
    make, make_input = PROGRAMS[program]
    torch.manual_seed(1)
    net, x = make(), make_input()
    expected = results_of(net, net, x)
    net.to(device)
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    torch.testing.assert_close(results_of(net, compiled, x.to(device)), expected)


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_exported_program_runs_on_the_device(device, program):
    make, make_input = PROGRAMS[program]
    torch.manual_seed(1)
    net, x = make().eval(), make_input()
    expected = net(x)
    net.to(device)
    exported = torch.export.export(net, (x.to(device),))
    result = exported.module()(x.to(device))
    assert result.device == device
    torch.testing.assert_close(result.cpu(), expected)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("how", ["trace", "script"])
def test_a_torchscript_model_is_saved_and_loaded_onto_the_device(device, how):
    net, x = network(), torch.randn(5, 4)
    expected = net(x)
    net.to(device)
    made = torch.jit.script(net) if how == "script" else torch.jit.trace(net, x.to(device))
    file = io.BytesIO()
    torch.jit.save(made, file)
    file.seek(0)
    result = torch.jit.load(file, map_location=device)(x.to(device))
    assert result.device == device
    torch.testing.assert_close(result.cpu(), expected)


def test_a_profile_names_the_operators_of_the_device(device):
    x = torch.randn(4, 4, device=device)
    with profile() as record:
        (x @ x).relu()
    names = {event.key for event in record.key_averages()}
    assert {"aten::mm", "aten::relu"} <= names
    assert "aten::mm" in record.key_averages().table()


# Shapes and threads

EINOPS = {
    "rearrange": lambda x: einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2),
    "reduce": lambda x: einops.reduce(x, "b c (h 2) (w 2) -> b c h w", "max"),
    "repeat": lambda x: einops.repeat(x, "b c h w -> b c (h 2) (w 3)"),
    "einsum": lambda x: einops.einsum(x, x, "b c h w, b d h w -> b c d"),
    "pack": lambda x: einops.pack([x, x[:, :, 0]], "b c *")[0],
    "torch_einsum": lambda x: torch.einsum("bchw,bdhw,bchw->bd", x, x, x),
    "channels_last": lambda x: F.conv2d(x.to(memory_format=torch.channels_last), x[:2, :, :3, :3]),
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops_gives_the_cpus_results(device, name):
    x = torch.randn(2, 3, 4, 6)
    result, expected = EINOPS[name](x.to(device)), EINOPS[name](x)
    assert result.device == device
    torch.testing.assert_close(result.cpu(), expected)


def test_einops_layers_train_as_on_the_cpu(device):
    from einops.layers.torch import Rearrange, Reduce

    torch.manual_seed(1)
    net = nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2),
        nn.Linear(12, 5),
        Reduce("b n c -> b c", "mean"),
    )
    x = torch.randn(2, 3, 4, 6)
    net(x).square().sum().backward()
    expected = net[1].weight.grad.clone()
    net.zero_grad()
    net.to(device)(x.to(device)).square().sum().backward()
    torch.testing.assert_close(net[1].weight.grad.cpu(), expected)


def test_threads_share_a_model_on_the_device(device):
    net, x = network().to(device).eval(), torch.randn(4, 6, 4)
    with torch.no_grad():
        expected = [net(part.to(device)).cpu() for part in x]
    results = [None] * len(x)

    def serve(index):
        with torch.inference_mode():
            results[index] = net(x[index].to(device)).cpu()

    threads = [threading.Thread(target=serve, args=(index,)) for index in range(len(x))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.testing.assert_close(results, expected)
