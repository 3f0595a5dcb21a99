// Ways of failing are drawn at each commit; only apply() makes anything durable.
#include "sim/inbox_disk.h"

#include <string>

#include "store/inbox_codec.h"

namespace semel::sim {

Result<std::optional<Record>> InboxDisk::read(const Digest& id) {
  if (stopped_) return fail(Code::unavailable, "the disk is stopped");
  const auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> InboxDisk::admit() {
  if (!world_.strikes(world_.setup.faults.admit_full)) return {};
  return fail(Code::full, "no room for a key");
}

CommitFate InboxDisk::draw() {
  const InboxFaults& faults = world_.setup.faults;
  const auto doomed = doomed_.find(world_.stats.commits);
  if (doomed != doomed_.end()) return doomed->second;
  if (world_.strikes(faults.commit_full)) return CommitFate::full;
  if (world_.strikes(faults.commit_failed)) return CommitFate::failed;
  if (!world_.strikes(faults.commit_crashed)) return CommitFate::written;
  return world_.random.chance(5'000) ? CommitFate::cut_before : CommitFate::cut_after;
}

Result<void> InboxDisk::commit_with(std::span<const store::embedded::Change> changes,
                                    const store::OverlayTable::Changes& inbox) {
  if (stopped_) return fail(Code::unavailable, "the disk is stopped");
  Batch batch{{changes.begin(), changes.end()}, inbox};
  ++world_.stats.commits;
  const CommitFate fate = draw();
  if (fate == CommitFate::written) {
    apply(batch);
    return {};
  }
  ++world_.stats.commit_faults;
  if (fate == CommitFate::full) return fail(Code::full, "no room for a batch");
  stopped_ = true;
  if (fate == CommitFate::failed) {
    world_.note("disk: the sync failed");
    limbo_ = std::move(batch);
    return fail(Code::unavailable, "the sync failed");
  }
  cut_off_ = true;
  world_.note(fate == CommitFate::cut_after ? "disk: crash after the sync" : "disk: crash before the sync");
  if (fate == CommitFate::cut_after) apply(batch);
  return fail(Code::unavailable, "the process ends here");
}

void InboxDisk::apply(const Batch& batch) {
  for (const store::embedded::Change& change : batch.first) {
    if (change.record) {
      records_.insert_or_assign(change.id, *change.record);
    } else {
      records_.erase(change.id);
    }
  }
  for (const auto& [key, value] : batch.second) {
    if (value) {
      table_.put(key, *value);
    } else {
      table_.erase(key);
    }
  }
  oracle_.written(batch.second);
}

Result<std::vector<store::embedded::Expiry>> InboxDisk::expiries(
    Time /*now*/, std::size_t /*limit*/, const std::optional<store::embedded::Expiry>& /*after*/) {
  return std::vector<store::embedded::Expiry>{};
}

Result<std::optional<std::string>> InboxDisk::get(std::string_view key) {
  if (stopped_) return fail(Code::unavailable, "the disk is stopped");
  const bool of_event = key.starts_with(store::event_prefix);
  if (of_event && world_.strikes(world_.setup.faults.read_failed)) return fail(Code::unavailable, "a read failed");
  return table_.get(key);
}

Result<void> InboxDisk::walk(std::string_view begin, std::string_view prefix, store::InboxVisit visit) {
  if (stopped_) return fail(Code::unavailable, "the disk is stopped");
  return table_.walk(begin, prefix, visit);
}

void InboxDisk::restart() {
  stopped_ = false;
  cut_off_ = false;
  if (limbo_ && reappears_.value_or(world_.random.chance(5'000))) {
    world_.note("disk: what was not synced reappears");
    apply(*limbo_);
  }
  limbo_.reset();
}

}  // namespace semel::sim
