"""Single-line faults in src, each with the tests that are to find it.

`right` is a text that its file has once: a whole statement, which ends in ';', or an expression. `wrong` stands in
its place while the fault is switched on; nothing, and the statement is left out. A test is one of tests/, with
pytest's `::`, on sim unless another device stands before it; or `program:filter`, one of tests/cpp.
"""

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True)
class Fault:
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    @property
    def number(self) -> int:
        """Its own, whatever the others are: so only what has changed is compiled again."""
        return crc32(f"{self.file}: {self.right} -> {self.wrong}".encode())


def fault(file: str, right: str, wrong: str, *tests: str) -> Fault:
    return Fault(file, right, wrong, tests)


HELLO = "TORCHPLUG_DEVICE=hello "
RECORDED = "TORCHPLUG_SIM_CAPTURE=off "
VALIDATED = "TORCHPLUG_LAYERS=validate "
BORROWED = "TORCHPLUG_SIM_KERNELS=off "

BASE = [
    fault(
        "base/operator_library.cpp",
        "op && op->hasKernelForDispatchKey(key_)",
        "false",
        "core_tests:Overriding.*",
    ),
    fault(
        "base/operator_library.cpp",
        "withdrawn_.push_back(op.getComputedKernelForDispatchKey(key_));",
        "",
        "core_tests:Overriding.*",
    ),
    fault("base/utf8.cpp", "(lead == 0xED && at[1] >= 0xA0)", "false", "core_tests:Utf8.*"),
    fault("base/utf8.cpp", "(lead == 0xF4 && at[1] >= 0x90)", "false", "core_tests:Utf8.*"),
    fault(
        "base/settings.cpp",
        "setting.kind != SettingKind::kText",
        "true",
        "core_tests:Settings.*",
    ),
    fault("base/settings.cpp", "c == '.'", "false", "core_tests:Settings.*"),
]

PLUGIN = [
    fault(
        "plugin/module.cpp",
        "listed.missing.empty() || listed.present.empty()",
        "true",
        "core_tests:Module.*:Adoption.*",
    ),
    fault(
        "plugin/module.cpp",
        "table.size / alignof(Table) * alignof(Table)",
        "size_t{table.size}",
        "core_tests:Module.*:Adoption.*",
    ),
    fault(
        "plugin/module.cpp",
        "std::min<size_t>(item_size, sizeof(Item))",
        "sizeof(Item)",
        "core_tests:Module.*:Adoption.*",
    ),
    fault(
        "plugin/host.cpp",
        "std::exchange(last_error, {})",
        "last_error",
        "core_tests:Device.*:Failure.*:Extension.*",
    ),
    fault("plugin/call_copy.cpp", "tensor.mem.offset = 0;", "", "operator_tests:CallCopy.*"),
]

LAYERS = [
    fault(
        "plugin/layers/layers.cpp",
        "(module.flags & PLUG_SERIALIZE) != 0",
        "false",
        "core_tests:Serialize.*",
    ),
    fault(
        "plugin/layers/serialize.cpp",
        "wait_until([&] { return below_.call<&R::event_query>(device, event) != PLUG_NOT_READY; });",
        "",
        "core_tests:Serialize.*",
    ),
    fault(
        "plugin/layers/fault.cpp",
        "lost_.insert(work.device);",
        "",
        "core_tests:Faults.*:Loss.*",
    ),
    fault(
        "plugin/layers/fault.cpp",
        "fault->nth == 0 && subject.bytes <= fault->above_bytes",
        "false",
        "core_tests:Faults.*",
    ),
    fault(
        "plugin/layers/fault_list.cpp",
        "fault.and_later = take('+');",
        "take('+');",
        "core_tests:Faults.*",
    ),
    fault(
        "plugin/layers/emulated_capture.cpp",
        "known[i] < streams_[i].work",
        "i == 1 && known[i] < streams_[i].work",
        RECORDED + "python/test_graphs.py::test_each_of_two_streams_that_joined_must_be_waited_for",
    ),
    fault(
        "plugin/layers/emulated_capture.cpp",
        "std::max(known[i], clock[i])",
        "clock[i]",
        RECORDED
        + "python/test_graphs.py::test_events_of_one_stream_may_be_waited_for_in_any_order",
    ),
    fault(
        "plugin/layers/validate_order.cpp",
        "is_unreleased = is_unreleased || (job->has_ended && !job->is_released);",
        "",
        "core_tests:Validate*",
    ),
    fault(
        "plugin/layers/validate_memory.cpp",
        "offset <= size - extent.bytes",
        "true",
        "core_tests:Validate.*",
    ),
    fault(
        "plugin/layers/validate_kernels.cpp",
        "begin_a < begin_b + static_cast<int64_t>(second.bytes)",
        "begin_a <= begin_b + static_cast<int64_t>(second.bytes)",
        "core_tests:Validate.*",
    ),
]

