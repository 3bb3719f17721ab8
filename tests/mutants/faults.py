"""Single-line faults in src, each with the tests that are to find it.

`right` is a text that its file has once: a whole statement, which ends in ';', or an expression. `wrong` stands in
its place while the fault is switched on. A test is a file under tests, with pytest's `::`, or `core_tests:Filter`;
environment variables may stand before it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


def fault(file: str, right: str, wrong: str, *tests: str) -> Fault:
    return Fault(file, right, wrong, tests)


RECORDED = "TORCHPLUG_SIM_CAPTURE=off "
VALIDATED = "TORCHPLUG_LAYERS=validate "

RUNTIME = [
    fault(
        "runtime/capture.cpp",
        "random.needed = std::max(random.needed, random.drawn);",
        "random.needed = random.drawn;",
        "python/test_graph_random.py",
    ),
    fault(
        "runtime/capture.cpp",
        "mode_ == CaptureMode::kThread && thread_ == std::this_thread::get_id()",
        "mode_ == CaptureMode::kThread",
        "python/test_graph_errors.py",
    ),
    fault(
        "runtime/stream.cpp",
        "current_ids[static_cast<size_t>(device_)] = id_;",
        "current_ids[0] = id_;",
        "python/test_streams.py",
    ),
    fault(
        "runtime/stream.cpp",
        "std::clamp(priority, info.priority_high, std::max(info.priority_high, info.priority_low))",
        "priority",
        "python/test_streams.py",
        "core_tests:Stream*",
    ),
    fault(
        "runtime/stream.cpp",
        "if (status == PLUG_LOST) check(status, job->name(), job->device());",
        "",
        "core_tests:Loss*",
        "python/test_failures.py",
    ),
    fault("runtime/stream.cpp", "pool.turn % kPoolSize", "size_t{0}", "core_tests:Stream*"),
    fault(
        "runtime/event.cpp",
        "is_captured_ = capture != nullptr;",
        "is_captured_ = false;",
        "python/test_graphs.py",
    ),
    fault("runtime/event.cpp", "capture->join(stream);", "", "python/test_graphs.py"),
    fault(
        "runtime/failure.cpp",
        "if (kept.failure != nullptr || !kept.lost.empty()) return;",
        "if (!kept.lost.empty()) return;",
        "core_tests:Failure*",
    ),
    fault(
        "runtime/failure.cpp",
        "kept.pending.store(!kept.lost.empty(), std::memory_order_release);",
        "kept.pending.store(false, std::memory_order_release);",
        "core_tests:Loss*",
        "python/test_failures.py",
    ),
    fault("runtime/generator.cpp", "draw.offset / 4 + 1", "1", "python/test_rng.py"),
    fault(
        "runtime/generator.cpp",
        "if (seed) made.back().set_current_seed(*seed);",
        "",
        "python/test_rng.py",
    ),
    fault(
        "runtime/generator.cpp",
        "state->set_place(state_->place());",
        "",
        "python/test_rng.py",
        "core_tests:Generator*",
    ),
    fault(
        "runtime/device.cpp",
        "if (slot.life == Life::kOpen || slot.life == Life::kLost) slot.life = Life::kForked;",
        "",
        "python/test_fork.py",
    ),
    fault(
        "runtime/sequence.cpp",
        "entry.name.store(name, std::memory_order_release);",
        "",
        "core_tests:Failure*",
    ),
    fault(
        "runtime/deferred_warnings.cpp",
        "receiver == thread || !threads_.contains(receiver)",
        "true",
        "python/test_warnings.py",
    ),
    fault(
        "runtime/deferred_warnings.cpp",
        "torch::autograd::get_current_graph_task_id() != -1",
        "false",
        "python/test_warnings.py",
    ),
    fault(
        "runtime/submit.h",
        "if (C10_UNLIKELY(launch_blocking())) work.stream.synchronize_if_blocking();",
        "",
        "python/test_warnings.py",
        "python/test_asynchrony.py",
    ),
]

PLUGIN = [
    fault(
        "plugin/module.cpp",
        "listed.missing.empty() || listed.present.empty()",
        "true",
        "core_tests:Module*",
    ),
    fault(
        "plugin/module.cpp",
        "table.size / alignof(Table) * alignof(Table)",
        "size_t{table.size}",
        "core_tests:Module*",
    ),
    fault(
        "plugin/module.cpp",
        "std::min<size_t>(adopted.kernel_size, sizeof kernel)",
        "sizeof kernel",
        "core_tests:Module*",
    ),
    fault(
        "plugin/layers/serialize.cpp",
        "wait_until([&] { return below_.call<&R::event_query>(device, event) != PLUG_NOT_READY; });",
        "",
        "core_tests:Serialize*",
    ),
    fault("plugin/layers/fault.cpp", "lost_.insert(work.device);", "", "core_tests:Fault*:Loss*"),
    fault(
        "plugin/layers/fault.cpp",
        "fault->nth == 0 && subject.bytes <= fault->above_bytes",
        "false",
        "core_tests:Fault*",
    ),
    fault(
        "plugin/layers/fault_list.cpp",
        "fault.and_later = take('+');",
        "take('+');",
        "core_tests:Fault*",
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
        RECORDED + "python/test_graphs.py",
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
        "core_tests:Validate*",
    ),
    fault(
        "plugin/layers/validate_kernels.cpp",
        "begin_a < begin_b + static_cast<int64_t>(second.bytes)",
        "begin_a <= begin_b + static_cast<int64_t>(second.bytes)",
        "core_tests:Validate*",
    ),
]

CAPTURE = [
    fault(
        "capture/graph.cpp",
        "if (last_stream_) last_replay_->wait_quietly();",
        "",
        VALIDATED + "python/test_graphs.py",
    ),
    fault(
        "capture/graph.cpp",
        "if (last_stream_ && *last_stream_ != stream) last_replay_->block(stream);",
        "",
        VALIDATED + "python/test_graphs.py",
    ),
    fault(
        "capture/graph.cpp",
        "DeviceAllocator::instance().release_pool(device, pool_);",
        "",
        "python/test_graph_memory.py",
    ),
]

SHARING = [
    fault(
        "sharing/ipc.cpp",
        "if (--allocation->second.storages == 0) allocations_.erase(allocation);",
        "allocations_.erase(allocation);",
        "python/test_multiprocessing.py",
    ),
    fault(
        "sharing/ipc.cpp",
        "take_back_copy(reference);",
        "",
        "python/test_multiprocessing.py",
    ),
    fault(
        "sharing/reference_count.cpp",
        "if (table_.in_flight(reference) != 0) return true;",
        "",
        "core_tests:*Reference*",
        "python/test_multiprocessing.py",
    ),
    fault(
        "sharing/reference_count.cpp",
        "lock.l_type != F_UNLCK",
        "false",
        "core_tests:*Reference*",
        "python/test_multiprocessing.py",
    ),
]

AUTOCAST = [
    fault(
        "autocast/policy.cpp",
        "add_widest(library);",
        "torch::Library& m = library; KERNEL_PRIVATEUSEONE(dot, fp32) KERNEL_PRIVATEUSEONE(addcmul, fp32)",
        "python/test_autocast_policy.py",
    ),
    fault(
        "autocast/policy.cpp",
        'library.impl("binary_cross_entropy", TORCH_FN(refuse_binary_cross_entropy));',
        "",
        "python/test_autocast_policy.py",
    ),
]

PROFILER = [
    fault(
        "profiler/device_trace.cpp",
        "if (has_label) set_plugin_label(device, handle, id);",
        "",
        "python/test_profiler.py",
    ),
    fault(
        "profiler/device_trace.cpp",
        "is_in_replay && record.kind == PLUG_RECORD_HOST && record.name == nullptr",
        "false",
        "python/test_profiled_graphs.py",
    ),
    fault(
        "profiler/device_trace.cpp",
        "record.start < lane.first.front().device",
        "false",
        "core_tests:*Profiler*:*Trace*",
    ),
]

DISTRIBUTED = [
    fault("distributed/exchange.cpp", "ready.block(lane);", "", "distributed/test_order.py"),
    fault("distributed/exchange.cpp", "if (end_) end_();", "", "distributed/test_collectives.py"),
    fault(
        "distributed/work.cpp",
        "if (timeout != kNoTimeout || opType_ == c10d::OpType::BARRIER) host_wait(timeout);",
        "if (timeout != kNoTimeout) host_wait(timeout);",
        "distributed/test_order.py",
    ),
    fault(
        "distributed/reduction.cpp",
        "if (op_ == Op::AVG) divisor_ = group_size;",
        "",
        "distributed/test_collectives.py",
    ),
    fault(
        "distributed/reduction.cpp",
        "if (dtype == at::kBool) op_ = of_booleans(op_);",
        "",
        "distributed/test_collectives.py",
    ),
]

PYTORCH = [
    fault(
        "pytorch/guard.cpp",
        "flag == c10::EventFlag::BACKEND_DEFAULT",
        "true",
        "python/test_streams.py",
        "python/test_stream_objects.py",
    ),
    fault(
        "pytorch/guard.cpp",
        "is_high_priority ? device_info(index).priority_high : 0",
        "0",
        "python/test_streams.py",
        "python/test_stream_objects.py",
    ),
    fault(
        "pytorch/hooks.cpp",
        "std::min(bytes, resized.nbytes())",
        "size_t{0}",
        "python/test_storage.py",
    ),
    fault("pytorch/hooks.cpp", "resized.set_nbytes(bytes);", "", "python/test_storage.py"),
]

PYTHON = [
    fault(
        "python/bindings.cpp",
        "std::max(info.priority_high, info.priority_low)",
        "info.priority_high",
        "python/test_stream_objects.py",
        "python/test_streams.py",
    ),
    fault(
        "python/warnings.cpp",
        "typeid(handler) != typeid(c10::WarningHandler)",
        "true",
        "python/test_warnings.py",
    ),
]

BASE = [
    fault("base/utf8.cpp", "(lead == 0xED && at[1] >= 0xA0)", "false", "core_tests:*tf8*"),
    fault("base/utf8.cpp", "(lead == 0xF4 && at[1] >= 0x90)", "false", "core_tests:*tf8*"),
]

MEMORY = [
    fault(
        "memory/pending_uses.h",
        "block->awaited = static_cast<uint32_t>(streams.size());",
        "block->awaited = 1;",
        "allocator_tests:*",
    ),
    fault(
        "memory/foreign_memory.cpp",
        "memory->block.used_on.push_back(memory->block.stream);",
        "",
        "core_tests:*Foreign*",
    ),
    fault(
        "memory/foreign_memory.cpp",
        "memory->block.used_on.push_back(Stream::current(device));",
        "",
        "core_tests:*Foreign*",
    ),
    fault(
        "memory/device_memory.cpp",
        "used_on.push_back(user);\n  block->cache = nullptr;",
        "used_on.push_back(user);",
        "allocator_tests:*",
        "python/test_memory.py",
    ),
    fault(
        "memory/device_memory.cpp",
        "if (--found->second->users > 0) return;",
        "--found->second->users;",
        "allocator_tests:*Pool*",
        "python/test_graph_memory.py",
    ),
    fault(
        "memory/device_memory.cpp",
        "redirections_.empty() && !rounds_to_divisions()",
        "!rounds_to_divisions()",
        "allocator_tests:*",
        "python/test_graph_memory.py",
    ),
    fault(
        "memory/free_blocks.cpp",
        "(*found)->stream.id() == id",
        "true",
        "allocator_tests:*",
    ),
    fault(
        "memory/free_blocks.cpp",
        "if (rest->view != nullptr) rest->view += bytes;",
        "",
        "python/test_memory.py",
        "python/test_training.py",
    ),
    fault(
        "memory/device_memory_growth.cpp",
        "bytes <= most && reserved <= most - bytes",
        "bytes <= most",
        "allocator_tests:*",
    ),
    fault(
        "memory/statistics.cpp",
        "stat.peak = std::max(stat.peak, stat.current);",
        "",
        "allocator_tests:*tatistics*",
        "python/test_memory_statistics.py",
    ),
]

ATEN = [
    fault(
        "aten/plan/plan_cache.h",
        "slot = {id_, plan, words, std::move(entry)};",
        "slot = {id_, plan, words, nullptr};",
        "operator_tests:*Plan*",
    ),
    fault(
        "aten/plan/plan_cache.h",
        "if (plans_.size() >= kCapacity) plans_.swap(forgotten);",
        "",
        "operator_tests:*Plan*",
    ),
    fault(
        "aten/plan/plan_key.cpp",
        "bit(context.deterministicAlgorithms(), 8)",
        "uint64_t{0}",
        "python/test_determinism.py",
    ),
    fault(
        "aten/plan/plan_key.cpp",
        "order = value < before ? 1 : value == before ? 2 : 3;",
        "order = 0;",
        "python/test_refusals.py",
    ),
    fault(
        "aten/plan/plan_key.cpp",
        "bit(tensor.is_contiguous(), 48)",
        "uint64_t{0}",
        "python/test_plans.py",
        "operator_tests:*Plan*",
    ),
    fault(
        "aten/host/loan.cpp",
        "if (kind_ == LoanKind::kStage) bytes_moved_ += span_of(host).bytes();",
        "",
        "TORCHPLUG_DEVICE=hello python/test_operators_ways.py",
    ),
    fault(
        "aten/host/loan.cpp",
        "buffer.read = buffer.read || wanted.read || !same;",
        "buffer.read = buffer.read || !same;",
        "TORCHPLUG_DEVICE=hello python/test_operators_ways.py",
        "TORCHPLUG_DEVICE=hello python/test_views.py",
    ),
    fault(
        "aten/host/loan.cpp",
        "overwrites[i] && tensor.is_non_overlapping_and_dense()",
        "overwrites[i]",
        "TORCHPLUG_DEVICE=hello python/test_operators_ways.py",
        "TORCHPLUG_DEVICE=hello python/test_views.py",
    ),
    fault(
        "aten/kernel/bound_kernel.cpp",
        "if (!given.is_same(tensor)) given.copy_(tensor);",
        "",
        "operator_tests:*",
    ),
    fault(
        "aten/kernel/bound_kernel.cpp",
        "at::has_internal_overlap(target) == at::MemOverlap::Yes",
        "false",
        "python/test_odd_kernels.py",
        "operator_tests:*",
    ),
    fault(
        "aten/kernel/bound_kernel.cpp",
        "tensor = tensor.expand(plan.sizes);",
        "",
        "operator_tests:*",
    ),
    fault(
        "aten/kernel/bound_kernel.cpp",
        "declined = true;",
        "",
        "operator_tests:*",
        "TORCHPLUG_SIM_CAPTURE=off python/test_graphs.py",
    ),
    fault(
        "aten/fallback/host_kernel.cpp",
        "if (!facts_.is_aten || !facts_.returns_tensors || key.has_host_tensor()) return false;",
        "if (!facts_.is_aten || !facts_.returns_tensors) return false;",
        "python/test_asynchrony.py",
        "python/test_indexing.py",
    ),
    fault(
        "aten/fallback/typed_job.h",
        "if (!stayed) look_ = 0;",
        "",
        "operator_tests:*",
        "python/test_asynchrony.py",
    ),
    fault(
        "aten/op/operator_kernel.cpp",
        "if (facts_.writes_any) own_written(torch::jit::last(stack, facts_.argument_count));",
        "",
        "python/test_copy_on_write.py",
    ),
    fault(
        "aten/shims/copies.cpp",
        "!to.is_alias_of(from)",
        "true",
        "TORCHPLUG_LAYERS=validate python/test_copy.py",
    ),
    fault(
        "aten/shims/fills.cpp",
        "!self.is_non_overlapping_and_dense()",
        "false",
        "python/test_views.py",
        "python/test_copy.py",
    ),
    fault(
        "aten/shims/dropout.cpp",
        "p == 1 ? 0.0 : 1.0 / (1.0 - p)",
        "1.0 / (1.0 - p)",
        "python/test_nn_layers.py",
        "python/test_rng.py",
    ),
    fault(
        "aten/layouts/sparse.cpp",
        "dtype.value_or(self.scalar_type()) == self.scalar_type()",
        "true",
        "python/test_sparse_and_complex.py",
        "python/test_sparse_layouts.py",
    ),
    fault(
        "aten/tensor/copy_on_write.cpp",
        "storage.mutable_data();",
        "",
        "python/test_copy_on_write.py",
    ),
]

FAULTS = [
    *BASE,
    *PLUGIN,
    *RUNTIME,
    *MEMORY,
    *CAPTURE,
    *SHARING,
    *ATEN,
    *AUTOCAST,
    *PROFILER,
    *DISTRIBUTED,
    *PYTORCH,
    *PYTHON,
]
