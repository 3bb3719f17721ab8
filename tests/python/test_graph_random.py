"""Random numbers in graphs: a replay draws on from where the generator is, as the eager step does."""

import pytest
import torch
from helpers import assert_equal, capture, on_capture_stream, output_of
from torch.nn import functional as F
from vendors import compile_test_plugin

pytestmark = [
    pytest.mark.accelerator("the CPU captures nothing"),
    pytest.mark.usefixtures("nothing_left_behind"),
]


def test_each_replay_draws_other_numbers_and_the_same_after_reseeding(device, module):
    x = torch.ones(1000, device=device)
    graph, (mask, uniform) = capture(
        module, lambda: (F.dropout(x, 0.5), torch.rand(1000, device=device))
    )

    def replay():
        graph.replay()
        return mask.cpu().clone(), uniform.cpu().clone()

    module.manual_seed(3)
    first, second = replay(), replay()
    for before, after in zip(first, second, strict=True):
        assert not torch.equal(before, after)
    kept = [(found[0] != 0).float().mean().item() for found in (first, second)]
    both = ((first[0] != 0) & (second[0] != 0)).float().mean().item()
    assert all(abs(share - 0.5) < 0.08 for share in kept) and abs(both - 0.25) < 0.08
    module.manual_seed(3)
    assert_equal(replay(), first)
    assert_equal(replay(), second)


def test_replays_move_the_generator_on_as_the_eager_step_does(device, module):
    def draw():
        return torch.rand(7, device=device), torch.randn(9, device=device)

    graph, drawn = capture(module, draw)
    module.manual_seed(11)
    draw(), draw()
    offset, state = module._get_rng_state_offset(), module.get_rng_state()
    after = torch.rand(5, device=device)
    module.manual_seed(11)
    graph.replay()
    graph.replay()
    assert module._get_rng_state_offset() == offset
    assert_equal(module.get_rng_state(), state)
    assert_equal(torch.rand(5, device=device), after)
    module.manual_seed(11)
    draw()
    expected = draw()
    module.manual_seed(11)
    graph.replay()
    graph.replay()
    assert_equal(drawn, expected)


def test_a_capture_moves_no_generator(device, module):
    draw = lambda: torch.rand(7, device=device)
    on_capture_stream(module, draw)
    before = module.get_rng_state(), torch.get_rng_state()
    graph = module.Graph()
    with module.graph(graph):
        draw()
    assert_equal((module.get_rng_state(), torch.get_rng_state()), before)
    graph.replay()
    module.synchronize()
    assert_equal(torch.get_rng_state(), before[1])


def test_a_registered_generator_governs_what_is_drawn_from_it(device, module):
    generator = torch.Generator(device=device).manual_seed(5)

    def draw():
        return torch.rand(20, device=device, generator=generator), torch.rand(20, device=device)

    on_capture_stream(module, draw)
    graph = module.Graph()
    graph.register_generator_state(generator)
    with module.graph(graph):
        own, default = draw()
    generator.manual_seed(5)
    module.manual_seed(6)
    expected = [value.cpu() for value in draw()]
    generator.manual_seed(5)
    graph.replay()
    assert_equal(own, expected[0])
    assert not torch.equal(default.cpu(), expected[1])


def test_a_generator_that_the_graph_does_not_know_is_refused(device, module):
    generator = torch.Generator(device=device)
    draw = lambda: torch.rand(20, device=device, generator=generator)
    on_capture_stream(module, draw)
    with (
        pytest.raises(RuntimeError, match="register_generator_state"),
        module.graph(module.Graph()),
    ):
        draw()


def test_a_graph_can_draw_from_one_state_of_several(device, module):
    generator = torch.Generator(device=device)
    states = [generator.clone_state().manual_seed(seed) for seed in (1, 2)]
    draw = lambda: torch.rand(10, device=device, generator=generator)
    on_capture_stream(module, draw)
    graph = module.Graph()
    for state in states:
        graph.register_generator_state(state)
    with module.graph(graph):
        drawn = []
        for state in states:
            generator.graphsafe_set_state(state)
            drawn.append(draw())
    graph.replay()
    for seed, found in zip((1, 2), drawn, strict=True):
        alone = torch.Generator(device=device).manual_seed(seed)
        assert_equal(found, torch.rand(10, device=device, generator=alone))
    shared = states[0].graphsafe_get_state()
    assert shared.get_offset() == states[0].get_offset() > 0
    states[0].manual_seed(9)
    assert shared.initial_seed() == 9


def test_seeding_is_refused_in_a_capture_and_the_same_seed_is_not(device, module):
    module.manual_seed(5)
    graph = module.Graph()
    with module.graph(graph):
        module.manual_seed(5)
    with (
        pytest.raises(RuntimeError, match=r"(?i)seed.*before the capture"),
        module.graph(module.Graph()),
    ):
        module.manual_seed(6)


def test_checkpointed_autograd_draws_the_same_numbers_twice_in_a_capture(device, module):
    from torch.utils.checkpoint import checkpoint

    weight = torch.ones(200, device=device, requires_grad=True)

    def step():
        weight.grad = None
        out = checkpoint(lambda w: F.dropout(w * 2, 0.5), weight, use_reentrant=False)
        out.sum().backward()
        return out.detach(), weight.grad

    on_capture_stream(module, step, times=2)
    graph = module.Graph()
    with module.graph(graph):
        out, gradient = step()
    found = []
    for _ in range(2):
        graph.replay()
        assert_equal(gradient, out)
        assert 0 < (out != 0).sum().item() < 200
        found.append(out.cpu().clone())
    assert not torch.equal(*found)


def test_a_replay_moves_on_by_all_it_draws_also_when_the_state_was_set_back(device, module):
    def draw_twice():
        return torch.cat([torch.rand(500, device=device), torch.rand(500, device=device)])

    def draw():
        state = module.get_rng_state()
        many = draw_twice()
        module.set_rng_state(state)
        return many, torch.rand(8, device=device)

    graph, (many, few) = capture(module, draw)
    module.manual_seed(5)
    start = module._get_rng_state_offset()
    draw_twice()
    needed = module._get_rng_state_offset() - start
    module.manual_seed(5)
    graph.replay()
    first = many.cpu()
    assert_equal(few, first[:8])
    assert module._get_rng_state_offset() == start + needed
    graph.replay()
    # No number of the first replay comes again.
    assert not set(many.tolist()) & set(first.tolist())


def test_what_a_capture_allocates_and_frees_leaves_its_randomness_alone(tmp_path):
    """On a plugin with a capture and a random kernel of its own, which reads its seed on the device."""
    done = output_of(
        """
        x = torch.ones(4, device=device)
        out = torch.empty(4, device=device)
        module = torch.get_device_module(device)
        graph = module.Graph()
        module.manual_seed(1)
        with module.graph(graph):
            freed = [x.clone() for _ in range(3)]
            del freed
            out.uniform_()
        drawn = []
        for _ in range(2):
            graph.replay()
            drawn.append(out.tolist())
        module.manual_seed(1)
        eager = [torch.empty(4, device=device).uniform_().tolist() for _ in range(2)]
        print(drawn == eager and drawn[0] != drawn[1])
        """,
        "captures",
        TORCHPLUG_DEVICE=compile_test_plugin(tmp_path, "captures"),
    )
    assert done == "True"