RUNTIME = [
    fault(
        "runtime/device.h",
        "(detail::lacks_of(device) & detail::kRefusal<Function>) == 0",
        "true",
        "python/test_device_lacks.py::test_operators_are_right_on_both_devices",
    ),
    fault(
        "runtime/capture.cpp",
        "random.needed = std::max(random.needed, random.drawn);",
        "random.needed = random.drawn;",
        "python/test_graph_random.py::"
        "test_a_replay_moves_on_by_all_it_draws_also_when_the_state_was_set_back",
    ),
    fault(
        "runtime/capture.cpp",
        "mode_ == CaptureMode::kThread && thread_ == std::this_thread::get_id()",
        "mode_ == CaptureMode::kThread",
        "python/test_graph_errors.py::"
        "test_the_mode_says_whether_other_threads_may_wait_for_the_device",
    ),
    fault(
        "runtime/stream.cpp",
        "current_ids[static_cast<size_t>(device_)] = id_;",
        "current_ids[0] = id_;",
        "core_tests:Stream.*",
    ),
    fault(
        "runtime/stream.cpp",
        "std::clamp(priority, info.priority_high, std::max(info.priority_high, info.priority_low))",
        "priority",
        "core_tests:Stream.*",
    ),
    fault(
        "runtime/stream.cpp",
        "if (status == PLUG_LOST) check(status, job->name(), job->device());",
        "",
        "core_tests:Loss.*:Failure.*",
    ),
    fault("runtime/stream.cpp", "pool.turn % kPoolSize", "size_t{0}", "core_tests:Stream.*"),
    fault(
        "runtime/event.cpp",
        "is_captured_ = capture != nullptr;",
        "is_captured_ = false;",
        "python/test_graphs.py::test_events_of_a_capture_mark_nothing_outside_of_it",
    ),
    fault("runtime/event.cpp", "capture->join(stream);", "", "core_tests:Capture.*"),
    fault(
        "runtime/failure.cpp",
        "if (!kept.lost.empty()) return;",
        "",
        "core_tests:Loss.*:Failure.*",
    ),
    fault(
        "runtime/failure.cpp",
        "if (kept.failure != nullptr || !kept.lost.empty()) return;",
        "if (!kept.lost.empty()) return;",
        "core_tests:Failure.*",
    ),
    fault(
        "runtime/generator.cpp",
        "draw.offset / 4 + 1",
        "1",
        BORROWED + "core_tests:Generator.*",
        BORROWED + "python/test_rng.py",
    ),
    fault(
        "runtime/generator.cpp",
        "if (seed) made.back().set_current_seed(*seed);",
        "",
        "python/test_loading.py::test_a_seed_given_before_the_device_is_used_holds",
    ),
    fault(
        "runtime/generator.cpp",
        "state->set_place(state_->place());",
        "",
        "core_tests:Generator.*",
    ),
    fault(
        "runtime/device.cpp",
        "if (slot.life == Life::kOpen || slot.life == Life::kLost) slot.life = Life::kForked;",
        "",
        "python/test_fork.py::test_use_in_a_forked_child_is_an_error_that_says_what_to_do",
    ),
    fault(
        "plugin/sequence.cpp",
        "entry.name.store(name, std::memory_order_release);",
        "",
        "core_tests:Sequence.*",
    ),
    fault(
        "runtime/deferred_warnings.cpp",
        "receiver == thread || !threads_.contains(receiver)",
        "true",
        "python/test_warnings.py::test_a_wait_leaves_the_warnings_of_other_threads_to_them",
    ),
    fault(
        "runtime/deferred_warnings.cpp",
        "torch::autograd::get_current_graph_task_id() != -1",
        "false",
        "python/test_warnings.py::test_the_warnings_of_a_backward_pass_go_to_who_waits_next",
    ),
    fault(
        "runtime/submit.h",
        "if (C10_UNLIKELY(launch_blocking())) work.stream.synchronize_if_blocking();",
        "",
        "core_tests:Failure.*",
    ),
]

