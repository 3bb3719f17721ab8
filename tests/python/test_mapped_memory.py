"""Memory that the host sees only while it is mapped: operators run on it, every range is unmapped, and nothing uses
it meanwhile. The device `handles` refuses what breaks that, and takes the pages away when they are unmapped."""

import pytest
from session import Sessions
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "handles")


@pytest.fixture(scope="module")
def run(plugin):
    sessions = Sessions("handles", plugin)
    yield sessions
    sessions.close()


OPERATORS = """
import torchplug

def both(fn, *shapes):
    torch.manual_seed(0)
    given = [torch.randn(*shape) for shape in shapes]
    for _ in range(3):
        here, there = [x.clone() for x in given], [x.to(device) for x in given]
        expected, result = fn(*here), fn(*there)
        results = result if isinstance(result, tuple) else (result,)
        for a, b in zip(results, expected if isinstance(expected, tuple) else (expected,)):
            assert a.device.type == device.type
            assert torch.allclose(a.cpu(), b, rtol=0, atol=0, equal_nan=True)
        for a, b in zip(there, here):
            assert torch.equal(a.cpu(), b)

both(lambda x: x.sin(), (40, 30))
both(lambda x, y: x @ y, (20, 30), (30, 10))
both(lambda x: x.exp_(), (7,))
both(lambda x: x[1:3].mul_(2), (5, 5))
both(lambda x: x[:, 1].exp_(), (5, 5))
both(lambda x: x.t()[1:].cumsum_(0), (5, 5))
both(lambda x: x.max(0), (6, 4))
both(lambda x: x.sort(1), (6, 4))
both(lambda x: torch.exp(x, out=torch.empty(0, device=x.device)), (6,))
both(lambda x: torch.exp(x, out=torch.empty(12, device=x.device)[3:9]), (6,))
both(lambda x: x[x > 0], (30,))
both(lambda x: x.nonzero(), (6, 4))
both(lambda x: x.unbind(0), (3, 4))
both(lambda x: torch.stack([x, x, x[:]]), (3, 4))
both(lambda x: x.addcmul_(x, x), (4, 4))
both(lambda x: torch.nn.functional.conv2d(x, x[:1, :, :3, :3]), (2, 3, 8, 8))
both(lambda x: torch.empty(0, 3, device=x.device).sum(0), (1,))
both(lambda x: x[:0].exp(), (4,))
torch._foreach_mul_([torch.ones(3, device=device), torch.ones(4, device=device)], 2.0)
"""

LEDGER = """
import torchplug
x = torch.linspace(0, 1, 1000, device=device)
x.sin(), x[:500].exp_(), x[x > 0.5]
torchplug.reset_ledger()
x.sin(), x[:500].exp_()
print(sorted((e.op, e.way, e.bytes) for e in torchplug.ledger() if e.op in ("aten::sin", "aten::exp_")))
"""


@pytest.mark.parametrize("maps", ["on", "large", "off"])
def test_operators_are_right_mapped_copied_and_in_part(run, maps):
    run(OPERATORS, TORCHPLUG_HANDLES_MAPS=maps)


def test_validate_finds_nothing(run):
    run(OPERATORS, TORCHPLUG_LAYERS="validate")


def test_the_ledger_says_borrow_where_nothing_was_copied(run):
    mapped = run(LEDGER)
    assert mapped == "[('aten::exp_', 'borrow', 0), ('aten::sin', 'borrow', 0)]"
    copied = run(LEDGER, TORCHPLUG_HANDLES_MAPS="off")
    assert copied == "[('aten::exp_', 'stage', 4000), ('aten::sin', 'stage', 8000)]"


THROWS = """
x = torch.arange(4.0, device=device)
for _ in range(3):
    try:
        x.gather(0, torch.tensor([9], device=device))
    except (IndexError, RuntimeError) as error:
        assert "out of bounds" in str(error), error
    else:
        raise AssertionError
# The device refuses work on what is mapped.
assert (x + x).tolist() == [0, 2, 4, 6] and x.relu().tolist() == [0, 1, 2, 3]
"""


def test_an_operator_that_throws_leaves_nothing_mapped(run):
    run(THROWS)


