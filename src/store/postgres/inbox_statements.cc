// The order of columns and parameters is that of the functions in schema_3*.cc and schema_4*.cc.
#include "store/postgres/inbox_statements.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "core/codec.h"
#include "core/event_id.h"
#include "store/call.h"
#include "store/inbox.h"
#include "store/inbox_codec.h"
#include "store/postgres/connection.h"
#include "store/postgres/parameters.h"
#include "store/postgres/rows.h"
#include "store/postgres/sql.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store::postgres {
namespace {

Parameters opening(const Link& link, Millis patience) {
  Parameters parameters;
  parameters.add(link.standing);
  parameters.add(static_cast<std::int32_t>(patience.count()));
  return parameters;
}

// Where the event stands among those of its object.
std::string sort_of(const Line& line) {
  const std::string key = line_key({}, line, {});
  const std::size_t begin = line_prefix({}, line).size();
  return key.substr(begin, key.size() - begin - core::EventId::size);
}

std::int64_t bounded(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::uint64_t{1} << 62U));
}

// Of semel.accept_3, behind those of semel.claim_2.
enum AcceptColumn : std::uint8_t {
  accept_fence = 5,
  accept_at = 12,
  accept_row,
  accept_verdict,
  accept_expiry,
  accept_states
};

enum InboxColumn : std::uint8_t {
  row_id,
  row_key,
  row_source,
  row_type,
  row_kind,
  row_object,
  row_stamp,
  row_reorder,
  row_blocks,
  row_expires,
  row_drop,
  row_bytes,
  row_place,
  row_dest,
  row_state,
  row_urgency,
  row_in_line,
  row_taken,
  row_attempt,
  row_tries,
  row_status,
  row_due,
  row_since,
  row_changed,
  row_why,
  row_hit,
  row_job  // not of every function
};

template <class Bytes>
void fill(std::string_view from, Bytes& to) {
  if (from.size() == to.size()) std::ranges::copy(from, to.begin());
}

}  // namespace

Time inbox_time(std::int64_t millis) {
  return Time{Millis{millis}};
}

std::int64_t inbox_millis(Time time) {
  return time.time_since_epoch().count();
}

// All of a batch are of one holder, but for a moment in which it changes: then the others ask again.
bool AcceptStep::send(const Link& link, std::span<ServerStep* const> all, Millis patience) const {
  const std::size_t n = all.size();
  Array ids(Element::bytea, n), spaces(Element::text, n), scopes(Element::bytea, n), fingerprints(Element::bytea, n),
      owners(Element::int8, n), ttls(Element::int8, n), fences(Element::int8, n), responses(Element::bytea, n),
      events(Element::bytea, n), sources(Element::text, n), types(Element::bytea, n), orders(Element::int8, n),
      objects(Element::bytea, n), stamps(Element::bytea, n), sorts(Element::bytea, n), reorders(Element::int8, n),
      blocks(Element::boolean, n), parcels(Element::bytea, n), sizes(Element::int8, n), depths(Element::int8, n),
      bytes(Element::int8, n), retains(Element::int8, n), widths(Element::int8, n), to_rows(Element::int8, n),
      to_dests(Element::text, n), to_rooms(Element::boolean, n), to_skips(Element::bytea, n),
      to_deads(Element::boolean, n);
  std::int64_t row = 0;
  bool buries = false;
  for (const ServerStep* const each : all) {
    const auto& step = static_cast<const AcceptStep&>(*each);  // of one lane
    const AcceptOrder& order = step.order_;
    ++row;
    ids.add(order.key.id);
    spaces.add(order.key.space);
    scopes.add(order.key.scope);
    fingerprints.add(order.fingerprint.digest);
    owners.add_unsigned(order.owner);
    ttls.add(static_cast<std::int64_t>(order.ttl.count()));
    fences.add_unsigned(step.fence_.number);
    responses.add(std::string_view(step.response_));
    events.add(step.id_.view());
    sources.add(std::string_view(order.source));
    types.add(std::string_view(order.type));
    orders.add(static_cast<std::int64_t>(order.line.kind));
    objects.add(order.line.object);
    stamps.add(std::string_view(order.line.stamp));
    sorts.add(std::string_view(sort_of(order.line)));
    reorders.add(static_cast<std::int64_t>(order.line.reorder.count()));
    blocks.add_flag(order.line.blocks ? 1 : 0);
    parcels.add(std::string_view(core::encode_response(*order.parcel)));
    sizes.add_unsigned(order.parcel->body.size());
    if (step.looks_for_room_) {
      depths.add(bounded(order.depth_max));
      bytes.add(bounded(order.bytes_max));
    } else {
      depths.add_null();
      bytes.add_null();
    }
    retains.add(static_cast<std::int64_t>(order.retain_ended.count()));
    widths.add_unsigned(order.to.size());
    for (const AcceptOrder::To& to : order.to) {
      to_rows.add(row);
      to_dests.add(std::string_view(to.name));
      to_rooms.add_flag(to.room ? 1 : 0);
      const bool dead = !to.dead_for.empty();
      to_skips.add(std::string_view(dead ? to.dead_for : to.skipped_by));
      to_deads.add_flag(dead ? 1 : 0);
      buries = buries || dead;
    }
  }
  Parameters parameters = opening(link, patience);
  parameters.add(static_cast<std::int64_t>(holder_));
  for (Array* array :
       {&ids,     &spaces, &scopes, &fingerprints, &owners, &ttls,    &fences,   &responses, &events,
        &sources, &types,  &orders, &objects,      &stamps, &sorts,   &reorders, &blocks,    &parcels,
        &sizes,   &depths, &bytes,  &retains,      &widths, &to_rows, &to_dests, &to_rooms,  &to_skips}) {
    parameters.add(std::move(*array));
  }
  if (buries) parameters.add(std::move(to_deads));
  return parameters.send(link, buries ? bury_sql : accept_sql);
}

