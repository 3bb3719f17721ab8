#include "any.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "copy.h"
#include "elementwise.h"
#include "transcendental.h"

namespace torchplug::sim {
namespace {

bool is_tensor_here(const plug_value& value, std::int32_t device) {
  return value.tag == PLUG_VALUE_TENSOR && is_plain(*value.as.tensors) &&
         value.as.tensors->mem.device == device;
}

// Functional, in place or out=: the result is where it belongs in each.
template <class Op, const char* name>
plug_status compute(const plug::Call& call) {
  return elementwise<float, float>(call, name, Layouts::kAny, {}, Op(),
                                   plug::Out(*call.raw().results[0].as.tensors),
                                   plug::Tensor(*call.raw().args[0].as.tensors));
}

bool can_compute(const plug_call& call) {
  return is_tensor_here(call.args[0], call.device) && is_tensor_here(call.results[0], call.device) &&
         call.args[0].as.tensors->dtype == PLUG_F32 && call.results[0].as.tensors->dtype == PLUG_F32;
}

plug_status copy_here(const plug::Call& call) {
  Stream& stream = open_device(call.device()).stream(call.stream());
  return copy_strided(stream, *call.raw().args[0].as.tensors, *call.raw().args[1].as.tensors);
}

bool overlap(const plug_tensor& a, const plug_tensor& b) {
  std::int64_t a_first = 0, b_first = 0;
  const auto a_bytes = static_cast<std::int64_t>(plug_span(&a, &a_first));
  const auto b_bytes = static_cast<std::int64_t>(plug_span(&b, &b_first));
  a_first += static_cast<std::int64_t>(a.mem.offset);
  b_first += static_cast<std::int64_t>(b.mem.offset);
  return a.mem.base == b.mem.base && a_first < b_first + b_bytes && b_first < a_first + a_bytes;
}

bool can_copy(const plug_call& call) {
  if (!is_tensor_here(call.args[0], call.device) || !is_tensor_here(call.args[1], call.device)) return false;
  const plug_tensor &to = *call.args[0].as.tensors, &from = *call.args[1].as.tensors;
  return to.dtype == from.dtype &&
         std::equal(to.sizes, to.sizes + to.ndim, from.sizes, from.sizes + from.ndim) && !overlap(to, from);
}

struct Entry {
  std::string_view operation;  // of all forms
  bool (*can_run)(const plug_call& call);
  plug_status (*run)(const plug::Call& call);
};

constexpr char kExp[] = "sim::exp", kSqrt[] = "sim::sqrt", kSigmoid[] = "sim::sigmoid", kTanh[] = "sim::tanh";
constexpr Entry kEntries[] = {
    {"aten::exp", can_compute, compute<Exp, kExp>},
    {"aten::sqrt", can_compute, compute<Sqrt, kSqrt>},
    {"aten::sigmoid", can_compute, compute<Sigmoid, kSigmoid>},
    {"aten::tanh", can_compute, compute<Tanh, kTanh>},
    {"aten::copy_", can_copy, copy_here},
};

// "aten::exp" of "aten::exp_" and "aten::exp.out"; copy_ has no other form.
std::string_view operation_of(std::string_view name) {
  if (name == "aten::copy_") return name;
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

// Whether two tensors share memory is not the same for all calls alike: it is asked each time, the rest once.
plug_status prepare(const plug_call* call, void** state) {
  const std::string_view operation = operation_of(call->name);
  const auto* const entry = std::find_if(std::begin(kEntries), std::end(kEntries),
                                         [&](const Entry& other) { return other.operation == operation; });
  if (entry == std::end(kEntries)) return declined("sim's kernel for any operator does not know this one");
  *state = const_cast<Entry*>(entry);
  return PLUG_OK;
}

plug_status run(const plug_call* call) {
  return guarded([&]() -> plug_status {
    const Entry& entry = *static_cast<const Entry*>(call->state);
    if (!entry.can_run(*call)) return declined("sim's kernel for any operator does not take these tensors");
    return entry.run(plug::Call(*call));
  });
}

}  // namespace

const plug_kernel kAny = {.fn = run, .prepare = prepare};

}  // namespace torchplug::sim