FAULTS = """
import torchplug
from torchplug import _C

x = torch.arange(1000.0, device=device)
x.sin(), x.cos()
expected = torch.arange(1000.0)
_C.set_faults("host_map:1:unsupported")
assert torch.equal(x.sin().cpu(), expected.sin())
# What the second fault leaves mapped is the first range, which must be unmapped all the same.
for fault, word in (("host_map:1:internal", "host_map"), ("host_map:2:internal", "host_map"),
                    ("host_unmap:1:internal", "host_unmap")):
    _C.set_faults(fault)
    try:
        x.sin()
    except RuntimeError as error:
        assert word in str(error), error
    else:
        raise AssertionError(fault)
    _C.set_faults("")
    if word == "host_map":
        assert (x + x).sum().item() == 2 * expected.sum().item()
# What was left mapped by the last is unmapped before it is mapped again: the device refuses to map a range twice.
assert torch.equal(x.sin().cpu(), expected.sin())
assert (x + x).sum().item() == 2 * expected.sum().item()
# As long as the plugin fails, nothing is mapped, and each time the error says so.
_C.set_faults("host_unmap:1+:internal")
for _ in range(2):
    try:
        x.cos()
    except RuntimeError as error:
        assert "host_unmap for aten::cos failed" in str(error), error
    else:
        raise AssertionError
_C.set_faults("")
assert torch.equal(x.cos().cpu(), expected.cos())
# Or before it is freed: the device refuses to free what is mapped.
_C.set_faults("host_unmap:1:internal")
try:
    x.exp_()
except RuntimeError as error:
    assert "host_unmap for aten::exp_ failed" in str(error), error
_C.set_faults("")
del x
torch.get_device_module(device).empty_cache()
assert torch.get_device_module(device).memory_reserved() == 0
"""


@pytest.mark.parametrize("layers", ["fault", "validate,fault"])
def test_a_plugin_that_fails_to_map_or_unmap_is_named_and_all_the_rest_is_unmapped(run, layers):
    run(FAULTS, TORCHPLUG_LAYERS=layers)


THREADS = """
import threading

w = torch.linspace(-1, 1, 4096, device=device)
expected = (w.cpu().sin(), w.cpu().relu(), w.cpu() + w.cpu())
w.sin(), w.relu(), w + w
wrong = []

def work(turn):
    try:
        for i in range(60):
            which = (turn + i) % 3
            result = (w.sin, w.relu, lambda: w + w)[which]()
            if not torch.equal(result.cpu(), expected[which]):
                wrong.append((turn, i))
    except Exception as error:
        wrong.append(repr(error))

threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not wrong, wrong[:3]
"""


def test_threads_share_a_tensor_that_some_map_and_others_give_to_kernels(run):
    """The device refuses a second map of a range, and kernels that read it meanwhile."""
    run(THREADS)


RANDOM = """
module = torch.get_device_module(device)
keep = torch.ones(100, device=device)  # so that what follows has an offset in its segment
out = torch.empty(64, device=device)
out.uniform_()
graph = module.Graph()
with module.graph(graph):
    t = [out.clone() for _ in range(3)]
    del t
    out.uniform_()
    copy = out + out
torch.manual_seed(11)
replayed = []
for _ in range(3):
    graph.replay()
    replayed.append(out.cpu())
    assert torch.equal(copy.cpu(), 2 * out.cpu())
torch.manual_seed(11)
for seen in replayed:
    assert torch.equal(torch.empty(64, device=device).uniform_().cpu(), seen)
assert not torch.equal(replayed[0], replayed[1])
"""


def test_captured_random_numbers_are_found_by_handle_and_offset(run):
    run(RANDOM)
    run(RANDOM, TORCHPLUG_LAYERS="validate")


MEMORY_OF = """
import torchplug
x = torch.zeros(8, 4, device=device)
whole, part = torchplug.memory_of(x), torchplug.memory_of(x[3:, 1])
assert whole.base == part.base < 800 and part.offset == whole.offset + 13 * 4
assert (whole.device, whole.flags) == (0, 0)
assert torchplug.memory_of(torch.empty(0, device=device)).base == 0
try:
    torchplug.memory_of(torch.zeros(2))
except ValueError as error:
    assert "memory_of() is for a tensor of device 'handles', and this one is on cpu." in str(error)
else:
    raise AssertionError
"""


def test_memory_of_names_the_handle_and_the_offset(run):
    run(MEMORY_OF)


LARGEST = """
import torchplug
module = torch.get_device_module(device)
assert module.get_device_properties().largest_allocation == 6 << 20
a = [torch.full((1 << 20,), float(i), device=device) for i in range(4)]  # 4 MiB each: a segment is 20
b = torch.ones(6 << 20, dtype=torch.uint8, device=device)
small = [torch.ones(3, device=device) for _ in range(9)]
assert [x[-1].item() for x in a] == [0, 1, 2, 3] and b.sum().item() == 6 << 20
reserved = module.memory_reserved()
try:
    torch.empty((6 << 20) + 1, dtype=torch.uint8, device=device)
except torch.OutOfMemoryError as error:
    print(error)
assert module.memory_reserved() == reserved
"""


def test_no_allocation_is_larger_than_the_device_allows_and_the_error_names_it(run):
    largest = {"TORCHPLUG_HANDLES_LARGEST": str(6 << 20), "TORCHPLUG_LAYERS": "validate"}
    said = run(LARGEST, **largest)
    assert "The largest allocation that the device allows is 6.0 MiB" in said
    assert "expandable_segments" not in said
