#include "compile/compiler.h"

#include <c10/util/Exception.h>

#include <mutex>

#include "base/immortal.h"
#include "base/utf8.h"
#include "compile/compile_error.h"
#include "graph/error.h"
#include "graph/plug_view.h"
#include "graph/title.h"
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
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

// What body() throws as a CompileError, with where the graph was written; but for the loss of the device.
template <class Body>
auto for_graph(const Graph& graph, const Body& body) {
  try {
    return body();
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const c10::Error& error) {
    std::string text = error.what_without_backtrace();
    if (text.ends_with('.')) text.pop_back();
    const std::string source = source_of(graph);
    throw CompileError(say(text, source.empty() ? "" : " (" + source + ")", "."));
  }
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
    : module_(module_of(device)), table_(*module_.compiler), calls_(module_.compiler_calls), device_(device) {
  list_operators();
}

void Compiler::list_operators() {
  const char* const* schemas = table_.schemas;
  uint32_t count = table_.schema_count;
  if (calls_.list_schemas != nullptr) {
    const auto lock = lock_calls(module_);
    take_plugin_error();
    check(calls_.list_schemas(plugin_index(device_), &schemas, &count), "list_schemas", device_);
    TORCH_CHECK(count == 0 || schemas != nullptr, "Plugin '", module_.name, "': list_schemas gave ", count,
                " schemas but no list. Set *schemas.");
  }
  listed_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    TORCH_CHECK(schemas[i] != nullptr, "Schema ", i, " of the compiler of plugin '", module_.name,
                "' is NULL.");
    listed_[i].schema = schemas[i];
    std::string why;
    std::optional<Binding> binding = bind_schema(listed_[i], &why);
    if (binding) {
      const std::string name = full_name(binding->operator_handle.operator_name());
      operators_.try_emplace(name, *std::move(binding));
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
  names.reserve(operators_.size());
  for (const auto& [name, binding] : operators_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string Compiler::identity() const {
  const char* text = nullptr;
  const auto lock = lock_calls(module_);
  take_plugin_error();
  check(calls_.identity(plugin_index(device_), &text), "identity", device_);
  return text == nullptr ? "" : text;
}

std::variant<std::shared_ptr<Engine>, Declined> Compiler::compile(const Wish& wish, const char* name) const {
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
    status = calls_.compile(&asked, &engine);
  }
  if (status == PLUG_UNSUPPORTED) {
    std::string why = take_plugin_error();
    return Declined{why.empty() ? "the plugin's compiler declined the graph" : std::move(why)};
  }
  return for_graph(wish.graph, [&] {
    check(status, "compile", device_);
    return take_engine("compile", engine, static_cast<size_t>(wish.graph.input_count()), name);
  });
}

std::shared_ptr<Engine> Compiler::load(std::string_view bytes, size_t inputs, const char* name) const {
  plug_engine engine = nullptr;
  take_plugin_error();
  plug_status status = PLUG_OK;
  {
    const auto lock = lock_calls(module_);
    status = calls_.engine_load(plugin_index(device_), bytes.data(), bytes.size(), &engine);
  }
  if (status == PLUG_UNSUPPORTED) return nullptr;
  check(status, "engine_load", device_);
  return take_engine("engine_load", engine, inputs, name);
}

std::shared_ptr<Engine> Compiler::take_engine(const char* function, plug_engine engine, size_t inputs,
                                              const char* name) const {
  TORCH_CHECK(engine != nullptr, "Plugin '", module_.name, "': ", function,
              " returned PLUG_OK and no engine. Set *engine, or return PLUG_UNSUPPORTED.");
  return std::make_shared<Engine>(module_, table_, device_, engine, inputs, name);
}

std::optional<std::string> Compiler::save(const Engine& engine) const {
  std::string bytes;
  const auto write = [](void* context, const void* data, uint64_t count) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data), count);
  };
  const auto lock = lock_calls(module_);
  take_plugin_error();
  const plug_status status = calls_.engine_save(plugin_index(device_), engine.handle(), write, &bytes);
  if (status == PLUG_UNSUPPORTED) return std::nullopt;
  check(status, "engine_save", device_);
  TORCH_CHECK(
      !bytes.empty(), "Plugin '", module_.name,
      "': engine_save returned PLUG_OK and wrote nothing. Write the engine, or return PLUG_UNSUPPORTED.");
  return bytes;
}

std::optional<Partition> Compiler::partition(const Graph& graph) const {
  if (calls_.partition == nullptr) return std::nullopt;
  const PlugView view(graph);
  Partition taken(graph);
  {
    const auto lock = lock_calls(module_);
    take_plugin_error();
    const auto take = [](void* partition, uint32_t node, int32_t group, const char* why) {
      Partition::take(partition, node, group, as_utf8(why).c_str());
    };
    const plug_status status = calls_.partition(plugin_index(device_), view.get(), take, &taken);
    if (status == PLUG_UNSUPPORTED) return std::nullopt;
    check(status, "partition", device_);
  }
  try {
    taken.check();
  } catch (const GraphError& error) {
    throw GraphError("Plugin '" + module_.name + "': " + error.what());
  }
  return taken;
}

}  // namespace torchplug::compile
