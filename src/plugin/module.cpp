#include "plugin/module.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "base/immortal.h"
#include "base/utf8.h"

namespace torchplug::plugin {
namespace {

constexpr const char* kEntryPoint = "torchplug_plugin_v0";
using EntryPoint = plug_status (*)(const plug_host*, const plug_module**);

// Which members of plug_runtime stand together. A group is complete or empty; kMandatory is complete.
enum class Group { kMandatory, kStreams, kPinned, kCapture, kIpc, kGrowth };

struct Member {
  const char* name;
  size_t offset;
  Group group;
};

constexpr Member kMembers[] = {
    {"device_count", offsetof(plug_runtime, device_count), Group::kMandatory},
    {"device_info", offsetof(plug_runtime, device_info), Group::kMandatory},
    {"device_sync", offsetof(plug_runtime, device_sync), Group::kMandatory},
    {"mem_alloc", offsetof(plug_runtime, mem_alloc), Group::kMandatory},
    {"mem_free", offsetof(plug_runtime, mem_free), Group::kMandatory},
    {"copy", offsetof(plug_runtime, copy), Group::kMandatory},
    {"stream_create", offsetof(plug_runtime, stream_create), Group::kStreams},
    {"stream_destroy", offsetof(plug_runtime, stream_destroy), Group::kStreams},
    {"stream_query", offsetof(plug_runtime, stream_query), Group::kStreams},
    {"stream_sync", offsetof(plug_runtime, stream_sync), Group::kStreams},
    {"event_create", offsetof(plug_runtime, event_create), Group::kStreams},
    {"event_destroy", offsetof(plug_runtime, event_destroy), Group::kStreams},
    {"event_record", offsetof(plug_runtime, event_record), Group::kStreams},
    {"event_wait", offsetof(plug_runtime, event_wait), Group::kStreams},
    {"event_query", offsetof(plug_runtime, event_query), Group::kStreams},
    {"event_sync", offsetof(plug_runtime, event_sync), Group::kStreams},
    {"host_alloc", offsetof(plug_runtime, host_alloc), Group::kPinned},
    {"host_free", offsetof(plug_runtime, host_free), Group::kPinned},
    {"capture_begin", offsetof(plug_runtime, capture_begin), Group::kCapture},
    {"capture_end", offsetof(plug_runtime, capture_end), Group::kCapture},
    {"capture_replay", offsetof(plug_runtime, capture_replay), Group::kCapture},
    {"capture_destroy", offsetof(plug_runtime, capture_destroy), Group::kCapture},
    {"ipc_export", offsetof(plug_runtime, ipc_export), Group::kIpc},
    {"ipc_import", offsetof(plug_runtime, ipc_import), Group::kIpc},
    {"ipc_close", offsetof(plug_runtime, ipc_close), Group::kIpc},
    {"ipc_export_event", offsetof(plug_runtime, ipc_export_event), Group::kIpc},
    {"ipc_import_event", offsetof(plug_runtime, ipc_import_event), Group::kIpc},
    {"mem_reserve", offsetof(plug_runtime, mem_reserve), Group::kGrowth},
    {"mem_unreserve", offsetof(plug_runtime, mem_unreserve), Group::kGrowth},
    {"mem_map", offsetof(plug_runtime, mem_map), Group::kGrowth},
    {"mem_unmap", offsetof(plug_runtime, mem_unmap), Group::kGrowth},
};

bool is_present(const plug_runtime& table, const Member& member) {
  void (*function)() = nullptr;
  std::memcpy(reinterpret_cast<char*>(&function), reinterpret_cast<const char*>(&table) + member.offset,
              sizeof function);
  return function != nullptr;
}

const char* group_name(Group group) {
  switch (group) {
    case Group::kMandatory: return "mandatory functions";
    case Group::kStreams: return "streams and events";
    case Group::kPinned: return "pinned host memory";
    case Group::kCapture: return "capture";
    case Group::kIpc: return "sharing between processes";
    case Group::kGrowth: return "memory that grows in place";
  }
  return "";
}

void check_group(const plug_runtime& table, Group group, const std::string& name) {
  std::string present;
  std::string missing;
  for (const Member& member : kMembers) {
    if (member.group != group) continue;
    std::string& list = is_present(table, member) ? present : missing;
    list += (list.empty() ? "" : ", ") + std::string(member.name);
  }
  if (missing.empty() || (present.empty() && group != Group::kMandatory)) return;
  if (group == Group::kMandatory) {
    TORCH_CHECK(false, "Plugin '", name, "' leaves out what every device needs: ", missing,
                ". Set these members of its plug_runtime.");
  }
  TORCH_CHECK(false, "Plugin '", name, "' gives only part of the group '", group_name(group), "': it has ",
              present, " and lacks ", missing, ". Give all of them or none.");
}

// Copies what the owner of `table` knew of it; the rest stays zero.
template <class Table>
Table adopt(const Table& table, const char* type, const std::string& name) {
  TORCH_CHECK(table.size >= sizeof(uint32_t), "Plugin '", name, "' gives a ", type, " whose size is ",
              table.size, ". Set .size = sizeof(", type, ").");
  Table adopted{};
  const size_t whole = table.size / alignof(Table) * alignof(Table);  // a member reached in part is absent
  std::memcpy(&adopted, &table, std::min(whole, sizeof(Table)));
  adopted.size = sizeof(Table);
  return adopted;
}

std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) {
    TORCH_CHECK(false, "There is no plugin at '", path, "': ", std::strerror(errno), ".");
  }
  return resolved;
}

