"""What cannot be captured says so, in one sentence that says what to do, and the device goes on."""

import gc
import threading

import pytest
import torch
from helpers import assert_equal, capture, on_capture_stream, output_of, still_works
from vendors import compile_test_plugin

pytestmark = [
    pytest.mark.accelerator("the CPU captures nothing"),
    pytest.mark.usefixtures("nothing_left_behind"),
]


def stream_synchronize(module, x):
    module.current_stream().synchronize()


FORBIDDEN = {
    "item": (lambda module, x: x[0].item(), "(?i)reading a number.*after the replay"),
    "condition": (lambda module, x: bool(x[0]), "(?i)reading a number"),
    "stream_synchronize": (stream_synchronize, "(?i)waiting for a stream.*before the capture"),
    "stream_query": (lambda module, x: module.current_stream().query(), "(?i)querying a stream"),
    "device_synchronize": (lambda module, x: module.synchronize(), "cannot be synchronised"),
    "to_cpu": (lambda module, x: x.cpu(), "(?i)copy to the host.*pinned"),
    "from_cpu": (lambda module, x: x.copy_(torch.zeros(4)), "(?i)copy from the host.*pinned"),
    "nonzero": (
        lambda module, x: x.nonzero(),
        "aten::nonzero.*(depends on data|known only when it runs)",
    ),
    "mask": (
        lambda module, x: x[x > 0],
        r"aten::(nonzero|index).*(depends on data|known only when it runs)",
    ),
    "unplanned": (
        lambda module, x: torch.special.bessel_j0(x.reshape(2, 2)),
        "bessel_j0.*Run the step once before capturing it, so that every operator has a plan",
    ),
    "host_index": (
        lambda module, x: x.index_put_((torch.tensor([1, 0]),), x[:2]),
        "index_put_.*CPU tensor as argument.*Copy the tensor to the device",
    ),
    "replay": (None, "(?i)replaying a graph"),
    "nested": (lambda module, x: module.Graph().capture_begin(), "already capturing a graph"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_cannot_be_captured_says_so_and_the_device_goes_on(device, module, name):
    call, sentence = FORBIDDEN[name]
    x = torch.ones(4, device=device)
    replayed, _ = capture(module, lambda: x + 1)
    on_capture_stream(module, lambda: (x > 0, x.add(1)))
    graph = module.Graph()
    with pytest.raises(RuntimeError, match=sentence) as raised, module.graph(graph):
        x.add_(1)
        if call is None:
            replayed.replay()
        else:
            call(module, x)
    said = str(raised.value)
    assert "\n" not in said.partition("Exception raised")[0].strip()
    assert_equal(x, torch.ones(4))
    with pytest.raises(RuntimeError, match="needs a captured graph"):
        graph.replay()
    assert still_works(device)
    with module.graph(graph):  # the same graph can be captured now
        y = x + 1
    graph.replay()
    assert_equal(y, torch.full((4,), 2.0))


def test_a_failed_capture_says_so_at_its_end_too(device, module):
    x = torch.ones(4, device=device)
    module.synchronize()  # another stream uses it
    graph = module.Graph()
    with module.stream(module.graphs.own_stream()):
        graph.capture_begin()
        with pytest.raises(RuntimeError, match="Reading a number"):
            x[0].item()
        with pytest.raises(RuntimeError, match="capture of the graph failed: Reading a number"):
            graph.capture_end()
        assert_equal(x + 1, torch.full((4,), 2.0))


def test_an_error_of_the_users_ends_the_capture(device, module):
    x = torch.ones(4, device=device)
    graph = module.Graph()
    with pytest.raises(ZeroDivisionError), module.graph(graph):
        x.add_(1)
        raise ZeroDivisionError
    assert_equal(x, torch.ones(4))


def test_a_graph_dropped_in_its_capture_leaves_the_stream_usable(device, module):
    x = torch.ones(4, device=device)
    with module.stream(module.graphs.own_stream()):
        graph = module.Graph()
        graph.capture_begin()
        x.add_(1)
        del graph
        gc.collect()
        assert not module.is_current_stream_capturing()
        assert_equal(x + 1, torch.full((4,), 2.0))


def test_misuse_is_told(device, module):
    graph = module.Graph()
    with pytest.raises(RuntimeError, match="needs a captured graph"):
        graph.replay()
    with pytest.raises(RuntimeError, match="needs a captured graph"):
        graph.pool()
    with pytest.raises(RuntimeError, match="capture_begin"):
        graph.capture_end()
    with (
        pytest.raises(RuntimeError, match="capture_error_mode is 'loose'"),
        module.graph(graph, capture_error_mode="loose"),
    ):
        pass
    with module.graph(graph):
        pass
    with pytest.raises(RuntimeError, match="captured already"), module.graph(graph):
        pass
    with pytest.raises(RuntimeError, match="keep_graph"):
        graph.instantiate()
    graph.reset()
    with module.graph(graph):
        pass
    kept = module.Graph(keep_graph=True)
    with module.graph(kept):
        pass
    kept.instantiate()
    kept.replay()


@pytest.mark.accelerator("hello has one stream", only="sim")
def test_a_capture_ends_on_the_stream_it_began_on(device, module):
    graph, began, other = module.Graph(), module.Stream(), module.Stream()
    x = torch.zeros(10, device=device)
    on_capture_stream(module, lambda: x + 1)
    with module.stream(began):
        graph.capture_begin()
        y = x + 1
        with (
            pytest.raises(RuntimeError, match="ends on the stream it began on"),
            module.stream(other),
        ):
            graph.capture_end()
        graph.capture_end()
    x.fill_(2)
    graph.replay()
    assert_equal(y, torch.full((10,), 3.0))


@pytest.mark.accelerator("hello has one stream", only="sim")
def test_a_capture_on_the_default_stream_is_refused(device, module):
    with pytest.raises(RuntimeError, match="not on the default stream"):
        module.Graph().capture_begin()


def test_the_current_stream_says_whether_it_captures(device, module):
    assert not module.is_current_stream_capturing()
    with module.graph(module.Graph()):
        assert module.is_current_stream_capturing()
    assert not module.is_current_stream_capturing()


MODES = [("global", False), ("thread_local", True), ("relaxed", True)]


@pytest.mark.parametrize(("mode", "may_wait"), MODES)
def test_the_mode_says_whether_other_threads_may_wait_for_the_device(
    device, module, mode, may_wait
):
    raised = []

    def wait():
        try:
            module.synchronize(device)
        except RuntimeError as error:
            raised.append(error)

    x = torch.ones(4, device=device)
    on_capture_stream(module, lambda: x.add_(1))
    module.synchronize()
    graph = module.Graph()
    try:
        with module.graph(graph, capture_error_mode=mode):
            x.add_(1)
            thread = threading.Thread(target=wait)
            thread.start()
            thread.join()
    except RuntimeError as error:
        assert not may_wait and "capture of the graph failed" in str(error)
    assert bool(raised) != may_wait
    if may_wait:
        graph.replay()
        assert_equal(x, torch.full((4,), 3.0))


def test_in_the_relaxed_mode_the_capturing_thread_may_wait_for_the_device_too(device, module):
    x = torch.ones(4, device=device)
    on_capture_stream(module, lambda: x.add_(1))
    graph = module.Graph()
    with module.graph(graph, capture_error_mode="relaxed"):
        x.add_(1)
        module.synchronize()
        x.add_(1)
    graph.replay()
    assert_equal(x, torch.full((4,), 4.0))


def test_other_threads_work_on_while_a_graph_is_captured(device, module):
    x = torch.ones(4, device=device)
    on_capture_stream(module, lambda: x.add_(1))
    found = []
    if module.graphs.own_stream() is None:
        pytest.skip("one stream: what other threads do is captured too")

    def work():
        found.append((torch.full((4,), 2.0, device=device) * 3).cpu())

    graph = module.Graph()
    with module.graph(graph):
        x.add_(1)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert_equal(found[0], torch.full((4,), 6.0))
    graph.replay()
    assert_equal(x, torch.full((4,), 3.0))


@pytest.mark.accelerator("a plugin of its own", only="sim")
@pytest.mark.parametrize("view", [True, False], ids=["borrowed", "staged"])
def test_what_the_cpu_does_is_refused_by_name_where_the_plugin_captures_without_host_functions(
    tmp_path, view
):
    code = """
    module = torch.get_device_module(device)
    x = torch.ones(4, device=device)
    x.exp()
    try:
        with module.graph(module.Graph()):
            x.exp()
    except RuntimeError as error:
        print(error)
    print(torch.allclose(x.exp().cpu(), x.cpu().exp()))
    """
    settings = {"TORCHPLUG_SIM_CAPTURE": "on"}
    if not view:
        settings["TORCHPLUG_CAPTURES_ALONE_NO_VIEW"] = 1
    plugin = compile_test_plugin(tmp_path, "captures_alone")
    said = output_of(code, "captures_alone", TORCHPLUG_DEVICE=plugin, **settings)
    assert "aten::exp" in said and "has no host_func" in said and "outside of the capture" in said
    assert said.endswith("True")


def test_an_operator_of_another_library_says_why_it_cannot_be_captured(device, module):
    library = torch.library.Library("uncaptured", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    x = torch.ones(4, device=device)
    assert_equal(torch.ops.uncaptured.twice(x), torch.full((4,), 2.0))
    with (
        pytest.raises(
            RuntimeError, match=r"uncaptured::twice.*not PyTorch's own.*outside"
        ) as raised,
        module.graph(module.Graph()),
    ):
        torch.ops.uncaptured.twice(x)
    assert "depends on data" not in str(raised.value)
    library._destroy()
    assert still_works(device)