MEMORY = [
    fault(
        "memory/pending_uses.h",
        "block->awaited = static_cast<uint32_t>(streams.size());",
        "block->awaited = 1;",
        "allocator_tests:DeviceAllocator.*:HostAllocator.*",
    ),
    fault(
        "memory/foreign_memory.cpp",
        "memory->block.used_on.push_back(memory->block.stream);",
        "",
        "core_tests:ForeignMemory.*",
    ),
    fault(
        "memory/foreign_memory.cpp",
        "memory->block.used_on.push_back(Stream::current(device));",
        "",
        "core_tests:ForeignMemory.*",
    ),
    fault(
        "memory/device_memory.cpp",
        "used_on.push_back(user);\n  block->cache = nullptr;",
        "used_on.push_back(user);",
        "allocator_tests:DeviceAllocator.*",
    ),
    fault(
        "memory/device_memory.cpp",
        "redirections_.empty() && !rounds_to_divisions()",
        "!rounds_to_divisions()",
        "allocator_tests:PrivatePool.*",
    ),
    fault(
        "memory/device_memory_growth.cpp",
        "bytes <= most && reserved <= most - bytes",
        "bytes <= most",
        "allocator_tests:MemoryLimits.*",
    ),
    fault(
        "memory/device_memory_growth.cpp",
        "pool->users == 0 && (!only || id == *only)",
        "!only || id == *only",
        "allocator_tests:PrivatePool.*",
    ),
    fault(
        "memory/free_blocks.cpp",
        "(*found)->stream.id() == id",
        "true",
        "allocator_tests:DeviceAllocator.*",
    ),
    fault(
        "memory/free_blocks.cpp",
        "if (rest->view != nullptr) rest->view += bytes;",
        "",
        "python/test_training.py::test_every_loss_is_the_cpus",
    ),
    fault(
        "memory/host_allocator.cpp",
        "wanted >= block.address + block.bytes",
        "false",
        "allocator_tests:HostAllocator.*",
    ),
    fault(
        "memory/host_allocator.cpp",
        "if (!known) block.used_on.push_back(user);",
        "if (block.used_on.empty()) block.used_on.push_back(user);",
        "allocator_tests:HostAllocator.*",
    ),
    fault(
        "memory/memory_history.cpp",
        "while (entries_.size() > most) entries_.pop_front();",
        "",
        "allocator_tests:MemoryHistory.*",
    ),
    fault(
        "memory/statistics.cpp",
        "stat.peak = std::max(stat.peak, stat.current);",
        "",
        "allocator_tests:AllocatorStatistics.*",
    ),
]

SHARING = [
    fault(
        "sharing/ipc.cpp",
        "found->second.reference->receive_copy();",
        "",
        "python/test_multiprocessing.py::test_views_of_one_storage_stay_views",
    ),
    fault(
        "sharing/ipc.cpp",
        "take_back_copy(reference);",
        "",
        "python/test_multiprocessing.py::test_what_comes_back_is_what_was_sent",
    ),
    fault(
        "sharing/reference_count.cpp",
        "if (table_.in_flight(reference) != 0) return true;",
        "",
        "core_tests:SharedReference.*",
    ),
    fault(
        "sharing/reference_count.cpp",
        "lock.l_type != F_UNLCK",
        "false",
        "core_tests:SharedReference.*",
    ),
]

