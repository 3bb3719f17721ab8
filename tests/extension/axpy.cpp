// An extension as somebody outside of torchplug would write it: an operator of its own, acme_ext::axpy, whose
// kernel runs on the device's current stream. launch_axpy stands for the vendor's library: it takes the
// plugin's stream and memory, and knows nothing of PyTorch.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torchplug/torchplug.hpp>

#include <memory>
#include <stdexcept>
#include <tuple>

namespace {

// ---- the vendor's library ----

struct Axpy {
  const float* x;
  const float* y;
  float* result;
  float a;
  int64_t count;
};

plug_status find_view(const plug_mem& memory, float** view) {
  void* begin = nullptr;
  const plug_status status = torchplug::plugin_runtime().host_view(memory.device, memory.base, &begin);
  *view = reinterpret_cast<float*>(static_cast<char*>(begin) + memory.offset);
  return status;
}

void run_axpy(void* argument, plug_status /*status*/) {
  const auto& work = *static_cast<const Axpy*>(argument);
  for (int64_t i = 0; i < work.count; ++i) work.result[i] = work.a * work.x[i] + work.y[i];
}

void release_axpy(void* argument) { const std::unique_ptr<Axpy> work(static_cast<Axpy*>(argument)); }

plug_status launch_axpy(plug_stream stream, int64_t count, float a, const plug_mem& x, const plug_mem& y,
                        const plug_mem& result) {
  float* views[3];
  const plug_mem* places[] = {&x, &y, &result};
  for (int i = 0; i < 3; ++i) {
    const plug_status status = find_view(*places[i], &views[i]);
    if (status != PLUG_OK) return status;
  }
  auto work = std::make_unique<Axpy>(Axpy{views[0], views[1], views[2], a, count});
  const plug_status status =
      torchplug::plugin_runtime().host_func(x.device, stream, run_axpy, release_axpy, work.get());
  if (status == PLUG_OK) static_cast<void>(work.release());
  return status;
}

// ---- the extension ----

at::Tensor axpy(double a, const at::Tensor& x, const at::Tensor& y) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat, "axpy takes float32 tensors.");
  TORCH_CHECK(x.is_contiguous() && y.is_contiguous() && x.sizes() == y.sizes() && x.device() == y.device(),
              "axpy takes contiguous tensors of one shape on one device.");
  const c10::DeviceGuard guard(x.device());
  at::Tensor result = at::empty_like(y);
  if (x.numel() == 0) return result;
  const c10::Stream stream = torchplug::current_stream();
  torchplug::check(
      launch_axpy(torchplug::native_handle(stream), x.numel(), static_cast<float>(a), torchplug::memory_of(x),
                  torchplug::memory_of(y), torchplug::memory_of(result)),
      "axpy", stream.device_index());
  return result;
}

// The same on a stream beside the current one, which waits for it.
at::Tensor axpy_aside(double a, const at::Tensor& x, const at::Tensor& y) {
  const c10::DeviceGuard guard(x.device());
  const c10::Stream here = torchplug::current_stream();
  const c10::Stream aside = torchplug::stream_from_pool();
  c10::Event ready(c10::kPrivateUse1);
  c10::Event done(c10::kPrivateUse1);
  ready.record(here);
  aside.wait(ready);
  at::Tensor result;
  {
    const c10::StreamGuard on_aside(aside);
    result = axpy(a, x, y);
    done.record(aside);
  }
  here.wait(done);
  for (const at::Tensor& input : {x, y}) torchplug::record_stream(input.storage().data_ptr(), aside);
  torchplug::record_stream(result.storage().data_ptr(), here);
  return result;
}

// Changes the current device and stream, then says which they were meanwhile, or throws.
std::tuple<int64_t, int64_t, int64_t> elsewhere(int64_t device, bool fails) {
  const c10::Stream aside = torchplug::stream_from_pool(0, static_cast<c10::DeviceIndex>(device));
  const c10::StreamGuard guard(aside);
  if (fails) throw std::runtime_error("it fails elsewhere");
  return {torchplug::current_device(), torchplug::current_stream().id(), aside.id()};
}

// Fails on the stream, after the call that enqueued it has returned.
void fail_later(const at::Tensor& on) {
  torchplug::enqueue(torchplug::current_stream(on.get_device()), [] { throw std::out_of_range("late"); });
}

// Memory of the extension's own.
struct Workspace : torch::CustomClassHolder {
  Workspace(int64_t bytes, int64_t device)
      : memory(torchplug::allocate(static_cast<size_t>(bytes),
                                   torchplug::current_stream(static_cast<c10::DeviceIndex>(device)))) {}

  c10::DataPtr memory;
};

std::tuple<std::string, std::string> plugin() { return {torchplug::plugin_name(), torchplug::plugin_path()}; }

}  // namespace

TORCH_LIBRARY(acme_ext, library) {
  library.def("axpy(float a, Tensor x, Tensor y) -> Tensor");
  library.def("axpy_aside(float a, Tensor x, Tensor y) -> Tensor");
  library.def("fail_later(Tensor on) -> ()");
  library.def("elsewhere", &elsewhere);
  library.def("plugin", &plugin);
  library.class_<Workspace>("Workspace")
      .def(torch::init<int64_t, int64_t>())
      .def("device", [](const c10::intrusive_ptr<Workspace>& self) {
        return int64_t{torchplug::memory_of(self->memory).device};
      });
}

TORCH_LIBRARY_IMPL(acme_ext, PrivateUse1, library) {
  library.impl("axpy", &axpy);
  library.impl("axpy_aside", &axpy_aside);
  library.impl("fail_later", &fail_later);
}
