// The queues, and who leaves them early.
#include "store/postgres/backlog.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "store/call.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>

namespace semel::store::postgres {
namespace {

// Not so the end of a claim: what it reports has happened.
bool impatient(const Entry& entry) {
  if (entry.step != nullptr) return entry.step->is_impatient();
  const StoreCall& call = entry.call();
  return std::holds_alternative<ClaimCall>(call.request) || std::holds_alternative<SweepCall>(call.request) ||
         std::holds_alternative<LookCall>(call.request);
}

void take_front(Queue& queue, std::vector<Entry>& taken) {
  taken.push_back(std::move(queue.front()));
  queue.pop_front();
}

// Whether calls of other kinds wait that would go in one transaction with those of `kind`.
bool has_company(const Queues& queues, std::size_t kind) {
  if (std::ranges::find(merged_kinds, kind) == merged_kinds.end()) return false;
  return std::ranges::any_of(merged_kinds,
                             [&](std::size_t other) { return other != kind && goes_merged(queues[other]); });
}

}  // namespace

void Backlog::add(Entry entry) {
  queues_[kind_of(entry)].push_back(std::move(entry));
}

void Backlog::add_first(Entry entry) {
  queues_[kind_of(entry)].push_front(std::move(entry));
}

bool Backlog::empty() const {
  return std::ranges::all_of(queues_, [](const Queue& queue) { return queue.empty(); });
}

std::size_t Backlog::size() const {
  std::size_t waiting = 0;
  for (const Queue& queue : queues_) waiting += queue.size();
  return waiting;
}

std::unique_ptr<Statement> Backlog::next() {
  for (std::size_t tried = 0; tried < kinds; ++tried) {
    next_kind_ = (next_kind_ + 1) % kinds;
    Queue& queue = queues_[next_kind_];
    if (queue.empty()) continue;
    if (goes_merged(queue) && has_company(queues_, next_kind_)) return std::make_unique<Statement>(queues_);
    return std::make_unique<Statement>(queue);
  }
  return nullptr;
}

std::unique_ptr<Statement> Backlog::next_apart() {
  for (const std::size_t kind : {kind_complete, kind_release, kind_renew}) {
    Queue& queue = queues_[kind];
    if (!queue.empty() && queue.front().company == Company::own_kind) return std::make_unique<Statement>(queue);
  }
  return nullptr;
}

std::unique_ptr<Statement> Backlog::next_alone() {
  const auto alone = [](const Queue& queue) { return !queue.empty() && queue.front().company == Company::alone; };
  const auto found = std::ranges::find_if(queues_, alone);
  return found == queues_.end() ? nullptr : std::make_unique<Statement>(*found);
}

std::unique_ptr<Statement> Backlog::next_with(Entry entry) {
  Queue& queue = queues_[kind_of(entry)];
  queue.push_back(std::move(entry));
  return std::make_unique<Statement>(queue);
}

Time Backlog::next_deadline(Time latest) const {
  for (const Queue& queue : queues_) {
    if (!queue.empty()) latest = std::min(latest, queue.front().deadline);
  }
  return latest;
}

std::vector<Entry> Backlog::take_late(Time now) {
  std::vector<Entry> taken;
  for (Queue& queue : queues_) {
    while (!queue.empty() && queue.front().deadline <= now) take_front(queue, taken);
  }
  return taken;
}

std::vector<Entry> Backlog::take_impatient() {
  std::vector<Entry> taken;
  for (Queue& queue : queues_) {
    while (!queue.empty() && impatient(queue.front())) take_front(queue, taken);
  }
  return taken;
}

std::vector<Entry> Backlog::take_all() {
  std::vector<Entry> taken;
  for (Queue& queue : queues_) {
    std::ranges::move(queue, std::back_inserter(taken));
    queue.clear();
  }
  return taken;
}

}  // namespace semel::store::postgres
