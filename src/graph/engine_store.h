#pragma once
// Engines on disk: bytes by key, in one directory that several processes may use at once. Each engine is a
// file that appears whole or not at all and is checked when it is read; the least recently used go when there
// are too many bytes. What cannot be read or written is not there: nothing is thrown, and a reason says why.
// Without state but for where it is; any thread may use it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "graph/digest.h"

namespace torchplug::graph {

class EngineStore {
 public:
  static constexpr uint64_t kDefaultLimit = uint64_t{4} << 30;

  // The directory is made, for its owner alone, when the first engine is saved.
  explicit EngineStore(std::string directory, uint64_t limit = kDefaultLimit);

  struct Loaded {
    std::optional<std::string> bytes;
    std::string why;  // they could not be read; "" if there simply are none
  };
  Loaded load(std::string_view key) const;

  // "", or why it was not saved.
  std::string save(std::string_view key, std::string_view bytes) const;

  // Of a key whose engine turned out to be of no use.
  void remove(std::string_view key) const;

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  uint64_t limit_;  // bytes of all engines together
};

}  // namespace torchplug::graph
