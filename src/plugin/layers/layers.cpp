#include "plugin/layers/layers.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <sstream>

#include "base/settings.h"
#include "plugin/layers/fault.h"
#include "plugin/layers/serialize.h"
#include "plugin/layers/trace.h"
#include "plugin/layers/validate.h"

namespace torchplug::plugin {
namespace {

struct NamedLayer {
  const char* name;
  void (*insert)(Module&);
};

constexpr NamedLayer kLayers[] = {
    {"validate", insert_validate}, {"fault", insert_fault}, {"trace", insert_trace}};

const NamedLayer& find_layer(const std::string& name, const char* wish) {
  for (const NamedLayer& layer : kLayers) {
    if (name == layer.name) return layer;
  }
  TORCH_CHECK(false, "TORCHPLUG_LAYERS is '", wish, "', but there is no layer '", name,
              "'. Set it to a comma-separated list of: validate, fault, trace.");
}

}  // namespace

void apply_layers(Module& module) {
  if (module.is_layered) return;
  module.is_layered = true;
  if ((module.flags & PLUG_SERIALIZE) != 0) serialize(module);
  const char* wish = text_setting("TORCHPLUG_LAYERS");
  if (wish == nullptr) return;
  std::vector<const NamedLayer*> chosen;
  std::istringstream words(wish);
  for (std::string word; std::getline(words, word, ',');) {
    const NamedLayer& layer = find_layer(word, wish);
    TORCH_CHECK(std::find(chosen.begin(), chosen.end(), &layer) == chosen.end(), "TORCHPLUG_LAYERS is '",
                wish, "', which names '", word, "' twice. Name each layer once.");
    chosen.push_back(&layer);
    module.layers.push_back(word);
  }
  std::for_each(chosen.rbegin(), chosen.rend(),
                [&module](const NamedLayer* layer) { layer->insert(module); });
}

}  // namespace torchplug::plugin
