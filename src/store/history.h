// What was seen over time, beside the records: who repeated a key, how many requests a minute had, what was found odd.
//
// It is telemetry. Nothing here is synced: the last moments before a crash may be missing, and a request never waits
// for it. A row says what kind of thing it is, what it is about (the subject), and when that was. Rows are only added;
// old ones go by whole days. The times are the caller's.
//
// On an encrypted store the values are encrypted, and the subjects are not: a key goes by the name that Desk::named()
// gives it, and a subject that tells something goes into the value.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

inline constexpr std::size_t history_rows_max = 10'000;        // of one call
inline constexpr std::size_t history_subject_bytes_max = 128;  // of one row
inline constexpr std::size_t history_value_bytes_max = 512U << 10U;
inline constexpr std::size_t history_call_bytes_max = 8U << 20U;  // of all rows of one call

// The numbers are in every store: one that has been used means the same for ever.
enum class HistoryKind : std::uint8_t {
  sighting = 1,
  tally_minute = 2,
  tally_hour = 3,
  tally_day = 4,
  finding = 5,
  plain_run = 6,   // the sighting of a key that ran once, successfully
  gap = 7,         // sightings that were dropped
  reminder = 8,    // what a resolver needs to ask about a key (reminder.h)
  suggestion = 9,  // what a resolver thinks of a key; replaced each time it asks
  attempt = 10,    // of a delivery, by the id of its event (attempt_pad.h)
};

struct HistoryRow {
  HistoryKind kind{};
  std::string subject;
  Time at;
  std::string value;
  // Tells rows of one kind, subject and time apart; 0: append() picks a random one. Of several with one number the
  // last is kept.
  std::uint64_t number = 0;
};

// From `from` on, up to but without `to`.
struct HistorySpan {
  Time from;
  Time to;

  [[nodiscard]] bool holds(Time at) const { return from <= at && at < to; }
};

struct HistoryPage {
  std::vector<HistoryRow> rows;
  std::string cursor;  // where to go on; empty if this was all
};

class History {
 public:
  virtual ~History() = default;

  // Adds the rows. Code::invalid: there are too many, or one is too large. Code::unavailable, Code::full: some of them
  // may be missing.
  virtual Async<void> append(std::vector<HistoryRow> rows) = 0;

  // At most `limit` rows of one subject, in the order of time.
  virtual Async<std::vector<HistoryRow>> read(HistoryKind kind, std::string subject, HistorySpan span,
                                              std::size_t limit) = 0;

  // At most `limit` rows of all subjects from `cursor` on (empty: from the start), day by day, in no order that means
  // something within a day. A page may be short, or empty, and still have a cursor: a scan ends after looks_max rows
  // or list_time_max (desk.h). Code::invalid: the cursor is not one of this store.
  virtual Async<HistoryPage> scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) = 0;

  // Drops the rows of all days before that of `before`.
  virtual Async<void> prune(HistoryKind kind, Time before) = 0;
};

// The day that a time belongs to, counted from 1970.
inline std::int64_t history_day(Time at) {
  return std::chrono::floor<std::chrono::days>(at).time_since_epoch().count();
}

// Where a row stands among those of its kind.
struct HistoryPlace {
  std::string subject;
  Time at;
  std::uint64_t number = 0;

  friend bool operator<(const HistoryPlace& one, const HistoryPlace& other) { return one.key() < other.key(); }

 private:
  [[nodiscard]] std::tuple<std::int64_t, const std::string&, Time, std::uint64_t> key() const {
    return {history_day(at), subject, at, number};
  }
};

std::string to_history_cursor(const HistoryPlace& place);
// None if it is not the text of a place.
std::optional<HistoryPlace> from_history_cursor(std::string_view cursor);

// The rows as a store keeps them: looked at, and each with a number.
Result<std::vector<HistoryRow>> prepared_rows(std::vector<HistoryRow> rows);

}  // namespace semel::store
