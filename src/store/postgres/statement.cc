// How calls become a statement, and its rows become answers.
#include "store/postgres/statement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <libpq-fe.h>

#include "core/transition.h"
#include "runtime/failpoint.h"
#include "store/call.h"
#include "store/postgres/arguments.h"
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

void take_front(Queue& queue, std::vector<Entry>& taken, std::size_t& bytes) {
  bytes += body_bytes(queue.front());
  taken.push_back(std::move(queue.front()));
  queue.pop_front();
}

// By id, and ends before renewals; otherwise in the order in which they came. (std::stable_sort needs what libstdc++
// calls deprecated.)
std::vector<Entry> sorted(std::vector<Entry> entries) {
  std::vector<Entry*> order;
  order.reserve(entries.size());
  for (Entry& entry : entries) order.push_back(&entry);
  std::ranges::sort(order, [](const Entry* a, const Entry* b) {
    if (id_of(*a) != id_of(*b)) return id_of(*a) < id_of(*b);
    const bool a_renews = kind_of(*a) == kind_renew;
    const bool b_renews = kind_of(*b) == kind_renew;
    return a_renews != b_renews ? b_renews : a < b;
  });
  std::vector<Entry> result;
  result.reserve(entries.size());
  for (Entry* const entry : order) result.push_back(std::move(*entry));
  return result;
}

// Leaves the first of each id in `entries`, which are sorted, and returns the others.
std::vector<Entry> without_doubles(std::vector<Entry>& entries) {
  std::vector<Entry> kept;
  kept.reserve(entries.size());
  std::vector<Entry> doubles;
  for (Entry& entry : entries) {
    const bool first = kept.empty() || id_of(kept.back()) != id_of(entry);
    (first ? kept : doubles).push_back(std::move(entry));
  }
  entries = std::move(kept);
  return doubles;
}

template <class Request>
const Request& request_of(const Entry& entry) {
  return std::get<Request>(entry.call().request);
}

}  // namespace

Statement::Statement(Queue& queue) : kind_(kind_of(queue.front())) {
  const bool single = queue.front().company == Company::alone || is_single(kind_);
  const std::size_t most = kind_ >= kind_accept_event ? steps_max : calls_max;
  std::size_t bytes = 0;
  take_front(queue, entries_, bytes);
  while (!single && !queue.empty() && queue.front().company != Company::alone && entries_.size() < most &&
         bytes + body_bytes(queue.front()) <= body_bytes_max) {
    take_front(queue, entries_, bytes);
  }
  entries_ = sorted(std::move(entries_));
  // Only claims can be answered by what another call was told.
  std::vector<Entry> doubles =
      kind_ == kind_claim || kind_ == kind_former ? std::vector<Entry>() : without_doubles(entries_);
  find_leaders();
  queue.insert(queue.begin(), std::move_iterator(doubles.begin()), std::move_iterator(doubles.end()));
}

Statement::Statement(Queues& queues) : kind_(kind_claim) {
  std::size_t bytes = 0;
  for (const std::size_t kind : merged_kinds) {
    std::vector<Entry>& taken = kind == kind_claim ? entries_ : holders_;
    Queue& queue = queues[kind];
    for (std::size_t count = 0; count < calls_max && goes_merged(queue); ++count) {
      if (bytes > 0 && bytes + body_bytes(queue.front()) > body_bytes_max) break;
      take_front(queue, taken, bytes);
    }
  }
  entries_ = sorted(std::move(entries_));
  find_leaders();
  holders_ = sorted(std::move(holders_));
  std::vector<Entry> doubles = without_doubles(holders_);
  for (Entry& entry : doubles | std::views::reverse) queues[kind_of(entry)].push_front(std::move(entry));
}

void Statement::find_leaders() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (i == 0 || id_of(entries_[i - 1]) != id_of(entries_[i])) leaders_.push_back(i);
  }
}

