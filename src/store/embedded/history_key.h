// Keys of the history's rows: kind ‖ day ‖ length of the subject ‖ subject ‖ time ‖ number. Compared as bytes, a day
// stands together, and in it each subject in the order of time: a day is dropped, and a subject read, as one range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/history.h"
#include <semel/clock.h>

namespace semel::store::embedded {

// The beginning of all keys of a day.
std::string history_day_key(HistoryKind kind, std::int64_t day);
// The beginning of all keys of a subject on a day.
std::string history_subject_key(HistoryKind kind, std::int64_t day, std::string_view subject);
std::string history_key(HistoryKind kind, const HistoryPlace& place);

struct ParsedHistoryKey {
  std::int64_t day = 0;
  HistoryPlace place;
};
// None if it is not a key of this kind.
std::optional<ParsedHistoryKey> parse_history_key(HistoryKind kind, std::string_view key);

}  // namespace semel::store::embedded
