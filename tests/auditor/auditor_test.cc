// The auditor over time: what is kept, who is paged, who looks at a window, and what operators do.
#include "auditor/auditor.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "auditor/audit_book.h"
#include "auditor/audited_database.h"
#include "auditor/finding.h"
#include "reading/secret.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::test {
namespace {

using auditor::AuditKind;
using auditor::Auditor;
using auditor::FindingState;

class AuditorOverTime : public AuditedDatabase {
 protected:
  std::unique_ptr<Auditor> make(const std::string& node = "one") {
    auditor::AuditorParts parts{.clock = *clock_,
                                .keys = keys(),
                                .notes = *store_.notes,
                                .node = node,
                                .say =
                                    [this, node](const std::string& line) {
                                      const std::scoped_lock lock(mutex_);
                                      said_.push_back(node + ": " + line);
                                    },
                                .page = [this](const auditor::AuditPage& page) -> Result<void> {
                                  const std::scoped_lock lock(mutex_);
                                  if (pager_fails_) return fail(Code::unavailable, "no room");
                                  pages_.push_back(page);
                                  return {};
                                }};
    return std::make_unique<Auditor>(std::move(parts), std::vector{audit_});
  }
  static auditor::AuditOutcome look(Auditor& auditor) {
    auditor::AuditAsked asked;
    asked.audit = "payments";
    Result<auditor::AuditOutcome> outcome = test::run(auditor.run(asked));
    if (!outcome) throw std::runtime_error(outcome.error().detail);
    return *std::move(outcome);
  }
  static std::vector<auditor::AuditFinding> found(Auditor& auditor, auditor::FindingFilter filter = {}) {
    return test::run(auditor.list(std::move(filter), 100)).value();
  }
  static bool soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 3'000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(Millis{10});
    }
    return false;
  }
  std::size_t paged() {
    const std::scoped_lock lock(mutex_);
    return pages_.size();
  }

  std::mutex mutex_;
  std::vector<std::string> said_;
  std::vector<auditor::AuditPage> pages_;
  std::atomic<bool> pager_fails_ = false;
};

// A duplicate is kept once, and pages once, however often the window is looked at; a third effect is news.
TEST_F(AuditorOverTime, KeepsAndPagesADuplicateOnce) {
  audit_.page_to = "pager";
  key("twice");
  pay("p1", "twice", 60, 1);
  pay("p2", "twice", 50, 2);
  const auto auditor = make();
  EXPECT_EQ(look(*auditor).not_closed, 1U);
  EXPECT_EQ(look(*auditor).not_closed, 1U);
  ASSERT_EQ(found(*auditor).size(), 1U);
  ASSERT_EQ(paged(), 1U);
  EXPECT_EQ(pages_.front().to, "pager");
  EXPECT_NE(pages_.front().body.find("\"p1\""), std::string::npos);
  EXPECT_NE(pages_.front().body.find("\"p2\""), std::string::npos);
  pay("p3", "twice", 40, 3);
  look(*auditor);
  EXPECT_EQ(found(*auditor).front().effects, 3U);
  ASSERT_EQ(paged(), 2U);
  EXPECT_NE(pages_.front().key, pages_.back().key);
}

// A row may hold what is larger than a note: the duplicate is kept and paged all the same, and the audit goes on.
TEST_F(AuditorOverTime, PagesADuplicateWithLongTexts) {
  audit_.page_to = "pager";
  audit_.query =
      "SELECT idempotency_key AS key, account AS scope, id AS effect, created_at AS at, repeat('x', 70000) AS value "
      "FROM payments WHERE created_at >= $1 AND created_at < $2";
  key("twice");
  pay("p1", "twice", 60);
  pay("p2", "twice", 50);
  const auto auditor = make();
  EXPECT_EQ(look(*auditor).not_closed, 1U);
  ASSERT_EQ(paged(), 1U);
  EXPECT_NE(pages_.front().body.find("xxx... (cut: 70000 bytes in all)"), std::string::npos);
}

