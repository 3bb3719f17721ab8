#include "inductor/generated_kernel.h"

#include <ATen/ops/clone.h>
#include <c10/util/Exception.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "aten/fallback/caller_threads.h"
#include "aten/fallback/job_pool.h"
#include "aten/host/loan.h"
#include "aten/tensor/copy_on_write.h"
#include "base/immortal.h"
#include "memory/device_allocator.h"
#include "runtime/capture.h"
#include "runtime/submit.h"

namespace torchplug::inductor {
namespace {

// One line of the ledger for each name: a graph that is compiled again has kernels of the same names.
aten::LedgerAccount& account_of(const std::string& name) {
  static std::mutex lock;
  static auto& accounts = *immortal<std::map<std::string, aten::LedgerAccount*>>();
  const std::lock_guard guard(lock);
  aten::LedgerAccount*& account = accounts[name];
  if (account == nullptr) account = immortal<aten::LedgerAccount>(name);
  return *account;
}

uint64_t as_bits(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// Where the host reaches the first element; null if it does not. A tensor without elements is nowhere.
const void* view_of(const at::Tensor& tensor) {
  const c10::StorageImpl& storage = aten::storage_of(*tensor.unsafeGetTensorImpl());
  if (storage.data() == nullptr) return &storage;
  const memory::Placement placement = memory::DeviceAllocator::instance().locate(storage);
  if (C10_UNLIKELY(placement.block->view == nullptr)) return nullptr;
  return placement.host_address() + tensor.storage_offset() * static_cast<int64_t>(tensor.itemsize());
}

}  // namespace

// One launch on its way through a stream. It owns no memory of the device, which stays valid in stream order.
class GeneratedKernel::Job final : public runtime::HostJob {
 public:
  using Pointer = std::unique_ptr<Job, runtime::ReleaseJob>;

  static Pointer take(const GeneratedKernel& kernel) {
    Pointer job(pool().take().release());
    job->kernel_ = &kernel;
    job->threads_.take(/*later=*/true);
    return job;
  }

  void add(uint64_t bits) { arguments_.push_back(bits); }
  void add(at::Tensor of_host) {
    add(as_bits(of_host.const_data_ptr()));
    of_host_.push_back(std::move(of_host));
  }

  void run() override {
    threads_.apply();
    kernel_->entry_(arguments_.data());
  }
  const char* name() const override { return kernel_->name().c_str(); }
  void release() noexcept override {
    arguments_.clear();
    of_host_.clear();
    pool().give(std::unique_ptr<Job>(this));
  }

 private:
  static aten::JobPool<Job>& pool() {
    static auto& jobs = *immortal<aten::JobPool<Job>>();
    return jobs;
  }

