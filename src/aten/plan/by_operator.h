#pragma once
// What is made for an operator when it is first called, and made anew for another one of its name: a library
// that was destroyed and defined anew has other operators under old names, and their handles may even be
// equal to the old ones. Any thread may ask. What was made lives until then, or until the process ends.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/namespaces.h"

namespace torchplug::aten {

template <class Made>
class ByOperator {
 public:
  // What make() gave, as a std::unique_ptr, for the operator that the handle stands for now.
  template <class Make>
  Made& find(const c10::OperatorHandle& handle, const Make& make) {
    std::lock_guard lock(entries_lock_);
    Entry& entry = entries_[handle.operator_name()];
    const bool is_same =
        entry.made != nullptr && entry.made->handle() == handle && *entry.schema == handle.schema();
    if (!is_same) {
      entry.made = make();
      entry.schema = std::make_unique<c10::FunctionSchema>(handle.schema());
    }
    return *entry.made;
  }

 private:
  struct Entry {
    std::unique_ptr<c10::FunctionSchema> schema;
    std::unique_ptr<Made> made;
  };

  std::mutex entries_lock_;
  std::unordered_map<c10::OperatorName, Entry> entries_;
};

}  // namespace torchplug::aten
