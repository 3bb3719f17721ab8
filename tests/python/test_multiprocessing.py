"""Tensors go to other processes: without a copy where the plugin can share memory, as copies otherwise."""

import contextlib
import gc
import inspect
import os
import signal
import time
from multiprocessing.reduction import ForkingPickler

import pytest
import sharing_child
import torch
from helpers import TIMEOUT, assert_equal, fork_server, run_python
from sharing_child import Child
from torch import multiprocessing

import torchplug.testing
from torchplug import _sharing

pytestmark = pytest.mark.accelerator("PyTorch shares the CPU's memory itself")

shares = pytest.mark.accelerator("its plugin can share memory", only="sim")
copies = pytest.mark.accelerator("its plugin cannot share memory", only="hello")


@pytest.fixture(scope="module")
def context():
    return fork_server()


@pytest.fixture(scope="module")
def child(context):
    made = Child(context)
    yield made
    made.end()


@pytest.fixture
def nothing_left(module, child):
    """What is sent is given back, in this process and in the other."""
    gc.collect()
    module.ipc_collect()
    before = module.memory_allocated(), child(sharing_child.allocated)
    yield
    child(sharing_child.let_go)
    gc.collect()
    module.ipc_collect()
    assert (module.memory_allocated(), child(sharing_child.allocated)) == before


# ---- what arrives ----


VALUES = {
    "vector": lambda: torch.arange(5.0),
    "matrix": lambda: torch.arange(6.0).reshape(2, 3),
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "strided": lambda: torch.arange(20.0)[3::4],
    "number": lambda: torch.tensor(3),
    "empty": lambda: torch.empty(0, 3),
    "bool": lambda: torch.tensor([True, False]),
    "half": lambda: torch.arange(4.0).half(),
    "complex": lambda: torch.tensor([1 + 2j]),
    "large": lambda: torch.arange(300_000.0),
}


@pytest.mark.parametrize("name", VALUES)
def test_tensors_arrive_as_they_are(device, child, nothing_left, name):
    expected = VALUES[name]()
    sent = torch.empty_strided(
        expected.shape, expected.stride(), dtype=expected.dtype, device=device
    )
    sent.copy_(expected)
    assert child(sharing_child.places, sent) == [str(device)]
    assert child(sharing_child.values, sent) == expected.tolist()
    back = child(sharing_child.echo, sent)
    assert back.device == device and back.stride() == sent.stride()
    assert_equal(back, expected)
    del back


def test_containers_arrive(device, child, nothing_left):
    sent = {
        "list": [torch.ones(2, device=device), torch.arange(3)],
        "tuple": (torch.zeros(1, device=device), "words"),
        "cpu": torch.full((2,), 7.0),
    }
    back = child(sharing_child.echo, sent)
    assert_equal(back, sent)
    assert back["list"][0].device == device and back["cpu"].device.type == "cpu"
    del back


def test_many_tensors_arrive(device, child, nothing_left):
    sent = [torch.full((4,), float(i), device=device) for i in range(200)]
    back = child(sharing_child.echo, sent)
    assert [tensor[0].item() for tensor in back] == list(range(200))
    del back


def test_a_tensor_of_the_second_device_stays_there(other_device, child):
    assert child(sharing_child.places, torch.ones(2, device=other_device)) == [str(other_device)]


def test_a_sparse_tensor_arrives(device, child):
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    back = child(sharing_child.echo, dense.to(device).to_sparse())
    assert back.layout == torch.sparse_coo and back.device == device
    assert_equal(back.to_dense(), dense)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_arrive(device, child):
    x = torch.arange(3.0, device=device)
    assert child(sharing_child.values, x.storage()) == [0, 1, 2]
    back = child(sharing_child.echo, x.untyped_storage())
    assert back.device == device and back.tolist() == x.untyped_storage().tolist()


def test_leaves_and_parameters_stay_what_they_are(device, child):
    leaf = torch.ones(2, device=device, requires_grad=True)
    parameter = torch.nn.Parameter(torch.ones(2, device=device), requires_grad=False)
    assert child(sharing_child.facts, leaf)[:3] == ("Tensor", True, True)
    assert child(sharing_child.facts, parameter)[:3] == ("Parameter", False, True)
    assert child(sharing_child.facts, torch.nn.Parameter(leaf.detach()))[:3] == (
        "Parameter",
        True,
        True,
    )


def test_a_tensor_of_a_subclass_stays_one(device, child):
    sent = torch.arange(3.0, device=device).as_subclass(sharing_child.Marked)
    assert child(sharing_child.facts, sent)[0] == "Marked"
    assert_equal(child(sharing_child.echo, sent).as_subclass(torch.Tensor), torch.arange(3.0))