EntryPoint find_entry_point(void* library, const std::string& path) {
  if (void* symbol = ::dlsym(library, kEntryPoint)) return reinterpret_cast<EntryPoint>(symbol);
  for (int major = 1; major < 100; ++major) {
    const std::string other = "torchplug_plugin_v" + std::to_string(major);
    TORCH_CHECK(::dlsym(library, other.c_str()) == nullptr, "The plugin at '", path, "' speaks version ",
                major, " of the torchplug ABI and this torchplug speaks version ", PLUG_ABI_MAJOR,
                ". Install a torchplug for version ", major,
                ", or build the plugin against this one's plug.h.");
  }
  TORCH_CHECK(false, "The library at '", path, "' is not a torchplug plugin: it exports no ", kEntryPoint,
              "().");
}

void check_name(const std::string& name, const std::string& path) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  TORCH_CHECK(!name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_allowed),
              "The plugin at '", path, "' calls itself '", name,
              "'. A device name is lower-case letters, digits and '_', beginning with a letter.");
}

std::unique_ptr<Module> open_module(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  TORCH_CHECK(library != nullptr, "The plugin at '", path, "' cannot be loaded: ", ::dlerror(), ".");
  EntryPoint entry_point = find_entry_point(library, path);

  auto module = std::make_unique<Module>();
  module->path = path;
  module->host = make_host_table();
  const plug_module* given = nullptr;
  take_plugin_error();
  const plug_status status = entry_point(&module->host, &given);
  const std::string said = take_plugin_error();
  TORCH_CHECK(status == PLUG_OK, "The plugin at '", path, "' refused to start (", status_name(status),
              "): ", said.empty() ? "it gave no reason." : said);
  TORCH_CHECK(given != nullptr, "The plugin at '", path,
              "' answered PLUG_OK but gave no plug_module. Set *module to its table.");

  const plug_module table = adopt(*given, "plug_module", path);
  module->name = table.name == nullptr ? "" : table.name;
  check_name(module->name, path);
  module->version = as_utf8(table.version);
  module->abi_minor = table.abi_minor;
  module->flags = table.flags;
  TORCH_CHECK(table.runtime != nullptr, "Plugin '", module->name,
              "' has no runtime table. Set .runtime of its plug_module.");
  module->runtime = adopt_runtime(*table.runtime, module->name);
  if (table.kernels != nullptr) module->kernels = adopt_kernels(*table.kernels, module->name);
  if (table.profiler != nullptr) module->profiler = adopt_profiler(*table.profiler, module->name);
  return module;
}

}  // namespace

