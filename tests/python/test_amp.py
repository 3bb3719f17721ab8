"""Autocast on the device: its state, its types, its cache, and training under it."""

import contextlib
import copy
import threading
import warnings

import pytest
import torch
from helpers import assert_equal, assert_same, output_of
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from vendors import compile_plugin

pytestmark = pytest.mark.accelerator("computes in less than float32", only="sim")

LOWER = [torch.float16, torch.bfloat16]


def matrices(device, count=2, n=8, dtype=torch.float32, **options):
    return [torch.randn(n, n, device=device, dtype=dtype, **options) for _ in range(count)]


class Casts(TorchDispatchMode):
    """Counts conversions, whoever does them."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten._to_copy.default
        return func(*args, **(kwargs or {}))


def casts_of(fn):
    """How many copies between dtypes fn made on the device."""
    with Casts() as casts:
        fn()
    return casts.count


# ---- state ----


@contextlib.contextmanager
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_the_state_functions_tell_what_is_in_force(device):
    name = device.type
    assert torch.amp.is_autocast_available(name)
    assert torch.is_autocast_enabled(name) is False
    assert torch.get_autocast_dtype(name) == torch.float16
    with no_warning(), torch.autocast(name, dtype=torch.bfloat16, cache_enabled=False):
        assert torch.is_autocast_enabled(name) is True
        assert torch.get_autocast_dtype(name) == torch.bfloat16
        assert torch.is_autocast_cache_enabled() is False
        with torch.autocast(name, enabled=False):
            assert torch.is_autocast_enabled(name) is False
        assert torch.is_autocast_enabled(name) is True
    assert torch.is_autocast_enabled(name) is False
    assert torch.get_autocast_dtype(name) == torch.float16
    assert torch.is_autocast_cache_enabled() is True


def test_the_state_can_be_set_without_a_region(device):
    x, y = matrices(device)
    torch.set_autocast_dtype(device.type, torch.bfloat16)
    torch.set_autocast_enabled(device.type, True)
    try:
        assert (x @ y).dtype == torch.bfloat16
    finally:
        torch.set_autocast_enabled(device.type, False)
        torch.set_autocast_dtype(device.type, torch.float16)


def test_regions_nest_and_a_disabled_one_computes_in_full(device):
    x, y = matrices(device)
    with torch.autocast(device.type, dtype=torch.float16):
        assert (x @ y).dtype == torch.float16
        with torch.autocast(device.type, enabled=False):
            assert (x @ y).dtype == torch.float32
            with torch.autocast(device.type, dtype=torch.bfloat16):
                assert (x @ y).dtype == torch.bfloat16
        assert (x @ y).dtype == torch.float16
    assert (x @ y).dtype == torch.float32


def test_a_region_ends_when_it_raises(device):
    with contextlib.suppress(ZeroDivisionError), torch.autocast(device.type):
        raise ZeroDivisionError
    assert torch.is_autocast_enabled(device.type) is False


def test_functions_and_modules_can_be_decorated(device):
    class Net(nn.Linear):
        @torch.autocast(device.type, dtype=torch.bfloat16)
        def forward(self, x):
            return super().forward(x)

    @torch.autocast(device.type, dtype=torch.float16)
    def product(x, y):
        return x @ y

    x, y = matrices(device)
    assert product(x, y).dtype == torch.float16
    assert Net(8, 8).to(device)(x).dtype == torch.bfloat16
    assert (x @ y).dtype == torch.float32


def test_the_state_belongs_to_the_thread(device):
    x, y = matrices(device)
    seen = {}

    def work(name, region):
        with region:
            seen[name] = (x @ y).dtype

    with torch.autocast(device.type, dtype=torch.float16):
        threads = [
            threading.Thread(target=work, args=("plain", contextlib.nullcontext())),
            threading.Thread(
                target=work, args=("lowered", torch.autocast(device.type, dtype=torch.bfloat16))
            ),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (x @ y).dtype == torch.float16
    assert seen == {"plain": torch.float32, "lowered": torch.bfloat16}


def test_backward_runs_in_the_types_of_forward(device):
    """Outside of the region, and on autograd's own thread for the device."""
    layer = nn.Linear(8, 8).to(device)
    seen = []
    with torch.autocast(device.type, dtype=torch.bfloat16):
        result = layer(torch.randn(4, 8, device=device))
    result.register_hook(lambda grad: seen.append(grad.dtype))
    result.float().square().sum().backward()
    assert seen == [torch.bfloat16]
    assert layer.weight.grad.dtype == torch.float32


