#pragma once
// What an exception says, for messages that hold it.

#include <c10/util/Exception.h>

#include <exception>
#include <string>

#include "base/namespaces.h"

namespace torchplug::base {

// Without the backtrace that PyTorch adds.
inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& known) {
    return known.what_without_backtrace();
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

}  // namespace torchplug::base
