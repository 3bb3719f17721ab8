"""torch.<device> has what torch.cuda has and a device can have, and it behaves as CUDA's does."""

import pickle
import threading

import pytest
import torch
from helpers import assert_equal, output_of

import torchplug

pytestmark = pytest.mark.accelerator("the CPU is not an accelerator")

ABSENT = {
    "NVIDIA's own": """CUDAGraph CudaError cudaStatus cudart check_error current_blas_handle
        current_solver_handle get_gencode_flags has_magma is_tf32_supported jiterator nccl nvtx gds tunable
        GreenContext green_contexts sparse list_gpu_processes get_arch_list _compile_kernel""",
    "plug.h does not ask the device": "clock_rate power_draw temperature utilization memory_usage",
    "its name is PluggableAllocator": "CUDAPluggableAllocator",
    "nothing would honour it": "set_sync_debug_mode get_sync_debug_mode DeferredCudaCallError",
    "deprecated": """memory_cached max_memory_cached reset_max_memory_allocated reset_max_memory_cached
        has_half""",
}
"""Names of torch.cuda that torch.<device> does not have, by the reason."""

IMPORTED = [
    "Any",
    "AnyStr",
    "Callable",
    "NewType",
    "Optional",
    "TYPE_CHECKING",
    "cast",
    "classproperty",
    "importlib",
    "lru_cache",
    "os",
    "platform",
    "threading",
    "torch",
    "traceback",
    "warnings",
    "Device",
    "DEVICE_REQUIREMENT",
    "PYTORCH_RELEASES_CODE_CC",
    "deprecated",
    "Union",
    "pynvml",
    "sys",
]


@pytest.fixture(autouse=True)
def where_it_began(module):
    """Device 0 and its default stream are current before and after."""
    yield
    for index in reversed(range(module.device_count())):
        module.set_stream(module.default_stream(index))


def test_every_name_of_torch_cuda_is_there_or_has_a_reason_not_to_be(module):
    absent = {name for names in ABSENT.values() for name in names.split()} | set(IMPORTED)
    names = {name for name in dir(torch.cuda) if not name.startswith("_")}
    assert {name for name in names - absent if not hasattr(module, name)} == set()
    assert {name for name in absent if hasattr(module, name)} == set(), "no longer absent"


def test_dir_lists_what_there_is(module):
    for name in ("FloatTensor", "Stream", "device_count", "default_generators", "memory"):
        assert name in dir(module)
    for name in dir(module):
        getattr(module, name)


def test_an_unknown_name_is_an_attribute_error_that_names_the_module(module, device):
    with pytest.raises(AttributeError, match=f"torch.{device.type}.*nonsense"):
        module.nonsense  # noqa: B018


def test_it_can_be_imported_with_its_parts(module, device):
    name = device.type
    code = f"""
import torch.{name}, torch.{name}.memory, torch.{name}.random, torch.{name}.streams
from torch.{name} import Stream, manual_seed
print(torch.{name}.memory.memory_allocated is torch.{name}.memory_allocated, Stream, manual_seed)
"""
    assert output_of(code, device).startswith("True")
    assert torchplug.device_module() is module


def test_asking_for_the_module_without_a_device_says_what_to_do():
    code = """
import torchplug
try:
    torchplug.device_module()
except RuntimeError as error:
    print(error)
"""
    assert "TORCHPLUG_DEVICE" in output_of(code, "cpu", TORCHPLUG_DEVICE="none")


# ---- devices ----


def test_a_device_is_initialized_by_its_first_use(device):
    code = """
module = torch.get_device_module(device)
before = module.is_initialized(), module._initialized
torch.ones(1, device=device)
print(before, module.is_initialized())
module.init()
"""
    assert output_of(code, device) == "(False, False) True"


def test_it_is_compiled_and_not_forked(module):
    assert module._is_compiled() is True and module._is_in_bad_fork() is False


@pytest.mark.parametrize("wrong", [None, "index_less", "cpu", "cuda:0"])
def test_set_device_wants_an_index_of_this_device(module, device, wrong):
    with pytest.raises(ValueError, match="Expected a"):
        module.set_device(device.type if wrong == "index_less" else wrong)


def test_a_negative_index_changes_nothing(module):
    module.set_device(-1)
    with module.device(-1), module.device(None), module._DeviceGuard(-1):
        assert module.current_device() == 0


