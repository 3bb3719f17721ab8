#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/decomposed/tracer.h"
#include "python/bindings.h"
#include "runtime/device.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

// Whatever the calling thread is in the midst of (modes, autocast, transforms), a trace is carried out below
// autograd and nothing else.
class TraceScope {
 public:
  TraceScope() {
    c10::impl::LocalDispatchKeySet inside(c10::impl::tls_local_dispatch_key_set());
    inside.included_ = c10::default_included_set;
    inside.excluded_ = c10::default_excluded_set | c10::autograd_dispatch_keyset_with_ADInplaceOrView |
                       c10::autocast_dispatch_keyset;
    c10::impl::_force_tls_local_dispatch_key_set(inside);
  }
  ~TraceScope() { c10::impl::_force_tls_local_dispatch_key_set(before_); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  c10::impl::LocalDispatchKeySet before_ = c10::impl::tls_local_dispatch_key_set();
  c10::InferenceMode none_{false};
};

// What calls may be a function that torch.compile has compiled, and the compiler would look at the tracer's
// functions too.
class CompilerOff {
 public:
  CompilerOff() : before_(set_(py::none())) {}
  ~CompilerOff() {
    if (!py::reinterpret_steal<py::object>(PyObject_CallOneArg(set_.ptr(), before_.ptr()))) {
      PyErr_WriteUnraisable(set_.ptr());
    }
  }
  CompilerOff(const CompilerOff&) = delete;
  CompilerOff& operator=(const CompilerOff&) = delete;

 private:
  py::object set_ = py::module_::import("torch._C._dynamo.eval_frame").attr("set_eval_frame");
  py::object before_;
};

// Schemas have an integer where Python has a torch.dtype and the like.
py::object to_python(const c10::IValue& value, const c10::TypePtr& type) {
  const auto kind = aten::without_optional(type)->kind();
  if (value.isInt()) {
    const int64_t number = value.toInt();
    if (kind == c10::TypeKind::ScalarTypeType) return py::cast(static_cast<at::ScalarType>(number));
    if (kind == c10::TypeKind::LayoutType) return py::cast(static_cast<at::Layout>(number));
    if (kind == c10::TypeKind::MemoryFormatType) return py::cast(static_cast<at::MemoryFormat>(number));
  }
  return torch::jit::toPyObject(value);
}

c10::OperatorHandle find(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
}

using Tensors = std::vector<at::Tensor>;

bool add_step(Recorder& recorder, const std::string& name, const std::string& overload, const py::tuple& args,
              const py::dict& named, const Tensors& results) {
  const c10::OperatorHandle op = find(name, overload);
  const torch::jit::ToIValueAllowNumbersAsTensors numbers(true);
  torch::jit::Stack stack = torch::jit::createStackForSchema(
      op.schema(), torch::jit::tuple_slice(args), py::reinterpret_borrow<py::kwargs>(named), std::nullopt);
  return recorder.add(op, std::move(stack), results);
}

// Whether the device copies tensors of any strides and dtypes itself.
bool copies_any(const Recorder& recorder) {
  return plugin_has<&plug_runtime::copy_strided>(recorder.device().index());
}

bool fills_memory(const Recorder& recorder) {
  return plugin_has<&plug_runtime::mem_fill>(recorder.device().index());
}

Trace ask_python(const c10::OperatorHandle& op, const torch::jit::Stack& arguments, c10::Device device) {
  const CompilerOff compiler_off;
  Recorder recorder(arguments, device);
  const auto& schema = op.schema();
  py::list positional;
  py::dict named;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    py::object value = to_python(arguments[i], argument.real_type());
    if (argument.kwarg_only()) {
      named[py::str(argument.name())] = value;
    } else {
      positional.append(value);
    }
  }
  const py::object traced = py::module_::import("torchplug._decompose")
                                .attr("trace")(schema.name(), schema.overload_name(), py::tuple(positional),
                                               named, py::cast(recorder, py::return_value_policy::reference));
  Trace trace;
  const auto answer = traced.cast<py::tuple>();
  if (answer[0].is_none()) {
    trace.why_not = answer[1].cast<std::string>();
    trace.is_final = answer[2].cast<bool>();
    return trace;
  }
  for (const py::handle result : answer[0])
    trace.results.push_back(result.is_none() ? at::Tensor() : result.cast<at::Tensor>());
  trace.program = recorder.finish(trace.results);
  if (trace.program == nullptr) trace.why_not = "its decomposition makes a tensor of nothing";
  return trace;
}

Trace trace_call(const c10::OperatorHandle& op, const torch::jit::Stack& arguments, c10::Device device) {
  if (Py_IsInitialized() == 0) return {.why_not = "Python has ended", .is_final = true};
  const TraceScope scope;
  const py::gil_scoped_acquire gil;
  try {
    return ask_python(op, arguments, device);
  } catch (const std::exception&) {
    return {.why_not = "its decomposition cannot be traced"};
  }
}

}  // namespace

void bind_decompose(py::module_& module) {
  py::class_<Recorder>(module, "DecompositionRecorder")
      .def("add", &add_step)
      .def("count", &Recorder::count)
      .def("rewind", &Recorder::rewind)
      .def_property_readonly("copies_any", &copies_any)
      .def_property_readonly("fills_memory", &fills_memory)
      .def("why_not_served", [](const Recorder& recorder, const std::string& name,
                                const std::string& overload, const Tensors& tensors) {
        return why_not_served(find(name, overload), tensors, recorder.device());
      });
  set_tracer(&trace_call);
}

}  // namespace torchplug::python
