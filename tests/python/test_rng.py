"""Random numbers on the device: its own generators, governed by its own seeds and by PyTorch's."""

import pytest
import torch
from helpers import assert_equal, on, output_of, synchronize
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

# Each draws on the device, from `generator` or from the default one.
DRAWS = {
    "rand": lambda d, g: torch.rand(50, device=d, generator=g),
    "rand_float64": lambda d, g: torch.rand(50, device=d, dtype=torch.float64, generator=g),
    "randn": lambda d, g: torch.randn(50, device=d, generator=g),
    "randn_odd_size": lambda d, g: torch.randn(7, 3, device=d, generator=g),
    "randn_half": lambda d, g: torch.randn(50, device=d, dtype=torch.bfloat16, generator=g),
    "randn_complex": lambda d, g: torch.randn(50, device=d, dtype=torch.complex64, generator=g),
    "randint": lambda d, g: torch.randint(0, 1000, (50,), device=d, generator=g),
    "randint_large": lambda d, g: torch.randint(-(1 << 60), 1 << 60, (50,), device=d, generator=g),
    "randperm": lambda d, g: torch.randperm(50, device=d, generator=g),
    "uniform_": lambda d, g: torch.empty(50, device=d).uniform_(-2, 3, generator=g),
    "normal_": lambda d, g: torch.empty(50, device=d).normal_(1, 2, generator=g),
    "normal": lambda d, g: torch.normal(torch.zeros(50, device=d), 2.0, generator=g),
    "normal_strided": lambda d, g: torch.empty(9, 6, device=d).t().normal_(generator=g),
    "bernoulli": lambda d, g: torch.bernoulli(torch.full((200,), 0.3, device=d), generator=g),
    "bernoulli_": lambda d, g: torch.empty(200, device=d).bernoulli_(0.4, generator=g),
    "multinomial": lambda d, g: torch.multinomial(
        torch.ones(60, device=d), 20, replacement=False, generator=g
    ),
    "multinomial_replaced": lambda d, g: torch.multinomial(
        torch.ones(60, device=d), 50, replacement=True, generator=g
    ),
    "exponential_": lambda d, g: torch.empty(50, device=d).exponential_(2.0, generator=g),
    "geometric_": lambda d, g: torch.empty(200, device=d).geometric_(0.2, generator=g),
    "cauchy_": lambda d, g: torch.empty(50, device=d).cauchy_(generator=g),
    "log_normal_": lambda d, g: torch.empty(50, device=d).log_normal_(generator=g),
    "random_": lambda d, g: torch.empty(50, device=d).random_(0, 1000, generator=g),
    "poisson": lambda d, g: torch.poisson(torch.full((200,), 5.0, device=d), generator=g),
}

# Draws that take no generator.
DEFAULT_DRAWS = {
    "dropout": lambda d: F.dropout(torch.ones(200, device=d), 0.5),
    "alpha_dropout": lambda d: F.alpha_dropout(torch.ones(200, device=d), 0.5, training=True),
    "dropout2d": lambda d: F.dropout2d(torch.ones(8, 8, 2, 2, device=d), 0.5),
    "native_dropout": lambda d: torch.native_dropout(torch.ones(200, device=d), 0.5, True)[0],
    "rand_like": lambda d: torch.rand_like(torch.ones(50, device=d)),
    "randn_like": lambda d: torch.randn_like(torch.ones(50, device=d)),
    "randint_like": lambda d: torch.randint_like(torch.ones(50, device=d), 1000),
    "rrelu": lambda d: F.rrelu(-torch.ones(50, device=d), training=True),
    "gumbel_softmax": lambda d: F.gumbel_softmax(torch.ones(50, device=d)),
    "sdpa_dropout": lambda d: F.scaled_dot_product_attention(
        *(torch.ones(1, 1, 8, 8, device=d) for _ in range(3)), dropout_p=0.5
    ),
    "linear_init": lambda d: torch.nn.Linear(8, 8, device=d).weight.detach(),
    "distribution": lambda d: torch.distributions.Normal(torch.zeros(50, device=d), 1.0).sample(),
}