def test_exchanging_the_device_gives_the_one_before(module, other_device):
    assert module._exchange_device(1) == 0
    assert module._exchange_device(-1) == 1
    assert module._maybe_exchange_device(0) == 1
    with module._DeviceGuard(1):
        assert module.current_device() == 1
    assert module.current_device() == 0


def test_a_context_without_a_device_leaves_what_its_body_sets(module, other_device):
    with module.device(None):
        module.set_device(1)
    assert module.current_device() == 1


def test_device_of_follows_a_tensor(module, other_device):
    there = torch.zeros(2, device=other_device)
    for of in (there, there.untyped_storage()):
        with module.device_of(of):
            assert module.current_device() == 1
        assert module.current_device() == 0
    with module.device_of(torch.zeros(2)):
        assert module.current_device() == 0


def is_convertible(dtype):
    try:
        torch.zeros(2).to(dtype)
    except RuntimeError:
        return False
    return True


def test_properties_name_the_device(module, device):
    properties = module.get_device_properties()
    assert properties.name == module.get_device_name() == module.get_device_name(device)
    assert properties.total_memory == module.mem_get_info()[1]
    assert (properties.major, properties.minor) == module.get_device_capability(0)
    assert len(properties.uuid) == 36 and properties.name in repr(properties)
    supported = torch.accelerator.get_device_capability()["supported_dtypes"]
    # What PyTorch converts to and from; kernels may take more.
    assert supported == {dtype for dtype in properties.dtypes if is_convertible(dtype)}
    with pytest.raises(AttributeError):
        properties.name = "another"


@pytest.mark.accelerator("two devices that differ in nothing else", only="sim")
def test_every_device_has_its_own_identity(module):
    first, second = module.get_device_properties(0), module.get_device_properties(1)
    assert first.uuid != second.uuid and first.bus_id != second.bus_id


def test_properties_of_no_device_are_refused(module, device):
    with pytest.raises(RuntimeError, match=f"no device {device.type}:9"):
        module.get_device_properties(9)
    with pytest.raises(ValueError, match="Expected a"):
        module.get_device_name("cpu")


@pytest.mark.accelerator("two devices with peer access", only="sim")
def test_peers_are_other_devices(module, device):
    assert module.can_device_access_peer(0, 1) is True
    assert module.can_device_access_peer(1, device) is True
    assert module.can_device_access_peer(0, 0) is False
    with pytest.raises(RuntimeError, match="no device"):
        module.can_device_access_peer(0, 7)


@pytest.mark.accelerator("declares float32 alone", only="hello")
def test_a_device_without_bfloat16_says_so(module):
    assert module.is_bf16_supported() is False
    assert module.is_bf16_supported(including_emulation=True) is True
    assert module.get_amp_supported_dtype() == [torch.float32]


@pytest.mark.accelerator("declares every type", only="sim")
def test_a_device_with_bfloat16_says_so(module):
    assert module.is_bf16_supported() is True
    assert module.get_amp_supported_dtype() == [torch.float16, torch.bfloat16, torch.float32]


# ---- streams and events ----


def test_the_default_stream_is_current(module, device):
    assert module.current_stream() == module.default_stream() == module.current_stream(device)
    assert isinstance(module.current_stream(), module.Stream)
    assert not isinstance(3, module.Stream) and not isinstance(3, module.Event)
    assert issubclass(module.Stream, torch.Stream) and issubclass(module.Event, torch.Event)


@pytest.mark.accelerator("has no streams", only="hello")
def test_a_stream_of_a_synchronous_device_is_refused(module):
    with pytest.raises(RuntimeError, match="synchronous"):
        module.Stream()


def test_an_event_works_without_streams_of_its_own(module, device):
    event = module.Event(blocking=True)
    assert type(event) is torch.Event and isinstance(event, module.Event)
    x = torch.ones(4, device=device) + 1
    event.record()
    event.wait()
    event.wait(module.current_stream())
    event.synchronize()
    assert event.query() is True and x.sum().item() == 8