void AcceptStep::read(const PGresult* reply, std::span<ServerStep* const> all) {
  for (int row = 0; row < PQntuples(reply); ++row) {
    const auto at = static_cast<std::size_t>(number_of(value_of(reply, row, accept_row)));
    if (at == 0 || at > all.size()) continue;
    auto& step = static_cast<AcceptStep&>(*all[at - 1]);
    Answer& answer = step.answer_;
    answer.verdict = static_cast<AcceptVerdict>(number_of(value_of(reply, row, accept_verdict)));
    answer.expires_at = inbox_time(number_of(value_of(reply, row, accept_expiry)));
    answer.states = value_of(reply, row, accept_states);
    answer.fence = static_cast<std::uint64_t>(number_of(value_of(reply, row, accept_fence)));
    if (answer.verdict != AcceptVerdict::held) continue;
    const ClaimCall unasked{.fingerprint = step.order_.fingerprint, .terms = {}};
    ClaimRow held = claim_row(reply, row, step.order_.key, unasked);
    answer.record = std::move(held.record);
    answer.at = held.at;
  }
}

bool SettleStep::send(const Link& link, std::span<ServerStep* const> all, Millis patience) const {
  const std::size_t n = all.size();
  Array ids(Element::bytea, n), dests(Element::text, n), attempts(Element::int8, n), states(Element::int8, n),
      waits(Element::int8, n), statuses(Element::int8, n), whys(Element::bytea, n), tried(Element::int8, n),
      retains(Element::int8, n), fences(Element::int8, n), owners(Element::int8, n), responses(Element::bytea, n);
  for (const ServerStep* const each : all) {
    const auto& step = static_cast<const SettleStep&>(*each);  // of one lane
    const SettleOrder& order = step.order_;
    ids.add(order.id.view());
    dests.add(std::string_view(order.to));
    attempts.add(static_cast<std::int64_t>(order.attempt));
    states.add(static_cast<std::int64_t>(order.state));
    waits.add(static_cast<std::int64_t>(order.wait.count()));
    statuses.add(static_cast<std::int64_t>(order.status));
    whys.add(std::string_view(order.why));
    tried.add(std::int64_t{order.tried && order.state != DeliveryState::done ? 1 : 0});
    retains.add(static_cast<std::int64_t>(order.retain_ended.count()));
    if (step.response_) {
      fences.add_unsigned(step.fence_.number);
      owners.add_unsigned(step.fence_.owner);
      responses.add(std::string_view(*step.response_));
    } else {
      fences.add_null();
      owners.add_null();
      responses.add_null();
    }
  }
  Parameters parameters = opening(link, patience);
  for (Array* array :
       {&ids, &dests, &attempts, &states, &waits, &statuses, &whys, &tried, &retains, &fences, &owners, &responses}) {
    parameters.add(std::move(*array));
  }
  return parameters.send(link, settle_delivery_sql);
}

