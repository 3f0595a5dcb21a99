// Sightings in memory and as rows: what is kept of a request, what is put together, and what happens without room.
#include "telemetry/sighting.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/shape.h"
#include "store/history.h"
#include "telemetry/cause.h"
#include "telemetry/route_metrics.h"
#include "telemetry/sighting_rows.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

using namespace std::chrono_literals;
using store::HistoryKind;
using store::HistoryRow;

const Time noon{std::chrono::sys_days{std::chrono::year{2024} / 2 / 29} + 12h};

Digest id_of(std::uint8_t number) {
  Digest id{};
  id.fill(number);
  return id;
}

Sighting replay(std::uint8_t key, std::string_view client = "10.0.0.1") {
  return {.id = id_of(key),
          .at = noon,
          .fence = 1,
          .time = 1ms,
          .status = 201,
          .ending = Ending::replayed,
          .route = "/v1/*",
          .client = client,
          .agent = "curl/8"};
}

Sighting attempt(std::uint8_t key, std::uint64_t fence, Ending ending) {
  return {.id = id_of(key),
          .at = noon,
          .fence = fence,
          .shape = {.bits = 0x1234},
          .time = 30ms,
          .upstream_time = 20ms,
          .status = 201,
          .upstream_status = 201,
          .ending = ending,
          .upstream = "app",
          .route = "/v1/*",
          .client = "10.0.0.1",
          .agent = "curl/8"};
}

std::vector<HistoryRow> rows_of(SightingRows& rows) {
  return rows.take(noon, [](const Digest& id) { return id; });
}

boost::json::object value_of(const HistoryRow& row) {
  return boost::json::parse(row.value).as_object();
}

// Whatever is added comes out as it went in, also after the buffer has been handed over several times.
TEST(SightingBufferTest, KeepsWhatWasAdded) {
  SightingBuffer buffer;
  Sighting seen = attempt(7, 3, Ending::unknown);
  seen.problem = ProblemType::outcome_unknown;
  seen.cause = Cause::reset;
  seen.waited = true;
  buffer.add(seen);
  buffer.hand_over();
  buffer.add(replay(8));
  buffer.hand_over();
  std::string taken = "what was there before";
  EXPECT_EQ(buffer.take(taken), 0U);
  std::vector<Sighting> found;
  for_each_sighting(taken, [&found](const Sighting& each) { found.push_back(each); });
  ASSERT_EQ(found.size(), 2U);
  const Sighting& first = found.front();
  EXPECT_EQ(first.id, seen.id);
  EXPECT_EQ(first.at, seen.at);
  EXPECT_EQ(first.fence, 3U);
  EXPECT_EQ(first.shape, seen.shape);
  EXPECT_EQ(first.time, 30ms);
  EXPECT_EQ(first.upstream_time, 20ms);
  EXPECT_EQ(first.problem, ProblemType::outcome_unknown);
  EXPECT_EQ(first.cause, Cause::reset);
  EXPECT_TRUE(first.waited);
  EXPECT_EQ(first.upstream, "app");
  EXPECT_EQ(first.route, "/v1/*");
  EXPECT_EQ(first.client, "10.0.0.1");
  EXPECT_EQ(first.agent, "curl/8");
  EXPECT_EQ(found.back().problem, std::nullopt);
  EXPECT_EQ(found.back().upstream, "");
}