# ---- types ----

HALF_DEVICE = """
#include "base.h"
static plug_status device_info(int32_t device, plug_device_info *info) {{
  static const plug_dtype dtypes[] = {{PLUG_F32, {dtypes}}};
  base_info(device, info);
  info->dtypes = dtypes;
  info->dtype_count = sizeof dtypes / sizeof *dtypes;
  return PLUG_OK;
}}
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {{
  make_device(given, "{name}");
  runtime.device_info = device_info;
  *out = &module;
  return PLUG_OK;
}}
"""


def on_device_with(dtypes, code, folder):
    """What code prints in a process whose device, without a host view, declares float32 and `dtypes`."""
    plugin = compile_plugin(folder, "halves", HALF_DEVICE.format(name="halves", dtypes=dtypes))
    return output_of(code, "halves", TORCHPLUG_DEVICE=plugin)


DEFAULTS = """
import threading, warnings
warnings.simplefilter("error")
x = torch.ones(2, 2, device=device)

def default():
    with torch.autocast("halves"):
        return (x @ x).dtype

print(default(), torch.halves.is_bf16_supported(), torch.halves.get_amp_supported_dtype())
with torch.halves.amp.autocast():
    print((x @ x).dtype)

def work():
    with torch.halves.device(0):  # as DataParallel's threads do
        print(default())

thread = threading.Thread(target=work)
thread.start()
thread.join()
with torch.autocast("halves", dtype=torch.bfloat16):
    y = (x @ x).relu() @ x
print(y.dtype, y.tolist())
"""


def test_a_device_that_declares_bfloat16_alone_takes_it_by_default(tmp_path):
    lines = on_device_with("PLUG_BF16", DEFAULTS, tmp_path).splitlines()
    assert lines[0] == "torch.bfloat16 True [torch.bfloat16, torch.float32]"
    assert lines[1:3] == ["torch.bfloat16"] * 2
    assert lines[3] == "torch.bfloat16 [[4.0, 4.0], [4.0, 4.0]]"


def test_a_device_that_declares_both_takes_float16_by_default(tmp_path):
    lines = on_device_with("PLUG_BF16, PLUG_F16", DEFAULTS, tmp_path).splitlines()
    assert lines[0] == "torch.float16 True [torch.float16, torch.bfloat16, torch.float32]"
    assert lines[1:3] == ["torch.float16"] * 2


NEITHER = """
import warnings
x = torch.ones(2, 2, device=device)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autocast("halves", dtype=torch.bfloat16):
        print((x @ x).dtype, torch.is_autocast_enabled("halves"))
print(len(caught), "only supports dtypes of torch.float32" in str(caught[0].message))
"""


def test_a_device_that_declares_neither_warns_once_and_computes_in_float32(tmp_path):
    lines = on_device_with("PLUG_I32", NEITHER, tmp_path).splitlines()
    assert lines == ["torch.float32 False", "1 True"]


# ---- the cache ----


def test_a_weight_is_cast_once_in_a_region(device):
    layer = nn.Linear(8, 8, bias=False).to(device)
    x = torch.randn(4, 8, device=device).bfloat16()

    def run(times, **options):
        with torch.autocast(device.type, dtype=torch.bfloat16, **options):
            for _ in range(times):
                layer(x)

    run(1)
    assert casts_of(lambda: run(5)) == 1
    assert casts_of(lambda: run(5, cache_enabled=False)) == 5
    assert casts_of(lambda: [run(1), run(1)]) == 2, "a new region begins anew"


def test_the_cache_is_kept_until_the_outermost_region_ends(device):
    layer = nn.Linear(8, 8, bias=False).to(device)
    x = torch.randn(4, 8, device=device).bfloat16()

    def run():
        with torch.autocast(device.type, dtype=torch.bfloat16):
            layer(x)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                layer(x)
            layer(x)

    run()
    assert casts_of(run) == 1


def test_a_weight_changed_between_regions_is_cast_anew(device):
    layer = nn.Linear(8, 8, bias=False).to(device)
    x = torch.randn(4, 8, device=device)
    results = []
    for _ in range(2):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            results.append(layer(x))
        with torch.no_grad():
            layer.weight.mul_(2)
    assert_equal(results[1], results[0] * 2)