CAPTURE = [
    fault(
        "capture/graph.cpp",
        "if (last_stream_) last_replay_->wait_quietly();",
        "",
        VALIDATED + "python/test_graphs.py::"
        "test_a_graph_may_go_while_its_last_replay_runs_and_its_output_lives",
    ),
    fault(
        "capture/graph.cpp",
        "if (last_stream_ && *last_stream_ != stream) last_replay_->block(stream);",
        "",
        VALIDATED + "python/test_graphs.py::test_replays_on_two_streams_follow_each_other",
    ),
    fault(
        "capture/graph.cpp",
        "DeviceAllocator::instance().release_pool(device, pool_);",
        "",
        "python/test_graph_memory.py::test_memory_of_a_graph_is_given_back_after_reset",
    ),
    fault(
        "capture/graph.cpp",
        "Stream::current(stream.device()) == stream",
        "true",
        "python/test_graph_errors.py::test_a_capture_ends_on_the_stream_it_began_on",
    ),
]

ATEN = [
    fault(
        "aten/host/loan.cpp",
        "buffer.read || !buffer.is_exact",
        "buffer.read",
        "python/test_mapped_memory.py",
        "python/test_partial_views.py",
        HELLO + "python/test_copy.py",
        HELLO + "python/test_views.py",
        HELLO + "python/test_staging.py",
    ),
    fault(
        "aten/host/loan.cpp",
        "if (maps_) maps_->unmap();",
        "",
        "python/test_mapped_memory.py",
    ),
    fault(
        "aten/register.cpp",
        "tensor.device() == device",
        "true",
        "python/test_odd_kernels.py::"
        "test_a_copy_by_a_kernel_stays_on_its_device_and_others_go_where_they_are_sent",
    ),
    fault(
        "aten/register.cpp",
        "is_taken(binding.operator_handle)",
        "false",
        "python/test_odd_kernels.py::test_a_kernel_of_no_use_is_named_with_the_reason",
    ),
    fault("aten/register.cpp", "composed.contains(name)", "false", "core_tests:Overriding.*"),
    fault(
        "aten/register.cpp",
        "device_library().withdraw(form);",
        "",
        "core_tests:Overriding.*",
    ),
    fault(
        "aten/op/operator_kernel.cpp",
        "is_fallback_allowed() && !has_extension_fallback()",
        "is_fallback_allowed()",
        "core_tests:Overriding.*",
    ),
    fault(
        "aten/tensor/device_tensor.cpp",
        "plain.sizes_data() != other.sizes().data()",
        "false",
        "core_tests:Overriding.*",
    ),
    fault(
        "aten/tensor/copy_on_write.cpp",
        "storage.mutable_data();",
        "",
        "python/test_copy_on_write.py::test_a_write_of_either_leaves_the_other_as_it_was",
    ),
    fault(
        "aten/tensor/storage.cpp",
        "static_cast<size_t>(tensor.storage_offset())",
        "size_t{0}",
        "python/test_views.py::test_resize_with_an_offset",
    ),
    fault(
        "aten/tensor/transfer.cpp",
        "has_pinned || is_emulated",
        "has_pinned",
        HELLO + "python/test_graphs.py::test_pinned_memory_is_read_and_written_at_each_replay",
    ),
    fault(
        "aten/host/host_alias.cpp",
        "strides[d] != alias_strides[d]",
        "false",
        "python/test_plans.py::test_a_change_between_two_calls_is_seen",
    ),
    fault(
        "aten/host/loan.cpp",
        "if (kind_ == LoanKind::kStage) bytes_moved_ += span_of(host).bytes();",
        "",
        HELLO + "python/test_operators_ways.py::TestStagedBytes",
    ),
    fault(
        "aten/host/loan.cpp",
        "buffer.read = buffer.read || wanted.read || !same;",
        "buffer.read = buffer.read || !same;",
        HELLO + "python/test_operators_ways.py::TestStagedBytes",
    ),
    fault(
        "aten/host/loan.cpp",
        "overwrites[i] && tensor.is_non_overlapping_and_dense()",
        "overwrites[i]",
        HELLO + "python/test_operators_ways.py::TestStagedBytes",
    ),
    fault(
        "aten/plan/by_operator.h",
        "*entry.schema == handle.schema()",
        "true",
        "python/test_operators_ways.py::"
        "test_an_operator_of_another_library_that_is_defined_anew_is_the_new_one",
    ),
    fault(
        "aten/plan/plan_cache.h",
        "slot = {id_, plan, words, std::move(entry)};",
        "slot = {id_, plan, words, nullptr};",
        "operator_tests:PlanCache.*",
    ),
    fault(
        "aten/plan/plan_cache.h",
        "if (plans_.size() >= kCapacity) plans_.swap(forgotten);",
        "",
        "operator_tests:PlanCache.*",
    ),
    fault(
        "aten/plan/plan_key.cpp",
        "bit(context.deterministicAlgorithms(), kDeterministicPlace)",
        "uint64_t{0}",
        "operator_tests:PlanKey.*",
    ),
    fault(
        "aten/plan/plan_key.cpp",
        "order_of(value, before)",
        "uint64_t{0}",
        "operator_tests:PlanKey.*",
    ),
    fault(
        "aten/plan/plan_key.cpp",
        "bit(tensor.is_contiguous(), 48)",
        "uint64_t{0}",
        "operator_tests:PlanKey.*:CallKind.*",
    ),
    fault(
        "aten/plan/plan_key.h",
        "dtype_bit(at::kByte)",
        "uint64_t{0}",
        "python/test_indexing.py::test_a_mask_of_bytes_selects_by_its_values_every_time",
    ),
    fault(
        "aten/kernel/bound_kernel.cpp",
        "if (!given.is_same(tensor)) given.copy_(tensor);",
        "",
        "operator_tests:BoundKernel.*",
    ),
    fault(
        "aten/kernel/bound_plan.cpp",
        "at::has_internal_overlap(target) == at::MemOverlap::Yes",
        "false",
        "python/test_odd_kernels.py::test_a_tensor_that_overlaps_itself_is_filled",
    ),
    fault(
        "aten/kernel/bound_kernel.cpp",
        "tensor = tensor.expand(plan.sizes);",
        "",
        "operator_tests:KernelInputs.*",
    ),
    fault(
        "aten/kernel/bound_kernel.cpp",
        "alike.was_declined = true;",
        "",
        "operator_tests:*Kernel*:Record.*",
    ),
    fault(
        "aten/kernel/kernel_state.cpp",
        "left->used_on.empty() || !has_streams(device_) || !is_open(device_)",
        "true",
        "operator_tests:Prepare.*",
    ),
    fault(
        "aten/kernel/kernel_call.cpp",
        "if (alike_.state != nullptr) capture->hold(alike_.state);",
        "",
        "operator_tests:Prepare.*",
    ),
    fault(
        "aten/kernel/bound_plan.cpp",
        "promote_number(arguments[i].toScalar(), state);",
        "",
        "operator_tests:KernelInputs.*",
    ),
    fault(
        "aten/fallback/host_kernel.cpp",
        "if (!facts_.is_aten || !facts_.returns_tensors || key.has_host_tensor()) return false;",
        "if (!facts_.is_aten || !facts_.returns_tensors) return false;",
        "python/test_graph_errors.py::"
        "test_what_cannot_be_captured_says_so_and_the_device_goes_on[host_index]",
    ),
    fault(
        "aten/fallback/operator_job.cpp",
        "generator_.seed_for_run();",
        "",
        "python/test_graph_random.py::"
        "test_each_replay_draws_other_numbers_and_the_same_after_reseeding",
    ),
    fault(
        "aten/fallback/typed_job.h",
        "if (!stayed) look_ = 0;",
        "",
        "python/test_plans.py::test_a_kernel_of_the_cpus_may_keep_what_it_was_given",
    ),
    fault(
        "aten/fallback/whole_copy.cpp",
        "shell.set_coalesced(host.is_coalesced());",
        "",
        "python/test_sparse_layouts.py::test_operations",
    ),
    fault(
        "aten/op/operator_kernel.cpp",
        "if (facts_.writes_any) own_written(torch::jit::last(stack, facts_.argument_count));",
        "",
        "python/test_copy_on_write.py::test_a_write_of_either_leaves_the_other_as_it_was",
    ),
    fault(
        "aten/own/meta_kernel.cpp",
        "expect_no_contents(own_, arguments);",
        "",
        "python/test_own_operators.py::test_tensors_with_contents_beside_ones_on_meta_are_refused",
    ),
    fault(
        "aten/op/operator_kernel.cpp",
        "facts_.takes_host_indices && are_indices",
        "facts_.takes_host_indices",
        "python/test_indexing.py::test_a_tensor_on_the_host_is_not_indexed_by_one_of_the_device",
    ),
    fault(
        "aten/op/typed_kernel.h",
        "kInPlace && key.has_sharing()",
        "false",
        BORROWED
        + "python/test_plans.py::test_tensors_of_two_dtypes_on_one_storage_overlap_by_bytes",
    ),
    fault(
        "aten/layouts/quantized.cpp",
        "self.is_non_overlapping_and_dense() ? self : at::clone(self)",
        "self",
        "python/test_quantized.py::test_one_with_gaps_arrives_without_them",
    ),
    fault(
        "aten/layouts/quantized.cpp",
        "self.qscheme() == source.qscheme()",
        "true",
        "python/test_quantized.py::test_what_the_cpu_refuses_is_refused",
    ),
    fault(
        "aten/layouts/sparse.cpp",
        "dtype.value_or(self.scalar_type()) == self.scalar_type()",
        "true",
        "python/test_sparse_layouts.py::test_they_cross_and_convert_at_once",
    ),
    fault(
        "aten/shims/copies.cpp",
        "!may_overlap(to, from)",
        "true",
        VALIDATED + "python/test_copy.py::test_overlapping_copies_do_what_the_cpu_does",
    ),
    fault(
        "aten/shims/copies.cpp",
        "done.block(destination);",
        "",
        "python/test_copy.py::test_a_copy_between_devices_waits_for_its_source_and_target",
    ),
    fault(
        "aten/shims/copies.cpp",
        "is_read_later || !is_ordinary_host_memory(from)",
        "is_read_later",
        "allocator_tests:HostAllocator.*",
    ),
    fault(
        "aten/shims/fills.cpp",
        "!self.is_non_overlapping_and_dense()",
        "false",
        "python/test_views.py::test_writing_the_view_shows_in_the_base",
    ),
    fault(
        "aten/shims/backwards.cpp",
        "set_composed(kernel, c10::KernelFunction::makeFromUnboxedFunction(function));",
        "",
        "python/test_composite_kernels.py::test_a_gradient_that_a_kernel_declines_is_composed",
    ),
    fault(
        "aten/shims/dropout.cpp",
        "p == 1 ? 0.0 : 1.0 / (1.0 - p)",
        "1.0 / (1.0 - p)",
        "python/test_rng.py::test_native_dropout_returns_the_mask_it_used",
    ),
    fault(
        "aten/shims/shared_batch_norm.cpp",
        "squares / (total - 1)",
        "squares / total",
        "distributed/test_parallel_training.py::test_batch_norm_over_all_ranks",
    ),
]

