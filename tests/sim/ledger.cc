// Ways of failing are drawn at each commit; only apply() makes anything durable.
#include "sim/ledger.h"

#include <utility>

namespace semel::sim {
namespace {

constexpr Millis reclaim_margin{3'000};  // longer than any batch is under way

}  // namespace

Result<void> SimLedger::fail_now(const char* what) {
  ++world_.stats.commit_faults;
  world_.disturb();
  world_.note(-1, 0, what);
  stopped_ = true;
  return fail(Code::unavailable, what);
}

Result<std::optional<Record>> SimLedger::read(const Digest& id) {
  if (stopped_) return fail(Code::unavailable, "the ledger is stopped");
  const Record* record = durable(id);
  if (record == nullptr) return std::nullopt;
  return *record;
}

Result<void> SimLedger::admit() {
  if (!world_.strikes(world_.setup.faults.commit_full)) return {};
  world_.disturb();
  return fail(Code::full, "no room for a claim");
}

Result<void> SimLedger::commit(std::span<const store::embedded::Change> changes) {
  if (stopped_) return fail(Code::unavailable, "the ledger is stopped");
  const Faults& faults = world_.setup.faults;
  if (world_.strikes(faults.commit_full)) {
    ++world_.stats.commit_faults;
    world_.disturb();
    return fail(Code::full, "no room for a batch");
  }
  if (world_.strikes(faults.commit_failed)) {
    limbo_.assign(changes.begin(), changes.end());
    limbo_deeds_ = deeds_();
    return fail_now("ledger: the sync failed");
  }
  if (world_.strikes(faults.commit_crashed)) {
    crashed_ = true;
    const bool written = world_.random.chance(5'000);
    if (written) apply(changes, deeds_());
    return fail_now(written ? "ledger: crash after the sync" : "ledger: crash before the sync");
  }
  apply(changes, deeds_());
  return {};
}

void SimLedger::apply(std::span<const store::embedded::Change> changes, const Deeds& deeds) {
  oracle_->judged(deeds);
  for (const store::embedded::Change& change : changes) {
    oracle_->changed(durable(change.id), change, deeds);
    if (change.replaced_expiry) index_.erase({.at = *change.replaced_expiry, .id = change.id});
    if (change.record) {
      index_.insert({.at = change.record->expires_at, .id = change.id});
      records_.insert_or_assign(change.id, *change.record);
    } else {
      records_.erase(change.id);
    }
  }
}

Result<std::vector<store::embedded::Expiry>> SimLedger::expiries(Time now, std::size_t limit,
                                                                 const std::optional<store::embedded::Expiry>& after) {
  if (stopped_) return fail(Code::unavailable, "the ledger is stopped");
  if (world_.random.chance(1'000)) reclaim(now);
  std::vector<store::embedded::Expiry> due;
  auto it = after ? index_.upper_bound(*after) : index_.begin();
  for (; it != index_.end() && it->at <= now && due.size() < limit; ++it) due.push_back(*it);
  return due;
}

// As a compaction filter does: a record that has long expired goes, and its entry in the index stays.
void SimLedger::reclaim(Time now) {
  for (const store::embedded::Expiry& entry : index_) {
    const Record* record = durable(entry.id);
    if (entry.at > now - reclaim_margin) return;
    if (record == nullptr || record->expires_at != entry.at) continue;
    if (record->state != Record::State::done && record->state != Record::State::released) continue;
    Deed sweep = deed_of(store::StoreCall{});
    sweep.at = now;
    oracle_->changed(record, {.id = entry.id, .record = {}, .replaced_expiry = {}}, {sweep});
    records_.erase(entry.id);
    return;
  }
}

void SimLedger::restart() {
  if (!limbo_.empty() && world_.random.chance(5'000)) {
    world_.note(-1, 0, "ledger: what was not synced reappears");
    apply(limbo_, limbo_deeds_);
  }
  limbo_.clear();
  stopped_ = false;
  crashed_ = false;
}

const Record* SimLedger::durable(const Digest& id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second;
}

}  // namespace semel::sim
