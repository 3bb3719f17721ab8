// Rights to memory of another process: who holds one is never forgotten while it lives, and always when it
// dies.

#include "sharing/reference_count.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

namespace torchplug::tests {
namespace {

// A child that does something with a reference, then waits to be told to end.
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

TEST(SharedReference, a_copy_in_flight_is_outstanding_until_it_is_taken_back) {
  alone([] {
    const SharedReference reference = new_reference();
    EXPECT_TRUE(reference.is_of_this_process());
    EXPECT_FALSE(is_outstanding(reference));
    send_copy(reference);
    send_copy(reference);
    take_back_copy(reference);
    EXPECT_TRUE(is_outstanding(reference));
    take_back_copy(reference);
    EXPECT_FALSE(is_outstanding(reference));
  });
}

TEST(SharedReference, numbers_are_used_again_when_they_are_retired) {
  alone([] {
    const SharedReference first = new_reference();
    const SharedReference second = new_reference();
    EXPECT_NE(first.number, second.number);
    retire(first);
    EXPECT_EQ(new_reference().number, first.number);
  });
}

TEST(SharedReference, who_holds_one_keeps_it_outstanding_until_it_dies) {
  alone([] {
    const SharedReference reference = new_reference();
    const SharedReference unused = new_reference();
    send_copy(reference);
    Holder holder([&] {
      EXPECT_FALSE(reference.is_of_this_process());
      static HeldReference held(reference);
    });
    EXPECT_TRUE(is_outstanding(reference));
    EXPECT_FALSE(is_outstanding(unused));
    holder.end();
    EXPECT_FALSE(is_outstanding(reference));
  });
}

TEST(SharedReference, who_lets_go_of_one_keeps_the_others) {
  alone([] {
    const SharedReference kept = new_reference();
    const SharedReference dropped = new_reference();
    send_copy(kept);
    send_copy(dropped);
    const Holder holder([&] {
      static HeldReference held(kept);
      const HeldReference brief(dropped);
    });
    EXPECT_TRUE(is_outstanding(kept));
    EXPECT_FALSE(is_outstanding(dropped));
  });
}

TEST(SharedReference, a_copy_that_a_holder_sends_on_is_outstanding_without_it) {
  alone([] {
    const SharedReference reference = new_reference();
    send_copy(reference);
    Holder holder([&] { HeldReference(reference).send_copy(); });
    holder.end();
    EXPECT_TRUE(is_outstanding(reference)) << "on its way to a third process";
    const Holder third([&] { static HeldReference held(reference); });
    EXPECT_TRUE(is_outstanding(reference));
  });
}

TEST(SharedReference, one_of_a_process_that_has_ended_holds_nothing_and_is_no_error) {
  alone([] {
    SharedReference reference = new_reference();
    reference.process = 0x7fffffff;
    const HeldReference held(reference);
    held.receive_copy();
    held.send_copy();
  });
}

TEST(SharedReference, a_later_process_of_the_same_number_is_not_the_owner) {
  alone([] {
    const SharedReference reference = new_reference();
    send_copy(reference);
    Holder holder([&] {
      SharedReference older = reference;
      older.table_name ^= 1;
      const HeldReference held(older);
    });
    holder.end();
    EXPECT_TRUE(is_outstanding(reference)) << "its own copy was not received";
    take_back_copy(reference);
    EXPECT_FALSE(is_outstanding(reference));
  });
}

}  // namespace
}  // namespace torchplug::tests
