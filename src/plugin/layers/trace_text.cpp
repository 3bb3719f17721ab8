#include "plugin/layers/trace_text.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <utility>

namespace torchplug::plugin::tracing {
namespace {

constexpr std::pair<plug_dtype, const char*> kDtypeNames[] = {
    {PLUG_I8, "i8"},   {PLUG_I16, "i16"}, {PLUG_I32, "i32"},   {PLUG_I64, "i64"},
    {PLUG_U8, "u8"},   {PLUG_U16, "u16"}, {PLUG_U32, "u32"},   {PLUG_U64, "u64"},
    {PLUG_F16, "f16"}, {PLUG_F32, "f32"}, {PLUG_F64, "f64"},   {PLUG_BF16, "bf16"},
    {PLUG_C32, "c32"}, {PLUG_C64, "c64"}, {PLUG_C128, "c128"}, {PLUG_BOOL, "bool"},
};

// "[a,b]" of text(0), text(1) ...
template <class Text>
std::string list_text(int64_t count, Text text) {
  std::string list = "[";
  for (int64_t i = 0; i < count; ++i) list.append(i == 0 ? "" : ",").append(text(i));
  return list + "]";
}

bool has_elements(const plug_tensor& tensor) {
  return tensor.mem.base != nullptr &&
         std::all_of(tensor.sizes, tensor.sizes + tensor.ndim, [](int64_t size) { return size > 0; });
}

std::string flags_text(uint32_t flags) {
  constexpr uint32_t kKnown = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG | PLUG_TENSOR_WRITTEN;
  std::string text;
  if ((flags & PLUG_TENSOR_CONJ) != 0) text += " conj";
  if ((flags & PLUG_TENSOR_NEG) != 0) text += " neg";
  if ((flags & PLUG_TENSOR_WRITTEN) != 0) text += " written";
  if ((flags & ~kKnown) != 0) text += " flags=" + hexadecimal_text(flags & ~kKnown);
  return text;
}

}  // namespace

std::string text_of(double number) {
  if (std::isnan(number)) return "nan";
  char text[40];
  std::snprintf(text, sizeof text, "%a", number);
  return text;
}

std::string hexadecimal_text(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

std::string quoted(const char* text) {
  if (text == nullptr) return "none";
  std::string quote = "\"";
  for (const char* c = text; *c != '\0'; ++c) {
    char escaped[8] = {*c, '\0'};
    if (static_cast<unsigned char>(*c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(*c));
    } else if (*c == '"' || *c == '\\') {
      std::snprintf(escaped, sizeof escaped, "\\%c", *c);
    }
    quote += escaped;
  }
  return quote + "\"";
}

std::string dtype_text(plug_dtype dtype) {
  const auto* found = std::find_if(std::begin(kDtypeNames), std::end(kDtypeNames),
                                   [&](const auto& one) { return one.first == dtype; });
  return found == std::end(kDtypeNames) ? hexadecimal_text(dtype) : found->second;
}

std::string status_text(plug_status status) {
  switch (status) {
    case PLUG_OK: return "ok";
    case PLUG_NOT_READY: return "not_ready";
    case PLUG_UNSUPPORTED: return "unsupported";
    case PLUG_INVALID: return "invalid";
    case PLUG_NO_MEMORY: return "no_memory";
    case PLUG_TIMEOUT: return "timeout";
    case PLUG_LOST: return "lost";
    case PLUG_INTERNAL: return "internal";
    default: return std::to_string(status);
  }
}

std::string integers_text(const int64_t* numbers, int64_t count) {
  return list_text(count, [&](int64_t i) { return std::to_string(numbers[i]); });
}

std::string CallText::memory(const plug_mem& memory) {
  if (memory.base == nullptr) return "none";
  const std::string offset = std::string("+").append(std::to_string(memory.offset));
  if (memory.device != PLUG_HOST) return names_.find('x', memory.device, memory.base).append(offset);
  std::string& name = host_[memory.base];
  if (name.empty()) name.append("h").append(std::to_string(host_.size()));
  return name + offset;
}

std::string CallText::tensor(const plug_tensor& tensor, bool with_contents) {
  if (tensor.ndim < 0) return "tensor(none)";
  if (tensor.layout != 0) return "tensor(layout=" + std::to_string(tensor.layout) + ")";
  std::string text = "tensor(" + dtype_text(tensor.dtype) + " " + memory(tensor.mem) + " " +
                     integers_text(tensor.sizes, tensor.ndim) + " " +
                     integers_text(tensor.strides, tensor.ndim) + flags_text(tensor.flags);
  if (with_contents && has_elements(tensor)) text += contents_.text(tensor, moment_);
  return text + ")";
}

std::string CallText::value(const plug_value& value, bool with_contents) {
  const auto& as = value.as;
  switch (value.tag) {
    case PLUG_NONE: return "none";
    case PLUG_VALUE_BOOL: return as.i != 0 ? "true" : "false";
    case PLUG_VALUE_INT: return std::to_string(as.i);
    case PLUG_VALUE_UINT: return std::to_string(as.u) + "u";
    case PLUG_VALUE_FLOAT: return text_of(as.f);
    case PLUG_VALUE_COMPLEX: return "complex[" + text_of(as.floats[0]) + "," + text_of(as.floats[1]) + "]";
    case PLUG_VALUE_STR: return quoted(as.str);
    case PLUG_VALUE_DTYPE: return "dtype:" + dtype_text(static_cast<plug_dtype>(as.u));
    case PLUG_VALUE_LAYOUT: return "layout:" + std::to_string(as.i);
    case PLUG_VALUE_FORMAT: return "format:" + std::to_string(as.i);
    case PLUG_VALUE_DEVICE: return "device:" + std::to_string(as.i);
    case PLUG_VALUE_GENERATOR: return "generator";
    case PLUG_VALUE_TENSOR: return tensor(as.tensors[0], with_contents);
    case PLUG_VALUE_INTS: return std::string("ints") + integers_text(as.ints, value.count);
    case PLUG_VALUE_FLOATS:
      return std::string("floats") + list_text(value.count, [&](int64_t i) { return text_of(as.floats[i]); });
    case PLUG_VALUE_BOOLS:
      return std::string("bools") +
             list_text(value.count, [&](int64_t i) { return std::to_string(as.bools[i]); });
    case PLUG_VALUE_TENSORS:
      return std::string("tensors") +
             list_text(value.count, [&](int64_t i) { return tensor(as.tensors[i], with_contents); });
    case PLUG_VALUE_LIST: return std::string("list") + values(as.values, value.count, with_contents);
    default: return "tag:" + std::to_string(value.tag);
  }
}

std::string CallText::values(const plug_value* values, uint32_t count, bool with_contents) {
  return list_text(count, [&](int64_t i) { return value(values[i], with_contents); });
}

std::string CallText::written(const plug_value* values, uint32_t count) {
  std::string text;
  const auto add = [&](const plug_tensor& one) {
    if (one.ndim < 0 || (one.flags & PLUG_TENSOR_WRITTEN) == 0) return;
    text.append(text.empty() ? "" : ",").append(tensor(one, /*with_contents=*/true));
  };
  for (uint32_t i = 0; i < count; ++i) {
    const bool is_list = values[i].tag == PLUG_VALUE_TENSORS;
    if (values[i].tag != PLUG_VALUE_TENSOR && !is_list) continue;
    for (uint32_t n = 0; n < (is_list ? values[i].count : 1); ++n) add(values[i].as.tensors[n]);
  }
  return text;
}

}  // namespace torchplug::plugin::tracing
