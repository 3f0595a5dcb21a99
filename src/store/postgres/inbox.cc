// What the gateway asks of the inbox. What operators ask is in inbox_desk.cc.
#include "store/postgres/inbox.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <libpq-fe.h>

#include "core/codec.h"
#include "core/event_id.h"
#include "core/seal.h"
#include "core/sha256.h"
#include "core/transition.h"
#include "store/call.h"
#include "store/identity.h"
#include "store/inbox.h"
#include "store/postgres/driver.h"
#include "store/postgres/holder_book.h"
#include "store/postgres/inbox_statements.h"
#include "store/postgres/parameters.h"
#include "store/postgres/rows.h"
#include "store/postgres/sql.h"
#include "store/postgres/statement.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

constexpr int beats_missed = 3;   // until others take a holder for dead
constexpr int accept_rounds = 8;  // of a key that changes hands while it is asked for
constexpr Millis claim_lease{30'000};
constexpr std::size_t adopt_least = 64;

std::unexpected<Error> taken_for_dead() {
  return fail(Code::unavailable, "this gateway was taken for dead by another, and goes on as a new one");
}

// The record of a key that has ended, as the row of the key keeps it.
std::string encoded(const Key& key, const Fence& fence, SharedResponse response) {
  Record record;
  record.key.id = key.id;
  record.state = Record::State::done;
  record.fence = fence;
  record.response = std::move(response);
  return core::encode(record);
}

AcceptedEvent event_of(const AcceptOrder& order, const core::EventId& id, const AcceptStep::Answer& answer, Time now) {
  AcceptedEvent event;
  event.id = id;
  event.source = order.source;
  event.type = order.type;
  event.key = order.key.id;
  event.line = order.line;
  event.expires_at = answer.expires_at;
  event.bytes = std::max<std::uint64_t>(order.parcel->body.size(), 1);
  for (std::size_t i = 0; i < order.to.size(); ++i) {
    const AcceptOrder::To& to = order.to[i];
    DeliveryRecord& delivery = event.deliveries.emplace_back();
    delivery.to = to.name;
    delivery.why = to.dead_for.empty() ? to.skipped_by : to.dead_for;
    delivery.since = delivery.changed = now;
    delivery.due = now + order.line.reorder;
    if (i < answer.states.size()) {
      delivery.in_line = answer.states[i] == 'l';
      delivery.state = delivery.in_line ? DeliveryState::waiting : static_cast<DeliveryState>(answer.states[i] - '0');
    } else if (!to.dead_for.empty()) {
      delivery.state = DeliveryState::dead;
    } else if (!to.skipped_by.empty()) {
      delivery.state = DeliveryState::skipped;
    } else if (to.room) {
      delivery.state = DeliveryState::running;
    }
    if (delivery.state == DeliveryState::running) delivery.attempt = 1;
  }
  return event;
}

// What a duplicate finds: the record, as any claim would see it. None: the key is free by now.
Result<std::optional<Held>> held_by(const AcceptOrder& order, const AcceptStep::Answer& answer) {
  if (!answer.record) return std::nullopt;
  const Result<Record>& record = *answer.record;
  if (!record) return std::unexpected(record.error());
  const Terms terms{.lease = claim_lease, .ttl = order.ttl, .lapsed = Terms::Lapsed::taken_over, .owner = order.owner};
  core::ClaimStep step = core::step_claim(&*record, order.key, order.fingerprint, terms, answer.at);
  auto* const held = std::get_if<Held>(&step.answer);
  if (step.store || held == nullptr) return std::nullopt;
  return std::move(*held);
}

std::string full_text(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what;
}

// Deliveries of one event are told apart, so that they can end together.
Key key_of(const core::EventId& id, const std::string& to) {
  Key key;
  const Digest digest = core::sha256(to);
  std::ranges::copy(id.bytes, key.id.begin());
  std::copy_n(digest.begin(), key.id.size() - id.bytes.size(), key.id.begin() + core::EventId::size);
  return key;
}

}  // namespace

