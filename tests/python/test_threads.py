"""Eight threads on two devices, each with streams of its own: results are the CPU's, bit for bit."""

import random
import threading

import pytest
import torch
from helpers import assert_equal, assert_same, still_works
from torch.nn import functional as F

pytestmark = pytest.mark.accelerator("streams are real or absent", only="sim")

THREADS = 8


def in_threads(work, count=THREADS):
    """Runs work(0), work(1), ... at the same time; what one raises is raised here."""
    start, errors = threading.Barrier(count), []

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001 - the test answers for it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture(autouse=True)
def one_cpu_thread():
    """So that the CPU, too, always adds in the same order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


OPS = [
    lambda a, b: a + b,  # kernels
    lambda a, b: (a * b).relu(),
    lambda a, b: a.mul_(0.5).add_(b),
    lambda a, b: torch.tanh(a) - b,  # borrowed
    lambda a, b: a.softmax(1),
    lambda a, b: (a @ b).tanh(),
    lambda a, b: F.layer_norm(a, (a.shape[1],)),
    lambda a, b: a.clone().masked_fill_(b > 0, 0.5),
    lambda a, b: a.sort(1).values,
    lambda a, b: a.cumsum(0).clamp(-3, 3),
    lambda a, b: a.t().contiguous(),  # copies
    lambda a, b: a.double().float(),
    lambda a, b: torch.cat([a[:7], b[7:]]),
    lambda a, b: a.clone().copy_(b.t()),
    lambda a, b: a.cpu().to(a.device),
    lambda a, b: a.cpu().pin_memory().to(a.device, non_blocking=True),
    lambda a, b: a if a.sum().item() > 0 else b,  # waits
]


def program(seed, device, steps=120):
    """Mixed operators chosen by `seed`, on small and large tensors."""
    chance = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    size = chance.choice([24, 33, 128])  # whose products sim leaves to the CPU
    pool = [torch.randn(size, size, generator=generator).to(device) for _ in range(4)]
    for _ in range(steps):
        a, b = chance.choice(pool), chance.choice(pool)
        pool[chance.randrange(4)] = chance.choice(OPS)(a, b)
    return pool


def test_each_on_a_stream_of_its_own_computes_what_the_cpu_computes(device, module):
    expected = [program(seed, torch.device("cpu")) for seed in range(THREADS)]
    for devices in (1, 2):
        actual = [None] * THREADS

        def work(number, devices=devices, actual=actual):
            index = number % devices
            with module.device(index), module.stream(module.Stream(index)):
                result = program(number, torch.device(device.type, index))
                assert all(x.device.index == index for x in result)
                actual[number] = [x.cpu() for x in result]

        in_threads(work)
        assert_equal(actual, expected)


def test_tensors_are_handed_from_thread_to_thread_with_events(device, module):
    """A ring: each thread waits for the event of the one before, adds, records, hands on."""
    rounds = 40
    events = [[module.Event() for _ in range(THREADS)] for _ in range(rounds)]
    recorded = [[threading.Event() for _ in range(THREADS)] for _ in range(rounds)]
    x = [torch.zeros(1000, device=torch.device(device.type, index)) for index in (0, 1)]
    torch.accelerator.synchronize(0)
    torch.accelerator.synchronize(1)

    def work(number):
        index = number % 2
        stream = module.Stream(index)
        with module.stream(stream):
            for turn in range(rounds):
                before = (turn, number - 1) if number else (turn - 1, THREADS - 1)
                if before[0] >= 0:
                    assert recorded[before[0]][before[1]].wait(60)
                    stream.wait_event(events[before[0]][before[1]])
                # What the thread before left on the other device, and one more.
                x[index].copy_(x[1 - index]).add_(1)
                events[turn][number].record(stream)
                recorded[turn][number].set()

    in_threads(work)
    torch.accelerator.synchronize(0)
    torch.accelerator.synchronize(1)
    last = (THREADS - 1) % 2
    assert_equal(x[last], torch.full((1000,), float(rounds * THREADS)))


def test_memory_goes_from_thread_to_thread(device, module):
    """Allocated by one thread, used on another's stream, freed by a third."""
    slots = [[None] * THREADS for _ in range(3)]
    barrier = threading.Barrier(THREADS)
    before = [module.memory_allocated(index) for index in (0, 1)]

    def work(number):
        index = number % 2
        place = torch.device(device.type, index)
        stream = module.Stream(index)
        with module.stream(stream):
            for turn in range(25):
                size = 1 + (turn * 977 + number * 131) % 70_000
                slots[0][number] = torch.full((size,), float(turn * 10 + number), device=place)
                slots[1][number] = stream.record_event()
                barrier.wait(60)
                giver = (number + 2) % THREADS  # of the same device
                stream.wait_event(slots[1][giver])
                mine = slots[0][giver]
                slots[2][number] = mine * 2
                mine.record_stream(stream)
                del mine
                barrier.wait(60)
                slots[0][(number + 4) % THREADS] = None  # freed by yet another
                result = slots[2][number]
                assert result[0].item() == result[-1].item() == 2 * (turn * 10 + giver)
                slots[2][number] = None
                del result
                barrier.wait(60)

    in_threads(work)
    slots.clear()
    for index in (0, 1):
        module.synchronize(index)
        assert module.memory_allocated(index) == before[index]


def test_backward_passes_run_side_by_side(device, module):
    def gradients(seed, place):
        torch_generator = torch.Generator().manual_seed(seed)
        x = torch.randn(17, 9, generator=torch_generator).to(place).requires_grad_()
        w = torch.randn(9, 5, generator=torch_generator).to(place).requires_grad_()
        for _ in range(10):
            (F.gelu(x @ w).softmax(1).square().sum()).backward()
        return [x.grad.cpu(), w.grad.cpu()]

    alone = [gradients(seed, device) for seed in range(THREADS)]
    actual = [None] * THREADS

    def work(number):
        index = number % 2
        with module.device(index), module.stream(module.Stream(index)):
            actual[number] = gradients(number, torch.device(device.type, index))

    in_threads(work)
    assert_equal(actual, alone)
    on_the_cpu = [gradients(seed, "cpu") for seed in range(THREADS)]
    assert_same(actual, on_the_cpu, rtol=1e-4, atol=1e-4)


def test_errors_of_one_threads_work_leave_the_results_of_the_others_right(device, module):
    all_are_here = threading.Barrier(THREADS, timeout=60)

    def work(number):
        index = number % 2
        place = torch.device(device.type, index)
        with module.device(index), module.stream(module.Stream(index)):
            x = torch.arange(50.0, device=place)
            all_are_here.wait()
            for turn in range(30):
                try:
                    if number == 0 and turn % 3 == 0:
                        x.gather(0, torch.tensor([99]).to(place))
                    assert (x * turn).tolist() == [i * turn for i in map(float, range(50))]
                except RuntimeError as error:  # whoever waits next for the device hears of it
                    assert "index 99 is out of bounds" in str(error) and index == 0

    in_threads(work)
    try:
        module.synchronize(0)
    except RuntimeError as error:
        assert "index 99 is out of bounds" in str(error)
    assert still_works(device)