AUTOCAST = [
    fault(
        "autocast/policy.cpp",
        "add_widest(library);",
        "Library& m = library; KERNEL_PRIVATEUSEONE(dot, fp32) KERNEL_PRIVATEUSEONE(addcmul, fp32)",
        "python/test_autocast_policy.py::test_in_the_widest_type_is_half_where_all_are_half",
    ),
    fault(
        "autocast/policy.cpp",
        'library.impl("aten::binary_cross_entropy", TORCH_FN(refuse_binary_cross_entropy));',
        "",
        "python/test_autocast_policy.py::"
        "test_binary_cross_entropy_is_refused_with_the_advice_to_use_logits",
    ),
]

PROFILER = [
    fault(
        "profiler/clock_map.h",
        "std::min(host - device, distance_.highest)",
        "host - device",
        "core_tests:ClockMap.*",
    ),
    fault(
        "profiler/device_trace.cpp",
        "if (has_label) set_plugin_label(device, handle, id);",
        "",
        "core_tests:DeviceTrace*",
    ),
    fault(
        "profiler/device_trace.cpp",
        "is_in_replay && record.kind == PLUG_RECORD_HOST && record.name == nullptr",
        "false",
        "python/test_profiled_graphs.py::test_every_piece_of_a_replay_is_seen",
    ),
    fault(
        "profiler/device_trace.cpp",
        "record.start < lane.first.front().device",
        "false",
        "core_tests:DeviceTrace*",
    ),
]

