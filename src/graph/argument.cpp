#include "graph/argument.h"

#include <algorithm>

namespace torchplug::graph {
namespace {

template <class T>
bool holds(const Argument::Payload& payload) {
  return std::holds_alternative<T>(payload);
}

bool is_payload_of(int32_t tag, const Argument::Payload& payload) {
  switch (tag) {
    case PLUG_NONE:
    case PLUG_VALUE_GENERATOR: return holds<std::monostate>(payload);
    case PLUG_VALUE_UINT:
    case PLUG_VALUE_DTYPE: return holds<uint64_t>(payload);
    case PLUG_VALUE_FLOAT: return holds<double>(payload);
    case PLUG_VALUE_COMPLEX:
      return holds<std::vector<double>>(payload) && std::get<std::vector<double>>(payload).size() == 2;
    case PLUG_VALUE_FLOATS: return holds<std::vector<double>>(payload);
    case PLUG_VALUE_STR: return holds<std::string>(payload);
    case PLUG_VALUE_INTS:
    case PLUG_VALUE_REFS: return holds<std::vector<int64_t>>(payload);
    case PLUG_VALUE_BOOLS: return holds<std::vector<uint8_t>>(payload);
    case PLUG_VALUE_LIST: return holds<std::vector<Argument>>(payload);
    case PLUG_VALUE_BOOL:
    case PLUG_VALUE_INT:
    case PLUG_VALUE_LAYOUT:
    case PLUG_VALUE_FORMAT:
    case PLUG_VALUE_DEVICE:
    case PLUG_VALUE_REF:
    case PLUG_VALUE_SYMBOL: return holds<int64_t>(payload);
    default: return false;
  }
}

}  // namespace

std::optional<Argument> Argument::from(int32_t tag, Payload payload) {
  if (!is_payload_of(tag, payload)) return std::nullopt;
  return Argument(tag, std::move(payload));
}

void Argument::for_each_ref(const std::function<void(int32_t)>& visit) const {
  if (tag_ == PLUG_VALUE_REF) {
    visit(static_cast<int32_t>(as<int64_t>()));
  } else if (tag_ == PLUG_VALUE_REFS) {
    for (const int64_t value : as<std::vector<int64_t>>()) {
      if (value >= 0) visit(static_cast<int32_t>(value));
    }
  } else if (tag_ == PLUG_VALUE_LIST) {
    for (const Argument& item : as<std::vector<Argument>>()) item.for_each_ref(visit);
  }
}

void Argument::for_each_symbol(const std::function<void(int32_t)>& visit) const {
  if (tag_ == PLUG_VALUE_SYMBOL) {
    visit(static_cast<int32_t>(as<int64_t>()));
  } else if (tag_ == PLUG_VALUE_LIST) {
    for (const Argument& item : as<std::vector<Argument>>()) item.for_each_symbol(visit);
  }
}

Argument Argument::renumbered(const std::function<int32_t(int32_t)>& value,
                              const std::function<int32_t(int32_t)>& symbol) const {
  if (tag_ == PLUG_VALUE_REF) return ref(value(static_cast<int32_t>(as<int64_t>())));
  if (tag_ == PLUG_VALUE_SYMBOL) return Argument::symbol(symbol(static_cast<int32_t>(as<int64_t>())));
  if (tag_ == PLUG_VALUE_REFS) {
    std::vector<int64_t> values = as<std::vector<int64_t>>();
    for (int64_t& number : values) {
      if (number >= 0) number = value(static_cast<int32_t>(number));
    }
    return refs(std::move(values));
  }
  if (tag_ == PLUG_VALUE_LIST) {
    std::vector<Argument> items;
    for (const Argument& item : as<std::vector<Argument>>()) items.push_back(item.renumbered(value, symbol));
    return list(std::move(items));
  }
  return *this;
}

int Argument::depth() const {
  if (tag_ != PLUG_VALUE_LIST) return 0;
  int deepest = 0;
  for (const Argument& item : as<std::vector<Argument>>()) deepest = std::max(deepest, item.depth());
  return deepest + 1;
}

}  // namespace torchplug::graph
