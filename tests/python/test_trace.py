"""The layer trace, and plug-replay, which makes the calls of a trace again; docs/trace.md."""

import inspect
import re
import subprocess
import sys

import pytest
import torch
from helpers import run_python
from vendors import compile_plugin, compile_test_plugin, install, plugin_library

from torchplug import cli
from torchplug.cli import replay


def compute(device):
    x = torch.tensor([[1.0, -2.0, 3.0], [0.5, -0.25, 4.0]], device=device)
    index = torch.tensor([2, 0], device=device)
    large = torch.linspace(-1, 1, 10000, device=device).reshape(100, 100)
    small = [x.relu(), x.t().relu(), torch.add(x, x, alpha=2), x[:, index]]
    return [result.cpu().tolist() for result in (*small, (large.relu() + large.t()).sum())]


PROGRAM = (
    inspect.getsource(compute)
    + """
if device.type == "hello":  # which is synchronous
    results = compute(device)
else:
    stream = torch.Stream(device=device)
    stream.wait_stream(torch.accelerator.current_stream())
    with stream:
        results = compute(device)
    stream.synchronize()
print(results)
"""
)

# A device whose relu is what `code` says.
RELU = """
#include "base.h"
static plug_status relu(const plug_call *call) {{
  {code}
}}
static const plug_kernel list[] = {{{{.schema = "aten::relu(Tensor self) -> Tensor", .fn = relu}}}};
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {{
  make_device(given, "{name}");
  add_kernels(list, 1);
  *out = &module;
  return PLUG_OK;
}}
"""
SLOW = "int usleep(unsigned); usleep(250000); return base_relu(call);"
WRONG = "base_relu(call); *(float *)at(&call->results[0].as.tensors->mem) += 1; return PLUG_OK;"
FAILS = 'return fail(PLUG_INTERNAL, "the unit is on fire");'

HEADER = 'torchplug-trace 1 plugin="x" version="1" abi=2 pid=1\n'
TENSOR = "tensor(f32 m1+{offset} [2] [1]{rest})"