ALL_DRAWS = {**{name: (lambda d, f=f: f(d, None)) for name, f in DRAWS.items()}, **DEFAULT_DRAWS}


def seed(device, value):
    """Seeds the device alone (the CPU standing in has nothing alone)."""
    if device.type == "cpu":
        torch.manual_seed(value)
    else:
        torch.get_device_module(device).manual_seed(value)


@pytest.mark.parametrize("name", ALL_DRAWS)
def test_the_seed_of_the_device_governs_every_draw(device, name):
    draw = ALL_DRAWS[name]
    seed(device, 5)
    first, second = draw(device), draw(device)
    seed(device, 5)
    assert first.device == device
    assert_equal(draw(device), first)
    assert_equal(draw(device), second)
    assert not torch.equal(second.cpu(), first.cpu())
    seed(device, 6)
    assert not torch.equal(draw(device).cpu(), first.cpu())


@pytest.mark.parametrize("name", ALL_DRAWS)
def test_the_seed_of_pytorch_reaches_the_device(device, name):
    torch.manual_seed(8)
    first = ALL_DRAWS[name](device)
    torch.manual_seed(8)
    assert_equal(ALL_DRAWS[name](device), first)


@pytest.mark.accelerator("the CPU draws from its own generator")
@pytest.mark.parametrize("name", ALL_DRAWS)
def test_a_draw_leaves_the_generator_of_the_cpu_alone(device, name):
    before = torch.get_rng_state()
    ALL_DRAWS[name](device)
    synchronize(device)
    assert_equal(torch.get_rng_state(), before)


@pytest.mark.accelerator("the CPU draws from its own generator")
def test_seeding_the_device_leaves_the_generator_of_the_cpu_alone(device, module):
    before = torch.get_rng_state()
    module.manual_seed(77)
    module.manual_seed_all(78)
    assert_equal(torch.get_rng_state(), before)


@pytest.mark.accelerator("the CPU draws from its own generator")
def test_a_draw_on_the_cpu_leaves_the_device_alone(device, module):
    before = module.get_rng_state()
    torch.rand(10)
    assert_equal(module.get_rng_state(), before)


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_of_the_device_governs_a_draw(device, name):
    draw = DRAWS[name]
    generator = torch.Generator(device=device).manual_seed(3)
    torch.manual_seed(1)
    first, second = draw(device, generator), draw(device, generator)
    torch.manual_seed(2)
    generator.manual_seed(3)
    assert_equal(draw(device, generator), first)
    assert_equal(draw(device, generator), second)
    assert not torch.equal(second.cpu(), first.cpu())


def test_a_generator_leaves_the_default_one_alone(device):
    seed(device, 4)
    expected = torch.rand(5, device=device)
    seed(device, 4)
    torch.rand(5, device=device, generator=torch.Generator(device=device).manual_seed(1))
    assert_equal(torch.rand(5, device=device), expected)


def test_a_generator_knows_its_device_and_seed(device):
    generator = torch.Generator(device=device)
    assert generator.device.type == device.type
    assert generator.manual_seed(42).initial_seed() == 42
    chosen = generator.seed()
    assert generator.initial_seed() == chosen


def test_the_state_of_a_generator_can_be_kept_and_restored(device):
    generator = torch.Generator(device=device).manual_seed(42)
    torch.rand(7, device=device, generator=generator)
    state = generator.get_state()
    assert state.device == torch.device("cpu") and state.dtype == torch.uint8
    expected = torch.randn(7, device=device, generator=generator)
    other = torch.Generator(device=device)
    other.set_state(state)
    assert_equal(torch.randn(7, device=device, generator=other), expected)
    assert other.initial_seed() == 42
    twin = other.clone_state()
    assert_equal(
        torch.rand(3, device=device, generator=twin), torch.rand(3, device=device, generator=other)
    )