@pytest.mark.accelerator("streams are real or absent", only="sim")
class TestStreams:
    def test_streams_and_events_are_pytorchs_own(self, module, device):
        stream, event = module.Stream(), module.Event()
        assert type(stream) is module.Stream and isinstance(stream, torch.Stream)
        assert isinstance(torch.Stream(device), module.Stream)
        assert type(module.current_stream()) is type(module.default_stream()) is module.Stream
        assert isinstance(stream.record_event(), module.Event)
        assert stream.record_event(event) is event
        torch.accelerator.current_stream().wait_event(event)

    def test_a_stream_is_made_on_the_device_asked_for(self, module, other_device):
        for where in (1, other_device, str(other_device)):
            assert module.Stream(where).device == other_device
        with module.device(1):
            assert module.Stream().device == other_device
        assert module.current_device() == 0

    def test_a_stream_can_be_found_by_its_id(self, module):
        stream = module.Stream(1)
        ids = (stream.stream_id, stream.device_index, stream.device_type)
        names = ("stream_id", "device_index", "device_type")
        assert module.Stream(**dict(zip(names, ids, strict=True))) == stream
        module._set_stream_by_id(*ids)
        assert module.current_stream() == stream and module.current_device() == 1

    def test_streams_can_be_subclassed(self, module):
        class Mine(module.Stream):
            pass

        stream = Mine(priority=-1)
        assert type(stream) is Mine and isinstance(stream, module.Stream)
        assert not isinstance(module.Stream(), Mine)
        with module.stream(stream):
            assert module.current_stream() == stream

    def test_priorities_run_from_low_to_high(self, module):
        low, high = module.Stream.priority_range()
        assert high < low
        assert module.Stream(priority=high) != module.Stream(priority=low)
        module.Stream(priority=-100).synchronize()

    def test_a_context_gives_back_stream_and_device(self, module, device, other_device):
        mine, theirs, nested = module.Stream(0), module.Stream(1), module.Stream(1)
        module.set_stream(mine)
        with module.stream(theirs):
            assert module.current_device() == 1 and module.current_stream() == theirs
            assert torch.zeros(1, device=device.type).device == other_device
            with module.StreamContext(nested):
                assert module.current_stream() == nested
            assert module.current_stream() == theirs
            with module.stream(None):
                assert module.current_stream() == theirs
        assert module.current_device() == 0 and module.current_stream() == mine
        assert module.current_stream(1) == module.default_stream(1)

    def test_a_context_gives_back_after_an_error(self, module):
        with pytest.raises(KeyError), module.stream(module.Stream(1)):
            raise KeyError
        assert module.current_device() == 0
        assert module.current_stream(1) == module.default_stream(1)

    def test_setting_a_stream_makes_its_device_current(self, module):
        module.set_stream(None)
        assert module.current_device() == 0
        module.set_stream(module.default_stream(1))
        assert module.current_device() == 1

    def test_the_default_stream_is_not_the_one_that_is_set(self, module):
        with module.stream(module.Stream()):
            assert module.current_stream() != module.default_stream()

    def test_time_between_two_events_is_in_milliseconds(self, module, device):
        start, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
        start.record()
        torch.ones(300, 300, device=device) @ torch.ones(300, 300, device=device)
        end.record()
        end.synchronize()
        assert 0 < start.elapsed_time(end) < 60_000


# ---- memory ----


def test_errors_are_pytorchs(module, device):
    assert module.OutOfMemoryError is torch.OutOfMemoryError
    assert module.AcceleratorError is torch.AcceleratorError
    with pytest.raises(module.OutOfMemoryError):
        torch.empty(1 << 50, dtype=torch.uint8, device=device)


# ---- random numbers ----


def test_a_seed_decides_what_is_drawn(module, device):
    module.manual_seed(3)
    first = torch.rand(5, device=device)
    module.manual_seed(3)
    assert_equal(torch.rand(5, device=device), first.cpu())
    assert module.initial_seed() == 3


def test_negative_seeds_mean_what_they_mean_elsewhere(module, device):
    for seed in (module.manual_seed, module.manual_seed_all, torch.manual_seed):
        seed(-5)
        assert module.initial_seed() == torch.Generator().manual_seed(-5).initial_seed()
    with pytest.raises(RuntimeError, match="64 bits"):
        module.manual_seed_all(1 << 64)


def test_seeding_all_devices_seeds_each(module):
    module.manual_seed_all(11)
    assert {generator.initial_seed() for generator in module.default_generators} == {11}
    assert len(module.default_generators) == module.device_count()


def test_random_seeds_differ_and_are_shared_by_all_devices(module):
    seeds = set()
    for _ in range(3):
        module.seed_all()
        seeds.add(module.initial_seed())
        assert len({generator.initial_seed() for generator in module.default_generators}) == 1
    module.seed()
    assert len(seeds | {module.initial_seed()}) == 4


