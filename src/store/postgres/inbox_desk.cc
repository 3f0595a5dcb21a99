// What operators and the keeper of the house ask of the inbox.
#include "store/inbox_desk.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "core/event_id.h"
#include "store/desk.h"
#include "store/inbox.h"
#include "store/postgres/inbox.h"
#include "store/postgres/inbox_statements.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr std::int64_t not_in_that_state = 10;
// Longer than any call of this process is under way: what has been running for so long, it knows.
constexpr Millis known_by_then{120'000};

void add_or_null(Parameters& parameters, const std::optional<std::string>& text) {
  if (text) parameters.add(*text);
  if (!text) parameters.add_null_text();
}

DeliveryTally tally_in(const PGresult* reply, int row) {
  const auto number = [&](int column) { return static_cast<std::uint64_t>(number_of(value_of(reply, row, column))); };
  DeliveryTally tally;
  tally.source = value_of(reply, row, 0);
  tally.to = value_of(reply, row, 1);
  tally.accepted = number(2);
  for (std::size_t i = 1; i < delivery_states; ++i) tally.by_state.at(i) = number(static_cast<int>(i) + 2);
  constexpr int bytes_column = static_cast<int>(delivery_states) + 2;
  constexpr int oldest_column = bytes_column + 1;
  tally.bytes = number(bytes_column);
  if (PQgetisnull(reply, row, oldest_column) == 0) {
    tally.oldest = inbox_time(number_of(value_of(reply, row, oldest_column)));
  }
  return tally;
}

}  // namespace

Async<std::optional<AcceptedEvent>> PostgresInbox::find(core::EventId id) {
  std::optional<AcceptedEvent> found;
  const auto fill = [&](Parameters& parameters) { parameters.add_bytes(std::string(id.view())); };
  const auto see = [&](const PGresult* reply) {
    std::vector<TakenDelivery> all = deliveries_in(reply);
    if (!all.empty()) found = std::move(all.front().event);
  };
  PlainStep step(find_event_sql, fill, see);
  const Result<void> asked = co_await ask(&step);
  if (!asked) co_return std::unexpected(asked.error());
  co_return found;
}

Async<DeliveryList> PostgresInbox::list(DeliveryFilter filter, std::string cursor) {
  core::EventId from = core::EventId::first_at(filter.from.value_or(Time{}));
  if (!cursor.empty()) {
    const std::optional<core::EventId> given = core::EventId::from_text(cursor);
    if (!given) co_return fail(Code::invalid, "cursor: it is not one that a list has returned");
    from = *given;
  }
  const std::string end = filter.until ? std::string(core::EventId::first_at(*filter.until).view())
                                       : std::string(core::EventId::size + 1, '\xff');
  const auto fill = [&](Parameters& parameters) {
    parameters.add_bytes(std::string(from.view()));
    parameters.add_bytes(end);
    parameters.add_number(filter.state ? std::optional(static_cast<std::int64_t>(*filter.state)) : std::nullopt);
    add_or_null(parameters, filter.source);
    add_or_null(parameters, filter.to);
    if (filter.type) parameters.add_bytes(*filter.type);
    if (!filter.type) parameters.add_null_bytes();
    if (filter.object) {
      parameters.add_bytes({reinterpret_cast<const char*>(filter.object->data()), filter.object->size()});
    } else {
      parameters.add_null_bytes();
    }
    parameters.add(static_cast<std::int64_t>(filter.items_max));
    parameters.add(static_cast<std::int64_t>(looks_max));
    parameters.add(static_cast<std::int64_t>(list_time_max.count()));
  };
  DeliveryList list{.items = {}, .cursor = {}, .searched_to = clock_.now()};
  const auto see = [&](const PGresult* reply) {
    list.items = deliveries_in(reply);
    const InboxRow last = inbox_row(reply, PQntuples(reply) - 1);
    if (last.event || !last.id) return;
    list.cursor = last.id->text();
    list.searched_to = last.id->accepted_at();
  };
  PlainStep step(list_inbox_sql, fill, see);
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  co_return list;
}

Async<std::vector<DeliveryTally>> PostgresInbox::status() {
  std::vector<DeliveryTally> tallies;
  const auto see = [&](const PGresult* reply) {
    for (int row = 0; row < PQntuples(reply); ++row) tallies.push_back(tally_in(reply, row));
  };
  PlainStep step(status_sql, [](Parameters&) {}, see);
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  room_.set(tallies);
  const std::scoped_lock lock(notes_.mutex);
  for (DeliveryTally& tally : tallies) {
    const auto strays = notes_.strays.find({tally.source, tally.to});
    if (strays != notes_.strays.end()) tally.strays = strays->second;
  }
  co_return tallies;
}

Async<AcceptedEvent> PostgresInbox::change(DeliveryChange change) {
  const auto fill = [&](Parameters& parameters) {
    parameters.add_bytes(std::string(change.id.view()));
    parameters.add(change.to);
    parameters.add(static_cast<std::int64_t>(change.what));
    parameters.add_bytes(change.reason);
    parameters.add(static_cast<std::int64_t>(change.retain_ended.count()));
  };
  const Result<std::int64_t> verdict = co_await number_aside(&change_sql, fill);
  if (!verdict) co_return std::unexpected(verdict.error());
  if (*verdict == 1) co_return fail(Code::invalid, "there is no such event");
  if (*verdict == 2) co_return fail(Code::invalid, "the event does not go to " + change.to);
  if (*verdict == 3) co_return fail(Code::invalid, "what the event came with is not kept any more");
  if (*verdict >= not_in_that_state) {
    const auto state = static_cast<DeliveryState>(*verdict - not_in_that_state);
    co_return fail(Code::fenced, "the delivery is " + std::string(name(state)));
  }
  Result<std::optional<AcceptedEvent>> changed = co_await find(change.id);
  if (!changed) co_return std::unexpected(std::move(changed.error()));
  std::optional<AcceptedEvent>& event = *changed;
  if (!event) co_return fail(Code::invalid, "there is no such event");
  co_return *std::move(event);
}

