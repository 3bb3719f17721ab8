// The account of how operators ran.

#include "aten/plan/ledger.h"

#include <algorithm>
#include <thread>

#include "harness.h"

namespace torchplug::tests {
namespace {

std::vector<LedgerEntry> lines_of(const std::string& op) {
  std::vector<LedgerEntry> lines;
  for (const LedgerEntry& entry : ledger_entries()) {
    if (entry.op == op) lines.push_back(entry);
  }
  return lines;
}

TEST(Ledger, an_operator_that_never_ran_has_no_line) {
  const LedgerAccount account("test::silent");
  EXPECT_TRUE(lines_of("test::silent").empty());
}

TEST(Ledger, each_way_and_each_reason_has_its_own_line) {
  LedgerAccount account("test::op");
  account.count(Way::kKernel, Reason::kNone, 0, 0);
  account.count(Way::kKernel, Reason::kNone, 0, 0);
  account.count(Way::kStage, Reason::kDeclined, 100, 5);
  account.count(Way::kStage, Reason::kDeclined, 20, 7);
  account.count(Way::kStage, Reason::kInputDtype, 3, 0);
  const auto lines = lines_of("test::op");
  ASSERT_EQ(lines.size(), 3u);
  const auto line = [&](Way way, Reason reason) {
    return *std::find_if(lines.begin(), lines.end(), [&](const LedgerEntry& entry) {
      return entry.way == way && entry.reason == reason;
    });
  };
  EXPECT_EQ(line(Way::kKernel, Reason::kNone).count, 2u);
  EXPECT_EQ(line(Way::kStage, Reason::kDeclined).count, 2u);
  EXPECT_EQ(line(Way::kStage, Reason::kDeclined).bytes, 120u);
  EXPECT_EQ(line(Way::kStage, Reason::kDeclined).nanoseconds, 12u);
  EXPECT_EQ(line(Way::kStage, Reason::kInputDtype).bytes, 3u);
}

TEST(Ledger, the_most_frequent_lines_come_first) {
  LedgerAccount rare("test::rare");
  LedgerAccount frequent("test::frequent");
  rare.count(Way::kKernel, Reason::kNone, 0, 0);
  for (int i = 0; i < 3; ++i) frequent.count(Way::kBorrow, Reason::kNoKernel, 0, 0);
  const auto entries = ledger_entries();
  EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end(),
                             [](const LedgerEntry& a, const LedgerEntry& b) { return a.count > b.count; }));
  EXPECT_EQ(entries.front().op, "test::frequent");
}

TEST(Ledger, the_words_are_those_of_the_latest_call_that_was_declined) {
  LedgerAccount account("test::op");
  account.count(Way::kStage, Reason::kDeclined, 0, 0);
  account.explain("too large");
  EXPECT_EQ(lines_of("test::op")[0].why, "the plugin's kernel declined the call: too large");
  account.explain("");
  EXPECT_EQ(lines_of("test::op")[0].why, "the plugin's kernel declined the call");
}

TEST(Ledger, a_reset_forgets_every_line) {
  LedgerAccount account("test::op");
  account.count(Way::kStage, Reason::kNoKernel, 10, 10);
  reset_ledger();
  EXPECT_TRUE(ledger_entries().empty());
  account.count(Way::kStage, Reason::kNoKernel, 1, 0);
  EXPECT_EQ(lines_of("test::op").at(0).bytes, 1u);
}

TEST(Ledger, an_account_that_is_gone_is_not_in_the_ledger) {
  {
    LedgerAccount account("test::op");
    account.count(Way::kStage, Reason::kNoKernel, 0, 0);
  }
  EXPECT_TRUE(lines_of("test::op").empty());
}

TEST(Ledger, counts_of_many_threads_are_all_there) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 10000;
  LedgerAccount account("test::op");
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) account.count(Way::kBorrow, Reason::kNoKernel, 2, 1);
      });
    }
  }
  const LedgerEntry line = lines_of("test::op").at(0);
  EXPECT_EQ(line.count, uint64_t{kThreads} * kCalls);
  EXPECT_EQ(line.bytes, uint64_t{kThreads} * kCalls * 2);
  EXPECT_EQ(line.nanoseconds, uint64_t{kThreads} * kCalls);
}

TEST(Ledger, time_is_measured_while_it_is_asked_for) {
  EXPECT_FALSE(is_ledger_timed());
  EXPECT_EQ(LedgerTimer().nanoseconds(), 0u);
  time_ledger(true);
  const LedgerTimer timer;
  EXPECT_TRUE(eventually([&] { return timer.nanoseconds() > 0; }));
  time_ledger(false);
  EXPECT_EQ(LedgerTimer().nanoseconds(), 0u);
}

TEST(Ledger, every_way_has_a_name_and_every_reason_but_none_a_text) {
  EXPECT_STREQ(way_name(Way::kKernel), "kernel");
  EXPECT_STREQ(way_name(Way::kBorrow), "borrow");
  EXPECT_STREQ(way_name(Way::kStage), "stage");
  EXPECT_STREQ(reason_text(Reason::kNone), "");
  for (Reason reason : {Reason::kNoKernel, Reason::kDeclined, Reason::kInputDtype, Reason::kResultDtype,
                        Reason::kArguments, Reason::kGenerated}) {
    EXPECT_STRNE(reason_text(reason), "");
  }
}

}  // namespace
}  // namespace torchplug::tests