std::vector<ServerStep*> Statement::steps() const {
  std::vector<ServerStep*> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back(entry.step);
  return all;
}

bool Statement::send(const Link& link, Millis patience) const {
  if (kind_ >= kind_accept_event) return entries_.front().step->send(link, steps(), patience);
  std::vector<const StoreCall*> rows;
  rows.reserve(leaders_.size());
  for (const std::size_t leader : leaders_) rows.push_back(&entries_[leader].call());
  if (merged()) {
    std::vector<const StoreCall*> others;
    others.reserve(holders_.size());
    for (const Entry& entry : holders_) others.push_back(&entry.call());
    return batch_arguments(link, rows, others, patience).send(link, batch_sql);
  }
  const auto& first = entries_.front().call().request;
  if (kind_ == kind_ordered) return ordered_arguments(link, rows, patience).send(link, ordered_sql);
  if (kind_ == kind_former) return claim_arguments(link, rows, patience).send(link, former_sql);
  if (kind_ == kind_claim) return claim_arguments(link, rows, patience).send(link, claim_sql);
  if (kind_ == kind_renew) return renew_arguments(link, rows, patience).send(link, renew_sql);
  if (kind_ == kind_complete) return complete_arguments(link, rows, patience).send(link, complete_sql);
  if (kind_ == kind_release) return release_arguments(link, rows, patience).send(link, release_sql);
  if (kind_ >= kind_settle && kind_ <= kind_audit) return send_desk(link, entries_.front().call(), patience);
  if (kind_ >= kind_note && kind_ <= kind_prune) return send_history(link, entries_.front().call(), patience);
  if (kind_ == kind_reopen) {
    Parameters keys = opening(link, patience);
    Array ids(Element::bytea, rows.size());
    Array owners(Element::int8, rows.size());
    for (const Entry& entry : entries_) {
      ids.add(id_of(entry));
      owners.add_unsigned(entry.reopener);
    }
    keys.add(std::move(ids));
    keys.add(std::move(owners));
    return keys.send(link, reopen_sql);
  }
  if (kind_ == kind_look) {
    Parameters keys = opening(link, patience);
    Array ids(Element::bytea, rows.size());
    for (const StoreCall* row : rows) ids.add(row->key.id);
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
  Time latest{};
  for (const Entry& entry : entries_) latest = std::max(latest, entry.deadline);
  for (const Entry& entry : holders_) latest = std::max(latest, entry.deadline);
  return latest;
}

bool Statement::completes() const {
  const auto completion = [](const Entry& entry) { return kind_of(entry) == kind_complete; };
  return kind_ == kind_complete || std::ranges::any_of(holders_, completion);
}

std::vector<Entry> Statement::take() {
  std::ranges::move(holders_, std::back_inserter(entries_));
  holders_.clear();
  return std::move(entries_);
}

Statement::Outcome Statement::read(const PGresult* reply) {
  Outcome outcome;
  if (merged()) {
    read_claims(reply, outcome);
    for (Entry& entry : outcome.again) entry.company = Company::own_kind;
    read_holders(reply, holders_, outcome);
  } else if (auto* sweep = std::get_if<SweepCall>(&entries_.front().call().request)) {
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
    read_holders(reply, entries_, outcome);
  }
  entries_.clear();
  holders_.clear();
  return outcome;
}

// An id without a row changed hands while it was looked at: it is asked for again. So is a claim that is free by what
// the one before it was told, or its own: to be granted takes a write of its own, since what was only read may be lost
// in a failover.
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
        if (!step || std::holds_alternative<Granted>(step->answer)) {
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

void Statement::read_holders(const PGresult* reply, std::vector<Entry>& holders, Outcome& outcome) {
  const RowsById rows(reply, RowsOf::holders);
  const Error fenced{.code = Code::fenced, .detail = "the key is no longer held by this claim, or has ended"};
  for (Entry& entry : holders) {
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