DISTRIBUTED = [
    fault(
        "distributed/exchange.cpp",
        "ready.block(lane);",
        "",
        "distributed/test_order.py::test_a_collective_reads_what_the_stream_has_written_by_then",
    ),
    fault(
        "distributed/exchange.cpp",
        "if (end_) end_();",
        "",
        "distributed/test_collectives.py::test_an_average_is_the_sum_by_the_number_of_ranks",
    ),
    fault(
        "distributed/host_tensors.cpp",
        "if (!entry.dense.is_same(entry.original)) entry.original.copy_(entry.dense);",
        "",
        "distributed/test_collectives.py::test_views_of_any_strides_and_offsets",
    ),
    fault(
        "distributed/work.cpp",
        "if (timeout != kNoTimeout || opType_ == c10d::OpType::BARRIER) host_wait(timeout);",
        "if (timeout != kNoTimeout) host_wait(timeout);",
        "distributed/test_collectives.py::test_a_barrier_is_behind_the_work_of_the_current_stream",
    ),
    fault(
        "distributed/reduction.cpp",
        "if (op_ == Op::AVG) divisor_ = group_size;",
        "",
        "distributed/test_collectives.py::test_an_average_is_the_sum_by_the_number_of_ranks",
    ),
    fault(
        "distributed/reduction.cpp",
        "if (dtype == at::kBool) op_ = of_booleans(op_);",
        "",
        "distributed/test_collectives.py::test_booleans_stay_booleans",
    ),
]

