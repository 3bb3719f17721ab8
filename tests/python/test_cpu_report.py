"""torchplug.cpu.report(): what the machine is, and `torchplug doctor`, which prints it."""

import dataclasses
import json

import pytest
import torch
from machine import CORES, commands
from test_command_line import checks_of, json_of

import torchplug.cpu
from torchplug.cli import doctor
from torchplug.cpu import _cores, _machine

pytestmark = pytest.mark.usefixtures("threads_given_back")


def test_the_report_is_what_this_machine_says(capsys):
    report = torchplug.cpu.report()
    assert [core.number for core in report.cores] == _cores.existing()
    assert report.allowed == CORES
    assert report.threads.count == torch.get_num_threads()
    assert report.instruction_set in ("avx512_bf16", "avx512", "avx2", "scalar")
    assert set(report.features) <= set(_machine.features())
    assert all(set(cache.cores) <= set(_cores.existing()) for cache in report.caches)
    assert json.loads(json.dumps(dataclasses.asdict(report)))["model"] == report.model
    torchplug.cpu.describe()
    assert capsys.readouterr().out == f"{report}\n"


def test_pytorch_and_the_report_agree_on_the_instruction_set():
    has = _machine.instruction_set(_machine.features())
    capability = torch.backends.cpu.get_cpu_capability()
    assert has.startswith("avx512") == (capability == "AVX512")
    assert (has != "scalar") == (capability in ("AVX2", "AVX512"))


def test_threads_caches_and_nodes_of_a_larger_machine_are_told_apart(two_sockets):
    rows = dict(torchplug.cpu.report().rows())
    assert rows["cores"].startswith("0-7: 4 cores of 2 threads, such as 0,4; this process may use")
    assert rows["caches"] == "4 x L1d 48.0 KiB for 2 cores; 2 x L3 32.0 MiB for 4 cores"
    assert rows["NUMA"] == (
        "node 0: cores 0-1,4-5, 1.0 GiB; node 1: cores 2-3,6-7, 1.0 GiB; node 2: no cores, 1.0 GiB"
    )
    assert _cores.one_of_each([0, 1, 2, 3, 4, 5, 6, 7]) == [0, 1, 2, 3]
    assert _cores.one_of_each([5, 4, 1]) == [1, 4]


@pytest.mark.parametrize(
    ("flags", "kernels"),
    [
        ("", "scalar"),
        ("avx2 fma f16c bmi1 bmi2 movbe", "avx2"),
        ("avx512f avx512_bf16 avx512_vnni", "scalar"),
        ("avx2 fma f16c bmi1 bmi2 movbe avx512f avx512bw avx512cd avx512dq avx512vl", "avx512"),
        (f"{' '.join(sorted(_machine.AVX512))} avx512_vnni amx_tile", "avx512"),
        (f"{' '.join(sorted(_machine.AVX512))} avx512_vnni avx512_bf16", "avx512_bf16"),
    ],
)
def test_kernels_are_those_for_which_the_processor_has_everything(flags, kernels):
    assert _machine.instruction_set(flags.split()) == kernels


def test_threads_that_another_has_ended_are_told():
    torchplug.cpu.bind(CORES)
    torchplug.cpu._threads.binding().threads.append(2**22)
    report = torchplug.cpu.report()
    assert report.threads.gone == 1 and "call torchplug.cpu.bind again" in str(report)


# ---- torchplug doctor ----


@commands
def test_doctor_prints_the_report():
    answer = json_of("doctor")
    checks = checks_of(answer)
    for subject, finding in torchplug.cpu.report().rows():
        if subject != "threads":
            assert checks[subject]["finding"] == finding
    assert [core["number"] for core in answer["cpu"]["cores"]] == _cores.existing()


def test_doctor_advises_huge_pages_and_no_more_threads_than_cores():
    report = torchplug.cpu.report()
    never = dataclasses.replace(report.huge_pages, transparent="never")
    many = dataclasses.replace(report.threads, count=len(CORES) + 1)
    checks = doctor.check_cpu(dataclasses.replace(report, huge_pages=never, threads=many))
    advised = {check.subject: check for check in checks if check.state == "warning"}
    assert set(advised) == {"huge pages", "threads"}
    assert "madvise" in advised["huge pages"].advice
    assert f"OMP_NUM_THREADS to {len(CORES)}" in advised["threads"].advice
    fine = dataclasses.replace(never, transparent="madvise"), dataclasses.replace(many, count=1)
    report = dataclasses.replace(report, huge_pages=fine[0], threads=fine[1])
    assert {check.state for check in doctor.check_cpu(report)} == {"ok"}
