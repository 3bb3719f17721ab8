#include "pytorch/torchscript_library.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string>

namespace torchplug::pytorch {
namespace {

std::atomic<const torchscript::Entry*> loaded{nullptr};

// Where this library lies.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&loaded_torchscript_library), &info) == 0) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

const torchscript::Entry* load() {
  const std::string path = own_folder() + "libtorchplug_torchscript.so";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    TORCH_CHECK(false, "TorchScript groups need ", path,
                ", which cannot be loaded: ", why == nullptr ? "no reason is known" : why,
                ". Install torchplug anew.");
  }
  using Find = const torchscript::Entry* (*)();
  const auto find = reinterpret_cast<Find>(dlsym(library, "torchplug_torchscript_entry"));
  TORCH_CHECK(find != nullptr, path, " has no torchplug_torchscript_entry. Install torchplug anew.");
  return find();
}

}  // namespace

const torchscript::Entry& torchscript_library() {
  static std::mutex lock;
  const std::lock_guard hold(lock);
  if (loaded == nullptr) loaded = load();
  return *loaded;
}

const torchscript::Entry* loaded_torchscript_library() { return loaded; }

}  // namespace torchplug::pytorch