def test_a_state_brings_the_numbers_back(module, device):
    for where in ((), (0,), (device,), (device.type,), (str(device),)):
        state = module.get_rng_state(*where)
        drawn = torch.rand(4, device=device)
        module.set_rng_state(state, *where)
        assert_equal(torch.rand(4, device=device), drawn.cpu())


def test_the_states_of_all_devices_come_back(module, device):
    states = module.get_rng_state_all()
    drawn = [torch.rand(3, device=f"{device.type}:{i}") for i in range(len(states))]
    module.set_rng_state_all(iter(states))
    for i, expected in enumerate(drawn):
        assert_equal(torch.rand(3, device=f"{device.type}:{i}"), expected.cpu())


def test_the_offset_of_the_generator_can_be_moved(module, device):
    module.manual_seed(1)
    first = torch.rand(4, device=device)
    moved = module._get_rng_state_offset()
    assert moved > 0 and moved == module._get_generator(device).get_offset()
    module._set_rng_state_offset(0, device)
    assert_equal(torch.rand(4, device=device), first.cpu())


def test_fork_rng_keeps_the_state(module, device):
    module.manual_seed(2)
    expected = torch.rand(3, device=device)
    module.manual_seed(2)
    with torch.random.fork_rng(devices=[0], device_type=device.type):
        torch.rand(100, device=device)
    assert_equal(torch.rand(3, device=device), expected.cpu())


# ---- types ----

TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


@pytest.mark.parametrize(("name", "dtype"), TYPES.items(), ids=TYPES)
def test_a_typed_constructor_makes_tensors_of_its_type(module, device, name, dtype):
    made = getattr(module, name)
    assert made is getattr(module, name) and made.dtype == dtype
    assert repr(made) == f"<class 'torch.{device.type}.{name}'>"
    empty, filled = made(2, 3), made([[1, 0], [0, 1]])
    assert empty.shape == (2, 3) and made().shape == (0,) and made(torch.Size([4])).shape == (4,)
    for tensor in (empty, filled, made(filled)):
        assert tensor.device == device and tensor.dtype == dtype
        assert isinstance(tensor, made) and tensor.type() == f"torch.{device.type}.{name}"
    assert_equal(filled, torch.eye(2, dtype=dtype))
    assert not isinstance(filled.cpu(), made) and not isinstance(3, made)


@pytest.mark.parametrize(("name", "dtype"), TYPES.items(), ids=TYPES)
def test_a_tensor_can_be_turned_into_a_type(module, device, name, dtype):
    full = f"torch.{device.type}.{name}"
    for wanted in (full, getattr(module, name)):
        turned = torch.tensor([1, 0, 1]).type(wanted)
        assert turned.device == device and turned.dtype == dtype
        assert_equal(turned, torch.tensor([1, 0, 1]).to(dtype))


def test_a_typed_constructor_takes_a_device(module, other_device):
    for where in (1, other_device, str(other_device)):
        assert module.FloatTensor(3, device=where).device == other_device


def test_a_module_can_be_turned_into_a_type(module, device):
    turned = torch.nn.Linear(2, 2).type(module.DoubleTensor)
    assert turned.weight.device == device and turned.weight.dtype == torch.float64


def test_types_can_be_pickled(module):
    assert pickle.loads(pickle.dumps(module.FloatTensor)) is module.FloatTensor


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_have_types_too(module, device):
    storage = torch.ones(3, device=device).storage()
    assert isinstance(storage, module.FloatStorage)
    assert not isinstance(storage, module.DoubleStorage)
    assert storage.type() == f"torch.{device.type}.FloatStorage"
    assert module.LongStorage(4).device == device and module.LongStorage(4).dtype == torch.int64


# ---- what PyTorch puts on tensors and modules ----


def test_tensors_modules_and_storages_move_by_the_devices_name(device):
    name = device.type
    x, layer = torch.ones(2, 3), torch.nn.Linear(3, 1)
    for moved in (getattr(x, name)(), getattr(x, name)(0), getattr(x, name)(device)):
        assert moved.device == device and getattr(moved, f"is_{name}")
    assert getattr(moved, name)() is moved
    assert getattr(layer, name)() is layer and layer.weight.device == device
    assert getattr(x.untyped_storage(), name)().device == device
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])
    assert getattr(getattr(packed, name)(), f"is_{name}")


def test_a_thread_begins_on_the_first_device(module, other_device):
    seen = []
    module.set_device(1)
    thread = threading.Thread(target=lambda: seen.append(module.current_device()))
    thread.start()
    thread.join()
    module.set_device(0)
    assert seen == [0]