@pytest.mark.accelerator("the CPU's state is that of torch itself")
def test_the_state_of_the_device_can_be_kept_and_restored(device, module):
    module.manual_seed(5)
    torch.rand(3, device=device)
    state = module.get_rng_state()
    assert state.device == torch.device("cpu") and state.dtype == torch.uint8
    expected = [torch.randn(9, device=device), F.dropout(torch.ones(50, device=device))]
    module.set_rng_state(state)
    assert_equal(
        [torch.randn(9, device=device), F.dropout(torch.ones(50, device=device))], expected
    )
    assert_equal(module.get_rng_state(device), module.get_rng_state())
    module.set_rng_state(state, device)
    assert_equal(torch.randn(9, device=device), expected[0])


@pytest.mark.accelerator("the CPU's state is that of torch itself")
def test_a_state_of_the_wrong_size_is_refused(device, module):
    with pytest.raises((RuntimeError, TypeError)):
        module.set_rng_state(torch.zeros(3, dtype=torch.uint8))
    module.manual_seed(1)
    assert torch.rand(2, device=device).shape == (2,)


@pytest.mark.accelerator("the CPU has one device")
def test_two_devices_have_two_generators(device, other_device, module):
    def draw(where):
        return torch.rand(20, device=where).cpu()

    torch.manual_seed(0)
    module.manual_seed_all(9)
    first, second = draw(device), draw(other_device)
    module.manual_seed_all(9)
    draw(device), draw(device)
    assert_equal(draw(other_device), second)
    module.manual_seed_all(9)
    draw(other_device)
    assert_equal(draw(device), first)

    module.manual_seed_all(9)
    module.manual_seed(10)  # the current device only
    assert not torch.equal(draw(device), first)
    assert_equal(draw(other_device), second)


@pytest.mark.accelerator("the CPU's state is that of torch itself")
def test_fork_rng_restores_the_device_and_the_cpu(device):
    torch.manual_seed(0)
    before, host = torch.rand(4, device=device), torch.rand(4)
    torch.manual_seed(0)
    with torch.random.fork_rng(devices=[0], device_type=device.type):
        torch.manual_seed(123)
        torch.rand(4, device=device), torch.rand(4)
    assert_equal(torch.rand(4, device=device), before)
    assert_equal(torch.rand(4), host)


@pytest.mark.accelerator("there is no wrong device for a generator of the CPU")
class TestAGeneratorOfTheWrongDevice:
    @pytest.mark.parametrize("name", DRAWS)
    def test_of_the_cpu_is_refused_on_the_device(self, device, name):
        with pytest.raises(RuntimeError, match=r"(?i)generator.*cpu|cpu.*generator"):
            DRAWS[name](device, torch.Generator("cpu"))
            synchronize(device)

    def test_of_the_device_is_refused_on_the_cpu(self, device):
        with pytest.raises(RuntimeError, match=r"(?i)generator|device"):
            torch.rand(3, generator=torch.Generator(device=device))


@pytest.mark.accelerator("the CPU's generator has no offset")
class TestOffset:
    def test_it_tells_where_in_the_sequence_a_generator_is(self, device):
        generator = torch.Generator(device=device).manual_seed(3)
        assert generator.get_offset() == 0
        torch.rand(10, device=device, generator=generator)
        there = generator.get_offset()
        assert there > 0 and there % 4 == 0
        expected = torch.rand(10, device=device, generator=generator)
        torch.rand(10, device=device, generator=generator)
        generator.set_offset(there)
        assert_equal(torch.rand(10, device=device, generator=generator), expected)
        assert generator.initial_seed() == 3

    def test_it_is_a_multiple_of_four(self, device):
        with pytest.raises(RuntimeError, match="multiple of 4"):
            torch.Generator(device=device).set_offset(3)

    def test_that_of_the_device_can_be_set(self, device, module):
        module.manual_seed(4)
        torch.rand(10, device=device)
        there = module._get_rng_state_offset(device)
        expected = torch.rand(10, device=device)
        module._set_rng_state_offset(there, device)
        assert_equal(torch.rand(10, device=device), expected)