def test_a_tensor_inside_a_graph_is_refused(device):
    inner = torch.ones(2, device=device, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        ForkingPickler.dumps(inner)
    assert ForkingPickler.dumps(inner.detach())


def test_a_state_dict_arrives(device, child, nothing_left):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).to(device)
    back = child(sharing_child.echo, model.state_dict())
    assert list(back) == list(model.state_dict())
    assert_equal(dict(back), dict(model.state_dict()))
    del back


def test_cpu_tensors_still_go_pytorchs_way(child):
    x = torch.arange(3.0)
    back = child(sharing_child.echo, x)
    back.add_(1)
    assert x.tolist() == [1, 2, 3] and x.is_shared()


# ---- without a copy ----


@shares
def test_the_child_writes_into_the_parents_memory(device, child, nothing_left):
    small, large = torch.arange(4.0, device=device), torch.zeros(500_000, device=device)
    child(sharing_child.add, small, 1)
    child(sharing_child.add, large[1000:2000], 2)
    assert small.tolist() == [1, 2, 3, 4]
    assert large.sum().item() == 2000 and large[1500].item() == 2


@shares
def test_the_parent_writes_into_the_childs_memory(device, module, child, nothing_left):
    x = torch.zeros(3, device=device)
    child(sharing_child.keep, x)
    x.add_(5)
    module.synchronize()
    assert child(sharing_child.kept_values) == [[5, 5, 5]]


@shares
def test_memory_that_grew_in_place_is_shared(device, context):
    growing = Child(context, PYTORCH_ALLOC_CONF="expandable_segments:True")
    growing(sharing_child.allocate_more_and_more, device)
    x = growing(sharing_child.last_kept)
    x.add_(3)
    torch.accelerator.synchronize(device)
    assert growing(sharing_child.last_kept_sum) == 4 * x.numel()
    del x
    growing.end()


@shares
def test_views_of_one_storage_stay_views(device, child, nothing_left):
    x = torch.arange(8.0, device=device)
    first, second = child(sharing_child.addresses, x, x[2:4])
    assert second - first == 8
    child(sharing_child.keep, x)
    child(sharing_child.keep, x[4:])
    child(sharing_child.add, x[4:], 10)  # another message, the same storage
    assert child(sharing_child.kept_values) == [[0, 1, 2, 3, 14, 15, 16, 17], [14, 15, 16, 17]]


@shares
def test_what_comes_back_is_what_was_sent(device, child, nothing_left):
    x = torch.arange(4.0, device=device)
    back = child(sharing_child.echo, x[1:])
    assert back.data_ptr() == x[1:].data_ptr()
    assert back.untyped_storage()._cdata == x.untyped_storage()._cdata
    del back


@shares
def test_a_model_is_trained_by_another_process(device, child, nothing_left):
    model = torch.nn.Linear(3, 2).to(device).share_memory()
    assert model.weight.is_shared()
    child(sharing_child.train_a_little, model)
    assert model.weight.tolist() == [[0.5] * 3] * 2 and model.bias.tolist() == [0.5] * 2


@shares
def test_a_tensor_is_passed_on_to_a_third_process(device, context, child):
    relay = context.JoinableQueue()
    second, third = Child(context, relay), Child(context, relay)
    x = torch.zeros(2, device=device)
    third.requests.put((sharing_child.add_to_what_is_passed_on, (4,)))
    second(sharing_child.pass_on, x)
    assert third.answers.get(timeout=TIMEOUT) == ("returned", None)
    assert x.tolist() == [4, 4]
    second.end(), third.end()


@contextlib.contextmanager
def hold_until_somebody_waits(stream):
    """The gate gives way to whoever waits for the stream, and is an error there."""
    with (
        torchplug.testing.hold(stream, limit=0.1),
        pytest.raises(RuntimeError, match="was not opened"),
    ):
        yield


@shares
def test_the_child_does_not_see_unfinished_work(device, module, child, nothing_left):
    x = torch.zeros(2, device=device)
    x.add_(0)  # the first call of an operator may wait
    with hold_until_somebody_waits(module.current_stream()):
        x.add_(1)
        ForkingPickler.dumps(x)
    assert child(sharing_child.values, x) == [1, 1]


