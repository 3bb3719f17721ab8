#include "library_id.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace torchplug::sim::compiler {
namespace {

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// Each note: a head, its owner's name and its bytes, both in words of four bytes.
std::string id_among_notes(const char* notes, std::size_t bytes) {
  const auto in_words = [](std::size_t size) { return (size + 3) / 4 * 4; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof head);
    const char* const name = notes + sizeof head;
    const char* const content = name + in_words(head.n_namesz);
    const std::size_t size = sizeof head + in_words(head.n_namesz) + in_words(head.n_descsz);
    if (size > bytes) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return hexadecimal(reinterpret_cast<const unsigned char*>(content), head.n_descsz);
    notes += size;
    bytes -= size;
  }
  return {};
}

struct Search {
  const void* base;
  std::string id;
};

int look(dl_phdr_info* library, std::size_t /*size*/, void* context) {
  Search& search = *static_cast<Search*>(context);
  if (reinterpret_cast<const void*>(library->dlpi_addr) != search.base) return 0;
  for (int i = 0; i < library->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      search.id = id_among_notes(static_cast<const char*>(search.base) + segment.p_vaddr, segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string library_id() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&library_id), &self) == 0) return {};
  Search search{self.dli_fbase, {}};
  dl_iterate_phdr(look, &search);
  return search.id;
}

}  // namespace torchplug::sim::compiler
