#pragma once
// A package on disk: a header with the version, a table of sections, the sections, each of which begins at a
// multiple of 64 bytes and has a SHA-256 digest. No byte of a file can change, be missing or be added without
// being found. A file is written whole or not at all; what is read is checked before it is given to anybody.
// Owned by whoever opens it; for one thread at a time.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "graph/digest.h"
#include "package/refuse.h"

namespace torchplug::package {

using graph::Digest;

inline constexpr uint32_t kFormatVersion = 1;

enum class SectionKind : uint32_t {
  kContents = 1,  // one
  kStorage = 2,   // bytes of weights
  kEngine = 3,    // what the plugin has saved
};

struct Section {
  SectionKind kind{};
  uint32_t unused = 0;  // 0
  uint64_t offset = 0;
  uint64_t bytes = 0;
  Digest digest{};
};

// Throws for what is no package, or a damaged one, or one of another version.
class PackageFile {
 public:
  explicit PackageFile(std::string path);

  const std::string& path() const { return path_; }
  const Section& contents() const { return contents_; }
  const std::vector<Section>& storages() const { return storages_; }
  const std::vector<Section>& engines() const { return engines_; }

  // Its bytes, checked.
  std::string read(const Section& section) const;
  // The same, to memory of that many bytes.
  void read(const Section& section, void* to) const;

 private:
  void read_at(uint64_t offset, void* to, uint64_t bytes) const;
  void take_section(const Section& section, uint64_t& end, uint64_t size);
  [[noreturn]] void refuse_damaged(std::string_view how) const;

  std::string path_;
  base::FileDescriptor file_;
  Section contents_;
  std::vector<Section> storages_;
  std::vector<Section> engines_;
};

using Bytes = std::span<const std::byte>;

void write_package(const std::string& path, std::string_view contents, std::span<const Bytes> storages,
                   std::span<const std::string> engines);

}  // namespace torchplug::package
