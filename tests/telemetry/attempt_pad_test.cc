#include "telemetry/attempt_pad.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "store/history.h"
#include <semel/clock.h>

namespace semel::telemetry {
namespace {

const Time noon = Time(Millis(1'800'000'000'000));

HandlerAttempt attempt(std::uint32_t number, std::string_view state) {
  return {.event = core::EventId::make(noon, 1, 7),
          .to = "app",
          .attempt = number,
          .state = state,
          .status = 503,
          .why = "answered \"503\"",
          .began = noon,
          .took = std::chrono::microseconds(1'234'567)};
}

// Goal: a row is found by the event, says when the attempt began and all about it, and is taken once.
TEST(AttemptPad, MakesRowsOfAttempts) {
  AttemptPad pad("node:1");
  pad.add(attempt(2, "waiting"));
  const std::vector<store::HistoryRow> rows = pad.take();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].kind, store::HistoryKind::attempt);
  EXPECT_EQ(rows[0].subject, core::EventId::make(noon, 1, 7).view());
  EXPECT_EQ(rows[0].at, noon);
  EXPECT_EQ(rows[0].value, R"({"destination":"app","attempt":2,"state":"waiting","status":503,)"
                           R"("why":"answered \"503\"","ms":1234.567,"node":"node:1"})");
  EXPECT_TRUE(pad.take().empty());
}

// Goal: first attempts that went well are kept for a shorter time and only so many; they never crowd out the others,
// and there is an end to all of them.
TEST(AttemptPad, KeepsOnlySoMany) {
  AttemptPad pad("node:1");
  for (std::size_t i = 0; i < 2 * AttemptPad::plain_max; ++i) pad.add(attempt(1, "done"));
  pad.add(attempt(1, "dead"));
  pad.add(attempt(2, "done"));
  std::vector<store::HistoryRow> rows = pad.take();
  ASSERT_EQ(rows.size(), AttemptPad::plain_max + 2);
  EXPECT_EQ(rows.front().kind, store::HistoryKind::plain_run);
  EXPECT_EQ(rows.back().kind, store::HistoryKind::attempt);
  for (std::size_t i = 0; i < 2 * AttemptPad::rows_max; ++i) pad.add(attempt(3, "waiting"));
  EXPECT_EQ(pad.take().size(), AttemptPad::rows_max);
  pad.add(attempt(1, "done"));
  EXPECT_EQ(pad.take().size(), 1U);
}

}  // namespace
}  // namespace semel::telemetry