PYTORCH = [
    fault("pytorch/operators.cpp", "module = given;", "", "core_tests:Activate.*"),
    fault(
        "pytorch/active_module.cpp",
        "module.name == chosen.name",
        "true",
        "core_tests:Activate.*",
    ),
    fault(
        "pytorch/guard.cpp",
        "flag == c10::EventFlag::BACKEND_DEFAULT",
        "true",
        "core_tests:Event.*",
    ),
    fault(
        "pytorch/guard.cpp",
        "is_high_priority ? device_info(index).priority_high : 0",
        "0",
        "core_tests:Stream.*",
    ),
    fault(
        "pytorch/hooks.cpp",
        "std::min(bytes, resized.nbytes())",
        "size_t{0}",
        "python/test_storage.py::test_resizing_keeps_what_fits",
    ),
    fault(
        "pytorch/hooks.cpp",
        "resized.set_nbytes(bytes);",
        "",
        "python/test_storage.py::test_resizing_keeps_what_fits",
    ),
]

PYTHON = [
    fault(
        "python/bindings.cpp",
        "std::max(info.priority_high, info.priority_low)",
        "info.priority_high",
        "python/test_stream_objects.py::test_a_stream_has_the_attributes_of_cudas",
        "python/test_stream_objects.py::"
        "test_the_plugin_is_asked_for_streams_as_they_are_needed_and_for_their_priority",
    ),
    fault(
        "python/memory.cpp",
        "held_.erase(found);",
        "",
        "python/test_memory.py::test_memory_can_be_allocated_and_freed_by_its_address",
    ),
    fault(
        "python/sharing.cpp",
        "event.block(waiting);",
        "",
        "python/test_dlpack.py::test_the_consumers_stream_waits_for_the_producers",
    ),
    fault(
        "python/warnings.cpp",
        "typeid(handler) != typeid(c10::WarningHandler)",
        "true",
        "python/test_warnings.py::"
        "test_every_call_that_warns_is_heard_of_by_the_end_of_the_next_wait",
    ),
]

FAULTS = [
    *BASE,
    *PLUGIN,
    *LAYERS,
    *RUNTIME,
    *MEMORY,
    *SHARING,
    *CAPTURE,
    *ATEN,
    *AUTOCAST,
    *PROFILER,
    *DISTRIBUTED,
    *PYTORCH,
    *PYTHON,
]
