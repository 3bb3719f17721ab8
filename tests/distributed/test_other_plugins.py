"""What a plugin leaves out costs speed, not results: memory that the host cannot see is copied in stream order,
and without host functions the host waits."""

import subprocess
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import test_collectives
import test_messages
import test_order
import test_parallel_training
import torch
from ranks import Ranks

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.accelerator(
    "sim is the plugin that has something to leave out", only="sim"
)

RESULTS = [
    (test_collectives.test_all_reduce_adds, {"dtype": torch.float32}),
    (test_collectives.test_every_reduction_that_gloo_has, {}),
    (test_collectives.test_data_of_every_dtype_move_unchanged, {"dtype": torch.bfloat16}),
    (test_collectives.test_gather_and_scatter, {}),
    (test_collectives.test_reduce_scatter, {"dtype": torch.int64}),
    (test_collectives.test_all_to_all_with_equal_and_unequal_parts, {}),
    (test_collectives.test_several_tensors_at_once, {}),
    (test_collectives.test_views_of_any_strides_and_offsets, {}),
    (test_collectives.test_tensors_on_different_devices_are_in_one_order, {}),
    (test_messages.test_messages_of_one_tag_arrive_in_the_order_of_the_calls, {}),
    (test_messages.test_two_ranks_that_both_send_first, {}),
    (test_messages.test_messages_of_different_tags_in_any_order, {}),
    (test_messages.test_a_message_from_any_rank_says_whose_it_is, {}),
    (test_messages.test_a_batch_of_messages_round_a_ring, {}),
    (test_order.test_an_asynchronous_collective_does_not_wait_for_the_other_ranks, {}),
    (test_order.test_a_collective_reads_what_the_stream_has_written_by_then, {}),
    (test_order.test_a_future_gives_the_result, {}),
    (test_order.test_memory_of_a_collective_is_not_used_again_before_it_is_over, {}),
    (test_order.test_groups_can_be_used_in_different_orders_on_different_ranks, {}),
    (test_order.test_two_threads_use_one_group, {}),
    (test_parallel_training.test_ddp, {"bucket_view": True}),
    (test_parallel_training.test_fsdp2, {"reshard": True}),
]
ORDER = [
    (test_order.test_waiting_for_a_collective_holds_up_the_stream_and_not_the_host, {}),
    (test_order.test_work_goes_on_beside_a_collective, {}),
    (test_order.test_only_the_stream_that_waits_is_held_up, {}),
    (test_order.test_a_future_is_complete_when_its_collective_is_enqueued, {}),
    (test_order.test_a_collective_can_wait_for_one_of_another_group, {}),
]


def run(veiled, checks, folder):
    """Carries out the checks on a device whose plugin lacks the function `veiled`."""
    (sim,) = entry_points(group="torchplug.devices", name="sim")
    library = folder / "libveiled.so"
    definitions = [f'-DREAL="{sim.load()}"', f"-DVEILED={veiled}"]
    source = Path(__file__).with_name("veiled.c")
    command = ["cc", "-std=c11", "-shared", "-fPIC", f"-I{ROOT / 'include'}", *definitions, source]
    subprocess.run([*command, "-ldl", "-o", library], check=True)
    group = Ranks(2, str(library), "cpu:gloo,veiled:torchplug")
    try:
        for check, arguments in checks:
            directory = folder / check.__name__
            directory.mkdir()
            group.run(check.__module__, check.__name__, directory, arguments)
    finally:
        group.end()


def test_without_host_views_data_are_copied_in_stream_order(tmp_path):
    run("host_view", RESULTS + ORDER, tmp_path)


def test_without_host_functions_the_host_waits(tmp_path):
    run("host_func", RESULTS, tmp_path)


def test_without_pinned_memory_and_host_views_the_host_waits(tmp_path):
    run("host_view = runtime.host_alloc = NULL; runtime.host_free", RESULTS[:14], tmp_path)
