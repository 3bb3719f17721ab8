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
#include "base/settings.h"
#include "base/utf8.h"

namespace torchplug::plugin {
namespace {

constexpr const char* kEntryPoint = "torchplug_plugin_v0";
// Since when members are only appended.
constexpr uint32_t kOldestMinor = 2;
using EntryPoint = plug_status (*)(const plug_host*, const plug_module**);

struct GroupNames {
  Group group;
  const char* name;        // in messages
  const char* capability;  // what the group is called where capabilities are listed
};

constexpr GroupNames kGroups[] = {
    {Group::kStreams, "streams and events", "streams"},
    {Group::kPinned, "pinned host memory", "pinned"},
    {Group::kCapture, "capture", "capture"},
    {Group::kIpc, "sharing between processes", "ipc"},
    {Group::kGrowth, "memory that grows in place", "growth"},
    {Group::kHostMap, "a host view for a while", "host_map"},
};

// The functions of a group by name: those that are there, and those that are not.
struct Listed {
  std::string present;
  std::string missing;
};

Listed list_group(const plug_runtime& table, Group wanted) {
  Listed listed;
  for_each_member([&]<auto Function>(const char* name, Group group) {
    if (group != wanted) return;
    std::string& list = table.*Function != nullptr ? listed.present : listed.missing;
    list += (list.empty() ? "" : ", ") + std::string(name);
  });
  return listed;
}

void check_mandatory(const plug_runtime& table, const std::string& name) {
  const Listed listed = list_group(table, Group::kMandatory);
  TORCH_CHECK(listed.missing.empty(), "Plugin '", name, "' lacks mandatory functions: ", listed.missing,
              ". Set these members of its plug_runtime, and its .size to sizeof(plug_runtime).");
}

void check_group(const plug_runtime& table, const GroupNames& group, const std::string& name) {
  const Listed listed = list_group(table, group.group);
  TORCH_CHECK(listed.missing.empty() || listed.present.empty(), "Plugin '", name,
              "' implements only part of the group '", group.name, "': it has ", listed.present,
              " and lacks ", listed.missing, ". Implement all of them or none.");
}

// Copies what the owner of `table` knew of it; the rest stays zero.
template <class Table>
Table adopt(const Table& table, const char* type, const std::string& name) {
  TORCH_CHECK(table.size >= sizeof(uint32_t) && table.size <= kLargestTable, "Plugin '", name,
              "' returned a ", type, " whose size is ", table.size, ". Set .size = sizeof(", type, ").");
  Table adopted{};
  const size_t whole = table.size / alignof(Table) * alignof(Table);  // a member reached in part is absent
  std::memcpy(&adopted, &table, std::min(whole, sizeof(Table)));
  adopted.size = sizeof(Table);
  return adopted;
}

// The items of a list, each as long as its owner knew it.
template <class Item>
std::vector<Item> adopt_list(const Item* list, uint32_t count, uint32_t item_size) {
  std::vector<Item> items(count);
  for (uint32_t i = 0; i < count; ++i) {
    const char* at = reinterpret_cast<const char*>(list) + size_t{i} * item_size;
    std::memcpy(&items[i], at, std::min<size_t>(item_size, sizeof(Item)));
  }
  return items;
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
    TORCH_CHECK(
        ::dlsym(library, other.c_str()) == nullptr, "The plugin at '", path, "' was built for version ",
        major, " of the torchplug ABI, and this torchplug supports version ", PLUG_ABI_MAJOR,
        ". Install a torchplug for version ", major, ", or build the plugin against this one's plug.h.");
  }
  TORCH_CHECK(false, "The library at '", path, "' is not a torchplug plugin: it exports no ", kEntryPoint,
              "().");
}

void check_name(const std::string& name, const std::string& path) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  TORCH_CHECK(
      !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_allowed),
      "The plugin at '", path, "' has the name '", name,
      "'. A device name is lower-case letters, digits and '_', beginning with a letter. Set .name of its "
      "plug_module, and its .size to sizeof(plug_module).");
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
  TORCH_CHECK(status == PLUG_OK, "The plugin at '", path, "' failed to initialise (", status_name(status),
              "): ", said.empty() ? "no reason given." : said);
  TORCH_CHECK(given != nullptr, "The plugin at '", path,
              "' returned PLUG_OK but no plug_module. Set *module to its table.");

  const plug_module table = adopt(*given, "plug_module", path);
  module->name = table.name == nullptr ? "" : table.name;
  check_name(module->name, path);
  module->version = as_utf8(table.version);
  module->abi_minor = table.abi_minor;
  TORCH_CHECK(module->abi_minor >= kOldestMinor, "Plugin '", module->name, "' (", path,
              ") was built against plug.h ", PLUG_ABI_MAJOR, ".", module->abi_minor,
              ", and this torchplug loads ", PLUG_ABI_MAJOR, ".", kOldestMinor,
              " and later. Build it against a plug.h of these, with .abi_minor = PLUG_ABI_MINOR.");
  module->flags = table.flags;
  TORCH_CHECK(
      table.runtime != nullptr || table.kernels != nullptr, "Plugin '", module->name,
      "' has neither a runtime table nor kernels. Set .runtime or .kernels of its plug_module, and its "
      ".size to sizeof(plug_module).");
  module->has_runtime = table.runtime != nullptr;
  if (module->has_runtime) module->table = adopt_runtime(*table.runtime, module->name);
  module->runtime = Runtime(module->table);
  if (table.kernels != nullptr) {
    module->kernels = adopt_kernels(*table.kernels, module->name);
    module->any = adopt_any(*table.kernels, module->name);
  }
  if (table.autocast != nullptr) module->autocast = adopt_autocast(*table.autocast, module->name);
  module->extension = table.extension;
  if (table.compiler != nullptr) {
    const plug_compiler compiler = adopt_compiler(*table.compiler, module->name);
    module->compiler = compiler;
    module->compiler_calls = CompilerCalls::of(compiler);
  }
  if (table.profiler != nullptr) module->profiler = adopt_profiler(*table.profiler, module->name);
  return module;
}

}  // namespace

