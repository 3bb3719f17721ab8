#pragma once
// A plug_call with all that it points at, kept for later. What is said to be in host memory (single numbers)
// is kept too; device memory is only named. Belongs to whoever made it.

#include <cstddef>
#include <memory>
#include <vector>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin {

class CallCopy {
 public:
  explicit CallCopy(const plug_call& call);

  // Fit to be given to a kernel, again and again; results that a kernel fills are as they were at first.
  plug_call call();

 private:
  template <class T>
  T* keep(const T* items, size_t count);
  plug_value* keep_values(const plug_value* values, size_t count);
  void keep_contents(plug_value& value);
  void keep_contents(plug_tensor& tensor);

  std::vector<std::unique_ptr<std::byte[]>> room_;
  plug_call call_;
};

}  // namespace torchplug::plugin
