"""What cannot be done is refused with PyTorch's own types, and the device goes on working."""

import re

import pytest
import torch
from helpers import error_of, output_of, same_outcome, still_works, synchronize
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def the_device_still_works(device):
    yield
    assert still_works(device)


# ---- mixed devices ----

MIXTURES = {
    "mm": lambda a, b: a @ b,
    "mm_out": lambda a, b: torch.mm(a, a, out=b),
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "add": lambda a, b: a + b,
    "add_of_one_element": lambda a, b: a + b[:1, 0],
    "add_": lambda a, b: a.add_(b),
    "lt": lambda a, b: a < b,
    "cat": lambda a, b: torch.cat([a, b]),
    "stack": lambda a, b: torch.stack([a, b]),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "linear": lambda a, b: F.linear(a, b),
    "conv1d": lambda a, b: F.conv1d(a[None], b[:, :, None]),
    "layer_norm": lambda a, b: F.layer_norm(a, (3,), b[0], b[1]),
    "mse_loss": lambda a, b: F.mse_loss(a, b),
    "cross_entropy": lambda a, b: F.cross_entropy(a, b[0].long()),
    "embedding": lambda a, b: F.embedding(b[0].long(), a),
    "index_select": lambda a, b: a.index_select(0, b[0].long()),
    "gather": lambda a, b: a.gather(0, b.long()),
    "scatter": lambda a, b: a.scatter(0, torch.zeros_like(a).long(), b),
    "masked_fill": lambda a, b: a.masked_fill(b > 0, 0.0),
    "dot": lambda a, b: a[0].dot(b[0]),
    "solve": lambda a, b: torch.linalg.solve(a, b),
}


@pytest.mark.accelerator("the CPU may be mixed with itself")
@pytest.mark.parametrize("order", ["device_first", "cpu_first"])
@pytest.mark.parametrize("name", MIXTURES)
def test_cpu_and_device_tensors_do_not_mix(device, name, order):
    a, b = torch.eye(3, device=device), torch.eye(3)
    if order == "cpu_first":
        a, b = b, a
    with pytest.raises(RuntimeError) as caught:
        MIXTURES[name](a, b)
        synchronize(device)
    text = str(caught.value)
    assert "cpu" in text.lower() and device.type in text.lower(), text
    assert a.tolist() == b.tolist() == torch.eye(3).tolist()


@pytest.mark.accelerator("the CPU has one device")
@pytest.mark.parametrize("name", MIXTURES)
def test_two_devices_do_not_mix(device, other_device, name):
    a, b = torch.eye(3, device=device), torch.eye(3, device=other_device)
    with pytest.raises(RuntimeError) as caught:
        MIXTURES[name](a, b)
        synchronize(device)
    assert str(device) in str(caught.value) and str(other_device) in str(caught.value)


@pytest.mark.accelerator("the CPU may be mixed with itself")
def test_a_module_and_its_input_must_be_together(device):
    with pytest.raises(RuntimeError, match="(?s)(cpu.*%s|%s.*cpu)" % ((device.type,) * 2)):
        torch.nn.Linear(3, 2).to(device)(torch.ones(1, 3))


# ---- no such device ----


@pytest.mark.accelerator("the CPU has no index")
@pytest.mark.parametrize(
    "use",
    [
        lambda d: torch.empty(1, device=d),
        lambda d: torch.zeros(3).to(d),
        lambda d: torch.rand(2, device=d),
        lambda d: torch.nn.Linear(2, 2).to(d),
        lambda d: torch.Generator(device=d).manual_seed(1) and torch.rand(2, device=d),
    ],
    ids=["empty", "to", "rand", "module", "generator"],
)
def test_an_index_beyond_the_last_device_is_refused(device, use):
    with pytest.raises(RuntimeError, match="9"):
        use(torch.device(f"{device.type}:9"))


@pytest.mark.accelerator("the CPU stands in for itself")
def test_a_device_name_nobody_has_is_refused():
    with pytest.raises(RuntimeError, match="nosuchdevice"):
        torch.device("nosuchdevice")


# ---- no such memory ----


@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.empty(1 << 62, dtype=torch.float64, device=d),
        lambda d: torch.empty(1 << 40, 1 << 40, device=d),
        lambda d: torch.empty_strided((1 << 31, 1 << 31), (1 << 33, 1), device=d),
        lambda d: torch.zeros(4, device=d).resize_(1 << 62),
        lambda d: torch.zeros(4, device=d).repeat(1 << 40, 1 << 30),
        lambda d: torch.empty(-1, device=d),
        lambda d: torch.zeros(4, device=d).as_strided((1 << 40,), (1 << 40,)),
    ],
    ids=["elements", "product", "strides", "resize", "repeat", "negative", "as_strided"],
)
def test_a_size_that_overflows_is_refused(device, make):
    expected = error_of(lambda: make("cpu"), torch.device("cpu"))
    assert expected is not None
    raised = error_of(lambda: make(device), device)
    assert raised is not None and issubclass(raised, expected)