void SettleStep::read(const PGresult* reply, std::span<ServerStep* const> all) {
  for (int row = 0; row < PQntuples(reply); ++row) {
    const auto at = static_cast<std::size_t>(number_of(value_of(reply, row, 0)));
    if (at == 0 || at > all.size()) continue;
    static_cast<SettleStep&>(*all[at - 1]).verdict_ = number_of(value_of(reply, row, 1));
  }
}

bool PlainStep::send(const Link& link, std::span<ServerStep* const> /*all*/, Millis patience) const {
  Parameters parameters = opening(link, patience);
  fill_(parameters);
  return parameters.send(link, sql_);
}

void PlainStep::read(const PGresult* reply, std::span<ServerStep* const> /*all*/) {
  see_(reply);
}

InboxRow inbox_row(const PGresult* reply, int row) {
  const auto text = [&](InboxColumn column) { return value_of(reply, row, column); };
  const auto number = [&](InboxColumn column) { return number_of(value_of(reply, row, column)); };
  const auto flag = [&](InboxColumn column) { return !text(column).empty() && text(column).front() != '\0'; };
  InboxRow made;
  made.id = core::EventId::from_bytes(text(row_id));
  made.source = text(row_source);
  made.dest = text(row_dest);
  made.status = number(row_status);
  if (PQgetisnull(reply, row, row_due) == 0) made.due = number(row_due);
  made.hit = flag(row_hit);
  if (!made.id || PQgetisnull(reply, row, row_key) != 0) return made;
  AcceptedEvent event;
  event.id = *made.id;
  event.source = made.source;
  event.type = text(row_type);
  fill(text(row_key), event.key);
  event.line.kind = static_cast<Line::Kind>(number(row_kind));
  fill(text(row_object), event.line.object);
  event.line.stamp = text(row_stamp);
  event.line.reorder = Millis{number(row_reorder)};
  event.line.blocks = flag(row_blocks);
  event.expires_at = inbox_time(number(row_expires));
  event.drop_at = inbox_time(number(row_drop));
  event.bytes = static_cast<std::uint64_t>(number(row_bytes));
  DeliveryRecord& delivery = event.deliveries.emplace_back();
  delivery.to = made.dest;
  delivery.state = static_cast<DeliveryState>(number(row_state));
  delivery.urgency = static_cast<Urgency>(number(row_urgency));
  delivery.in_line = flag(row_in_line);
  delivery.taken = flag(row_taken);
  delivery.attempt = static_cast<std::uint32_t>(number(row_attempt));
  delivery.tries = static_cast<std::uint32_t>(number(row_tries));
  delivery.status = static_cast<std::uint16_t>(number(row_status));
  delivery.due = inbox_time(number(row_due));
  delivery.since = inbox_time(number(row_since));
  delivery.changed = inbox_time(number(row_changed));
  delivery.why = text(row_why);
  if (PQnfields(reply) > row_job) delivery.job = static_cast<std::uint64_t>(number(row_job));
  made.event = std::move(event);
  return made;
}

std::vector<TakenDelivery> deliveries_in(const PGresult* reply) {
  std::vector<TakenDelivery> found;
  std::vector<std::size_t> hits;
  std::optional<AcceptedEvent> event;
  const auto close = [&] {
    for (const std::size_t at : hits) found.push_back({.event = *event, .at = at});
    hits.clear();
    event.reset();
  };
  for (int row = 0; row < PQntuples(reply); ++row) {
    InboxRow next = inbox_row(reply, row);
    if (!next.event) continue;
    if (event && event->id != next.event->id) close();
    if (!event) {
      event = std::move(next.event);
    } else {
      event->drop_at = std::max(event->drop_at, next.event->drop_at);
      event->deliveries.push_back(std::move(next.event->deliveries.front()));
    }
    if (next.hit) hits.push_back(event->deliveries.size() - 1);
  }
  close();
  return found;
}

void tell_by(Time now, TakenDelivery& taken) {
  const Millis ahead = now - taken.event.deliveries[taken.at].changed;
  for (DeliveryRecord& each : taken.event.deliveries) {
    each.due += ahead;
    each.since += ahead;
    each.changed += ahead;
  }
}

}  // namespace semel::store::postgres
