// How calls become a statement, and its rows become answers.
#include "store/postgres/statement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <libpq-fe.h>

#include "core/codec.h"
#include "core/transition.h"
#include "runtime/failpoint.h"
#include "store/call.h"
#include "store/postgres/connection.h"
#include "store/postgres/desk_statements.h"
#include "store/postgres/history_statements.h"
#include "store/postgres/parameters.h"
#include "store/postgres/rows.h"
#include "store/postgres/sql.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

constexpr std::size_t calls_max = 1'024;
constexpr std::size_t body_bytes_max = 8U << 20U;  // of a batch; a single call may be larger

const Digest& id_of(const Entry& entry) {
  return entry.call().key.id;
}

constexpr std::size_t steps_max = 256;

std::size_t body_bytes(const Entry& entry) {
  if (entry.step != nullptr) return entry.step->bytes();
  const StoreCall& call = entry.call();
  const auto* complete = std::get_if<CompleteCall>(&call.request);
  return complete == nullptr || complete->response == nullptr ? 0 : complete->response->body.size();
}

template <class Request>
const Request& request_of(const Entry& entry) {
  return std::get<Request>(entry.call().request);
}

// What every call begins with.
Parameters opening(const Link& link, Millis patience) {
  Parameters parameters;
  parameters.add(link.standing);
  parameters.add(static_cast<std::int32_t>(patience.count()));
  return parameters;
}

Parameters claims(const Link& link, std::span<const Entry* const> rows, Millis patience) {
  const std::size_t n = rows.size();
  Array ids(Element::bytea, n), spaces(Element::text, n), scopes(Element::bytea, n), fingerprints(Element::bytea, n),
      owners(Element::int8, n), leases(Element::int8, n), ttls(Element::int8, n), takes(Element::boolean, n),
      over_fences(Element::int8, n), over_owners(Element::int8, n);
  for (const Entry* row : rows) {
    const Key& key = row->call().key;
    const auto& request = request_of<ClaimCall>(*row);
    const Terms& terms = request.terms;
    ids.add(key.id);
    spaces.add(key.space);
    scopes.add(key.scope);
    fingerprints.add(request.fingerprint.digest);
    owners.add_unsigned(terms.owner);
    leases.add(terms.lease.count());
    ttls.add(terms.ttl.count());
    takes.add_flag(terms.lapsed == Terms::Lapsed::taken_over ? 1 : 0);
    if (terms.only_over) {
      over_fences.add_unsigned(terms.only_over->number);
      over_owners.add_unsigned(terms.only_over->owner);
    } else {
      over_fences.add_null();
      over_owners.add_null();
    }
  }
  Parameters parameters = opening(link, patience);
  for (Array* array :
       {&ids, &spaces, &scopes, &fingerprints, &owners, &leases, &ttls, &takes, &over_fences, &over_owners}) {
    parameters.add(std::move(*array));
  }
  return parameters;
}

Parameters ordered_claims(const Link& link, std::span<const Entry* const> rows, Millis patience) {
  Parameters parameters = claims(link, rows, patience);
  Array objects(Element::bytea, rows.size());
  Array stamps(Element::bytea, rows.size());
  Array companies(Element::int8, rows.size());
  for (const Entry* row : rows) {
    const Order& order = *request_of<ClaimCall>(*row).terms.order;
    objects.add(order.object.id);
    stamps.add(order.stamp);
    companies.add_unsigned(order.company);
  }
  for (Array* array : {&objects, &stamps, &companies}) parameters.add(std::move(*array));
  return parameters;
}

// The response with the identity of its claim around it, checksummed: a row that was copied or damaged is noticed.
void add_response(Array& responses, const Key& key, const CompleteCall& request) {
  if (request.response == nullptr) {
    responses.add_null();
    return;
  }
  Record record;
  record.key.id = key.id;
  record.state = Record::State::done;
  record.fence = request.fence;
  record.response = request.response;
  responses.add(core::encode(record));
}

// Of renew, complete and release: who means which claim, and what else goes with it.
template <class Request, class Extra>
Parameters holders(const Link& link, std::span<const Entry* const> rows, Millis patience, std::optional<Element> extra,
                   Extra&& add) {
  Array ids(Element::bytea, rows.size());
  Array fences(Element::int8, rows.size());
  Array owners(Element::int8, rows.size());
  Array extras(extra.value_or(Element::int8), rows.size());
  for (const Entry* row : rows) {
    const auto& request = request_of<Request>(*row);
    ids.add(row->call().key.id);
    fences.add_unsigned(request.fence.number);
    owners.add_unsigned(request.fence.owner);
    add(extras, row->call().key, request);
  }
  Parameters parameters = opening(link, patience);
  parameters.add(std::move(ids));
  parameters.add(std::move(fences));
  parameters.add(std::move(owners));
  if (extra) parameters.add(std::move(extras));
  return parameters;
}

}  // namespace