@pytest.mark.accelerator("the CPU raises RuntimeError")
def test_more_memory_than_there_is_raises_out_of_memory(device):
    with pytest.raises(torch.OutOfMemoryError, match=r"(?i)memory"):
        torch.empty(1 << 50, dtype=torch.uint8, device=device)


@pytest.mark.accelerator("its memory has a limit", only="sim")
def test_smaller_allocations_work_after_running_out(device):
    code = """
        def make(mebibytes):
            return torch.full((mebibytes << 20,), 3, dtype=torch.uint8, device=device)

        kept = make(30)
        try:
            make(50)
        except torch.OutOfMemoryError as error:
            print(" ".join(str(error).split()))
        small = torch.ones(100, device=device) + 1
        print(small.sum().item(), kept[-1].item())
        del kept
        print(make(50)[-1].item())
    """
    text, before, after = output_of(code, device, TORCHPLUG_SIM_MEMORY=64 << 20).splitlines()
    assert re.search(r"\b50(\.0+)? MiB|52428800", text), "it does not say how much was asked for"
    assert (before, after) == ("200.0 3", "3")


@pytest.mark.accelerator("its memory has a limit", only="sim")
def test_cached_memory_is_freed_before_running_out(device):
    code = """
        MIB = 1 << 20
        for size in (40, 24, 48, 12, 56):
            x = torch.full((size * MIB,), 1, dtype=torch.uint8, device=device)
            assert x[-1].item() == 1
            del x
        print("fits")
    """
    assert output_of(code, device, TORCHPLUG_SIM_MEMORY=64 << 20) == "fits"


@pytest.mark.accelerator("its memory has a limit", only="sim")
def test_an_operator_whose_result_does_not_fit_leaves_its_arguments_alone(device):
    code = """
        x = torch.ones(10 << 20, device=device)
        try:
            x + x
            torch.accelerator.synchronize()
        except torch.OutOfMemoryError:
            print("refused", x.sum().item(), x[:8].add_(1).tolist()[0])
    """
    assert output_of(code, device, TORCHPLUG_SIM_MEMORY=64 << 20) == f"refused {10 << 20}.0 2.0"


@pytest.mark.accelerator("its memory has a limit", only="sim")
def test_a_call_that_did_not_fit_is_right_when_it_does(device):
    code = """
        large = torch.linspace(0, 1, 1 << 20, dtype=torch.float64, device=device)
        small = torch.linspace(0, 1, 8, device=device)
        for x in (large, small):
            for _ in range(3):
                x.exp()
        hog = []
        for size in (8 << 20, 1 << 20):
            try:
                while True:
                    hog.append(torch.empty(size, dtype=torch.uint8, device=device))
            except torch.OutOfMemoryError:
                pass
        try:
            large.exp()
        except torch.OutOfMemoryError:
            print("refused")
        hog.clear()
        print(torch.equal(large.exp().cpu(), large.cpu().exp()))
    """
    assert output_of(code, device, TORCHPLUG_SIM_MEMORY=64 << 20) == "refused\nTrue"


# ---- what the CPU refuses ----

X = torch.arange(12.0).reshape(3, 4)

