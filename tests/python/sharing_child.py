"""A child process that does what the tests of sharing ask it to, and keeps what they tell it to."""

import gc
import os

import torch

import torchplug.testing

KEPT = []


class Marked(torch.Tensor):
    """A subclass with nothing of its own."""


def serve(requests, answers, relay, environment):
    """Answers each request, a function of this module and its arguments, until there is none."""
    global RELAY
    RELAY = relay
    os.environ.update(environment)  # before the first use of the device, which reads it
    while True:
        try:
            request = requests.get()
            if request is None:
                return
            function, args = request
            answer = ("returned", function(*args))
        except Exception as error:  # noqa: BLE001 - it is the answer
            answer = ("raised", f"{type(error).__name__}: {error}")
        answers.put(answer)
        request = args = answer = None


class Child:
    """The parent's side of it."""

    def __init__(self, context, relay=None, **environment):
        self.requests, self.answers = context.Queue(), context.Queue()
        arguments = (self.requests, self.answers, relay, environment)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()

    def ask(self, function, *args):
        self.requests.put((function, args))
        return self.answers.get(timeout=120)

    def __call__(self, function, *args):
        how, answer = self.ask(function, *args)
        assert how == "returned", answer
        return answer

    def end(self):
        self.requests.put(None)
        self.process.join(60)


# ---- what it can be asked ----


def add(tensor, number):
    tensor.add_(number)
    torch.accelerator.synchronize(tensor.device)


def values(tensor):
    return tensor.tolist()


def echo(value):
    return value


def keep(value):
    KEPT.append(value)


def allocate_more_and_more(device):
    for megabytes in (1, 3, 5, 30):
        KEPT.append(torch.ones(megabytes << 18, device=device))
    segments = [s for s in torchplug.device_module().memory_snapshot() if s["is_expandable"]]
    assert segments, "no segment grows"


def last_kept():
    return KEPT[-1]


def last_kept_sum():
    return KEPT[-1].sum().item()


def let_go():
    KEPT.clear()
    gc.collect()
    torch.get_device_module().ipc_collect()


def kept_values():
    return [tensor.tolist() for tensor in KEPT]


def addresses(*tensors):
    return [tensor.data_ptr() for tensor in tensors]


def places(*tensors):
    return [str(tensor.device) for tensor in tensors]


def facts(tensor):
    return type(tensor).__name__, tensor.requires_grad, tensor.is_leaf, tensor.is_shared()


def count_descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def allocated():
    return torch.accelerator.memory_allocated()


def train_a_little(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    torch.accelerator.synchronize()


def pass_on(tensor):
    RELAY.put(tensor)
    RELAY.join()


def add_to_what_is_passed_on(number):
    add(RELAY.get(timeout=60), number)
    RELAY.task_done()


def die():
    os._exit(9)


# ---- events ----


def record_behind_a_gate(event, tensor):
    """Adds 1 to the tensor and records the event once the gate is opened; returns at once."""
    global GATE
    tensor.add_(0)  # the first call of an operator may wait
    GATE = torchplug.testing.hold(torch.accelerator.current_stream())
    tensor.add_(1)
    event.record()


def open_the_gate():
    GATE.open()


def copy_what_is_kept_after(handle):
    """Whether the copy was made at once, though the event has to be waited for."""
    module = torch.get_device_module()
    KEPT[0] * 1
    module.Event.from_ipc_handle(None, handle).wait()
    KEPT.append(KEPT[0] * 1)
    return module.current_stream().query()


def record_until(event, recorded, seen):
    """All that a process does: records the event, which is not reached before `seen` is set."""
    with torchplug.testing.hold(torch.accelerator.current_stream()):
        event.record()
        recorded.set()
        seen.wait()
    torch.accelerator.synchronize()
