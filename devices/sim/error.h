#pragma once
// How the plugin fails: code inside throws Failure, and guarded() at each function of the
// interface turns whatever was thrown into a plug_status and one sentence for the host.
// Any thread may use all of it once set_host() has been called.

#include <exception>
#include <locale>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "torchplug/plug.h"

namespace torchplug::sim {

class Failure : public std::exception {
 public:
  Failure(plug_status status, std::string message) : status_(status), message_(std::move(message)) {}

  plug_status status() const noexcept { return status_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  plug_status status_;
  std::string message_;
};

// Throws a Failure whose sentence is the parts strung together.
template <class... Parts>
[[noreturn]] void fail(plug_status status, const Parts&... parts) {
  std::ostringstream sentence;
  sentence.imbue(std::locale::classic());  // the program's locale may group digits
  (sentence << ... << parts);
  throw Failure(status, sentence.str());
}

// Borrowed until the process ends.
void set_host(const plug_host* host) noexcept;
const plug_host& host() noexcept;

// Only inside a catch block.
plug_status answer_current_exception() noexcept;

// Runs one function of the interface: no exception leaves it.
template <class Body>
plug_status guarded(const Body& body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<const Body&>>) {
      body();
      return PLUG_OK;
    } else {
      return body();
    }
  } catch (...) {
    return answer_current_exception();
  }
}

}  // namespace torchplug::sim