REFUSALS = {
    "mm_shapes": lambda x: x @ x,
    "add_shapes": lambda x: x + x.t(),
    "cat_shapes": lambda x: torch.cat([x, x.t()]),
    "view_size": lambda x: x.view(5, 5),
    "view_of_transposed": lambda x: x.t().view(-1),
    "reshape_size": lambda x: x.reshape(7),
    "expand": lambda x: x.expand(2, 5, 4),
    "dim_out_of_range": lambda x: x.sum(5),
    "squeeze_dim": lambda x: x.unsqueeze(7),
    "permute": lambda x: x.permute(0, 0),
    "bitwise_of_floats": lambda x: x & 1,
    "mean_of_integers": lambda x: x.long().mean(),
    "mm_of_two_dtypes": lambda x: x @ x.double().t(),
    "in_place_promotion": lambda x: x.long().add_(1.5),
    "in_place_broadcast": lambda x: x[0].add_(x),
    "neg_of_bool": lambda x: -(x > 0),
    "sub_of_bool": lambda x: (x > 0) - (x > 1),
    "integer_power": lambda x: x.long() ** -1,
    "softmax_of_integers": lambda x: x.long().softmax(0),
    "dropout_probability": lambda x: F.dropout(x, 1.5),
    "conv_channels": lambda x: F.conv1d(x[None], torch.ones(2, 5, 1).to(x)),
    "pool_window": lambda x: F.max_pool1d(x[None], 9),
    "cross_entropy_target": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 99]).to(x.device)),
    "nll_of_floats": lambda x: F.nll_loss(x, x[:, 0]),
    "one_hot_of_floats": lambda x: F.one_hot(x),
    "embedding_of_floats": lambda x: F.embedding(x, x),
    "inverse_of_a_rectangle": lambda x: torch.linalg.inv(x),
    "singular_solve": lambda x: torch.linalg.solve(torch.zeros(3, 3).to(x), x),
    "topk_too_many": lambda x: x.topk(9),
    "sort_of_complex": lambda x: (x + 0j).sort(),
    "index_fill_dtype": lambda x: x.index_fill(0, torch.tensor([0.5]).to(x), 1),
    "scatter_shape": lambda x: x.scatter_add(0, torch.zeros(5, 5).long().to(x.device), x),
    "where_condition": lambda x: torch.where(x, x, x),
    "masked_select_mask": lambda x: x.masked_select(x),
    "out_dtype": lambda x: torch.add(
        x, x, out=torch.empty(3, 4, dtype=torch.int64, device=x.device)
    ),
    "out_overlaps": lambda x: torch.add(x.view(-1)[1:], 1, out=x.view(-1)[:-1]),
    "set_dtype": lambda x: x.set_(x.double()),
    "view_dtype": lambda x: x[:, :3].view(torch.float64),
    "item_of_many": lambda x: x.item(),
    "bernoulli_range": lambda x: torch.bernoulli(x + 5),
    "multinomial_negative": lambda x: torch.multinomial(x - 100, 1),
    "normal_negative_deviation": lambda x: x.normal_(0, -1),
    "randperm_negative": lambda x: torch.randperm(-1, device=x.device),
    "arange_infinite": lambda x: torch.arange(0, 5, 0, device=x.device),
    "histc_range": lambda x: torch.histc(x, 4, 5, 1),
    "bincount_negative": lambda x: torch.bincount(x[0].long() - 3),
    "batch_norm_of_one": lambda x: F.batch_norm(x[:1], None, None, training=True),
    "backward_of_a_vector": lambda x: (x.requires_grad_() * 2).backward(),
    "grad_of_integers": lambda x: x.long().requires_grad_(),
    "in_place_on_a_leaf": lambda x: x.requires_grad_().add_(1),
    "fft_size": lambda x: torch.fft.fft(x, 0),
    "einsum_labels": lambda x: torch.einsum("ij,jk", x, x),
    "quantile_range": lambda x: x.quantile(1.5),
    "split_sizes": lambda x: x.split([1, 9]),
    "unfold_too_long": lambda x: x.unfold(0, 9, 1),
    "layer_norm_shape": lambda x: F.layer_norm(x, (3,)),
    "sdpa_shapes": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None, :, :2].mT),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_the_cpu_refuses_is_refused_with_the_same_type(device, name):
    assert error_of(lambda: REFUSALS[name](X.clone()), torch.device("cpu")) is not None
    same_outcome(device, REFUSALS[name], X)


@pytest.mark.parametrize("name", ["mm_shapes", "view_size", "dim_out_of_range", "mean_of_integers"])
def test_the_text_of_a_refusal_is_the_cpus(device, name):
    texts = []
    for where in ("cpu", device):
        with pytest.raises((RuntimeError, IndexError)) as caught:
            REFUSALS[name](X.to(where))
            synchronize(device)
        texts.append(str(caught.value).splitlines()[0])
    assert texts[0] in texts[1]


@pytest.mark.parametrize(
    "name",
    [
        "add_shapes",
        "in_place_promotion",
        "cross_entropy_target",
        "bincount_negative",
        "out_overlaps",
    ],
)
def test_a_refused_operator_leaves_its_arguments_alone(device, name):
    x = X.to(device, copy=True)
    assert error_of(lambda: REFUSALS[name](x), device) is not None
    assert x.tolist() == X.tolist()


def test_many_errors_in_a_row_leave_nothing_behind(device):
    x = X.to(device)
    for _ in range(100):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            x @ x
    assert (x + 1).tolist() == (X + 1).tolist()


# ---- what a device operator may write ----


@pytest.mark.accelerator("the CPU is the host")
@pytest.mark.parametrize(
    "write",
    [lambda host, x: torch.sum(x, dim=0, out=host), lambda host, x: host.sub_(x.sum())],
    ids=["out", "in_place"],
)
def test_a_host_tensor_is_not_written_by_an_operator_of_the_device(device, write):
    host = torch.tensor(-7.0)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="same device"):
            write(host, torch.ones(4, device=device))
    assert host.item() == -7.0


def test_an_index_no_device_can_have_is_refused(device, module):
    if device.type != "cpu":
        with pytest.raises(RuntimeError, match="256"):
            module.set_device(256)
