#pragma once
// torchplug.hpp - for a PyTorch extension in C++ that gives the device work of its own.
//
// Tensors, c10::Stream, c10::Event and the guards work on the device as on any other, and
// this header includes them. Declared here is what c10/cuda has beyond that, and the way
// from PyTorch's objects to those of plug.h, which a vendor's own library takes.
//
//   in c10/cuda                                 here
//   getCurrentCUDAStream(device)                current_stream(device)
//   getStreamFromPool(high, device)             stream_from_pool(priority, device)
//   getStreamFromExternal(stream, device)       stream_from_external(native, device)
//   setCurrentCUDAStream(stream)                set_current_stream(stream)
//   stream.stream()                             native_handle(stream)
//   stream.query(), stream.synchronize()        the same, of c10::Stream
//   cudaLaunchHostFunc                          enqueue(stream, job)
//   at::cuda::CUDAEvent event                   c10::Event event(c10::kPrivateUse1)
//   CUDAGuard guard(tensor.device())            c10::DeviceGuard guard(tensor.device())
//   CUDAStreamGuard guard(stream)               c10::StreamGuard guard(stream)
//   CUDACachingAllocator: raw_alloc             allocate(bytes, stream)
//   CUDACachingAllocator: recordStream          record_stream(data, stream)
//   tensor.data_ptr()                           memory_of(tensor)
//   torch::from_blob(address, ...)              from_blob(base, ...)
//   C10_CUDA_CHECK(status)                      check(status, what, device)
//
// Operators are registered by PyTorch's own means, TORCH_LIBRARY_IMPL(aten, PrivateUse1,
// m) and all that torch/library.h has: docs/extending.md. A kernel that is registered
// before the device's first use stands in the place of torchplug's; later ones need
// Overriding.
//
// Any thread may call any function. One that fails throws c10::Error with one sentence.
// Where a device index may be left out, it is the calling thread's current device. The
// header is C++17; the functions are in libtorchplug. torchplug.cpp_extension, in Python,
// builds with both. An extension, like libtorchplug, is built for one minor version of
// PyTorch.

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "torchplug/plug.h"

namespace c10 {
class OperatorHandle;  // ATen/core/dispatch/Dispatcher.h
}