def test_a_weight_first_seen_without_gradients_gets_one_later_in_the_region(device):
    layer = nn.Linear(8, 8).to(device)
    x = torch.randn(4, 8, device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        with torch.no_grad():
            layer(x)
        layer(x).sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.abs().sum() > 0


def test_the_cache_is_by_weight_whatever_the_type(device):
    """As on CUDA, if surprising: docs/amp.md says so."""
    layer = nn.Linear(8, 8, bias=False).to(device)
    x = torch.randn(4, 8, device=device)
    with torch.autocast(device.type, dtype=torch.float16):
        layer(x)
        with torch.autocast(device.type, dtype=torch.bfloat16, cache_enabled=False):
            assert layer(x).dtype == torch.bfloat16
        with (
            torch.autocast(device.type, dtype=torch.bfloat16),
            pytest.raises(RuntimeError, match="same dtype"),
        ):
            layer(x)


def test_the_cache_keeps_no_memory_after_the_region(device, module):
    layer = nn.Linear(256, 256).to(device)
    x = torch.randn(4, 256, device=device)
    module.synchronize()
    before = module.memory_allocated()
    with torch.autocast(device.type, dtype=torch.bfloat16), torch.no_grad():
        layer(x)
        assert module.memory_allocated() >= before + 256 * 256 * 2
    module.synchronize()
    assert module.memory_allocated() == before


# ---- functions of one's own, checkpoints, compiled graphs ----


@pytest.mark.parametrize("module_of", ["torch.amp", "torch.<device>.amp"])
def test_custom_forward_and_backward_run_under_the_state_of_forward(device, module, module_of):
    if module_of == "torch.amp":
        options = {"device_type": device.type}
        custom_fwd, custom_bwd = torch.amp.custom_fwd, torch.amp.custom_bwd
    else:
        options, custom_fwd, custom_bwd = {}, module.amp.custom_fwd, module.amp.custom_bwd
    seen = []

    def decorated(function, decorator, **more):
        return staticmethod(decorator(function, **options, **more))

    class Product(torch.autograd.Function):
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, torch.is_autocast_enabled(device.type)))
            return a @ b

        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((grad.dtype, torch.is_autocast_enabled(device.type)))
            return grad @ b.t(), a.t() @ grad

    class Lowered(Product):
        forward = decorated(Product.forward, custom_fwd)
        backward = decorated(Product.backward, custom_bwd)

    class InFull(Product):
        forward = decorated(Product.forward, custom_fwd, cast_inputs=torch.float32)
        backward = decorated(Product.backward, custom_bwd)

    x, y = matrices(device, requires_grad=True)
    for function, dtype, enabled in (
        (Lowered, torch.float16, True),
        (InFull, torch.float32, False),
    ):
        seen.clear()
        with torch.autocast(device.type, dtype=torch.float16):
            result = function.apply(x, y)
        assert result.dtype == dtype
        result.float().sum().backward()
        assert seen == [(torch.float32, enabled), (dtype, enabled)]
        assert x.grad.dtype == torch.float32


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpointed_block_is_recomputed_under_the_same_state(device, reentrant):
    def run(checkpointed):
        torch.manual_seed(3)
        block = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 8)).to(
            device
        )
        x = torch.randn(4, 8, device=device, requires_grad=True)
        dtypes = []
        block[0].register_forward_hook(lambda _, __, result: dtypes.append(result.dtype))
        with torch.autocast(device.type, dtype=torch.bfloat16):
            y = checkpoint(block, x, use_reentrant=reentrant) if checkpointed else block(x)
        y.float().sum().backward()
        assert set(dtypes) == {torch.bfloat16} and len(dtypes) == 1 + checkpointed
        return y, x.grad, [p.grad for p in block.parameters()]

    assert_equal(run(True), run(False))


