#include <torch/csrc/Event.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/utils/pythoncapi_compat.h>

#include <memory>
#include <tuple>
#include <utility>

#include "aten/tensor/backend_meta.h"
#include "aten/tensor/from_blob.h"
#include "memory/foreign_memory.h"
#include "python/bindings.h"
#include "pytorch/guard.h"
#include "sharing/ipc.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

c10::Storage storage_of(const py::handle& object) {
  TORCH_CHECK_TYPE(THPStorage_Check(object.ptr()), "Expected an UntypedStorage.");
  return THPStorage_Unpack(object.ptr());
}

c10::Event& event_of(const py::handle& object) {
  TORCH_CHECK_TYPE(THPEvent_Check(object.ptr()), "Expected a torch.Event.");
  return reinterpret_cast<THPEvent*>(object.ptr())->event;
}

// ---- memory of others ----

// A thread that asks for the GIL now is ended, and the process with it.
bool is_python_ending() { return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0; }

// Keeps a Python object until it is called or goes, on whatever thread, with or without the GIL.
std::function<void(void*)> keeping(const py::object& owner) {
  if (owner.is_none()) return {};
  std::shared_ptr<PyObject> kept(owner.inc_ref().ptr(), [](PyObject* object) {
    if (is_python_ending()) return;
    const py::gil_scoped_acquire gil;
    Py_DECREF(object);
  });
  return [kept = std::move(kept)](void*) mutable { kept = nullptr; };
}

at::Tensor tensor_from_blob(uintptr_t address, const std::vector<int64_t>& sizes,
                            const std::optional<std::vector<int64_t>>& strides, at::ScalarType dtype,
                            int device, const py::object& owner) {
  const auto layout = strides ? at::OptionalIntArrayRef(*strides) : at::OptionalIntArrayRef();
  return from_blob(reinterpret_cast<void*>(address), sizes, layout, dtype, to_index(device), keeping(owner));
}

// The stream that a consumer named by a number: a small one is the id of one of PyTorch's streams, any other
// what the vendor's libraries call a stream.
Stream named_stream(DeviceIndex device, uintptr_t name) {
  constexpr uintptr_t kFirstAddress = 4096;
  if (name < kFirstAddress) {
    const auto id = static_cast<c10::StreamId>(name);
    return Stream(c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, device), id));
  }
  return Stream::from_native(device, reinterpret_cast<void*>(name));
}

// Makes a stream wait for what has been given to the current stream of the device.
void let_stream_wait(int index, uintptr_t name) {
  const auto device = to_index(index);
  ensure_open(device);
  if (!has_streams(device)) return;
  const Stream waiting = named_stream(device, name);
  const Stream current = Stream::current(device);
  if (waiting == current) return;
  Event event(device, /*with_timing=*/false);
  event.record(current);
  event.block(waiting);
}

// ---- other processes ----

using SharedTuple =
    std::tuple<int32_t, py::bytes, int, uint64_t, uint64_t, std::tuple<int64_t, int64_t, uint64_t, uint64_t>>;

SharedTuple share_storage(const py::object& object) {
  const c10::Storage storage = storage_of(object);
  const SharedStorage shared = [&storage] {
    const py::gil_scoped_release no_gil;
    return export_storage(storage);
  }();
  const SharedReference& reference = shared.reference;
  return {shared.device,
          py::bytes(shared.handle),
          shared.fd,
          shared.offset,
          shared.bytes,
          std::tuple(reference.process, reference.table_fd, reference.table_name, reference.number)};
}

py::object receive_storage(const SharedTuple& given) {
  const auto& [device, handle, fd, offset, bytes, reference] = given;
  const SharedStorage shared{
      device, std::string(handle), fd, offset, bytes, std::make_from_tuple<SharedReference>(reference)};
  c10::Storage storage = [&shared] {
    const py::gil_scoped_release no_gil;
    return import_storage(shared, FileDescriptor(shared.fd));
  }();
  return py::reinterpret_steal<py::object>(THPStorage_Wrap(std::move(storage)));
}

size_t collect() {
  finish_releases();
  return collect_exports();
}

void share_new_event(const py::object& event, int device) {
  put_into(event_of(event), make_shared_event(to_index(device)));
}

// The descriptor is the caller's to close.
std::tuple<int32_t, py::bytes, int> share_event(const py::object& event) {
  const Event* ours = event_behind(event_of(event));
  TORCH_CHECK(ours != nullptr, "The event was made without interprocess=True.");
  SharedEvent shared = export_event(*ours);
  const int fd = shared.fd.is_open() ? ::dup(shared.fd.number()) : -1;
  return {shared.device, py::bytes(shared.handle), fd};
}

void receive_event(const py::object& event, int32_t device, const std::string& handle, int fd) {
  put_into(event_of(event), import_event({device, handle, FileDescriptor(fd)}));
}

}  // namespace

void bind_sharing(py::module_& module) {
  using NoGil = py::call_guard<py::gil_scoped_release>;
  module.def("from_blob", &tensor_from_blob);
  module.def("adopt_storage", [](const py::object& object) { adopt_storage(storage_of(object)); });
  module.def("let_stream_wait", &let_stream_wait, NoGil());
  module.def("can_share", [](int device) { return can_share(to_index(device)); }, NoGil());
  module.def("share_storage", &share_storage);
  module.def("receive_storage", &receive_storage);
  module.def("collect", &collect, NoGil());
  module.def("share_new_event", &share_new_event);
  module.def("share_event", &share_event);
  module.def("receive_event", &receive_event);
  module.def("backend_notes", [](const at::Tensor& tensor) { return backend_notes(tensor); });
  module.def("set_backend_notes", [](const at::Tensor& tensor, BackendNotes notes) {
    set_backend_notes(tensor, std::move(notes));
  });
}

}  // namespace torchplug::python