PostgresInbox::PostgresInbox(Clock& clock, Driver& driver, DriverOptions aside, Millis beat)
    : clock_(clock),
      driver_(driver),
      aside_(clock, std::move(aside)),
      beat_(beat),
      book_(clock, beats_missed * beat),
      heart_(clock, beat, [this] { return this->beat(); }) {}

Async<void> PostgresInbox::ask(ServerStep* step, Key key) {
  StoreCall call{.key = std::move(key), .request = StepCall{}};
  co_await driver_.submit(call, nullptr, step);
  co_return std::get<StepCall>(call.request).answer;
}

Async<void> PostgresInbox::ask_aside(ServerStep* step) {
  StoreCall call{.key = {}, .request = StepCall{}};
  Result<void> asked = co_await aside_.submit(&call, step);
  if (!asked) co_return asked;
  co_return std::get<StepCall>(call.request).answer;
}

Async<std::int64_t> PostgresInbox::number_aside(const Sql* sql, PlainStep::Fill fill) {
  std::int64_t number = 0;
  PlainStep step(*sql, std::move(fill), [&](const PGresult* reply) { number = number_of(value_of(reply, 0, 0)); });
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  co_return number;
}

Task<void> PostgresInbox::beat() {
  const HolderBook::Beat beat = book_.beat();
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(beat.holder));
    parameters.add_bytes(std::string(beat.mark.view()));
    parameters.add_bytes(std::string(beat.floor.view()));
    parameters.add(static_cast<std::int64_t>((beats_missed * beat_).count()));
  };
  DeliveryShare share{.of = 0, .at = 0};
  const auto see = [&](const PGresult* reply) {
    share.of = static_cast<std::uint32_t>(number_of(value_of(reply, 0, 0)));
    share.at = static_cast<std::uint32_t>(number_of(value_of(reply, 0, 1)));
  };
  PlainStep step(beat_sql, fill, see);
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked) co_return;
  if (share.of > 0) book_.beaten(beat, share);
  if (share.of == 0) book_.died(beat.holder);
}

Async<std::vector<std::string>> PostgresInbox::lead(LeadOrder order) {
  const Result<void> alive = co_await live();
  if (!alive) co_return std::unexpected(alive.error());
  const std::uint32_t holder = book_.holder();
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(holder));
    Array dests(Element::text, order.to.size());
    for (const std::string& to : order.to) dests.add(std::string_view(to));
    parameters.add(std::move(dests));
    parameters.add(static_cast<std::int64_t>(order.rest.count()));
  };
  std::vector<std::string> granted;
  const auto see = [&](const PGresult* reply) {
    for (int row = 0; row < PQntuples(reply); ++row) granted.emplace_back(value_of(reply, row, 0));
  };
  PlainStep step(lead_sql, fill, see);
  const Result<void> asked = co_await ask_aside(&step);
  if (!asked) co_return std::unexpected(asked.error());
  book_.set_leads(holder, order.to, granted);
  co_return granted;
}

// The first call makes this process a holder.
Async<void> PostgresInbox::live() {
  if (book_.lives()) co_return Result<void>();
  co_await beat();
  heart_.start();
  if (!book_.lives()) co_return fail(Code::unavailable, "the inbox could not be told that this gateway lives");
  co_return Result<void>();
}

Async<HolderBook::Beat> PostgresInbox::as_holder() {
  const Result<void> alive = co_await live();
  if (!alive) co_return std::unexpected(alive.error());
  co_return book_.beat();
}

bool PostgresInbox::may_begin(const core::EventId& id, const std::string& to) {
  return book_.may_begin(id, to);
}

