// Whole windows, from the rows of a database to findings.
#include <atomic>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "auditor/audited_database.h"
#include "auditor/comparison.h"
#include "auditor/finding.h"
#include "auditor/window.h"
#include "auditor/window_run.h"
#include "store/notes.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::test {
namespace {

using auditor::AuditKind;

class AuditRun : public AuditedDatabase {
 protected:
  Result<auditor::WindowReport> try_run(auditor::Judge judge = {}) {
    auditor::EffectSource reader = source();
    const Time now = reader.standing().value().now;
    const auditor::AuditWindow window = auditor::window_of(audit_, now - Millis{3'600'000}, now + Millis{1}, now);
    const std::atomic<bool> stop{false};
    const auditor::RunControl control{.stop = stop, .judge = std::move(judge)};
    return auditor::run_window(keys(), reader, audit_, window, control);
  }
  auditor::WindowReport run() {
    Result<auditor::WindowReport> report = try_run();
    if (!report) throw std::runtime_error(report.error().detail);
    return *std::move(report);
  }
  static std::map<std::string, int> kinds(const auditor::WindowReport& report) {
    std::map<std::string, int> counts;
    for (const auditor::AuditFinding& finding : report.findings) ++counts[std::string(name(finding.kind))];
    return counts;
  }
};

using Kinds = std::map<std::string, int>;

// Every key has its effect: nothing is found, and the planted duplicate is seen and not reported.
TEST_F(AuditRun, IsSilentWhenAllIsWell) {
  for (int i = 0; i < 20; ++i) {
    key("k" + std::to_string(i));
    pay("p" + std::to_string(i), "k" + std::to_string(i));
  }
  const auditor::WindowReport report = run();
  EXPECT_FALSE(report.blind);
  EXPECT_EQ(report.effects, 20U);
  EXPECT_EQ(report.keys, 20U);
  EXPECT_EQ(kinds(report), Kinds{});
}

// One of each kind, with its evidence.
TEST_F(AuditRun, FindsEachKind) {
  for (const char* text : {"good", "twice", "missing"}) key(text);
  key("ghost", Ends::unknown);
  key("freed", Ends::released);
  key("refused", Ends::refused);
  pay("p1", "good");
  pay("p2", "twice", 60, 5);
  pay("p3", "twice", 30, 6);
  pay("p4", "ghost");
  pay("p5", "freed");
  pay("p6", "stranger");
  pay("p7", "");
  const auditor::WindowReport report = run();
  EXPECT_FALSE(report.blind);
  EXPECT_EQ(kinds(report), (Kinds{{"duplicate", 1}, {"missing", 1}, {"ghost", 2}, {"orphan", 2}}));
  for (const auditor::AuditFinding& finding : report.findings) {
    if (finding.kind != AuditKind::duplicate) continue;
    ASSERT_EQ(finding.rows.size(), 2U);
    EXPECT_EQ(finding.effects, 2U);
    EXPECT_EQ(finding.rows[0].effect + finding.rows[1].effect, "p2p3");
    EXPECT_EQ(finding.rows[0].value, "5");
    ASSERT_EQ(finding.keys.size(), 1U);
    EXPECT_EQ(finding.keys[0].state, "done");
    EXPECT_EQ(finding.keys[0].fence, 1U);
    EXPECT_EQ(finding.keys[0].id.size(), 64U);
    EXPECT_EQ(auditor::finding_json(finding).find("twice"), std::string::npos) << "the key is not in clear";
  }
}

// A business that is asked for at most one effect has none missing.
TEST_F(AuditRun, MissesNothingThatIsNotExpected) {
  key("missing");
  EXPECT_EQ(kinds(run()), (Kinds{{"missing", 1}}));
  audit_.expect = config::AuditExpect::at_most_one;
  EXPECT_EQ(kinds(run()), Kinds{});
}

// The same request under two keys is told; two requests that happen to cost the same are not.
TEST_F(AuditRun, TellsARequestThatCameUnderTwoKeys) {
  key("a", Ends::done, 1);
  key("b", Ends::done, 1);
  key("c", Ends::done, 2);
  pay("p1", "a", 60, 9);
  pay("p2", "b", 50, 9);
  pay("p3", "c", 40, 9);
  const auditor::WindowReport report = run();
  ASSERT_EQ(kinds(report), (Kinds{{"duplicate-value", 1}}));
  EXPECT_EQ(report.findings.front().keys.size(), 2U);
  EXPECT_EQ(report.findings.front().rows.size(), 2U);
}

// Effects that are younger than `settle` are looked at for duplicates only.
TEST_F(AuditRun, LeavesYoungEffectsAloneUnlessThereAreTwo) {
  audit_.settle = Millis{600'000};
  key("good");
  pay("p1", "stranger", 5);
  pay("p2", "good", 5);
  EXPECT_EQ(kinds(run()), Kinds{});
  pay("p3", "good", 4);
  EXPECT_EQ(kinds(run()), (Kinds{{"duplicate", 1}}));
}

// A window with more effects than are held at once is compared share by share, and finds the same.
TEST_F(AuditRun, ComparesALargeWindowInShares) {
  audit_.expect = config::AuditExpect::at_most_one;
  audit_.rows_max = 1'000;
  run_sql(
      "INSERT INTO payments SELECT 'p' || i, 'k' || (i % 4990), 'acme', i, now() - interval '1 minute' "
      "FROM generate_series(1, 5000) i; ANALYZE payments");
  const auditor::WindowReport report = run();
  EXPECT_FALSE(report.blind);
  EXPECT_GE(report.shares, 8U);
  EXPECT_EQ(report.effects, 5'000U);
  EXPECT_EQ(report.suspects.at(static_cast<std::size_t>(AuditKind::duplicate)), 10U);
  EXPECT_EQ(report.suspects.at(static_cast<std::size_t>(AuditKind::orphan)), 4'980U);
  EXPECT_EQ(kinds(report)["orphan"], static_cast<int>(auditor::described_max));
}

// The planner may be wrong about how many there are: then there are more shares.
TEST_F(AuditRun, DoesNotTrustTheEstimate) {
  audit_.expect = config::AuditExpect::at_most_one;
  audit_.rows_max = 1'000;
  run_sql(
      "CREATE FUNCTION many() RETURNS SETOF payments LANGUAGE sql ROWS 1 AS $$ SELECT * FROM payments $$; "
      "INSERT INTO payments SELECT 'p' || i, 'k' || i, 'acme', i, now() - interval '1 minute' "
      "FROM generate_series(1, 3000) i");
  audit_.query =
      "SELECT idempotency_key AS key, account AS scope, id AS effect, created_at AS at, amount::text AS value "
      "FROM many() WHERE created_at >= $1 AND created_at < $2";
  run_sql("ALTER FUNCTION many() SECURITY DEFINER");
  EXPECT_EQ(run().effects, 3'000U);
}

// A comparison that is broken is noticed, and nothing that it says is reported.
TEST_F(AuditRun, IsBlindWithABrokenComparison) {
  key("twice");
  pay("p1", "twice");
  pay("p2", "twice");
  const std::vector<auditor::Judge> broken{
      [](const auditor::Comparison&, std::span<const auditor::KeyState>, Time) {
        return std::vector<auditor::Suspect>{};
      },
      [](const auditor::Comparison& comparison, std::span<const auditor::KeyState> states, Time settled) {
        std::vector<auditor::Suspect> found = comparison.judge(states, settled);
        std::erase_if(found, [](const auditor::Suspect& suspect) { return suspect.kind == AuditKind::duplicate; });
        return found;
      },
      [](const auditor::Comparison& comparison, std::span<const auditor::KeyState> states, Time settled) {
        std::vector<auditor::Suspect> found = comparison.judge(states, settled);
        std::vector<auditor::Suspect> twice = found;
        twice.insert(twice.end(), found.begin(), found.end());
        return twice;
      }};
  for (const auditor::Judge& judge : broken) {
    const Result<auditor::WindowReport> report = try_run(judge);
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_TRUE(report->blind);
    EXPECT_TRUE(report->findings.empty());
  }
  EXPECT_FALSE(run().blind);
}

// A join that returns one effect twice would look like a duplicate: it is a mistake in the query, and said so.
TEST_F(AuditRun, RefusesAQueryThatReturnsAnEffectTwice) {
  key("k");
  pay("p1", "k");
  audit_.query =
      "SELECT idempotency_key AS key, account AS scope, id AS effect, created_at AS at, amount::text AS value "
      "FROM payments, generate_series(1, 2) WHERE created_at >= $1 AND created_at < $2";
  const Result<auditor::WindowReport> report = try_run();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::invalid);
  EXPECT_NE(report.error().detail.find("\"p1\" more than once"), std::string::npos) << report.error().detail;
}

// Whatever the rows hold, a finding fits into a note, says what was cut, and still tells one effect from another.
TEST_F(AuditRun, CutsLongTextsOfRows) {
  audit_.expect = config::AuditExpect::at_most_one;
  key("twice", Ends::done, 1);
  key("again", Ends::done, 1);
  for (int i = 0; i < 12; ++i) {
    pay(std::to_string(i), "twice", 60 - i);
    pay(std::to_string(100 + i), "again", 60 - i);
  }
  pay("keyless", "");
  audit_.query =
      "SELECT idempotency_key AS key, account AS scope, repeat(chr(1), 70000) || id AS effect, created_at AS at, "
      "repeat(chr(228), 500000) AS value FROM payments WHERE created_at >= $1 AND created_at < $2";
  const auditor::WindowReport report = run();
  EXPECT_EQ(kinds(report)["duplicate"], 2);
  EXPECT_EQ(kinds(report)["orphan"], 1);
  EXPECT_GE(kinds(report)["duplicate-value"], 1);
  for (const auditor::AuditFinding& finding : report.findings) {
    EXPECT_LE(auditor::finding_json(finding).size(), store::note_value_bytes_max) << name(finding.kind);
    ASSERT_FALSE(finding.rows.empty());
    EXPECT_TRUE(finding.rows.front().value->ends_with("... (cut: 1000000 bytes in all)"));
    if (finding.kind == AuditKind::orphan) EXPECT_TRUE(finding.keys.empty());
    if (finding.kind == AuditKind::duplicate_value) EXPECT_EQ(finding.rows.size(), 2 * auditor::evidence_rows_max);
  }
}

// The largest that a finding can be; and what is kept is the same text each time that it is read and written.
TEST(AuditFindingText, FitsIntoANote) {
  for (const std::string& text :
       {std::string(1'000'000, '\x01'), std::string(1'000'000, '"'), std::string(1'000'000, '\xff'),
        std::string(1'024, '\x02'), std::string(5'000, 'a')}) {
    auditor::AuditFinding finding;
    finding.audit = std::string(64, 'a');
    finding.kind = AuditKind::duplicate_value;
    finding.rows.resize(2 * auditor::evidence_rows_max,
                        {.effect = auditor::evidence_text(text), .at = {}, .value = auditor::evidence_text(text)});
    auditor::KeyEvidence key{
        .id = std::string(64, 'f'), .state = "unknown", .fence = ~0ULL, .claimed_at = Time{}, .seen = {}};
    key.seen.resize(10, "\"" + std::string(auditor::evidence_event_bytes_max - 2, 'e') + "\"");
    finding.keys = {key, key};
    finding.reason = std::string(1'000, '\x01');
    finding.who = std::string(255, 'w');
    finding.acted_at = Time{};
    const std::string json = auditor::finding_json(finding);
    EXPECT_LE(json.size(), store::note_value_bytes_max);
    EXPECT_TRUE(finding.rows.front().effect.ends_with(" bytes in all)"));
    const std::string again = auditor::finding_json(auditor::finding_from(json).value());
    EXPECT_LE(again.size(), store::note_value_bytes_max);
    EXPECT_EQ(auditor::finding_json(auditor::finding_from(again).value()), again);
  }
  EXPECT_EQ(auditor::evidence_text("short"), "short");
  EXPECT_EQ(auditor::evidence_text(std::string(1'000, 'a')), std::string(1'000, 'a'));
  auditor::AuditFinding named;
  named.kind = AuditKind::orphan;
  named.rows.push_back({.effect = "Gr\u00f6\u00dfe", .at = {}, .value = "\u6f22"});
  for (int i = 0; i < 3; ++i) named = auditor::finding_from(auditor::finding_json(named)).value();
  EXPECT_EQ(named.rows.front().effect, "Gr\u00f6\u00dfe");
  EXPECT_EQ(named.rows.front().value, "\u6f22");
}

}  // namespace
}  // namespace semel::test
