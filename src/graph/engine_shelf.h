#pragma once
// Engines that come with a program, by all that they depend on. Filled by whoever loads the program, before
// it is shared; from then on it does not change, and any thread may read it.

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/namespaces.h"
#include "graph/digest.h"

namespace torchplug::graph {

class EngineShelf {
 public:
  struct Kept {
    std::string bytes;     // what the plugin has saved
    std::string declined;  // why there is no engine; "": there is one
  };

  // The key of an engine is text without end; it is known by its digest.
  void put(const Digest& key, Kept kept) { engines_.insert_or_assign(key, std::move(kept)); }
  // Null if there is none.
  const Kept* find(std::string_view key) const {
    const auto found = engines_.find(digest_of(key));
    return found == engines_.end() ? nullptr : &found->second;
  }

 private:
  std::map<Digest, Kept> engines_;
};

}  // namespace torchplug::graph