Async<Acceptance> PostgresInbox::accept(AcceptOrder order, AcceptReply reply) {
  const Result<void> alive = co_await live();
  if (!alive) co_return std::unexpected(alive.error());
  const core::EventId id = book_.next_id();
  AcceptStep step(order, id, book_.holder());
  if (room_.is_short_for(order)) step.look_for_room();
  Fence fence{.number = 1, .owner = order.owner};
  for (int round = 0; round < accept_rounds; ++round) {
    step.set_response(fence, encoded(order.key, fence, reply(id, order.key, fence)));
    const Result<void> asked = co_await ask(&step, order.key);
    if (!asked) {
      book_.doubted(id);
      co_return std::unexpected(asked.error());
    }
    const AcceptStep::Answer& answer = step.answer();
    if (answer.verdict == AcceptVerdict::accepted) {
      AcceptedEvent event = event_of(order, id, answer, clock_.now());
      book_.accepted(event);
      room_.add(order);
      co_return event;
    }
    if (answer.verdict == AcceptVerdict::held) {
      Result<std::optional<Held>> held = held_by(order, answer);
      if (!held || *held) book_.refused(id);
      if (!held) co_return std::unexpected(std::move(held.error()));
      if (*held) co_return KnownEvent{.held = **std::move(held)};
    }
    if (answer.verdict == AcceptVerdict::other_fence) fence.number = answer.fence;
    if (answer.verdict == AcceptVerdict::too_many || answer.verdict == AcceptVerdict::too_large) {
      book_.refused(id);
      const bool many = answer.verdict == AcceptVerdict::too_many;
      co_return InboxFull{.what = many ? full_text(order.depth_max, "deliveries wait: depth_max")
                                       : full_text(order.bytes_max, "bytes are kept: inbox.bytes_max")};
    }
    if (answer.verdict == AcceptVerdict::dead_holder) {
      book_.died(book_.holder());
      co_return taken_for_dead();
    }
  }
  book_.refused(id);
  co_return fail(Code::unavailable, "the key changed hands again and again");
}

// The same until it is answered: what it took is then answered again.
std::uint64_t PostgresInbox::turn_of(const std::string& to) {
  const std::scoped_lock lock(notes_.mutex);
  std::uint64_t& turn = notes_.turns[to];
  while (turn == 0) {
    const core::Salt salt = random_salt();
    std::memcpy(&turn, salt.data(), sizeof(turn));
  }
  return turn;
}

Async<TakenDeliveries> PostgresInbox::take(TakeOrder order) {
  const Result<void> alive = co_await live();
  if (!alive) co_return std::unexpected(alive.error());
  const std::uint32_t holder = book_.holder();
  const std::uint64_t turn = turn_of(order.to);
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(holder));
    parameters.add(static_cast<std::int64_t>(turn));
    parameters.add(order.to);
    parameters.add(static_cast<std::int64_t>(order.limit));
    parameters.add(static_cast<std::int64_t>(order.replays_max));
    parameters.add(static_cast<std::int64_t>(order.retain_ended.count()));
  };
  TakenDeliveries taken;
  bool dead = false;
  const auto see = [&](const PGresult* reply) {
    taken.deliveries = deliveries_in(reply);
    for (TakenDelivery& each : taken.deliveries) tell_by(clock_.now(), each);
    const InboxRow last = inbox_row(reply, PQntuples(reply) - 1);
    dead = last.status == 1;
    if (last.due) taken.next = clock_.now() + Millis{std::max<std::int64_t>(*last.due, 0)};
  };
  PlainStep step(take_sql, fill, see);
  const Result<void> asked = co_await ask(&step);
  if (!asked) co_return std::unexpected(asked.error());
  {
    const std::scoped_lock lock(notes_.mutex);
    notes_.turns.erase(order.to);
  }
  if (dead) {
    book_.died(holder);
    co_return taken_for_dead();
  }
  for (const TakenDelivery& each : taken.deliveries) book_.taken(holder, each.event.id, order.to);
  co_return taken;
}

