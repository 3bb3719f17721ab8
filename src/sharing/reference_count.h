#pragma once
// References that other processes hold to something of this one, counted so that it lives as long as they
// need. The owner has one memory file, its table: for each reference the number of copies in flight to
// somebody, and a byte that every process holding the reference has locked. The kernel releases the locks of
// a process that ends, however it ends, so nothing is kept for the dead; a copy that nobody ever receives is
// kept for ever. Any thread may call anything. A process has at most one HeldReference for a reference.

#include <cstdint>
#include <memory>

#include "base/namespaces.h"

namespace torchplug::sharing {

struct SharedReference {
  int64_t process;   // the owner's
  int64_t table_fd;  // of its table, in that process
  uint64_t table_name;
  uint64_t number;

  bool is_of_this_process() const noexcept;
};

// For the owner. A new reference has no copy in flight.
SharedReference new_reference();
void send_copy(const SharedReference& reference);
void take_back_copy(const SharedReference& reference);
bool is_outstanding(const SharedReference& reference);  // in flight, or held
void retire(const SharedReference& reference);          // its number may be used again

class CountTable;

// For another process.
class HeldReference {
 public:
  // Of a copy that has arrived. Holds nothing if the owner has ended: then nobody will use what the reference
  // is for in another way.
  explicit HeldReference(const SharedReference& reference);
  ~HeldReference();
  HeldReference(const HeldReference&) = delete;
  HeldReference& operator=(const HeldReference&) = delete;

  void receive_copy() const;  // one more has arrived
  void send_copy() const;     // one more is in flight, to a third process or back

 private:
  const SharedReference reference_;
  std::shared_ptr<CountTable> table_;
};

}  // namespace torchplug::sharing