@shares
def test_work_on_a_side_stream_is_waited_for_too(device, module, child, nothing_left):
    side, x = module.Stream(), torch.zeros(2, device=device)
    x.add_(0)
    side.wait_stream(module.current_stream())
    with hold_until_somebody_waits(side):
        with module.stream(side):
            x.add_(1)
        ForkingPickler.dumps(x)
    assert child(sharing_child.values, x) == [1, 1]


@shares
def test_devices_are_told_apart_by_what_the_plugin_calls_them(device, other_device, context):
    """The child has one device, which is the parent's second."""
    half_blind = Child(context, TORCHPLUG_VISIBLE_DEVICES="1")
    x = torch.zeros(2, device=other_device)
    assert half_blind(sharing_child.places, x) == [str(device)]
    half_blind(sharing_child.add, x, 3)
    assert x.tolist() == [3, 3]
    how, answer = half_blind.ask(sharing_child.values, torch.zeros(2, device=device))
    assert how == "raised" and "TORCHPLUG_VISIBLE_DEVICES" in answer
    half_blind.end()


# ---- for how long ----


@shares
def test_memory_is_kept_until_the_child_lets_go(device, module, child):
    module.ipc_collect()
    before = module.memory_allocated()
    x = torch.full((1000,), 3.0, device=device)
    child(sharing_child.keep, x)
    del x
    gc.collect()
    module.ipc_collect()
    assert module.memory_allocated() > before
    torch.zeros(1000, device=device).add_(1)  # would be in the same place
    module.synchronize()
    assert child(sharing_child.kept_values) == [[3.0] * 1000]
    child(sharing_child.let_go)
    module.ipc_collect()
    assert module.memory_allocated() == before


@shares
@pytest.mark.parametrize("end", [signal.SIGKILL, None], ids=["killed", "exits"])
def test_memory_comes_back_when_the_child_ends(device, module, context, end):
    module.ipc_collect()
    before = module.memory_allocated()
    mortal = Child(context)
    x = torch.ones(1000, device=device)
    mortal(sharing_child.keep, x)
    del x
    module.ipc_collect()
    assert module.memory_allocated() > before
    if end is None:
        mortal.requests.put((sharing_child.die, ()))
    else:
        os.kill(mortal.process.pid, end)
    mortal.process.join(TIMEOUT)
    module.ipc_collect()
    assert module.memory_allocated() == before


@shares
def test_no_descriptor_is_left_open(device, module, child):
    def rounds(count):
        for _ in range(count):
            tensors = [torch.ones(400_000, device=device) for _ in range(3)]
            child(sharing_child.echo, tensors)
            child(sharing_child.let_go)
        del tensors
        gc.collect()
        module.ipc_collect()
        return sharing_child.count_descriptors(), child(sharing_child.count_descriptors)

    first = rounds(3)
    assert rounds(6) == first