def play(*arguments):
    """Exit code, standard output, standard error."""
    command = [replay.program(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def relu_device(folder, name, code):
    return compile_plugin(folder, name, RELU.format(name=name, code=code))


def kernel_line(number, word, schema, given, wanted, state="none", status="ok"):
    """A call of an operator of one tensor of two elements."""
    args = TENSOR.format(offset=0, rest=f" data=[{given}]")
    results = TENSOR.format(offset=512, rest=" written")
    answer = (
        f"{status} results=[" + TENSOR.format(offset=512, rest=f" written data=[{wanted}]") + "]"
    )
    return (
        f'{number} {word} schema="{schema}" name="{schema.partition("(")[0]}" device=0 stream=s0 flags=0x0 '
        f"sequence={number} compute=f32 state={state} args=[{args}] results=[{results}] = {answer}\n"
    )


RELU_SCHEMA = "aten::relu(Tensor self) -> Tensor"
NEG_SCHEMA = "aten::neg(Tensor self) -> Tensor"
ALLOCATION = "1 mem_alloc device=0 bytes=4096 = ok base=m1\n"
ONE_RELU = (
    HEADER + ALLOCATION + kernel_line(2, "kernel", RELU_SCHEMA, "0x1p+0,-0x1p+1", "0x1p+0,0x0p+0")
)


@pytest.fixture(scope="module")
def traced(device, tmp_path_factory):
    """What a program printed, and the trace it left."""
    path = tmp_path_factory.mktemp("trace") / "a.trace"
    done = run_python(PROGRAM, device, TORCHPLUG_LAYERS="trace", TORCHPLUG_TRACE=path)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, path


@pytest.mark.accelerator("the CPU has no layers")
def test_tracing_changes_no_result(traced):
    assert traced[0] == f"{compute('cpu')}\n"


@pytest.mark.accelerator("the CPU has no layers")
def test_a_trace_has_a_line_for_each_call_with_its_answer(traced):
    header, *lines = traced[1].read_text().splitlines()
    assert re.fullmatch(r'torchplug-trace 1 plugin="\w+" version="[^"]*" abi=\d+ pid=\d+', header)
    numbers = [int(line.split()[0]) for line in lines if line.split()[1] != "="]
    assert numbers == list(range(1, len(numbers) + 1))
    functions = {line.split()[1] for line in lines}
    assert {"device_count", "mem_alloc", "copy", "kernel"} <= functions
    relu = [line for line in lines if f'kernel schema="{RELU_SCHEMA}"' in line]
    small = "data=[0x1p+0,-0x1p+1,0x1.8p+1,0x1p-1,-0x1p-2,0x1p+2]"
    assert any(small in line.partition(" = ")[0] for line in relu)
    assert any("[100,100] [100,1] fill=0x" in line for line in relu)
    assert all(" = " in line for line in relu)


@pytest.mark.accelerator("the CPU has no layers")
def test_a_trace_is_played_without_a_difference(traced, device):
    code, output, errors = play(traced[1], plugin_library(device.type))
    assert (code, errors) == (0, "") and output.endswith(" 0 differences\n"), output
    assert int(output.split()[0]) > 10


@pytest.mark.accelerator("the CPU has no layers")
def test_any_other_plugin_can_be_given_a_trace(traced, tmp_path):
    library = relu_device(tmp_path, "wrong", WRONG)
    code, output, _ = play(traced[1], library, "--only", "aten::relu")
    assert code == 1 and "result 0: element 0 is 2, in the trace 1" in output


@pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")
def test_a_crash_leaves_its_call_as_the_last_and_is_played(tmp_path):
    path = tmp_path / "crash.trace"
    library = relu_device(tmp_path, "crash", "(void)call; abort();")
    done = run_python(
        "torch.ones(3, device=device).relu()",
        "crash",
        TORCHPLUG_DEVICE=library,
        TORCHPLUG_LAYERS="trace",
        TORCHPLUG_TRACE=path,
    )
    lines = path.read_text().split("\n")
    assert done.returncode != 0
    assert " kernel " in lines[-1] and "data=[0x1p+0,0x1p+0,0x1p+0]" in lines[-1]
    assert " = " not in lines[-1]
    code, output, _ = play(path, library)
    crash = f"line {len(lines)}, kernel {RELU_SCHEMA}: the plugin ended the process by signal 6"
    assert code == 1 and crash in output
    code, output, _ = play(path, relu_device(tmp_path, "mended", "return base_relu(call);"))
    assert code == 0 and "ok; the trace has no answer: the program ended in it" in output


@pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")
def test_a_second_process_writes_a_second_file(tmp_path):
    path = tmp_path / "shared.trace"
    use = "import torch; torch.ones(3, device='hello').relu()"
    code = f"{use}\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', {use!r}], check=True)"
    environment = {"TORCHPLUG_LAYERS": "trace", "TORCHPLUG_TRACE": path}
    done = run_python(code, "hello", TORCHPLUG_DEVICE="hello", **environment)
    assert done.returncode == 0, done.stderr
    files = [path, path.with_name("shared.trace.2")]
    owners = {re.search(r"pid=(\d+)", file.read_text().splitlines()[0])[1] for file in files}
    assert len(owners) == 2
    for file in files:
        assert file.read_text().count(f'kernel schema="{RELU_SCHEMA}"') == 1


@pytest.mark.accelerator("the CPU has no layers")
def test_a_file_that_cannot_be_written_is_one_sentence(device, tmp_path):
    settings = {"TORCHPLUG_LAYERS": "trace", "TORCHPLUG_TRACE": tmp_path / "no" / "a.trace"}
    done = run_python("torch.ones(3, device=device)", device, **settings)
    assert "cannot be written: No such file or directory. Set TORCHPLUG_TRACE" in done.stderr


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """A plugin whose results are lists, and the trace of a call of each of its operators."""
    folder = tmp_path_factory.mktemp("lists")
    library, path = compile_test_plugin(folder, "lists"), folder / "lists.trace"
    code = """
x = torch.tensor([[1.0, -2.0, 3.0], [0.5, -0.25, 4.0]], device=device)
print([row.tolist() for row in torch.ops.lists.rows(x)], *torch.ops.lists.positives(x))
"""
    settings = {"TORCHPLUG_LAYERS": "trace", "TORCHPLUG_TRACE": path}
    done = run_python(code, "lists", TORCHPLUG_DEVICE=library, **settings)
    assert done.stdout == (
        "[[1.0, -2.0, 3.0], [0.5, -0.25, 4.0]] "
        "[0, 2, 3, 5] [1.0, 3.0, 0.5, 4.0] [True, False, True, True, False, True]\n"
    )
    return library, path.read_text()


@pytest.mark.accelerator("it chooses its plugin, so once is enough", only="sim")
def test_lists_that_a_kernel_shapes_are_played(lists, folder):
    library, text = lists
    code, output, _ = play(written(folder, text), library)
    assert code == 0 and output.endswith(" 0 left out, 0 failed as in the trace, 0 differences\n")


@pytest.mark.accelerator("it chooses its plugin, so once is enough", only="sim")
@pytest.mark.parametrize(
    ("traced", "changed", "words"),
    [
        ("ints[0,2,3,5]", "ints[0,2,3,4]", "result 0: element 3 is 5, in the trace 4"),
        ("ints[0,2,3,5]", "ints[0,2,3]", "result 0: it has another length than in the trace"),
        ("floats[0x1p+0,", "floats[0x1p+1,", "result 1: element 0 is 1, in the trace 2"),
        ("bools[1,0,", "bools[1,1,", "result 2: element 1 is 0, in the trace 1"),
        ("[3] [1] written data=[0x1p-1,", "[3] [1] written data=[0x1p-2,", "result 0: element 0"),
    ],
    ids=["ints", "length", "floats", "bools", "tensors"],
)
def test_other_items_of_a_list_are_a_difference(lists, folder, traced, changed, words):
    library, text = lists
    assert text.count(traced) == 1
    code, output, _ = play(written(folder, text.replace(traced, changed)), library)
    assert code == 1 and words in output and output.endswith(" 1 differences\n"), output


@pytest.mark.accelerator("it chooses its plugin, so once is enough", only="sim")
def test_lists_of_a_call_that_was_never_answered_are_played(lists, folder):
    library, text = lists
    answers = [line for line in text.splitlines(keepends=True) if "ints[" in line]
    assert len(answers) == 1 and re.match(r"\d+ = ok", answers[0])
    code, output, _ = play(written(folder, text.replace(answers[0], "")), library)
    assert code == 0 and "ok; the trace has no answer" in output and "0 differences" in output


# ---- plug-replay on traces written here ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("replay")


@pytest.fixture(scope="module")
def kinds(folder):
    return compile_test_plugin(folder, "kernel_kinds")


def written(folder, text):
    path = folder / "written.trace"
    path.write_text(text)
    return path


once = pytest.mark.accelerator("it writes its traces itself", only="sim")


@once
def test_what_prepare_kept_comes_with_the_calls_and_any_takes_the_rest(folder, kinds):
    prepared = kernel_line(2, "prepare", RELU_SCHEMA, "0x0p+0,0x0p+0", "0x0p+0,0x0p+0")
    prepared = re.sub(r" data=\[[^]]*\]", "", prepared).replace("= ok", "= ok state=p1")
    text = (
        HEADER
        + ALLOCATION
        + prepared
        + kernel_line(3, "kernel", RELU_SCHEMA, "0x1p+0,-0x1p+1", "0x1p+0,0x0p+0", state="p1")
        + "4 forget state=p1 = ok\n"
        + kernel_line(5, "any", NEG_SCHEMA, "0x1p+0,-0x1p+1", "-0x1p+0,0x1p+1")
        + kernel_line(
            6, "any", "aten::exp(Tensor self) -> Tensor", "0x0p+0,0x0p+0", "0x1p+0,0x1p+0"
        )
    )
    code, output, _ = play(written(folder, text), kinds)
    lines = output.splitlines()
    assert code == 1
    assert lines == [
        "line 7, any aten::exp(Tensor self) -> Tensor: unsupported, in the trace ok",
        "6 calls played, 0 left out, 0 failed as in the trace, 1 differences",
    ]


@once
def test_a_crash_names_its_line(folder, kinds, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_KERNEL_KINDS_CRASHES", "1")
    prepared = re.sub(
        r" data=\[[^]]*\]", "", kernel_line(2, "prepare", RELU_SCHEMA, "0x0p+0", "0x0p+0")
    ).replace("= ok", "= ok state=p1")
    call = kernel_line(3, "kernel", RELU_SCHEMA, "0x1p+0,-0x1p+1", "0x1p+0,0x0p+0", state="p1")
    code, output, _ = play(written(folder, HEADER + ALLOCATION + prepared + call), kinds)
    assert code == 1
    assert f"line 4, kernel {RELU_SCHEMA}: the plugin ended the process by signal 6" in output


@once
def test_a_failure_that_was_traced_is_no_difference(folder):
    library = relu_device(folder, "fails", FAILS)
    line = kernel_line(2, "kernel", RELU_SCHEMA, "0x1p+0,0x1p+0", "0x1p+0,0x1p+0")
    failed = line[: line.index(" = ")] + ' = internal said="the unit is on fire"\n'
    code, output, _ = play(written(folder, HEADER + ALLOCATION + failed), library)
    assert code == 0 and "internal, as in the trace: the unit is on fire" in output
    code, output, _ = play(written(folder, ONE_RELU), library)
    assert code == 1 and "internal: the unit is on fire, in the trace ok" in output


@once
def test_until_only_and_repeat_choose_what_is_played(folder, kinds):
    path = written(folder, ONE_RELU)
    library = relu_device(folder, "wrong_too", WRONG)
    assert play(path, library)[0] == 1
    assert play(path, library, "--until", 2)[:2] == (
        0,
        "1 calls played, 0 left out, 0 failed as in the trace, 0 differences\n",
    )
    assert play(path, library, "--only", "aten::mm")[0] == 0
    assert "3 differences" in play(path, library, "--repeat", 3)[1]
    assert play(path, library, "--tolerance", 10)[0] == 0


@once
def test_each_call_of_many_may_take_as_long_as_one(folder):
    """All of them take longer than the limit, by which their process would have been ended."""
    library = relu_device(folder, "slow", SLOW)
    code, output, _ = play(written(folder, ONE_RELU), library, "--repeat", 10, "--timeout", 1)
    assert code == 0, output


@once
def test_large_tensors_are_filled_with_ordinary_numbers(folder):
    """Never NaN, and integers within their range: the plugin says what it sees."""
    code = """
  const plug_tensor *in = call->args[0].as.tensors;
  const int is_float = in->dtype == PLUG_F32;
  for (int64_t i = 0; i < count_of(in); i++) {
    const float x = ((const float *)at(&in->mem))[is_float ? i : 0];
    const int64_t n = is_float ? 0 : ((const int64_t *)at(&in->mem))[i];
    if (is_float && !(x >= -1 && x <= 1)) return fail(PLUG_INVALID, "a float is out of range");
    if (n < 0 || n > 9) return fail(PLUG_INVALID, "an integer is out of range");
    if (i > 0 && is_float && x == ((const float *)at(&in->mem))[i - 1])
      return fail(PLUG_INVALID, "two are the same");
  }
  return PLUG_OK;"""
    library = relu_device(folder, "looks", code)
    floats = kernel_line(2, "kernel", RELU_SCHEMA, "", "").replace("data=[]", "fill=0x1234")
    integers = floats.replace("2 kernel", "3 kernel").replace("f32 m1", "i64 m1")
    integers = integers.replace("fill=0x1234", "fill=0x77 range=[0,9]")
    text = (HEADER + ALLOCATION + floats + integers).replace("bytes=4096", "bytes=1048576")
    text = text.replace("[2] [1]", "[1000] [1]").replace("m1+512", "m1+65536")
    code, output, _ = play(written(folder, text), library)
    assert code == 0, output


@once
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("something else\n", "is no trace"),
        ("torchplug-trace 2\n", "another version than 1"),
        (HEADER + "x y z\n", "line 2 of .* is damaged: it begins with no number"),
        (ONE_RELU.replace("data=[0x1p+0,-0x1p+1]", "data=[0x1p+0]"), "line 3 .* data do not fit"),
        (ONE_RELU.replace("f32 m1+0", "f33 m1+0"), "line 3 .* unknown dtype"),
        (ONE_RELU.replace("[2] [1]", "[2] [1,1]", 1), "line 3 .* sizes and strides do not fit"),
        (ONE_RELU.replace("2 kernel", "7 kernel"), "line 3 .* does not follow"),
        (ONE_RELU + "9 = ok\n", "line 4 .* answers a call that is not in the trace"),
    ],
    ids=lambda value: None if "\n" in str(value) or not value else value[:12],
)
def test_a_damaged_trace_is_refused_with_its_line(folder, kinds, text, words):
    code, output, errors = play(written(folder, text), kinds)
    assert (code, output) == (2, "") and re.search(words, errors), errors
    assert errors.count("\n") == 1


@once
def test_a_last_line_that_is_cut_off_is_left_out(folder, kinds):
    code, output, _ = play(written(folder, ONE_RELU[:-60]), kinds)
    assert code == 0 and "line 3 is cut off and was left out" in output


@once
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a trace and a plugin are needed"),
        (["a", "b", "c"], "unknown argument c"),
        (["a", "b", "--until"], "a value is missing after --until"),
        (["a", "/no/such/plugin.so"], "there is no file"),
    ],
    ids=["nothing", "three", "no_value", "no_plugin"],
)
def test_wrong_usage_is_code_2_and_nothing_on_stdout(arguments, words):
    code, output, errors = play(*arguments)
    assert (code, output) == (2, "") and words in errors


@once
def test_torchplug_plays_it_by_the_name_of_a_plugin(folder):
    command = [sys.executable, "-m", "torchplug", "replay", str(written(folder, ONE_RELU)), "hello"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(
        "2 calls played, 0 left out, 0 failed as in the trace, 0 differences\n"
    )


@once
def test_torchplug_plays_it_with_a_plugin_of_operators_alone(folder, monkeypatch):
    library = compile_test_plugin(folder, "operators")
    install(folder, "played", f"PATH = {str(library)!r}\n", group="torchplug.operators")
    monkeypatch.syspath_prepend(folder)
    started = []
    monkeypatch.setattr("os.execv", lambda program, words: started.append(words))
    cli.main(["replay", "some.trace", "played"])
    assert started == [["plug-replay", "some.trace", str(library)]]
