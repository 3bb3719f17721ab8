#include "compile/compiler.h"

#include <c10/util/Exception.h>

#include <mutex>

#include "base/immortal.h"
#include "graph/plug_view.h"
#include "plugin/layers/serialize.h"
#include "runtime/failure.h"

namespace torchplug::compile {
namespace {

struct Compilers {
  std::mutex lock;
  std::unordered_map<DeviceIndex, std::unique_ptr<Compiler>> of;
};

Compilers& compilers() {
  static auto& instance = *immortal<Compilers>();
  return instance;
}

// What a plug_compile of the host's points to.
struct Asking {
  const Wish& wish;
  static int32_t progress(const plug_compile* asked, double done) {
    const auto& asking = *static_cast<const Asking*>(asked->host_private);
    return asking.wish.progress && !asking.wish.progress(done) ? 1 : 0;
  }
};

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

const Compiler* Compiler::of(DeviceIndex device) {
  if (!module_of(device).compiler) return nullptr;
  ensure_open(device);
  const std::lock_guard lock(compilers().lock);
  std::unique_ptr<Compiler>& found = compilers().of[device];
  if (found == nullptr) found = std::make_unique<Compiler>(device);
  return found.get();
}

Compiler::Compiler(DeviceIndex device)
    : module_(module_of(device)), table_(*module_.compiler), device_(device) {
  list_operators();
}

void Compiler::list_operators() {
  const char* const* schemas = table_.schemas;
  uint32_t count = table_.schema_count;
  if (table_.list_schemas != nullptr) {
    const auto lock = lock_calls(module_);
    check(table_.list_schemas(plugin_index(device_), &schemas, &count), "list_schemas", device_);
  }
  listed_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    TORCH_CHECK(schemas[i] != nullptr, "Schema ", i, " of the compiler of plugin '", module_.name,
                "' is NULL.");
    listed_[i].schema = schemas[i];
    std::string why;
    std::optional<Binding> binding = bind_schema(listed_[i], &why);
    if (binding) {
      operators_.try_emplace(full_name(binding->operator_handle.operator_name()), *std::move(binding));
    } else {
      unused_.push_back({schemas[i], why});
    }
  }
}

const Binding* Compiler::find(const std::string& name) const {
  const auto found = operators_.find(name);
  return found == operators_.end() ? nullptr : &found->second;
}

std::vector<std::string> Compiler::names() const {
  std::vector<std::string> names;
  for (const auto& [name, binding] : operators_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string Compiler::identity() const {
  const char* text = nullptr;
  const auto lock = lock_calls(module_);
  take_plugin_error();
  check(table_.identity(plugin_index(device_), &text), "identity", device_);
  return text == nullptr ? "" : text;
}

std::variant<std::shared_ptr<Engine>, Declined> Compiler::compile(const Wish& wish) const {
  const PlugView view(wish.graph);
  const std::vector<const char*> options = pointers_to(wish.options);
  Asking asking{wish};
  plug_compile asked{};
  asked.size = sizeof asked;
  asked.device = plugin_index(device_);
  asked.graph = view.get();
  asked.options = options.data();
  asked.progress = Asking::progress;
  asked.host_private = &asking;
  plug_engine engine = nullptr;
  take_plugin_error();
  plug_status status = PLUG_OK;
  {
    const auto lock = lock_calls(module_);
    status = table_.compile(&asked, &engine);
  }
  if (status == PLUG_UNSUPPORTED) {
    std::string why = take_plugin_error();
    return Declined{why.empty() ? "the plugin's compiler declined the graph" : std::move(why)};
  }
  check(status, "compile", device_);
  const auto inputs = static_cast<size_t>(wish.graph.input_count());
  TORCH_CHECK(engine != nullptr, "Plugin '", module_.name,
              "': compile returned PLUG_OK and no engine. Set *engine, or return PLUG_UNSUPPORTED.");
  return std::make_shared<Engine>(module_, table_, device_, engine, inputs);
}

std::shared_ptr<Engine> Compiler::load(const std::string& bytes, size_t inputs) const {
  plug_engine engine = nullptr;
  take_plugin_error();
  plug_status status = PLUG_OK;
  {
    const auto lock = lock_calls(module_);
    status = table_.engine_load(plugin_index(device_), bytes.data(), bytes.size(), &engine);
  }
  if (status == PLUG_UNSUPPORTED) return nullptr;
  check(status, "engine_load", device_);
  TORCH_CHECK(engine != nullptr, "Plugin '", module_.name,
              "': engine_load returned PLUG_OK and no engine. Set *engine, or return PLUG_UNSUPPORTED.");
  return std::make_shared<Engine>(module_, table_, device_, engine, inputs);
}

std::string Compiler::save(const Engine& engine) const {
  std::string bytes;
  const auto write = [](void* context, const void* data, uint64_t count) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data), count);
  };
  const auto lock = lock_calls(module_);
  take_plugin_error();
  check(table_.engine_save(plugin_index(device_), engine.handle(), write, &bytes), "engine_save", device_);
  return bytes;
}

std::optional<Partition> Compiler::partition(const Graph& graph) const {
  if (table_.partition == nullptr) return std::nullopt;
  const PlugView view(graph);
  Partition taken(graph);
  {
    const auto lock = lock_calls(module_);
    take_plugin_error();
    check(table_.partition(plugin_index(device_), view.get(), Partition::take, &taken), "partition", device_);
  }
  taken.check();
  return taken;
}

}  // namespace torchplug::compile