std::vector<Capability> optional_capabilities(const plug_runtime& table) {
  std::vector<Capability> capabilities;
  for (const GroupNames& group : kGroups) {
    capabilities.push_back({group.capability, !list_group(table, group.group).present.empty()});
  }
  for_each_member([&]<auto Function>(const char* name, Group group) {
    if (group == Group::kAlone) capabilities.push_back({name, table.*Function != nullptr});
  });
  return capabilities;
}

plug_runtime adopt_runtime(const plug_runtime& table, const std::string& name) {
  const plug_runtime adopted = adopt(table, "plug_runtime", name);
  check_mandatory(adopted, name);
  for (const GroupNames& group : kGroups) check_group(adopted, group, name);
  return adopted;
}

std::vector<plug_kernel> adopt_kernels(const plug_kernels& table, const std::string& name) {
  const plug_kernels adopted = adopt(table, "plug_kernels", name);
  TORCH_CHECK(adopted.count == 0 || (adopted.list != nullptr && adopted.kernel_size != 0), "Plugin '", name,
              "' has a kernel count of ", adopted.count, " but no list or no kernel_size.");
  std::vector<plug_kernel> kernels = adopt_list(adopted.list, adopted.count, adopted.kernel_size);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const plug_kernel& kernel = kernels[i];
    TORCH_CHECK(kernel.schema != nullptr && kernel.fn != nullptr, "Kernel ", i, " of plugin '", name,
                "' has no ", kernel.schema == nullptr ? "schema" : "function", ".");
  }
  return kernels;
}

std::optional<plug_kernel> adopt_any(const plug_kernels& table, const std::string& name) {
  const plug_kernels adopted = adopt(table, "plug_kernels", name);
  if (adopted.any == nullptr) return std::nullopt;
  TORCH_CHECK(adopted.kernel_size != 0, "Plugin '", name, "' has a kernel `any` but no kernel_size.");
  const plug_kernel any = adopt_list(adopted.any, 1, adopted.kernel_size).front();
  TORCH_CHECK(
      any.fn != nullptr && any.schema == nullptr, "The kernel `any` of plugin '", name, "' has ",
      any.fn == nullptr ? "no function." : "a schema. Leave it NULL, or put the kernel into the list.");
  return any;
}

Autocast adopt_autocast(const plug_autocast& table, const std::string& name) {
  const plug_autocast adopted = adopt(table, "plug_autocast", name);
  TORCH_CHECK(adopted.rule_count == 0 || (adopted.rules != nullptr && adopted.rule_size != 0), "Plugin '",
              name, "' has ", adopted.rule_count, " autocast rules but no list or no rule_size.");
  TORCH_CHECK(adopted.dtype_count == 0 || adopted.dtypes != nullptr, "Plugin '", name, "' has ",
              adopted.dtype_count, " autocast dtypes but no list.");
  return {adopted.dtype, adopt_list(adopted.dtypes, adopted.dtype_count, sizeof(plug_dtype)),
          adopt_list(adopted.rules, adopted.rule_count, adopted.rule_size)};
}

plug_compiler adopt_compiler(const plug_compiler& table, const std::string& name) {
  const plug_compiler adopted = adopt(table, "plug_compiler", name);
  TORCH_CHECK(adopted.compile != nullptr && adopted.run != nullptr && adopted.engine_destroy != nullptr,
              "Plugin '", name, "' has a plug_compiler without ",
              adopted.compile == nullptr ? "compile" : (adopted.run == nullptr ? "run" : "engine_destroy"),
              ". Implement compile, run and engine_destroy.");
  TORCH_CHECK(adopted.schema_count == 0 || adopted.schemas != nullptr, "Plugin '", name,
              "' has a compiler with ", adopted.schema_count, " schemas but no list.");
  TORCH_CHECK(
      adopted.schema_count != 0 || adopted.list_schemas != nullptr, "Plugin '", name,
      "' has a compiler that lists no operator. Set .schemas of its plug_compiler, or .list_schemas.");
  const int on_disk =
      (adopted.identity != nullptr) + (adopted.engine_save != nullptr) + (adopted.engine_load != nullptr);
  TORCH_CHECK(on_disk == 0 || on_disk == 3, "Plugin '", name,
              "' has a part of identity, engine_save and engine_load. Implement all of them or none.");
  return adopted;
}

plug_profiler adopt_profiler(const plug_profiler& table, const std::string& name) {
  const plug_profiler adopted = adopt(table, "plug_profiler", name);
  TORCH_CHECK(adopted.start != nullptr && adopted.stop != nullptr && adopted.clock != nullptr &&
                  adopted.label != nullptr && adopted.drain != nullptr,
              "Plugin '", name,
              "' has a plug_profiler with a missing function. Implement all of them or none.");
  return adopted;
}

void check_is_device(const Module& module) {
  TORCH_CHECK(
      module.has_runtime, "Plugin '", module.name, "' (", module.path,
      ") is no device: it has no runtime table, only operators. Load it with torchplug.load_operators(path), "
      "or set .runtime of its plug_module.");
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
  if (module == nullptr) {
    check_settings();
    module = open_module(resolved);
  }
  return *module;
}

}  // namespace torchplug::plugin
