// Times are milliseconds, as in the table.
#include "store/postgres/history_statements.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <libpq-fe.h>

#include "store/call.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/postgres/connection.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr std::int64_t day_millis = 86'400'000;

// No row is older than 1970.
std::int64_t millis_of(Time at) {
  return std::max<std::int64_t>(at.time_since_epoch().count(), 0);
}

Parameters opening(const Link& link, Millis patience) {
  Parameters parameters;
  parameters.add(link.standing);
  parameters.add(static_cast<std::int32_t>(patience.count()));
  return parameters;
}

bool send_note(const Link& link, const NoteCall& call, Millis patience) {
  const std::size_t count = call.rows.size();
  Array kinds(Element::int8, count);
  Array subjects(Element::bytea, count);
  Array ats(Element::int8, count);
  Array numbers(Element::int8, count);
  Array contents(Element::bytea, count);
  for (const HistoryRow& row : call.rows) {
    kinds.add(static_cast<std::int64_t>(row.kind));
    subjects.add(std::string_view(row.subject));
    ats.add(millis_of(row.at));
    numbers.add_unsigned(row.number);
    contents.add(std::string_view(row.value));
  }
  Parameters parameters = opening(link, patience);
  parameters.add(std::move(kinds));
  parameters.add(std::move(subjects));
  parameters.add(std::move(ats));
  parameters.add(std::move(numbers));
  parameters.add(std::move(contents));
  return parameters.send(link, note_sql);
}

bool send_past(const Link& link, const PastCall& call, Millis patience) {
  Parameters parameters = opening(link, patience);
  parameters.add(static_cast<std::int64_t>(call.kind));
  if (call.subject) parameters.add_bytes(*call.subject);
  parameters.add(millis_of(call.span.from));
  parameters.add(millis_of(call.span.to));
  if (call.subject) {
    parameters.add(static_cast<std::int64_t>(call.limit));
    return parameters.send(link, past_sql);
  }
  const std::optional<HistoryPlace> behind = from_history_cursor(call.cursor);
  const std::int64_t from_day = millis_of(call.span.from) / day_millis * day_millis;
  parameters.add(behind ? millis_of(behind->at) : from_day);
  parameters.add_bytes(behind ? behind->subject : std::string());
  parameters.add(behind ? static_cast<std::int64_t>(behind->number) : std::numeric_limits<std::int64_t>::min());
  parameters.add(static_cast<std::int64_t>(call.limit));
  parameters.add(static_cast<std::int64_t>(looks_max));
  parameters.add(static_cast<std::int64_t>(list_time_max.count()));
  return parameters.send(link, scan_sql);
}

bool send_prune(const Link& link, const PruneCall& call, Millis patience) {
  Parameters parameters = opening(link, patience);
  parameters.add(static_cast<std::int64_t>(call.kind));
  parameters.add(millis_of(call.before));
  parameters.add(static_cast<std::int64_t>(prune_rows));
  return parameters.send(link, prune_sql);
}

HistoryPage page_in(const PGresult* reply, HistoryKind kind) {
  HistoryPage page;
  for (int row = 0; row < PQntuples(reply); ++row) {
    HistoryPlace place{.subject = std::string(value_of(reply, row, 0)),
                       .at = Time{Millis{number_of(value_of(reply, row, 1))}},
                       .number = static_cast<std::uint64_t>(number_of(value_of(reply, row, 2)))};
    const std::string_view more = value_of(reply, row, 4);
    if (!more.empty() && more.front() != '\0') {
      page.cursor = to_history_cursor(place);
      continue;
    }
    page.rows.push_back({.kind = kind,
                         .subject = std::move(place.subject),
                         .at = place.at,
                         .value = std::string(value_of(reply, row, 3)),
                         .number = place.number});
  }
  return page;
}

}  // namespace

bool send_history(const Link& link, const StoreCall& call, Millis patience) {
  if (const auto* note = std::get_if<NoteCall>(&call.request)) return send_note(link, *note, patience);
  if (const auto* past = std::get_if<PastCall>(&call.request)) return send_past(link, *past, patience);
  return send_prune(link, std::get<PruneCall>(call.request), patience);
}

void read_history(const PGresult* reply, StoreCall& call) {
  if (auto* note = std::get_if<NoteCall>(&call.request)) note->answer = Result<void>();
  if (auto* past = std::get_if<PastCall>(&call.request)) past->answer = page_in(reply, past->kind);
  auto* const prune = std::get_if<PruneCall>(&call.request);
  if (prune != nullptr) prune->answer = static_cast<std::size_t>(number_of(value_of(reply, 0, 0)));
}

}  // namespace semel::store::postgres
