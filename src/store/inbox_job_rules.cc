// What a job is about, in one place: those who count and those who act ask here.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"

namespace semel::store {
namespace {

bool about(const DeliveryFilter& filter, const AcceptedEvent& event) {
  return (!filter.source || *filter.source == event.source) && (!filter.type || *filter.type == event.type) &&
         (!filter.object || *filter.object == event.line.object) &&
         (!filter.from || event.id.accepted_at() >= *filter.from) &&
         (!filter.until || event.id.accepted_at() < *filter.until);
}

bool allows(JobAction action, DeliveryState state) {
  if (action == JobAction::replay) return state != DeliveryState::running;
  return state == DeliveryState::waiting || state == DeliveryState::dead || state == DeliveryState::unknown;
}

bool about(const JobScope& scope, const DeliveryRecord& delivery) {
  const DeliveryFilter& filter = scope.filter;
  return allows(scope.action, delivery.state) && (!filter.state || *filter.state == delivery.state) &&
         (!filter.to || *filter.to == delivery.to) && (!scope.why || *scope.why == delivery.why);
}

}  // namespace

std::string_view name(JobAction action) {
  switch (action) {
    case JobAction::replay:
      return "replay";
    case JobAction::discard:
      return "discard";
    case JobAction::backfill:
      return "backfill";
    case JobAction::erase:
      break;
  }
  return "erase";
}

std::optional<JobAction> job_action(std::string_view text) {
  for (const JobAction action : {JobAction::replay, JobAction::discard, JobAction::backfill, JobAction::erase}) {
    if (name(action) == text) return action;
  }
  return std::nullopt;
}

std::string_view name(JobState state) {
  switch (state) {
    case JobState::planned:
      return "planned";
    case JobState::running:
      return "running";
    case JobState::done:
      return "done";
    case JobState::cancelled:
      break;
  }
  return "cancelled";
}

std::uint64_t open_of(const InboxJob& job) {
  const bool sends = job.scope.action == JobAction::replay || job.scope.action == JobAction::backfill;
  return sends ? job.taken - job.done - job.dead - job.other : 0;
}

std::vector<std::size_t> targets_of(const JobScope& scope, const AcceptedEvent& event) {
  if (!about(scope.filter, event) || event.deliveries.empty()) return {};
  if (event.bytes == 0 && scope.action != JobAction::discard) return {};
  if (scope.action == JobAction::erase) return {0};
  if (scope.action == JobAction::backfill) {
    const auto goes_there = [&](const DeliveryRecord& each) { return each.to == scope.filter.to; };
    if (std::ranges::any_of(event.deliveries, goes_there)) return {};
    return {event.deliveries.size()};
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < event.deliveries.size(); ++i) {
    if (about(scope, event.deliveries[i])) found.push_back(i);
  }
  return found;
}

}  // namespace semel::store