// A client cannot make a sighting large.
TEST(SightingBufferTest, ShortensTexts) {
  SightingBuffer buffer;
  const std::string agent(100'000, 'x');
  Sighting seen = replay(1);
  seen.agent = agent;
  buffer.add(seen);
  buffer.hand_over();
  std::string taken;
  buffer.take(taken);
  EXPECT_LT(taken.size(), 1'000U);
}

// With nobody to take them, sightings are dropped and counted, and memory stays bounded.
TEST(SightingBufferTest, DropsAndCountsWhenFull) {
  SightingBuffer buffer;
  constexpr std::uint64_t many = 400'000;
  for (std::uint64_t i = 0; i < many; ++i) {
    buffer.add(replay(1));
    if (i % 10'000 == 0) buffer.hand_over();
  }
  std::uint64_t found = 0;
  std::uint64_t dropped = 0;
  std::string taken;
  for (int round = 0; round < 2; ++round) {
    buffer.hand_over();
    dropped += buffer.take(taken);
    EXPECT_LE(taken.size(), SightingBuffer::bytes_max + 1'000);
    for_each_sighting(taken, [&found](const Sighting&) { ++found; });
  }
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(found + dropped, many);
}

// One thread adds while another takes: nothing is lost and nothing is torn.
TEST(SightingBufferTest, IsTakenByAnotherThread) {
  SightingBuffer buffer;
  constexpr std::uint64_t many = 50'000;
  std::atomic<std::uint64_t> found = 0;
  std::uint64_t sum = 0;
  std::thread taker([&] {
    std::string taken;
    while (found < many) {
      buffer.take(taken);
      for_each_sighting(taken, [&](const Sighting& seen) {
        ++found;
        sum += seen.fence;
        ASSERT_EQ(seen.client, "10.0.0.1");
      });
      std::this_thread::yield();
    }
  });
  for (std::uint64_t i = 1; i <= many; ++i) {
    Sighting seen = replay(1);
    seen.fence = i;
    buffer.add(seen);
    if (i % 100 == 0) buffer.hand_over();
  }
  while (found < many) {
    buffer.hand_over();
    std::this_thread::yield();
  }
  taker.join();
  EXPECT_EQ(sum, many * (many + 1) / 2);
}

// An attempt is a row at the time at which its request came, with all that a timeline shows of it.
TEST(SightingRowsTest, WritesAnAttempt) {
  SightingRows rows("host:7");
  Sighting seen = attempt(1, 2, Ending::unknown);
  seen.cause = Cause::reset;
  seen.upstream_status = 0;
  seen.status = 502;
  rows.add(seen);
  const std::vector<HistoryRow> made = rows_of(rows);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].kind, HistoryKind::sighting);
  EXPECT_EQ(made[0].subject, std::string(32, '\1'));
  EXPECT_EQ(made[0].at, noon - 30ms);
  EXPECT_EQ(made[0].value,
            R"({"event":"attempt","node":"host:7","fence":2,"route":"/v1/*","upstream":"app","ms":20.000,)"
            R"("outcome":"unknown","cause":"reset","told":502,"client":"10.0.0.1","agent":"curl/8",)"
            R"("shape":"0000000000001234"})");
  EXPECT_TRUE(rows_of(rows).empty()) << "what was taken is gone";
}

// Keys that run once and well are of a kind of their own, since they are kept for a shorter time.
TEST(SightingRowsTest, TellsPlainRunsApart) {
  SightingRows rows("n");
  rows.add(attempt(1, 1, Ending::ran));
  rows.add(attempt(2, 2, Ending::ran));
  rows.add(attempt(3, 1, Ending::released));
  std::vector<HistoryKind> kinds;
  for (const HistoryRow& row : rows_of(rows)) kinds.push_back(row.kind);
  EXPECT_EQ(kinds, (std::vector{HistoryKind::plain_run, HistoryKind::sighting, HistoryKind::sighting}));
}

// Repeats of a key are one row: first and last, counts by what was heard, and at most four callers.
TEST(SightingRowsTest, PutsRepeatsTogether) {
  SightingRows rows("n");
  for (int i = 0; i < 3; ++i) rows.add(replay(1));
  Sighting late = replay(1, "10.0.0.2");
  late.at = noon + 400ms;
  late.waited = true;
  rows.add(late);
  Sighting other = replay(1, "10.0.0.3");
  other.ending = Ending::refused;
  other.problem = ProblemType::key_reused;
  other.status = 422;
  other.shape = {.bits = 0xff};
  rows.add(other);
  for (const char* client : {"10.0.0.4", "10.0.0.5", "10.0.0.6"}) rows.add(replay(1, client));
  const std::vector<HistoryRow> made = rows_of(rows);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].at, noon);
  const boost::json::object value = value_of(made[0]);
  EXPECT_EQ(value.at("count").as_int64(), 8);
  EXPECT_EQ(value.at("until").as_int64(), (noon + 400ms).time_since_epoch().count());
  EXPECT_EQ(boost::json::serialize(value.at("answers")), R"({"replayed":6,"waited":1,"key-reused":1})");
  const boost::json::array& callers = value.at("callers").as_array();
  ASSERT_EQ(callers.size(), callers_max);
  EXPECT_EQ(boost::json::serialize(callers[0]),
            R"({"client":"10.0.0.1","agent":"curl/8","answer":"replayed","status":201,"count":3})");
  EXPECT_EQ(callers[2].at("shape").as_string(), "00000000000000ff");
}

// A flood of keys is cut off at a bound, and a row says how many are missing.
TEST(SightingRowsTest, SaysWhatIsMissing) {
  SightingRows rows("n");
  rows.add_dropped(5);
  for (std::size_t i = 0; i < SightingRows::plain_max + 10; ++i) rows.add(attempt(1, 1, Ending::ran));
  const std::vector<HistoryRow> made = rows_of(rows);
  ASSERT_EQ(made.size(), SightingRows::plain_max + 1);
  EXPECT_EQ(made.back().kind, HistoryKind::gap);
  EXPECT_EQ(made.back().subject, gap_subject);
  EXPECT_EQ(made.back().value, R"({"event":"gap","node":"n","dropped":15})");
  EXPECT_TRUE(rows_of(rows).empty());
}

// Rows go by the ids that the store has.
TEST(SightingRowsTest, NamesKeysAsTheStoreDoes) {
  SightingRows rows("n");
  rows.add(attempt(1, 1, Ending::ran));
  rows.add(replay(2));
  std::set<std::string> subjects;
  for (const HistoryRow& row : rows.take(noon, [](const Digest& id) { return id_of(id[0] + 10); })) {
    subjects.insert(row.subject);
  }
  EXPECT_EQ(subjects, (std::set<std::string>{std::string(32, '\x0b'), std::string(32, '\x0c')}));
}

}  // namespace
}  // namespace semel::telemetry