Statement::Statement(Queue& queue) : kind_(kind_of(queue.front())) {
  const bool single = queue.front().company == Company::alone || is_single(kind_);
  const std::size_t most = kind_ >= kind_accept_event ? steps_max : calls_max;
  std::size_t bytes = 0;
  do {
    bytes += body_bytes(queue.front());
    entries_.push_back(std::move(queue.front()));
    queue.pop_front();
  } while (!single && !queue.empty() && queue.front().company == Company::any && entries_.size() < most &&
           bytes + body_bytes(queue.front()) <= body_bytes_max);

  std::ranges::sort(entries_, {}, [](const Entry& entry) -> const Digest& { return id_of(entry); });
  const bool ride_along =
      kind_ == kind_claim || kind_ == kind_former;  // only claims can be answered by what another call was told
  std::vector<Entry> kept;
  kept.reserve(entries_.size());
  std::vector<Entry> doubles;
  for (Entry& entry : entries_) {
    const bool first = kept.empty() || id_of(kept.back()) != id_of(entry);
    if (first) leaders_.push_back(kept.size());
    (first || ride_along ? kept : doubles).push_back(std::move(entry));
  }
  entries_ = std::move(kept);
  queue.insert(queue.begin(), std::move_iterator(doubles.begin()), std::move_iterator(doubles.end()));
}

std::vector<ServerStep*> Statement::steps() const {
  std::vector<ServerStep*> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back(entry.step);
  return all;
}

bool Statement::send(const Link& link, Millis patience) const {
  if (kind_ >= kind_accept_event) return entries_.front().step->send(link, steps(), patience);
  std::vector<const Entry*> rows;
  rows.reserve(leaders_.size());
  for (const std::size_t leader : leaders_) rows.push_back(&entries_[leader]);
  const auto& first = entries_.front().call().request;
  if (kind_ == kind_ordered) return ordered_claims(link, rows, patience).send(link, ordered_sql);
  if (kind_ == kind_former) return claims(link, rows, patience).send(link, former_sql);
  if (kind_ == kind_claim) return claims(link, rows, patience).send(link, claim_sql);
  if (std::holds_alternative<RenewCall>(first)) {
    const auto lease = [](Array& extras, const Key&, const RenewCall& call) { extras.add(call.lease.count()); };
    return holders<RenewCall>(link, rows, patience, Element::int8, lease).send(link, renew_sql);
  }
  if (std::holds_alternative<CompleteCall>(first)) {
    return holders<CompleteCall>(link, rows, patience, Element::bytea, add_response).send(link, complete_sql);
  }
  if (std::holds_alternative<ReleaseCall>(first)) {
    const auto nothing = [](Array&, const Key&, const ReleaseCall&) {};
    return holders<ReleaseCall>(link, rows, patience, std::nullopt, nothing).send(link, release_sql);
  }
  if (kind_ >= kind_settle && kind_ <= kind_audit) return send_desk(link, entries_.front().call(), patience);
  if (kind_ >= kind_note && kind_ <= kind_prune) return send_history(link, entries_.front().call(), patience);
  if (kind_ == kind_reopen) {
    Parameters keys = opening(link, patience);
    Array ids(Element::bytea, rows.size());
    Array owners(Element::int8, rows.size());
    for (const Entry* row : rows) {
      ids.add(row->call().key.id);
      owners.add_unsigned(row->reopener);
    }
    keys.add(std::move(ids));
    keys.add(std::move(owners));
    return keys.send(link, reopen_sql);
  }
  if (kind_ == kind_look) {
    Parameters keys = opening(link, patience);
    Array ids(Element::bytea, rows.size());
    for (const Entry* row : rows) ids.add(row->call().key.id);
    keys.add(std::move(ids));
    return keys.send(link, look_sql);
  }
  Parameters limit;
  limit.add(link.standing);
  limit.add(static_cast<std::int64_t>(std::get<SweepCall>(first).limit));
  limit.add_time(entries_.front().progress->keys_from);
  limit.add_time(entries_.front().progress->objects_from);
  return limit.send(link, sweep_sql);
}

Time Statement::deadline() const {
  return std::ranges::max_element(entries_, {}, &Entry::deadline)->deadline;
}