@pytest.mark.accelerator("the CPU's generators share no state")
def test_generators_can_share_a_state_and_take_over_another(device):
    generator = torch.Generator(device=device).manual_seed(3)
    sharing = generator.graphsafe_get_state()
    apart = generator.clone_state()
    torch.rand(10, device=device, generator=sharing)
    assert generator.get_offset() == sharing.get_offset() > apart.get_offset() == 0
    generator.graphsafe_set_state(apart)
    assert generator.get_offset() == 0
    torch.rand(10, device=device, generator=generator)
    assert apart.get_offset() == generator.get_offset()
    with pytest.raises((RuntimeError, TypeError)):
        generator.graphsafe_set_state(torch.Generator("cpu"))


def test_a_saved_state_brings_back_the_numbers_in_another_process(device, tmp_path):
    generator = torch.Generator(device=device).manual_seed(3)
    torch.rand(10, device=device, generator=generator)
    torch.save(generator.get_state(), tmp_path / "state.pt")
    expected = torch.rand(5, device=device, generator=generator).tolist()
    code = """
        generator = torch.Generator(device=device)
        generator.set_state(torch.load(sys.argv[2]))
        print(torch.rand(5, device=device, generator=generator).tolist())
    """
    assert output_of(code, device, tmp_path / "state.pt") == str(expected)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointed_autograd_draws_the_same_numbers_twice(device, use_reentrant):
    x = on(device, torch.ones(500, requires_grad=True))
    y = checkpoint(lambda t: F.dropout(t * 2, 0.5), x, use_reentrant=use_reentrant)
    torch.rand(3, device=device)  # the generator has moved on when the part is computed again
    y.sum().backward()
    assert_equal(x.grad, y.detach())
    assert 0 < (y != 0).sum().item() < 500


# ---- distributions ----

COUNT = 100_000


def moments(x):
    x = x.double().cpu()
    centred = x - x.mean()
    variance = centred.square().mean()
    return x.mean().item(), variance.item(), (centred.pow(4).mean() / variance**2).item()


def test_randn_is_normal(device):
    mean, variance, kurtosis = moments(torch.randn(COUNT, device=device))
    assert abs(mean) < 0.02 and abs(variance - 1) < 0.03 and abs(kurtosis - 3) < 0.15


def test_rand_is_uniform_in_the_half_open_interval(device):
    x = torch.rand(COUNT, device=device)
    mean, variance, _ = moments(x)
    assert abs(mean - 0.5) < 0.01 and abs(variance - 1 / 12) < 0.003
    assert 0 <= x.min().item() < 0.001 and 0.999 < x.max().item() < 1
    parts = torch.histc(x.cpu(), 10, 0, 1) / COUNT
    assert (parts - 0.1).abs().max() < 0.01


def test_neighbouring_draws_are_independent(device):
    x = torch.randn(COUNT, device=device).double().cpu()
    assert abs((x[1:] * x[:-1]).mean().item()) < 0.02
    y = torch.randn(COUNT, device=device).double().cpu()
    assert abs((x * y).mean().item()) < 0.02


def test_randint_covers_its_range_evenly(device):
    counts = torch.bincount(torch.randint(2, 12, (COUNT,), device=device).cpu(), minlength=12)
    assert counts[:2].tolist() == [0, 0] and len(counts) == 12
    assert (counts[2:] / COUNT - 0.1).abs().max() < 0.01


def test_randperm_is_a_permutation_in_no_order(device):
    for count in (0, 1, 10, 1000, 50_000):
        x = torch.randperm(count, device=device)
        assert x.device == device and x.dtype == torch.int64
        assert torch.equal(x.cpu().sort().values, torch.arange(count))
    assert not torch.equal(x.cpu(), torch.arange(50_000))


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_bernoulli_has_its_probability(device, p):
    x = torch.bernoulli(torch.full((COUNT,), p, device=device))
    assert set(x.unique().tolist()) <= {0.0, 1.0}
    assert abs(x.mean().item() - p) < 0.01


