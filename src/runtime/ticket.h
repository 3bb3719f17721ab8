#pragma once
// The right of other processes to use something of this one for as long as they want to.
// The issuer has one memory file, its register: for each ticket the number of copies on their way to
// somebody, and a byte that every process holding the ticket has locked. The kernel takes back the locks of a
// process that ends, however it ends, so nothing is kept for the dead; a copy that nobody ever receives is
// kept for ever. Any thread may call anything. A process holds one HeldTicket at most for a ticket.

#include <cstdint>
#include <memory>

namespace torchplug {

struct Ticket {
  int64_t process;      // that issued it
  int64_t register_fd;  // of its register, in that process
  uint64_t register_name;
  uint64_t number;

  bool is_of_this_process() const noexcept;
};

// For the issuer. A new ticket has no copy on its way.
Ticket issue_ticket();
void send_copy(const Ticket& ticket);
void take_back_copy(const Ticket& ticket);
bool is_outstanding(const Ticket& ticket);  // on its way, or held
void retire(const Ticket& ticket);          // its number may be issued again

// For another process.
class HeldTicket {
 public:
  // Of a copy that has arrived. Holds nothing if the issuer has ended: then nobody will use what the ticket
  // is for in another way.
  explicit HeldTicket(const Ticket& ticket);
  ~HeldTicket();
  HeldTicket(const HeldTicket&) = delete;
  HeldTicket& operator=(const HeldTicket&) = delete;

  void receive_copy() const;  // one more has arrived
  void send_copy() const;     // one more is on its way, to a third process or back

  class Register;

 private:
  const Ticket ticket_;
  std::shared_ptr<Register> register_;
};

}  // namespace torchplug