  const GeneratedKernel* kernel_ = nullptr;
  c10::SmallVector<uint64_t, 16> arguments_;
  c10::SmallVector<at::Tensor, 1> of_host_;
  aten::CallerThreads threads_;
};

GeneratedKernel& GeneratedKernel::of(Entry entry, const std::string& name, const std::string& parameters) {
  static std::mutex lock;
  static auto& kernels = *immortal<std::map<Entry, std::unique_ptr<GeneratedKernel>>>();
  const std::lock_guard guard(lock);
  std::unique_ptr<GeneratedKernel>& kernel = kernels[entry];
  if (kernel == nullptr)
    kernel = std::make_unique<GeneratedKernel>(entry, account_of("inductor::" + name), parameters);
  return *kernel;
}

GeneratedKernel::GeneratedKernel(Entry entry, aten::LedgerAccount& account, std::string parameters)
    : entry_(entry), account_(account) {
  for (const char letter : parameters) parameters_.push_back(static_cast<Parameter>(letter));
}

DeviceIndex GeneratedKernel::device_of(Arguments arguments) const {
  DeviceIndex found = -1;
  for (const Argument& argument : arguments) {
    if (argument.tensor == nullptr || !aten::is_on_device(*argument.tensor)) continue;
    const DeviceIndex device = argument.tensor->device().index();
    TORCH_CHECK(found < 0 || found == device, "A kernel that Inductor has generated, ", name(),
                ", was given tensors on ", device_type_name(), ":", int{found}, " and ", device_type_name(),
                ":", int{device}, ". Put the model and its inputs on one device.");
    found = device;
  }
  TORCH_CHECK(found >= 0, "A kernel that Inductor has generated for device '", device_type_name(), "', ",
              name(), ", was given no tensor of it. Move the inputs there.");
  return found;
}

void GeneratedKernel::launch(Arguments arguments) {
  const Stream stream = Stream::current(device_of(arguments));
  notice_.give(account_, aten::Way::kBorrow, aten::Reason::kGenerated);
  const aten::LedgerTimer timer;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const at::Tensor* tensor = arguments[i].tensor;
    if (parameters_[i] == Parameter::kWritten && aten::is_on_device(*tensor)) aten::own_memory(*tensor);
  }
  Job::Pointer job = Job::take(*this);
  if (C10_UNLIKELY(!fill(*job, arguments))) {
    run_on_loan(arguments, stream);
    return;
  }
  if (plugin_has<&plug_runtime::host_func>(stream.device()) || runtime::is_capturing(stream)) {
    stream.enqueue(runtime::HostJobPtr(job.release()));
  } else {
    stream.run_here(*job);
  }
  account_.count(aten::Way::kBorrow, aten::Reason::kGenerated, 0, timer.nanoseconds());
}

// Whether the host reaches all of the arguments.
bool GeneratedKernel::fill(Job& job, Arguments arguments) const {
  for (const Argument& argument : arguments) {
    if (argument.tensor == nullptr) {
      job.add(argument.bits);
    } else if (C10_UNLIKELY(!aten::is_on_device(*argument.tensor))) {
      job.add(at::clone(*argument.tensor));
    } else {
      const void* view = view_of(*argument.tensor);
      if (C10_UNLIKELY(view == nullptr)) return false;
      job.add(as_bits(view));
    }
  }
  return true;
}

// Waits, and runs the kernel on memory that is mapped or copied for it.
void GeneratedKernel::run_on_loan(Arguments arguments, const Stream& stream) {
  runtime::refuse_in_capture(stream,
                             "Running a kernel that Inductor has generated, on memory that the host has no "
                             "lasting view of,",
                             "Capture with backend=\"torchplug\", or without torch.compile.");
  const aten::LedgerTimer timer;
  torch::jit::Stack tensors;
  std::vector<bool> writes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].tensor == nullptr) continue;
    tensors.emplace_back(*arguments[i].tensor);
    writes.push_back(parameters_[i] == Parameter::kWritten);
  }
  aten::Loan loan(aten::LoanKind::kStage, stream);
  loan.allow_maps();
  loan.add_all(tensors, writes, std::vector<bool>(writes.size(), false));
  loan.open();
  std::vector<uint64_t> bits;
  std::vector<at::Tensor> borrowed;
  for (const Argument& argument : arguments) {
    if (argument.tensor == nullptr) {
      bits.push_back(argument.bits);
      continue;
    }
    borrowed.push_back(aten::is_on_device(*argument.tensor) ? loan.host_tensor(*argument.tensor)
                                                            : *argument.tensor);
    bits.push_back(as_bits(borrowed.back().const_data_ptr()));
  }
  entry_(bits.data());
  loan.settle();
  const aten::Way way = loan.has_copied_nothing() ? aten::Way::kBorrow : aten::Way::kStage;
  account_.count(way, aten::Reason::kGenerated, loan.bytes_moved(), timer.nanoseconds());
}

bool can_launch_on(DeviceIndex device) {
  return plugin_has<&plug_runtime::host_view>(device) || plugin_has<&plug_runtime::host_map>(device);
}

}  // namespace torchplug::inductor