Statement::Outcome Statement::read(const PGresult* reply) {
  Outcome outcome;
  if (auto* sweep = std::get_if<SweepCall>(&entries_.front().call().request)) {
    const auto column = [&](int number) { return number_of(value_of(reply, 0, number)); };
    sweep->answer = static_cast<std::size_t>(column(0));
    entries_.front().progress->advance(column(1), column(2), column(3));
    outcome.answered.push_back(std::move(*entries_.front().waiting));
  } else if (kind_ > kind_settle && kind_ <= kind_audit) {
    read_desk(reply, entries_.front().call());
    outcome.answered.push_back(std::move(*entries_.front().waiting));
  } else if (kind_ >= kind_note && kind_ <= kind_prune) {
    read_history(reply, entries_.front().call());
    outcome.answered.push_back(std::move(*entries_.front().waiting));
  } else if (kind_ >= kind_accept_event) {
    entries_.front().step->read(reply, steps());
    for (Entry& entry : entries_) {
      std::get<StepCall>(entry.call().request).answer = {};
      outcome.answered.push_back(std::move(*entry.waiting));
    }
  } else if (kind_ == kind_claim || kind_ == kind_former) {
    read_claims(reply, outcome);
  } else if (kind_ == kind_ordered) {
    read_ordered(reply, outcome);
  } else if (kind_ == kind_look) {
    read_looks(reply, outcome);
  } else {
    read_holders(reply, outcome);
  }
  entries_.clear();
  return outcome;
}

// An id without a row changed hands while it was looked at: it is asked for again.
void Statement::read_claims(const PGresult* reply, Outcome& outcome) {
  runtime::failpoint("claim-written");
  const RowsById rows(reply);
  for (std::size_t at = 0; at < leaders_.size(); ++at) {
    const std::size_t first = leaders_[at];
    const std::size_t last = at + 1 < leaders_.size() ? leaders_[at + 1] : entries_.size();
    const Key& key = entries_[first].call().key;
    const std::optional<int> row = rows.find(key.id);
    std::optional<ClaimRow> found;
    const bool moved = row && has_moved(reply, *row);
    if (row && !moved) found = claim_row(reply, *row, key, request_of<ClaimCall>(entries_[first]));
    for (std::size_t i = first; i < last; ++i) {
      auto& request = std::get<ClaimCall>(entries_[i].call().request);
      if (entries_[i].former != nullptr) entries_[i].former->moved = moved;
      if (moved) {
        request.answer = std::unexpected(not_judged());
      } else if (found && !found->record) {
        request.answer = std::unexpected(found->record.error());
      } else if (found && i == first && found->mine) {
        request.answer = Granted{.fence = found->record->fence, .expires_at = found->record->expires_at};
      } else {
        std::optional<core::ClaimStep> step;
        if (found) step = core::step_claim(&*found->record, key, request.fingerprint, request.terms, found->at);
        if (!step || step->store) {
          outcome.again.push_back(std::move(entries_[i]));
          continue;
        }
        request.answer = std::move(step->answer);
      }
      outcome.answered.push_back(std::move(*entries_[i].waiting));
    }
  }
}

void Statement::read_ordered(const PGresult* reply, Outcome& outcome) {
  const RowsById rows(reply);
  for (Entry& entry : entries_) {
    const std::optional<int> row = rows.find(id_of(entry));
    if (!row) {
      outcome.again.push_back(std::move(entry));
      continue;
    }
    auto& request = std::get<ClaimCall>(entry.call().request);
    request.answer = ordered_answer(reply, *row, entry.call().key, request);
    outcome.answered.push_back(std::move(*entry.waiting));
  }
}

void Statement::read_holders(const PGresult* reply, Outcome& outcome) {
  const RowsById rows(reply);
  const Error fenced{.code = Code::fenced, .detail = "the key is no longer held by this claim, or has ended"};
  for (Entry& entry : entries_) {
    const std::optional<int> row = rows.find(id_of(entry));
    const bool done = row.has_value();
    if (row && is_waited_for(reply, *row)) outcome.waited.push_back(id_of(entry));
    const auto answer = [&](auto& request) {
      if constexpr (requires { request.fence; } || requires { request.settlement; }) {
        request.answer = done ? Result<void>() : Result<void>(std::unexpected(fenced));
      } else if constexpr (std::is_same_v<std::decay_t<decltype(request)>, ReopenCall>) {
        request.answer = done;
      }
    };
    std::visit(answer, entry.call().request);
    outcome.answered.push_back(std::move(*entry.waiting));
  }
}

void Statement::read_looks(const PGresult* reply, Outcome& outcome) {
  const RowsById rows(reply);
  for (Entry& entry : entries_) {
    const std::optional<int> row = rows.find(id_of(entry));
    auto& request = std::get<LookCall>(entry.call().request);
    request.answer = row ? look_answer(reply, *row, entry.call().key) : std::optional<Held>();
    outcome.answered.push_back(std::move(*entry.waiting));
  }
}

}  // namespace semel::store::postgres