@shares
def test_memory_stays_usable_when_the_process_that_sent_it_ends(device, tmp_path):
    """The parent ends at once, its memory not given back; the child goes on with it."""
    report = tmp_path / "report"
    code = f"""
        import os
        from torch import multiprocessing
        import orphan
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue, received = context.Queue(), context.Event()
            context.Process(target=orphan.work, args=(queue, received, {str(report)!r})).start()
            queue.put(torch.arange(4.0, device=device))
            assert received.wait(60)
            os._exit(0)
    """
    (tmp_path / "orphan.py").write_text(ORPHAN)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = run_python(code, device, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert wait_for(report) == "[1.0, 2.0, 3.0, 4.0]"


ORPHAN = """
import os, time, torch
def work(queue, received, report):
    x = queue.get(timeout=60)
    parent = os.getppid()
    received.set()
    while os.getppid() == parent:
        time.sleep(0.01)
    x += 1
    with open(report + ".part", "w") as file:
        file.write(str(x.tolist()))
    os.rename(report + ".part", report)
"""


def wait_for(path):
    """What is in the file, once it is there."""
    limit = time.monotonic() + TIMEOUT
    while not path.exists():
        assert time.monotonic() < limit, f"{path} did not appear"
        time.sleep(0.01)
    return path.read_text()


def test_a_tensor_whose_sender_has_ended_is_refused_with_a_sentence(device, context, child):
    class Gone:
        def detach(self):
            raise FileNotFoundError

    with pytest.raises(RuntimeError, match="ended before it was received"):
        _sharing._receive(Gone())


@shares
def test_running_out_of_memory_collects_what_nobody_uses(device):
    code = """
        from torch import multiprocessing
        import sharing_child
        if __name__ == "__main__":
            child = sharing_child.Child(multiprocessing.get_context("spawn"))
            size = 40 << 18  # floats: 40 of 64 MiB
            for number in range(3):
                x = torch.full((size,), float(number), device=device)
                child(sharing_child.keep, x)
                child(sharing_child.let_go)
                del x
            print("fits")
            child.end()
    """
    done = run_python(code, device, TORCHPLUG_SIM_MEMORY="64MiB")
    assert done.stdout.strip() == "fits", done.stderr


@shares
def test_a_tensor_that_was_sent_keeps_its_size(device, child):
    x = torch.ones(4, device=device)
    child(sharing_child.keep, x)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(1000)
    child(sharing_child.let_go)


# ---- with a copy ----


@copies
def test_without_the_plugins_help_the_child_gets_a_copy(device, child):
    x = torch.arange(3.0, device=device)
    child(sharing_child.add, x, 1)
    assert x.tolist() == [0, 1, 2]
    back = child(sharing_child.echo, [x, x[1:]])
    assert back[0].device == device and back[1].data_ptr() - back[0].data_ptr() == 4


@copies
def test_without_the_plugins_help_nothing_claims_to_be_shared(device):
    x = torch.ones(2, device=device)
    assert not x.is_shared()
    with pytest.raises(RuntimeError, match="its plugin has no ipc_export"):
        x.share_memory_()
    with pytest.raises(RuntimeError, match="its plugin has no ipc_export"):
        torch.nn.Linear(2, 2).to(device).share_memory()
    assert torch.nn.Linear(2, 2).share_memory().weight.is_shared()


@shares
def test_every_tensor_can_be_shared_as_it_is(device):
    x = torch.ones(2, device=device)
    assert x.is_shared() and x.share_memory_() is x


def test_the_sharing_patch_is_still_needed(device):
    """Fails when PyTorch's own reducer of storages takes the device."""
    from torch.multiprocessing import reductions

    reduce = inspect.unwrap(reductions.reduce_storage)
    with pytest.raises(RuntimeError, match="only available on CPU"):
        reduce(torch.ones(2, device=device).untyped_storage())


# ---- ways to start and to send ----


def double(tensor):
    return tensor * 2


def add_to_argument(rank, tensor, expected):
    assert tensor.tolist() == expected
    if rank == 0:
        tensor.add_(1)
        torch.accelerator.synchronize(tensor.device)


def send_doubled(pipe):
    pipe.send(pipe.recv() * 2)
    pipe.recv()  # what was sent must be received before this process ends


def test_a_pool_computes_on_the_device(device, context):
    with context.Pool(1) as pool:
        results = pool.map(double, [torch.full((2,), float(i), device=device) for i in range(3)])
        assert [result.device for result in results] == [device] * 3
        assert [result.tolist() for result in results] == [[0, 0], [2, 2], [4, 4]]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_pipe_carries_tensors_both_ways(device, method):
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    process = context.Process(target=send_doubled, args=(there,))
    process.start()
    here.send(torch.arange(3.0, device=device))
    assert here.poll(TIMEOUT)
    assert here.recv().tolist() == [0, 2, 4]
    here.send("received")
    process.join(TIMEOUT)
    assert process.exitcode == 0


def test_tensors_go_as_arguments_of_a_new_process(device):
    x = torch.arange(3.0, device=device)
    multiprocessing.spawn(add_to_argument, args=(x, [0, 1, 2]), nprocs=1)
    shared = device.type == "sim"
    assert x.tolist() == ([1, 2, 3] if shared else [0, 1, 2])


def test_a_forked_child_is_told_at_once(device):
    code = """
        import os
        from torch import multiprocessing
        def child(queue, answers):
            try:
                answers.put(str(queue.get(timeout=60)))
            except Exception as error:
                answers.put(type(error).__name__ + ": " + str(error).splitlines()[0])
        x = torch.ones(3, device=device)
        context = multiprocessing.get_context("fork")
        queue, answers = context.Queue(), context.Queue()
        process = context.Process(target=child, args=(queue, answers))
        process.start()
        queue.put(x)
        print(answers.get(timeout=60))
        process.join()
        pid = os.fork()
        if pid == 0:
            torch.get_device_module(device).ipc_collect()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        del x
        torch.get_device_module(device).ipc_collect()
        print(torch.accelerator.memory_allocated())
    """
    done = run_python(code, device)
    answer, left = done.stdout.strip().splitlines()
    assert "fork" in answer and "spawn" in answer, done.stderr
    assert left == "0"


def test_processes_with_different_devices_do_not_mix(device):
    with pytest.raises(RuntimeError, match="TORCHPLUG_DEVICE"):
        _sharing._rebuild_empty("another")