std::vector<Capability> optional_capabilities(const plug_runtime& runtime) {
  return {
      {"streams", runtime.stream_create != nullptr},
      {"event_elapsed", runtime.event_elapsed != nullptr},
      {"host_func", runtime.host_func != nullptr},
      {"host_view", runtime.host_view != nullptr},
      {"pinned", runtime.host_alloc != nullptr},
      {"copy_strided", runtime.copy_strided != nullptr},
      {"mem_fill", runtime.mem_fill != nullptr},
      {"mem_info", runtime.mem_info != nullptr},
      {"peer_access", runtime.peer_access != nullptr},
      {"capture", runtime.capture_begin != nullptr},
      {"ipc", runtime.ipc_export != nullptr},
      {"device_open", runtime.device_open != nullptr},
      {"shutdown", runtime.shutdown != nullptr},
      {"stream_native", runtime.stream_native != nullptr},
      {"stream_import", runtime.stream_import != nullptr},
      {"growth", runtime.mem_reserve != nullptr},
  };
}

plug_runtime adopt_runtime(const plug_runtime& table, const std::string& name) {
  const plug_runtime adopted = adopt(table, "plug_runtime", name);
  for (Group group :
       {Group::kMandatory, Group::kStreams, Group::kPinned, Group::kCapture, Group::kIpc, Group::kGrowth}) {
    check_group(adopted, group, name);
  }
  return adopted;
}

std::vector<plug_kernel> adopt_kernels(const plug_kernels& table, const std::string& name) {
  const plug_kernels adopted = adopt(table, "plug_kernels", name);
  TORCH_CHECK(adopted.count == 0 || (adopted.list != nullptr && adopted.kernel_size != 0), "Plugin '", name,
              "' counts ", adopted.count, " kernels but gives no list or no kernel_size.");
  std::vector<plug_kernel> kernels;
  for (uint32_t i = 0; i < adopted.count; ++i) {
    const char* at = reinterpret_cast<const char*>(adopted.list) + size_t{i} * adopted.kernel_size;
    plug_kernel kernel{};
    std::memcpy(&kernel, at, std::min<size_t>(adopted.kernel_size, sizeof kernel));
    TORCH_CHECK(kernel.schema != nullptr && kernel.fn != nullptr, "Kernel ", i, " of plugin '", name,
                "' has no ", kernel.schema == nullptr ? "schema" : "function", ".");
    kernels.push_back(kernel);
  }
  return kernels;
}

plug_profiler adopt_profiler(const plug_profiler& table, const std::string& name) {
  const plug_profiler adopted = adopt(table, "plug_profiler", name);
  TORCH_CHECK(adopted.start != nullptr && adopted.stop != nullptr && adopted.clock != nullptr &&
                  adopted.label != nullptr && adopted.drain != nullptr,
              "Plugin '", name,
              "' gives a plug_profiler with a function missing. Give all of them, or none.");
  return adopted;
}

Module& load_module(const std::string& path) {
  static std::mutex modules_lock;
  static auto& modules = *immortal<std::map<std::pair<dev_t, ino_t>, std::unique_ptr<Module>>>();
  const std::string resolved = real_path(path);
  // By device and inode, as the loader tells libraries apart: a hard link is the same library.
  struct stat file {};
  TORCH_CHECK(::stat(resolved.c_str(), &file) == 0, "There is no plugin at '", path,
              "': ", std::strerror(errno), ".");
  std::lock_guard lock(modules_lock);
  std::unique_ptr<Module>& module = modules[{file.st_dev, file.st_ino}];
  if (module == nullptr) module = open_module(resolved);
  return *module;
}

}  // namespace torchplug::plugin
