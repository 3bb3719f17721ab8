#include "package/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace torchplug::package {
namespace {

using base::FileDescriptor;

constexpr std::string_view kMagic = "torchplug plug\r\n";  // which a transfer as text would change
constexpr uint64_t kAlignment = 64;
constexpr uint32_t kMostSections = 1U << 20;

struct Header {
  std::array<char, 16> magic;
  uint32_t version;
  uint32_t sections;
  uint64_t bytes;  // of the file
  Digest digest;   // of the above, and of the table that follows
};
static_assert(sizeof(Header) == 64 && sizeof(Section) == 56);

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

Digest digest_of(const Header& header, std::span<const Section> table) {
  graph::Sha256 sum;
  sum.add(&header, offsetof(Header, digest));
  sum.add(table.data(), table.size_bytes());
  return sum.finish();
}

std::string reason() { return std::generic_category().message(errno); }

// ---- writing ----

// A file that goes away unless it is given its name.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path)
      : path_(path),
        name_(graph::say(path, ".unfinished-", ::getpid(), "-", next_++)),
        file_(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (!file_.is_open()) refuse_writing();
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (!is_finished_) ::unlink(name_.c_str());
  }

  void write(const void* from, uint64_t bytes) {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t done = ::write(file_.number(), at, std::min<uint64_t>(bytes, 1U << 30));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) refuse_writing();
      at += done;
      bytes -= static_cast<uint64_t>(done);
      written_ += static_cast<uint64_t>(done);
    }
  }

  void fill_up() {
    static constexpr std::array<char, kAlignment> kZeros{};
    write(kZeros.data(), aligned(written_) - written_);
  }

  // Its content has to be on the disk before its name is.
  void finish() {
    if (::fsync(file_.number()) != 0 || ::rename(name_.c_str(), path_.c_str()) != 0) refuse_writing();
    is_finished_ = true;
  }

 private:
  [[noreturn]] void refuse_writing() const { refuse("Cannot write ", path_, ": ", reason(), "."); }

  static inline std::atomic<uint64_t> next_ = 0;
  const std::string& path_;
  std::string name_;
  FileDescriptor file_;
  uint64_t written_ = 0;
  bool is_finished_ = false;
};

}  // namespace

// ---- reading ----

PackageFile::PackageFile(std::string path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_.is_open()) refuse("Cannot open ", path_, ": ", reason(), ".");
  struct stat facts {};
  if (::fstat(file_.number(), &facts) != 0) refuse("Cannot open ", path_, ": ", reason(), ".");
  if (!S_ISREG(facts.st_mode)) refuse(path_, " is no file. Give the path of a package.");
  const auto size = static_cast<uint64_t>(facts.st_size);

  Header header{};
  const uint64_t known = std::min<uint64_t>(size, sizeof header);
  read_at(0, &header, known);
  const bool is_magic =
      known >= kMagic.size() && std::memcmp(header.magic.data(), kMagic.data(), kMagic.size()) == 0;
  if (!is_magic) refuse(path_, " is no package. Make one with `torchplug package model.pt2 -o ", path_, "`.");
  if (known >= offsetof(Header, sections) && header.version != kFormatVersion)
    refuse(path_, " is a package of version ", header.version, ", and this torchplug reads version ",
           kFormatVersion, ". Make it anew with `torchplug package`.");
  if (known < sizeof header) refuse_damaged("it ends within its header");
  if (header.bytes != size) refuse_damaged(graph::say("it has ", size, " bytes instead of ", header.bytes));
  if (header.sections == 0 || header.sections > kMostSections ||
      header.sections * sizeof(Section) > size - sizeof header)
    refuse_damaged("its table of sections is none");
  std::vector<Section> table(header.sections);
  read_at(sizeof header, table.data(), table.size() * sizeof(Section));
  if (digest_of(header, table) != header.digest)
    refuse_damaged("its table of sections is not what was written");
  uint64_t end = sizeof header + (table.size() * sizeof(Section));
  for (const Section& section : table) take_section(section, end, size);
  if (end != size || contents_.kind != SectionKind::kContents)
    refuse_damaged("its sections are not all there");
}

void PackageFile::take_section(const Section& section, uint64_t& end, uint64_t size) {
  if (section.offset != aligned(end) || section.offset > size || section.bytes > size - section.offset)
    refuse_damaged("its table of sections is none");
  std::array<char, kAlignment> padding{};
  read_at(end, padding.data(), section.offset - end);
  if (std::ranges::any_of(padding, [](char byte) { return byte != 0; }))
    refuse_damaged("there is something between its sections");
  end = section.offset + section.bytes;
  switch (section.kind) {
    case SectionKind::kContents: contents_ = section; break;
    case SectionKind::kStorage: storages_.push_back(section); break;
    case SectionKind::kEngine: engines_.push_back(section); break;
    default: refuse_damaged("it has a section of a kind that there is not");
  }
}

std::string PackageFile::read(const Section& section) const {
  std::string bytes(section.bytes, '\0');
  read(section, bytes.data());
  return bytes;
}

void PackageFile::read(const Section& section, void* to) const {
  read_at(section.offset, to, section.bytes);
  if (graph::digest_of(to, section.bytes) != section.digest)
    refuse_damaged("a section's content is not what was written");
}

void PackageFile::read_at(uint64_t offset, void* to, uint64_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t done =
        ::pread(file_.number(), at, std::min<uint64_t>(bytes, 1U << 30), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refuse("Cannot read ", path_, ": ", reason(), ".");
    if (done == 0) refuse_damaged("it ends too early");
    at += done;
    offset += static_cast<uint64_t>(done);
    bytes -= static_cast<uint64_t>(done);
  }
}

void PackageFile::refuse_damaged(std::string_view how) const {
  refuse("The package ", path_, " is damaged: ", how, ". Copy it or make it anew.");
}

void write_package(const std::string& path, std::string_view contents, std::span<const Bytes> storages,
                   std::span<const std::string> engines) {
  std::vector<std::pair<SectionKind, Bytes>> parts;
  const auto bytes_of = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  parts.emplace_back(SectionKind::kContents, bytes_of(contents));
  for (const Bytes& storage : storages) parts.emplace_back(SectionKind::kStorage, storage);
  for (const std::string& engine : engines) parts.emplace_back(SectionKind::kEngine, bytes_of(engine));

  std::vector<Section> table;
  table.reserve(parts.size());
  uint64_t end = sizeof(Header) + (parts.size() * sizeof(Section));
  for (const auto& [kind, bytes] : parts) {
    table.push_back({kind, 0, aligned(end), bytes.size(), graph::digest_of(bytes.data(), bytes.size())});
    end = table.back().offset + bytes.size();
  }
  Header header{{}, kFormatVersion, static_cast<uint32_t>(table.size()), end, {}};
  std::ranges::copy(kMagic, header.magic.begin());
  header.digest = digest_of(header, table);

  UnfinishedFile file(path);
  file.write(&header, sizeof header);
  file.write(table.data(), table.size() * sizeof(Section));
  for (const auto& [kind, bytes] : parts) {
    file.fill_up();
    file.write(bytes.data(), bytes.size());
  }
  file.finish();
}

}  // namespace torchplug::package
