// The columns are those of semel.claim_2 and semel.claim_ordered_2, in their order.
#include "store/postgres/rows.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <libpq-fe.h>

#include "core/codec.h"
#include "core/transition.h"
#include "store/call.h"
#include "store/cursor.h"
#include "store/postgres/parameters.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

enum Column : std::uint8_t {
  id,
  mine,
  space,
  scope,
  state,
  fence,
  owner,
  fingerprint,
  claimed_at,
  lease_until,
  expires_at,
  response,
  at,
  // Of semel.claim_ordered_2 only.
  verdict,
  other,
  // Of a look only.
  doubted = verdict,
  // Of semel.list_2 only.
  next_stage = verdict,
  next_at,
  next_id
};

// timestamptz counts microseconds from the year 2000; ours are whole milliseconds.
Time time_of(std::string_view bytes) {
  constexpr std::chrono::sys_days year_2000 = std::chrono::year(2000) / 1 / 1;
  return Time(year_2000) + std::chrono::floor<Millis>(std::chrono::microseconds(number_of(bytes)));
}

std::optional<Record::State> state_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Record::State>, 4> names{{{"running", Record::State::running},
                                                                             {"done", Record::State::done},
                                                                             {"unknown", Record::State::unknown},
                                                                             {"released", Record::State::released}}};
  for (const auto& [each, value] : names) {
    if (each == name) return value;
  }
  return std::nullopt;
}

constexpr std::string_view yes("\x01", 1);

bool granted(const PGresult* reply, int row) {
  return PQnfields(reply) > at && value_of(reply, row, mine) == yes;
}

template <class Bytes>
bool copy(std::string_view from, Bytes& to) {
  if (from.size() != to.size()) return false;
  std::ranges::copy(from, to.begin());
  return true;
}

std::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::corrupt, "the row of the key in PostgreSQL is damaged: " + std::string(what));
}

Result<Record> record_of(const PGresult* reply, int row, const Key& key) {
  const auto value = [&](Column column) { return value_of(reply, row, column); };
  Record record;
  record.key.id = key.id;
  record.key.space = value(space);
  if (!copy(value(scope), record.key.scope)) return damaged("scope");
  if (!copy(value(fingerprint), record.fingerprint.digest)) return damaged("fingerprint");
  const std::optional<Record::State> known = state_of(value(state));
  if (!known) return damaged("state");
  record.state = *known;
  record.fence = {.number = static_cast<std::uint64_t>(number_of(value(fence))),
                  .owner = static_cast<std::uint64_t>(number_of(value(owner)))};
  record.claimed_at = time_of(value(claimed_at));
  record.lease_until = time_of(value(lease_until));
  record.expires_at = time_of(value(expires_at));
  if (record.state != Record::State::done) return record;
  Result<Record> kept = core::decode(value(response), key.id);
  if (!kept) return std::unexpected(std::move(kept.error()));
  if (kept->response == nullptr || kept->fence != record.fence) return damaged("response of another claim");
  record.response = std::move(kept->response);
  return record;
}

}  // namespace

RowsById::RowsById(const PGresult* reply, RowsOf of) {
  const int count = PQntuples(reply);
  const bool both = PQnfields(reply) > at;
  rows_.reserve(static_cast<std::size_t>(count));
  for (int row = 0; row < count; ++row) {
    if (both && (PQgetisnull(reply, row, at) != 0) != (of == RowsOf::holders)) continue;
    const auto [found, added] = rows_.emplace(value_of(reply, row, id), row);
    if (!added && granted(reply, row)) found->second = row;
  }
}

std::optional<int> RowsById::find(const Digest& id) const {
  const auto found = rows_.find({reinterpret_cast<const char*>(id.data()), id.size()});
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

bool is_waited_for(const PGresult* reply, int row) {
  return PQnfields(reply) >= 2 && value_of(reply, row, 1) == yes;
}

bool has_moved(const PGresult* reply, int row) {
  return PQgetisnull(reply, row, state) != 0;
}

ClaimRow claim_row(const PGresult* reply, int row, const Key& key, const ClaimCall& asked) {
  ClaimRow found{.mine = granted(reply, row), .record = Record{}, .at = time_of(value_of(reply, row, at))};
  if (!found.mine) {
    found.record = record_of(reply, row, key);
    return found;
  }
  found.record = Record{.key = key,
                        .state = Record::State::running,
                        .fence = {.number = static_cast<std::uint64_t>(number_of(value_of(reply, row, fence))),
                                  .owner = asked.terms.owner},
                        .fingerprint = asked.fingerprint,
                        .claimed_at = time_of(value_of(reply, row, claimed_at)),
                        .lease_until = time_of(value_of(reply, row, lease_until)),
                        .expires_at = time_of(value_of(reply, row, expires_at)),
                        .response = nullptr};
  return found;
}

Result<std::optional<Held>> seen_row(const PGresult* reply, int row) {
  Key key;
  if (!copy(value_of(reply, row, id), key.id)) return damaged("id");
  const Result<Record> record = record_of(reply, row, key);
  if (!record) return std::unexpected(record.error());
  return core::step_look(&*record, time_of(value_of(reply, row, at)));
}

std::optional<ListEnd> list_end(const PGresult* reply, int row) {
  if (PQgetisnull(reply, row, id) == 0) return std::nullopt;
  ListEnd end{.searched_to = time_of(value_of(reply, row, claimed_at)), .next = std::nullopt};
  ListPlace place;
  if (PQgetisnull(reply, row, next_stage) != 0 || !copy(value_of(reply, row, next_id), place.id)) return end;
  place.at = time_of(value_of(reply, row, next_at));
  end.stage = number_of(value_of(reply, row, next_stage));
  end.next = place;
  return end;
}

// A row that holds its key is reported as step_claim() reports it.
Result<Claim> ordered_answer(const PGresult* reply, int row, const Key& key, const ClaimCall& asked) {
  const std::string_view word = value_of(reply, row, verdict);
  if (word == "superseded") return Superseded{};
  Key holder = key;
  if (word == "busy" && !copy(value_of(reply, row, other), holder.id)) return damaged("event of the object");
  const ClaimRow found = claim_row(reply, row, holder, asked);
  if (!found.record) return std::unexpected(found.record.error());
  const Record& record = *found.record;
  if (found.mine) return Granted{.fence = record.fence, .expires_at = record.expires_at};
  Held held{.record = record, .lease_left = Millis{0}, .left = std::max(record.expires_at - found.at, Millis{0})};
  if (record.state == Record::State::running) held.lease_left = record.lease_until - found.at;
  if (held.lease_left <= Millis{0} && record.state == Record::State::running) {
    held.record.state = Record::State::unknown;
    held.lease_left = Millis{0};
  }
  if (word == "busy") return Busy{.other = std::move(held)};
  return held;
}

Result<std::optional<Held>> look_answer(const PGresult* reply, int row, const Key& key) {
  Result<Record> record = record_of(reply, row, key);
  if (!record) return std::unexpected(std::move(record.error()));
  record->doubted = value_of(reply, row, doubted) == yes;
  return core::step_look(&*record, time_of(value_of(reply, row, at)));
}

}  // namespace semel::store::postgres
