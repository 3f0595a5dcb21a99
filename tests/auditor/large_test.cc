// A million effects in one window: all are compared, in bounded memory.
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "auditor/audited_database.h"
#include "auditor/comparison.h"
#include "auditor/window.h"
#include "auditor/window_run.h"
#include "store/lookup.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::test {
namespace {

// A store that has every key, each done: what a million of them cost a store is not looked at here.
class EveryKeyDone : public store::Lookup {
 public:
  Async<std::optional<Held>> look_up(Key key) override {
    Held held;
    held.record.key = std::move(key);
    held.record.state = Record::State::done;
    co_return held;
  }
};

std::size_t memory_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t value = 0;
    if (word == name && status >> value) return value;
  }
  return 0;
}

class LargeAudit : public AuditedDatabase {};

TEST_F(LargeAudit, AMillionEffectsAreComparedInBoundedMemory) {
  run_sql(
      "INSERT INTO payments SELECT 'p' || i, 'key-' || i, 'acme', i, now() - interval '1 hour' + i * interval '3 ms' "
      "FROM generate_series(1, 1000000) i; "
      "INSERT INTO payments SELECT 'again' || i, 'key-' || i, 'acme', i, now() - interval '5 minutes' "
      "FROM generate_series(1, 3) i; CREATE INDEX ON payments (created_at); ANALYZE payments");
  audit_.expect = config::AuditExpect::at_most_one;
  audit_.statement_timeout = Millis{120'000};
  audit_.rows_max = 1'100'000;
  auditor::EffectSource reader = source();
  const Time now = reader.standing().value().now;
  const auditor::AuditWindow window = auditor::window_of(audit_, now - Millis{7'200'000}, now, now);
  EveryKeyDone lookup;
  const std::atomic<bool> stop{false};
  const std::size_t before = memory_kib("VmRSS:");
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is counted from now on
  const auto begun = std::chrono::steady_clock::now();
  const auto report = auditor::run_window({.lookup = lookup}, reader, audit_, window, {.stop = stop});
  const auto took = std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now() - begun);
  const std::size_t peak = memory_kib("VmHWM:");
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_FALSE(report->blind);
  EXPECT_EQ(report->shares, 1U);
  EXPECT_EQ(report->effects, 1'000'003U);
  EXPECT_EQ(report->keys, 1'000'000U);
  EXPECT_EQ(report->suspects.at(static_cast<std::size_t>(auditor::AuditKind::duplicate)), 3U);
  ASSERT_EQ(report->findings.size(), 3U);
  EXPECT_LE(peak - before, 64U << 10U) << "KiB";
  std::cout << "1 M effects: " << took.count() << " ms, " << (peak - before) / 1'024 << " MiB more\n";
}

}  // namespace
}  // namespace semel::test
