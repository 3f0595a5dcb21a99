// Three lines behind a version: none of them can hold a line feed.
#include "store/reminder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "store/history.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store {
namespace {

constexpr std::string_view version = "1\n";

// Up to the next line feed, which goes too.
std::optional<std::string> next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string line(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return line;
}

}  // namespace

HistoryRow to_row(const Reminder& reminder, const Digest& id, Time at) {
  HistoryRow row{.kind = HistoryKind::reminder, .subject = {id.begin(), id.end()}, .at = at, .value = {}};
  row.value.append(version).append(reminder.route).append("\n").append(reminder.key).append("\n");
  row.value.append(reminder.target).append("\n");
  return row;
}

std::optional<Reminder> reminder_in(const HistoryRow& row) {
  std::string_view rest = row.value;
  if (row.kind != HistoryKind::reminder || !rest.starts_with(version)) return std::nullopt;
  rest.remove_prefix(version.size());
  std::optional<std::string> route = next_line(rest);
  std::optional<std::string> key = next_line(rest);
  std::optional<std::string> target = next_line(rest);
  if (!route || !key || !target || !rest.empty()) return std::nullopt;
  return Reminder{.route = *route, .key = *key, .target = *target};
}

}  // namespace semel::store