namespace torchplug {

// ------------------------------- the plugin --------------------------------

// Loads the plugin at `path` as the device of this process and returns the device's name.
// For programs without Python: in Python, `import torch` has done it. Loading the same
// plugin again does nothing.
PLUG_EXPORT std::string activate(const std::string &path);

// Loads the plugin at `path` for the operators of its own and returns their names,
// "acme::scale": beside any device or none, any number of plugins. In Python, `import
// torch` has loaded those that are installed.
PLUG_EXPORT std::vector<std::string> load_operators(const std::string &path);

// The device's name, "sim", and the file its plugin was loaded from.
PLUG_EXPORT const std::string &plugin_name();
PLUG_EXPORT const std::string &plugin_path();

// The plugin's functions. An optional one that it lacks is NULL; if it asked for
// PLUG_SERIALIZE, each takes the lock. Devices, streams and memory to call them with come
// from plugin_index, native_handle and memory_of.
PLUG_EXPORT const plug_runtime &plugin_runtime();

// The plugin's table for an interface that is not in plug.h, "acme.sparse.1"; NULL if it
// has none of that name.
PLUG_EXPORT const void *extension(const char *name);

// Throws unless `status` is PLUG_OK: what was being done, on which device, and why it
// failed in the plugin's words. Call it on the thread that got the status.
PLUG_EXPORT void check(plug_status status, const char *what, c10::DeviceIndex device);

// --------------------------------- devices ---------------------------------

// Zero if no plugin is chosen, or it cannot be loaded or finds no device.
PLUG_EXPORT c10::DeviceIndex device_count() noexcept;
PLUG_EXPORT c10::DeviceIndex current_device() noexcept;
PLUG_EXPORT void set_current_device(c10::DeviceIndex device);

// What the plugin calls the device, as plug_mem::device does: TORCHPLUG_VISIBLE_DEVICES
// may hide devices from PyTorch and change their order.
PLUG_EXPORT std::int32_t plugin_index(c10::DeviceIndex device);

// Waits for all streams of the device, then throws what failed on it meanwhile.
PLUG_EXPORT void synchronize_device(c10::DeviceIndex device);

// --------------------------------- streams ---------------------------------

// The calling thread's current stream of the device; operators called now go there.
PLUG_EXPORT c10::Stream current_stream(c10::DeviceIndex device = -1);
PLUG_EXPORT c10::Stream default_stream(c10::DeviceIndex device = -1);

// One of a fixed number of streams per priority, in turn; a smaller number is more
// urgent. Throws on a device without streams, where the default stream is the only one.
PLUG_EXPORT c10::Stream stream_from_pool(int priority = 0, c10::DeviceIndex device = -1);

// A stream that was made elsewhere, by what the vendor's own libraries call it; the other
// way round is stream.native_handle() of c10::Stream. Whoever made it keeps it alive
// while work, memory or events of PyTorch's may still use it, and destroys it; torchplug
// never does. The same handle gives the same c10::Stream.
PLUG_EXPORT c10::Stream stream_from_external(void *native, c10::DeviceIndex device = -1);

// Makes it the calling thread's current stream of its device; leaves the current device.
PLUG_EXPORT void set_current_stream(const c10::Stream &stream);

// The plugin's stream: NULL is the default stream. Opens the device, so that what takes
// the handle may be called at once.
PLUG_EXPORT plug_stream native_handle(const c10::Stream &stream);

// Runs `job` on a thread of the host, after all work given to the stream so far and
// before all given later. What it throws is thrown again where the device is next waited
// for. It may call no function of the plugin, so it must neither use nor own tensors of
// the device; it may use host views. Where the plugin has no host_func, waits for the
// stream and runs it at once.
PLUG_EXPORT void enqueue(const c10::Stream &stream, std::function<void()> job);

// --------------------------------- memory ----------------------------------

// Uninitialised memory of PyTorch's allocator for the device, counted as a tensor's is.
// Once freed, it may be given out again to what is enqueued on `stream` later; work on
// any other stream that uses it is made known by record_stream before it is freed.
PLUG_EXPORT c10::DataPtr allocate(std::size_t bytes, const c10::Stream &stream);
PLUG_EXPORT void record_stream(const c10::DataPtr &data, const c10::Stream &stream);

// Where the first element lies, as plug.h says it; base is NULL if there is no memory.
// The address that PyTorch holds is good for arithmetic only: pass this to the plugin.
PLUG_EXPORT plug_mem memory_of(const at::TensorBase &tensor);
PLUG_EXPORT plug_mem memory_of(const c10::DataPtr &data);

// Where the host may use it while the stream order allows: inside enqueue, or after the
// stream was waited for. NULL if there is no memory or the host cannot reach it.
PLUG_EXPORT void *host_view_of(const at::TensorBase &tensor);
PLUG_EXPORT void *host_view_of(const c10::DataPtr &data);

// A tensor over device memory that PyTorch's allocator did not give. `base` is what the
// plugin knows it by, and is passed to it with PLUG_MEM_FOREIGN, or an address inside
// another tensor. Strides are in elements; none: contiguous. `deleter(base)` is called
// when the last tensor over it is gone and the streams that used it have passed: the one
// that is current now, those given to record_stream, and the one current then.
PLUG_EXPORT at::Tensor from_blob(void *base, at::IntArrayRef sizes,
                                 at::OptionalIntArrayRef strides, at::ScalarType dtype,
                                 c10::DeviceIndex device,
                                 std::function<void(void *)> deleter = {});

// -------------------------------- operators ---------------------------------

// While it lives, what this thread registers with PyTorch takes the place of kernels that
// torchplug has registered already, and PyTorch's warning about that, which it gives once
// per process, is neither shown nor spent. Once it is gone, the forms that PyTorch
// composes of an overridden out form are composed so: a kernel for sub.out serves sub and
// sub_ too. No other thread may call the operators that are overridden meanwhile.
class PLUG_EXPORT Overriding {
 public:
  Overriding();
  ~Overriding();
  Overriding(const Overriding &) = delete;
  Overriding &operator=(const Overriding &) = delete;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// A function for all operators that the plugin has no kernel for, or whose kernel
// declined the call: asked before PyTorch's CPU kernel is used. It takes the arguments
// from the stack, leaves the results there and returns true; or leaves the stack as it
// is, returns false, and the call goes on as without it. There is one: a later one takes
// its place, an empty one takes it away. PyTorch's own place for it,
// TORCH_LIBRARY_IMPL(_, PrivateUse1), is torchplug's.
using Fallback =
    std::function<bool(const c10::OperatorHandle &op, torch::jit::Stack *stack)>;
PLUG_EXPORT void set_fallback(Fallback fallback);

// --------------------------------- packages ---------------------------------

// A compiled program that `torchplug package` has made, docs/packages.md: a model that
// runs without Python. The plugin has to be activated. Any thread may call it. A copy is
// the same package.
class PLUG_EXPORT Package {
 public:
  // All of the file is checked before any of it is used.
  explicit Package(const std::string &path, c10::DeviceIndex device = -1);

  // `inputs` in the order of inputs(), on the package's device; an integer is a tensor of
  // one int64 on the host, and so it is among the results, which come in the order of
  // outputs(). A result that is none is an undefined tensor.
  std::vector<at::Tensor> run(const std::vector<at::Tensor> &inputs) const;

  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;

  // By name. What is written into them counts from the next call on.
  std::map<std::string, at::Tensor> weights() const;

  // Why the engines in it are not used and are compiled anew, as on another version of
  // the plugin; "": they are used.
  std::string why_compiled_anew() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

// --------------------------------- TorchScript -------------------------------

// Groups of operators of scripted and traced modules, compiled by the plugin,
// docs/torchscript.md. The plugin has to be activated. Functions that PyTorch optimises
// from then on get them: at the second call of each, as a rule.
namespace torchscript {

struct Options {
  bool offload = false;     // modules on the CPU too: their groups are sent to the device
  std::size_t engines = 8;  // for how many kinds of calls a group keeps what was compiled
  std::int64_t min_nodes = 1;  // a group of fewer operators is none
};
PLUG_EXPORT void enable(const Options &options = Options());
// Groups are run operator by operator from then on; calls under way are finished.
PLUG_EXPORT void disable();
PLUG_EXPORT bool is_enabled();
// So that torch::jit::load takes modules that were lowered to the device.
PLUG_EXPORT void register_backend();

}  // namespace torchscript

// ------------------------------ notes on a tensor ---------------------------

// What an extension wants a tensor of the device to be known by, as the name of a private
// format: PyTorch's BackendMeta. It goes with the tensor through detach, torch.save and
// torch.load, and jit, not through operators. Keys and values are UTF-8.
using BackendNotes = std::map<std::string, std::string>;
PLUG_EXPORT BackendNotes backend_notes(const at::TensorBase &tensor);
PLUG_EXPORT void set_backend_notes(const at::TensorBase &tensor, BackendNotes notes);

}  // namespace torchplug
