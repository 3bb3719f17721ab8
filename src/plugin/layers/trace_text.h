#pragma once
// Numbers, values and tensors as a trace writes them: docs/trace.md.

#include <cstdint>
#include <map>
#include <string>

#include "plugin/layers/trace_contents.h"
#include "plugin/layers/trace_names.h"
#include "torchplug/plug.h"

namespace torchplug::plugin::tracing {

std::string text_of(double number);  // "0x1.8p+1", exact
std::string hexadecimal_text(uint64_t number);
std::string quoted(const char* text);  // null: none
std::string dtype_text(plug_dtype dtype);
std::string status_text(plug_status status);
std::string integers_text(const int64_t* numbers, int64_t count);

// The values of one call. Host memory has no name of its own: within a call h1, h2 ... are its addresses.
class CallText {
 public:
  CallText(Names& names, const Contents& contents, const Moment& moment)
      : names_(names), contents_(contents), moment_(moment) {}

  // With what lies in the tensors, or without.
  std::string values(const plug_value* values, uint32_t count, bool with_contents);
  std::string tensor(const plug_tensor& tensor, bool with_contents);
  // Those of the tensors among the values that are written, with what lies in them.
  std::string written(const plug_value* values, uint32_t count);
  std::string memory(const plug_mem& memory);

 private:
  std::string value(const plug_value& value, bool with_contents);

  Names& names_;
  const Contents& contents_;
  Moment moment_;
  std::map<const void*, std::string> host_;
};

}  // namespace torchplug::plugin::tracing
