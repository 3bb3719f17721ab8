// Rights to memory of another process: who holds one is never forgotten while it lives, and always when it
// dies.

#include "runtime/ticket.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

namespace torchplug {
namespace {

using torchplug_test::alone;

// A child that does something with a ticket, then waits to be told to end.
class Holder {
 public:
  explicit Holder(const std::function<void()>& body) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::alarm(30);
      body();
      EXPECT_EQ(::write(ready[1], "x", 1), 1);
      while (true) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() { end(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void end() {
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
};

TEST(Ticket, a_copy_on_its_way_is_outstanding_until_it_is_taken_back) {
  alone([] {
    const Ticket ticket = issue_ticket();
    EXPECT_TRUE(ticket.is_of_this_process());
    EXPECT_FALSE(is_outstanding(ticket));
    send_copy(ticket);
    send_copy(ticket);
    take_back_copy(ticket);
    EXPECT_TRUE(is_outstanding(ticket));
    take_back_copy(ticket);
    EXPECT_FALSE(is_outstanding(ticket));
  });
}

TEST(Ticket, numbers_are_issued_again_when_they_are_retired) {
  alone([] {
    const Ticket first = issue_ticket();
    const Ticket second = issue_ticket();
    EXPECT_NE(first.number, second.number);
    retire(first);
    EXPECT_EQ(issue_ticket().number, first.number);
  });
}

TEST(Ticket, who_holds_one_keeps_it_outstanding_until_it_dies) {
  alone([] {
    const Ticket ticket = issue_ticket();
    const Ticket unused = issue_ticket();
    send_copy(ticket);
    Holder holder([&] {
      EXPECT_FALSE(ticket.is_of_this_process());
      static HeldTicket held(ticket);
    });
    EXPECT_TRUE(is_outstanding(ticket));
    EXPECT_FALSE(is_outstanding(unused));
    holder.end();
    EXPECT_FALSE(is_outstanding(ticket));
  });
}

TEST(Ticket, who_lets_go_of_one_keeps_the_others) {
  alone([] {
    const Ticket kept = issue_ticket();
    const Ticket dropped = issue_ticket();
    send_copy(kept);
    send_copy(dropped);
    const Holder holder([&] {
      static HeldTicket held(kept);
      const HeldTicket brief(dropped);
    });
    EXPECT_TRUE(is_outstanding(kept));
    EXPECT_FALSE(is_outstanding(dropped));
  });
}

TEST(Ticket, a_copy_that_a_holder_sends_on_is_outstanding_without_it) {
  alone([] {
    const Ticket ticket = issue_ticket();
    send_copy(ticket);
    Holder holder([&] { HeldTicket(ticket).send_copy(); });
    holder.end();
    EXPECT_TRUE(is_outstanding(ticket)) << "on its way to a third process";
    const Holder third([&] { static HeldTicket held(ticket); });
    EXPECT_TRUE(is_outstanding(ticket));
  });
}

TEST(Ticket, one_of_a_process_that_has_ended_holds_nothing_and_is_no_error) {
  alone([] {
    Ticket ticket = issue_ticket();
    ticket.process = 0x7fffffff;
    const HeldTicket held(ticket);
    held.receive_copy();
    held.send_copy();
  });
}

TEST(Ticket, a_later_process_of_the_same_number_is_not_the_issuer) {
  alone([] {
    const Ticket ticket = issue_ticket();
    send_copy(ticket);
    Holder holder([&] {
      Ticket older = ticket;
      older.register_name ^= 1;
      const HeldTicket held(older);
    });
    holder.end();
    EXPECT_TRUE(is_outstanding(ticket)) << "its own copy was not received";
    take_back_copy(ticket);
    EXPECT_FALSE(is_outstanding(ticket));
  });
}

}  // namespace
}  // namespace torchplug