@pytest.mark.parametrize("inside", [True, False], ids=["region_inside", "region_outside"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("of", ["torch", "module"])
def test_a_compiled_function_computes_under_autocast_as_an_eager_one(
    device, module, backend, inside, of
):
    torch._dynamo.reset()
    if of == "torch":
        region = torch.autocast(device.type, dtype=torch.bfloat16)
    else:
        region = module.amp.autocast(dtype=torch.bfloat16)
    layer = nn.Linear(8, 8).to(device)

    def fn(x):
        with region if inside else contextlib.nullcontext():
            return torch.softmax(layer(x) @ x, 0)

    def run(function):
        layer.zero_grad()
        with contextlib.nullcontext() if inside else region:
            y = function(x)
        y.sum().backward()
        return y, layer.weight.grad.clone()

    x = torch.randn(8, 8, device=device)
    actual = run(torch.compile(fn, backend=backend, fullgraph=True))
    assert_same(actual, run(fn), rtol=1e-2, atol=1e-2)
    assert actual[0].dtype == torch.float32


def test_fake_tensors_have_the_types_of_real_ones(device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), torch.autocast(device.type, dtype=torch.float16):
        x = torch.empty(4, 4, device=device)
        assert (x @ x).dtype == torch.float16 and (x @ x).device == device
        assert torch.exp(x.half()).dtype == torch.float32


def test_the_module_of_the_device_has_what_torch_cuda_amp_has(module, device):
    import torch.cuda.amp

    assert set(torch.cuda.amp.__all__) <= set(dir(module.amp))
    assert module.amp.amp_definitely_not_available() is False
    x, y = matrices(device)
    with module.amp.autocast():
        assert (x @ y).dtype == torch.float16
    with module.amp.autocast(dtype=torch.bfloat16):
        assert (x @ y).dtype == torch.bfloat16
    with module.amp.autocast(enabled=False):
        assert (x @ y).dtype == torch.float32
    assert module.amp.autocast()(lambda: x @ y)().dtype == torch.float16
    assert isinstance(module.amp.GradScaler(), torch.amp.GradScaler)
    assert module.amp.GradScaler(init_scale=8.0).get_scale() == 8.0


# ---- training ----


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 11)

    def forward(self, tokens):
        return self.head(self.block(self.embedding(tokens)))


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.GELU(), nn.Flatten(), nn.Linear(32, 5),
    )  # fmt: skip


def data_for(make):
    generator = torch.Generator().manual_seed(5)
    if make is Transformer:
        tokens = torch.randint(0, 11, (8, 6), generator=generator)
        return tokens, (tokens + 1) % 11
    return torch.randn(16, 1, 8, 8, generator=generator), torch.arange(16) % 5


def train(make, where, dtype, region_device=None, steps=25):
    """The losses and the parameters; `dtype` None: without autocast, in float64."""
    torch.manual_seed(0)
    net = make().to(where)
    x, target = (tensor.to(where) for tensor in data_for(make))
    if dtype is None:
        net = net.double()
        x = x.double() if x.is_floating_point() else x
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    name = torch.device(where).type
    scaler = torch.amp.GradScaler(name, enabled=dtype == torch.float16)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(name, dtype=dtype, enabled=dtype is not None):
            result = net(x)
            loss = F.cross_entropy(result.flatten(0, -2), target.flatten())
        assert dtype is None or result.dtype == dtype
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu().double() for parameter in net.parameters()]


def distance(parameters, expected):
    moved = sum((p - e).square().sum() for p, e in zip(parameters, expected, strict=True))
    return (moved / sum(e.square().sum() for e in expected)).sqrt().item()


@pytest.mark.parametrize("dtype", LOWER, ids=str)
@pytest.mark.parametrize("make", [Transformer, convnet])
def test_training_in_lower_precision_follows_training_in_float64(device, make, dtype):
    losses, parameters = train(make, device, dtype)
    exact_losses, exact = train(make, "cpu", None)
    assert losses[-1] < 0.7 * losses[0]
    assert losses[-1] == pytest.approx(exact_losses[-1], rel=0.1)
    start = [p.detach().double() for p in (torch.manual_seed(0), make())[1].parameters()]
    assert distance(parameters, exact) < 0.15 * distance(start, exact)
    if dtype == torch.bfloat16:
        _, on_cpu = train(make, "cpu", torch.bfloat16)
        assert distance(parameters, on_cpu) < 0.15 * distance(start, exact)


def test_a_copied_model_trains_alike_under_autocast(device):
    net = nn.Linear(8, 8).to(device)
    twin = copy.deepcopy(net)
    x = torch.randn(4, 8, device=device)
    for model in (net, twin):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = model(x).float().square().sum()
        loss.backward()
    assert_equal(net.weight.grad, twin.weight.grad)