// Of the key of an event, if that is still the one that it was accepted with.
Async<Record> PostgresInbox::record_of(core::EventId id) {
  Result<Record> record = fail(Code::fenced, "the key belongs to another");
  const auto fill = [&](Parameters& parameters) { parameters.add_bytes(std::string(id.view())); };
  const auto see = [&](const PGresult* reply) {
    if (PQntuples(reply) == 0) return;
    Key key;
    const std::string_view bytes = value_of(reply, 0, 0);
    if (bytes.size() == key.id.size()) std::ranges::copy(bytes, key.id.begin());
    record = claim_row(reply, 0, key, ClaimCall{}).record;
  };
  PlainStep step(event_key_sql, fill, see);
  const Result<void> asked = co_await ask(&step);
  if (!asked) co_return std::unexpected(asked.error());
  co_return record;
}

Async<void> PostgresInbox::settle(SettleOrder order) {
  SettleStep step(order);
  if (order.answer && order.state == DeliveryState::done) {
    const Result<Record> record = co_await record_of(order.id);
    if (!record && record.error().code == Code::unavailable) co_return std::unexpected(record.error());
    if (record) step.set_response(record->fence, encoded(record->key, record->fence, order.answer(*record)));
  }
  const Result<void> asked = co_await ask(&step, key_of(order.id, order.to));
  if (!asked) co_return asked;
  book_.ended(order.id, order.to);
  switch (step.verdict()) {
    case 0:
      co_return Result<void>();
    case 1:
      co_return fail(Code::fenced, "there is no such event");
    case 2:
      co_return fail(Code::fenced, "the event has no such destination");
    case 3:
      co_return fail(Code::fenced, "another attempt has begun");
    default:
      co_return fail(Code::fenced, "this attempt has already ended");
  }
}

Async<std::size_t> PostgresInbox::adopt(AdoptOrder order) {
  const Result<void> alive = co_await live();
  if (!alive) co_return std::unexpected(alive.error());
  {
    const std::scoped_lock lock(notes_.mutex);
    notes_.rest = order.rest;
  }
  std::vector<core::EventId> doubts = book_.doubts();
  if (!doubts.empty()) {
    const Result<std::vector<core::EventId>> found = co_await reclaim(std::move(doubts), std::nullopt);
    if (!found) co_return std::unexpected(found.error());
    for (const core::EventId& id : *found) book_.resolved(id);
  }
  const auto fill = [&](Parameters& parameters) {
    parameters.add(static_cast<std::int64_t>(book_.holder()));
    parameters.add(static_cast<std::int64_t>(std::max(order.limit, adopt_least)));
    parameters.add(static_cast<std::int64_t>(order.rest.count()));
    Array holding(Element::text, order.holding.size() + order.holding_replays.size());
    for (const std::string& to : order.holding) holding.add(std::string_view(to));
    for (const std::string& to : order.holding_replays) holding.add(std::string_view("replay " + to));
    parameters.add(std::move(holding));
  };
  const Result<std::int64_t> adopted = co_await number_aside(&adopt_sql, fill);
  if (!adopted) co_return std::unexpected(adopted.error());
  co_return static_cast<std::size_t>(*adopted);
}

Async<std::optional<Parcel>> PostgresInbox::load(core::EventId id) {
  std::optional<std::string> bytes;
  const auto fill = [&](Parameters& parameters) { parameters.add_bytes(std::string(id.view())); };
  const auto see = [&](const PGresult* reply) {
    if (PQntuples(reply) > 0) bytes = std::string(value_of(reply, 0, 0));
  };
  PlainStep step(load_sql, fill, see);
  const Result<void> asked = co_await ask(&step);
  if (!asked) co_return std::unexpected(asked.error());
  if (!bytes) co_return std::nullopt;
  const Result<SharedResponse> decoded = core::decode_response(*bytes);
  if (!decoded) co_return fail(Code::corrupt, "event " + id.text() + ": " + decoded.error().detail);
  co_return **decoded;
}

}  // namespace semel::store::postgres