Async<void> PostgresInbox::control(DestinationControl control) {
  const auto fill = [&](Parameters& parameters) {
    parameters.add(control.to);
    parameters.add_flag(control.paused ? 1 : 0);
    parameters.add_number(control.until ? std::optional(inbox_millis(*control.until)) : std::nullopt);
    parameters.add_bytes(control.reason);
  };
  const Result<std::int64_t> done = co_await number_aside(&control_sql, fill);
  if (!done) co_return std::unexpected(done.error());
  co_return Result<void>();
}

Async<std::vector<DestinationControl>> PostgresInbox::controls() {
  std::vector<DestinationControl> found;
  const auto see = [&](const PGresult* reply) {
    for (int row = 0; row < PQntuples(reply); ++row) {
      DestinationControl& control = found.emplace_back();
      control.to = value_of(reply, row, 0);
      control.paused = value_of(reply, row, 1) == std::string_view("\x01", 1);
      if (PQgetisnull(reply, row, 2) == 0) control.until = inbox_time(number_of(value_of(reply, row, 2)));
      control.reason = value_of(reply, row, 3);
    }
  };
  PlainStep step(controls_sql, [](Parameters&) {}, see);
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  co_return found;
}

Async<bool> PostgresInbox::erase(core::EventId id, std::string reason) {
  const auto fill = [&](Parameters& parameters) {
    parameters.add_bytes(std::string(id.view()));
    parameters.add_bytes(reason);
  };
  const Result<std::int64_t> verdict = co_await number_aside(&erase_sql, fill);
  if (!verdict) co_return std::unexpected(verdict.error());
  if (*verdict == 2) co_return fail(Code::fenced, "one of its deliveries is running");
  co_return *verdict == 0;
}

// Returns the events that are there; nothing runs of them any more that this process does not know of.
Async<std::vector<core::EventId>> PostgresInbox::reclaim(std::vector<core::EventId> ids,
                                                         std::optional<Millis> taken_before) {
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(book_.holder()));
    Array array(Element::bytea, ids.size());
    for (const core::EventId& id : ids) array.add(id.view());
    parameters.add(std::move(array));
    parameters.add_number(taken_before ? std::optional<std::int64_t>(taken_before->count()) : std::nullopt);
  };
  std::vector<core::EventId> found;
  const auto see = [&](const PGresult* reply) {
    for (int row = 0; row < PQntuples(reply); ++row) {
      const std::optional<core::EventId> id = core::EventId::from_bytes(value_of(reply, row, 0));
      if (id) found.push_back(*id);
    }
  };
  PlainStep step(reclaim_sql, fill, see);
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  co_return found;
}

// What runs here without our knowledge was begun by a call whose answer was lost.
Async<void> PostgresInbox::audit(std::size_t limit) {
  core::EventId behind;
  Millis rest{0};
  {
    const std::scoped_lock lock(notes_.mutex);
    behind = notes_.audited;
    rest = notes_.rest;
  }
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(book_.holder()));
    parameters.add_bytes(std::string(behind.view()));
    parameters.add(static_cast<std::int64_t>(limit));
    parameters.add(static_cast<std::int64_t>(rest.count()));
    parameters.add(static_cast<std::int64_t>(known_by_then.count()));
  };
  std::vector<InboxRow> rows;
  const auto see = [&](const PGresult* reply) {
    for (int row = 0; row < PQntuples(reply); ++row) rows.push_back(inbox_row(reply, row));
  };
  PlainStep step(audit_inbox_sql, fill, see);
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked || rows.empty()) co_return asked;
  std::vector<core::EventId> unknown;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const std::optional<core::EventId>& id = rows[i].id;
    const bool lost = rows[i].status == 0 && id && !book_.knows(*id);
    if (lost) unknown.push_back(*id);
    if (!lost && rows[i].status == 0) continue;
    const std::scoped_lock lock(notes_.mutex);
    ++notes_.strays[{rows[i].source, rows[i].dest}];
  }
  {
    const std::scoped_lock lock(notes_.mutex);
    notes_.audited = rows.back().id.value_or(core::EventId{});
  }
  if (unknown.empty()) co_return Result<void>();
  const Result<std::vector<core::EventId>> reclaimed = co_await reclaim(std::move(unknown), known_by_then);
  if (!reclaimed) co_return std::unexpected(reclaimed.error());
  co_return Result<void>();
}

Async<std::size_t> PostgresInbox::sweep_inbox(std::size_t limit) {
  const auto fill = [&](Parameters& parameters) { parameters.add(static_cast<std::int64_t>(limit)); };
  const Result<std::int64_t> dropped = co_await number_aside(&sweep_inbox_sql, fill);
  if (!dropped) co_return std::unexpected(dropped.error());
  const Result<void> audited = co_await audit(limit);
  if (!audited) co_return std::unexpected(audited.error());
  co_return static_cast<std::size_t>(*dropped);
}

}  // namespace semel::store::postgres
