// Attempts at handlers, on their way to the history: what a delivery's page lists.
//
// Any thread adds; the scribe takes all of them about once a second. Nobody waits, and there is an end to what is kept:
// of first attempts that went well only so many a second, because most are never asked about, and the record of
// the delivery says how they ended. What was not kept is a gap in the numbers.
//
// A row's subject is the id of the event, and its value is JSON, as docs/openapi-admin.json describes it:
//
//   {"destination":…,"attempt":…,"state":…,"status":…,"why":…,"ms":…,"node":…}
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/history.h"
#include <semel/clock.h>

namespace semel::telemetry {

struct HandlerAttempt {
  core::EventId event;
  std::string_view to;
  std::uint32_t attempt = 0;
  std::string_view state;  // of the delivery from now on
  std::uint16_t status = 0;
  std::string_view why;
  Time began;
  std::chrono::nanoseconds took{0};
};

class AttemptPad {
 public:
  static constexpr std::size_t plain_max = 250;  // first attempts that went well
  static constexpr std::size_t rows_max = 2'000;

  explicit AttemptPad(std::string node) : node_(std::move(node)) {}

  void add(const HandlerAttempt& attempt);
  // What was added since the last time.
  std::vector<store::HistoryRow> take();

 private:
  const std::string node_;
  std::mutex mutex_;
  std::vector<store::HistoryRow> rows_;
  std::size_t plain_ = 0;
};

}  // namespace semel::telemetry