def test_multinomial_follows_its_weights(device):
    weights = torch.tensor([1.0, 0.0, 3.0], device=device)
    counts = torch.bincount(torch.multinomial(weights, COUNT, replacement=True).cpu(), minlength=3)
    assert counts[1] == 0 and abs(counts[2].item() / COUNT - 0.75) < 0.01
    kept = torch.multinomial(weights, 2)
    assert sorted(kept.tolist()) == [0, 2]


def test_normal_and_exponential_have_their_parameters(device):
    mean, variance, _ = moments(torch.empty(COUNT, device=device).normal_(3, 2))
    assert abs(mean - 3) < 0.03 and abs(variance - 4) < 0.12
    mean, variance, _ = moments(torch.empty(COUNT, device=device).exponential_(4))
    assert abs(mean - 0.25) < 0.005 and abs(variance - 1 / 16) < 0.005


# ---- dropout ----


@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_dropout_drops_its_share_and_scales_the_rest(device, p):
    x = torch.full((COUNT,), 3.0, device=device)
    y = F.dropout(x, p)
    kept = y.cpu() != 0
    assert abs(kept.float().mean().item() - (1 - p)) < 0.01
    torch.testing.assert_close(y.cpu()[kept], torch.full((int(kept.sum()),), 3 / (1 - p)))
    assert abs(y.mean().item() - 3) < 0.1


def test_dropout_at_its_ends_and_when_not_training(device):
    x = torch.ones(100, device=device)
    assert_equal(F.dropout(x, 0.0), torch.ones(100))
    assert_equal(F.dropout(x, 1.0), torch.zeros(100))
    assert_equal(F.dropout(x, 0.5, training=False), torch.ones(100))


def test_native_dropout_returns_the_mask_it_used(device):
    x = torch.arange(1.0, 1001.0, device=device)
    y, mask = torch.native_dropout(x, 0.25, True)
    assert mask.dtype == torch.bool and mask.device == device
    torch.testing.assert_close(y.cpu(), x.cpu() * mask.cpu() / 0.75)
    assert 0.7 < mask.float().mean().item() < 0.8
    y, mask = torch.native_dropout(x, 1.0, True)
    assert_equal(y, torch.zeros(1000))
    assert not mask.any()


def test_the_backward_of_dropout_uses_the_same_mask(device):
    x = on(device, torch.full((1000,), 2.0, requires_grad=True))
    y = F.dropout(x, 0.4)
    y.sum().backward()
    torch.testing.assert_close(x.grad.cpu(), y.detach().cpu() / 2)


def test_channels_are_dropped_whole(device):
    y = F.dropout2d(torch.ones(50, 20, 3, 3, device=device), 0.5).cpu()
    sums = y.sum((2, 3))
    assert set(sums.unique().tolist()) == {0.0, 18.0}
    assert 0.4 < (sums == 0).float().mean().item() < 0.6


def test_waiting_between_draws_changes_nothing(device):
    def draws(wait):
        seed(device, 12)
        made = []
        for i in range(20):
            made.append(torch.randn(40 + i, device=device))
            made.append(F.dropout(made[-1], 0.5))
            if wait:
                synchronize(device)
        return made

    assert_equal(draws(wait=True), draws(wait=False))


@pytest.mark.accelerator("the CPU's generator is the CPU's")
def test_a_generator_of_the_device_draws_no_numbers_for_the_cpu(device):
    generator = torch.Generator(device)
    for draw in (
        lambda: torch.rand(3, generator=generator),
        lambda: torch.randperm(3, generator=generator),
        lambda: torch.ones(3).normal_(generator=generator),
    ):
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
            draw()