// What goes wrong may be told in as many words as the database likes.
TEST_F(AuditorOverTime, KeepsALongReasonShort) {
  audit_.query =
      "SELECT idempotency_key AS key, account AS scope, repeat('x', 200000)::uuid::text AS effect, created_at AS at, "
      "amount::text AS value FROM payments WHERE created_at >= $1 AND created_at < $2";
  key("k");
  pay("p1", "k");
  const auto auditor = make();
  auditor->start();
  ASSERT_TRUE(soon([&] {
    const auto views = test::run(auditor->view());
    return views && views->front().status.ended != Time{} && !views->front().status.trouble.empty();
  }));
  EXPECT_LE(test::run(auditor->view()).value().front().status.trouble.size(), 4'096U);
  auditor->end();
}

// Nobody is paged for what is no duplicate; and a page that cannot be accepted is tried again.
TEST_F(AuditorOverTime, PagesLaterIfTheInboxHasNoRoom) {
  audit_.page_to = "pager";
  pay("p1", "stranger");
  const auto auditor = make();
  look(*auditor);
  EXPECT_EQ(paged(), 0U);
  key("twice");
  pay("p2", "twice", 60, 1);
  pay("p3", "twice", 50, 2);
  pager_fails_ = true;
  look(*auditor);
  EXPECT_EQ(paged(), 0U);
  pager_fails_ = false;
  look(*auditor);
  EXPECT_EQ(paged(), 1U);
}

// open, acknowledged, closed; a closed one stays so, until its key gets one more effect.
TEST_F(AuditorOverTime, AFindingIsClosedWithAReason) {
  key("twice");
  pay("p1", "twice", 60, 1);
  pay("p2", "twice", 50, 2);
  const auto auditor = make();
  look(*auditor);
  const std::string id = found(*auditor).front().id;
  EXPECT_TRUE(test::run(auditor->act(id, FindingState::acknowledged, "looking", "mona")));
  EXPECT_EQ(look(*auditor).not_closed, 1U);
  EXPECT_TRUE(test::run(auditor->act(id, FindingState::closed, "refunded", "mona")));
  EXPECT_EQ(look(*auditor).not_closed, 0U);
  const auditor::AuditFinding closed = found(*auditor).front();
  EXPECT_EQ(closed.state, FindingState::closed);
  EXPECT_EQ(closed.reason + closed.who, "refundedmona");
  const auto again = test::run(auditor->act(id, FindingState::closed, "again", "mona"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::fenced);
  pay("p3", "twice", 40, 3);
  EXPECT_EQ(look(*auditor).not_closed, 1U);
  EXPECT_EQ(found(*auditor).front().state, FindingState::open);
}

// The thread looks at window after window, moves on, and closes what was missing when its effect comes late.
TEST_F(AuditorOverTime, FollowsTheBusiness) {
  key("late");
  const auto auditor = make();
  auditor->start();
  const auto state = [&](AuditKind kind) {
    const auto all = found(*auditor, {.audit = {}, .state = {}, .kind = kind});
    return all.empty() ? std::string("none") : std::string(name(all.front().state));
  };
  EXPECT_TRUE(soon([&] { return state(AuditKind::missing) == "open"; }));
  pay("p1", "late", 0, 1);
  EXPECT_TRUE(soon([&] { return state(AuditKind::missing) == "closed"; }));
  pay("p2", "late", 0, 2);
  EXPECT_TRUE(soon([&] { return state(AuditKind::duplicate) == "open"; }));
  std::string metrics;
  EXPECT_TRUE(soon([&] {
    metrics.clear();
    auditor->render(metrics);
    return metrics.find("semel_audit_findings{audit=\"payments\",kind=\"duplicate\"} 1") != std::string::npos;
  })) << metrics;
  EXPECT_NE(metrics.find("semel_audit_duplicates_last_day{audit=\"payments\"} 1"), std::string::npos);
  EXPECT_NE(metrics.find("semel_audit_blind{audit=\"payments\"} 0"), std::string::npos);
  auditor->end();
}

// A commit that comes late, with a time before what was judged already, is found by the overlap.
TEST_F(AuditorOverTime, FindsALateCommit) {
  key("slow");
  pay("p1", "slow", 600, 1);
  const auto auditor = make();
  auditor->start();
  const auto judged = [&] {
    const auto views = test::run(auditor->view());
    return views && views->front().status.progress.judged_to.has_value();
  };
  ASSERT_TRUE(soon(judged));
  pay("p2", "slow", 590, 2);  // its row says that it is ten minutes old
  EXPECT_TRUE(soon([&] { return !found(*auditor, {.audit = {}, .state = {}, .kind = AuditKind::duplicate}).empty(); }));
  auditor->end();
}

// A window that fails is not skipped: what happened meanwhile is found when the database is there again.
TEST_F(AuditorOverTime, GoesBackToAWindowThatFailed) {
  const auto auditor = make();
  auditor->start();
  const auto status = [&] { return test::run(auditor->view()).value().front().status; };
  ASSERT_TRUE(soon([&] { return status().progress.judged_to.has_value(); }));
  run_sql("REVOKE SELECT ON payments FROM audit_reader");
  ASSERT_TRUE(soon([&] { return !status().trouble.empty(); }));
  const Time before = *status().progress.judged_to;
  key("k");
  pay("p1", "k", 0, 1);
  pay("p2", "k", 0, 2);
  std::this_thread::sleep_for(Millis{1'500});
  EXPECT_EQ(*status().progress.judged_to, before);
  run_sql("GRANT SELECT ON payments TO audit_reader");
  EXPECT_TRUE(soon([&] { return !found(*auditor, {.audit = {}, .state = {}, .kind = AuditKind::duplicate}).empty(); }));
  EXPECT_TRUE(soon([&] { return status().trouble.empty() && *status().progress.judged_to > before; }));
  auditor->end();
}

// Two gateways on one store look at each window once, and a page goes out once.
TEST_F(AuditorOverTime, TwoGatewaysTakeTurns) {
  audit_.page_to = "pager";
  key("twice");
  pay("p1", "twice", 60, 1);
  pay("p2", "twice", 50, 2);
  const auto one = make("one");
  const auto two = make("two");
  one->start();
  two->start();
  EXPECT_TRUE(soon([&] { return paged() > 0; }));
  const auto begun = [&] { return test::run(one->view()).value().front().status.begun; };
  std::vector<Time> windows;
  for (const Time end = clock_->wall() + Millis{4'000}; clock_->wall() < end;) {
    if (windows.empty() || windows.back() != begun()) windows.push_back(begun());
    std::this_thread::sleep_for(Millis{5});
  }
  EXPECT_EQ(found(*one, {.audit = {}, .state = {}, .kind = AuditKind::duplicate}).size(), 1U);
  one->end();
  two->end();
  ASSERT_GE(windows.size(), 2U);
  for (std::size_t i = 1; i < windows.size(); ++i) EXPECT_GE(windows[i] - windows[i - 1], audit_.every);
  EXPECT_EQ(paged(), 1U);
}

// What a run by hand shows of a finding is what is kept of it; and a test, which keeps nothing, has seen it just now.
TEST_F(AuditorOverTime, ShowsWhenAFindingWasFirstSeen) {
  key("twice");
  pay("p1", "twice", 60, 1);
  pay("p2", "twice", 50, 2);
  const auto auditor = make();
  const auto shown = [&](bool test) {
    auditor::AuditAsked asked;
    asked.audit = "payments";
    asked.test = test;
    return test::run(auditor->run(asked)).value().report.findings.at(0);
  };
  const Time begun = clock_->wall();
  EXPECT_GE(shown(true).first_seen, begun);
  EXPECT_GE(shown(true).last_seen, begun);
  EXPECT_TRUE(found(*auditor).empty());
  const auditor::AuditFinding first = shown(false);
  EXPECT_GE(first.first_seen, begun);
  EXPECT_TRUE(test::run(auditor->act(first.id, FindingState::acknowledged, "looking", "mona")));
  std::this_thread::sleep_for(Millis{10});
  for (const bool test : {false, true}) {
    EXPECT_EQ(shown(test).first_seen, first.first_seen);
    EXPECT_EQ(shown(test).state, FindingState::acknowledged);
    EXPECT_EQ(shown(test).reason + shown(test).who, "lookingmona");
  }
  pay("p3", "twice", 40, 3);
  EXPECT_EQ(shown(true).first_seen, first.first_seen);
  EXPECT_EQ(shown(false).first_seen, first.first_seen);
  EXPECT_EQ(shown(false).effects, 3U);
}

// The age is that of the last window that was judged, whoever judged it: a gateway that has just been started, and
// whose database is away, does not look fresh.
TEST_F(AuditorOverTime, AgesAcrossRestarts) {
  const auto age = [](const Auditor& auditor) {
    std::string metrics;
    auditor.render(metrics);
    constexpr std::string_view sample = "semel_audit_age_seconds{audit=\"payments\"} ";
    const std::size_t at = metrics.find(sample);
    return at == std::string::npos ? -1 : std::stoi(metrics.substr(at + sample.size()));
  };
  auditor::AuditBook book(*store_.notes);
  audit_.database = reading::Secret("postgres:///nowhere?host=/nonexistent&user=nobody");
  {
    const auto never = make();
    EXPECT_EQ(age(*never), -1) << "nothing is known yet";
    never->start();
    ASSERT_TRUE(soon([&] { return age(*never) >= 2; }));
    never->end();
  }
  {
    const auto again = make("two");
    again->start();
    ASSERT_TRUE(soon([&] { return age(*again) >= 0; }));
    EXPECT_GE(age(*again), 2) << "it counts from when the audit was begun, not from this start";
    again->end();
  }
  auditor::KeptStatus kept = book.status("payments").value();
  kept.status.progress.judged_to = clock_->wall() - std::chrono::hours{2};
  ASSERT_TRUE(book.write("payments", kept));
  const auto restarted = make();
  restarted->start();
  ASSERT_TRUE(soon([&] { return age(*restarted) >= 0; }));
  EXPECT_GE(age(*restarted), 7'200);
  restarted->end();
}

// A role that may write is refused before anything is read.
TEST_F(AuditorOverTime, RefusesARoleThatMayWriteAtTheStart) {
  run_sql("GRANT INSERT ON payments TO audit_reader");
  const Result<void> checked = make()->check();
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().detail.find("audit payments: an audit needs a role that cannot write"), std::string::npos);
}

// A database that is not there is no mistake: its windows wait.
TEST_F(AuditorOverTime, WaitsForADatabaseThatIsNotThere) {
  audit_.database = reading::Secret("postgres:///nowhere?host=/nonexistent&user=nobody");
  EXPECT_TRUE(make()->check());
}

}  // namespace
}  // namespace semel::test
