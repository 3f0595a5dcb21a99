// What is left of a request: counts, a sighting for its timeline, a line of the log. In this order, and each only if
// asked for.
#include "gateway/record.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/config.h"
#include "gateway/clue.h"
#include "gateway/incoming.h"
#include "gateway/told.h"
#include "telemetry/cause.h"
#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include "telemetry/sighting.h"
#include "telemetry/tail.h"
#include <semel/clock.h>
#include <semel/problem.h>

namespace semel::gateway {
namespace {

// Error: somebody has to look at it. Warning: somebody did not get what was asked for.
config::LogLevel level_of(const Told& told, std::uint16_t status) {
  using telemetry::Ending;
  if (told.ending == Ending::unknown || told.problem == ProblemType::outcome_unknown ||
      told.problem == ProblemType::store_unavailable || told.problem == ProblemType::record_corrupt ||
      told.problem == ProblemType::upstream_unreachable) {
    return config::LogLevel::error;
  }
  const bool refused = told.ending == Ending::refused || told.ending == Ending::malformed || status >= 500;
  return refused ? config::LogLevel::warning : config::LogLevel::info;
}

// Of a key that is in the store, or was looked for there.
bool is_sighted(const Incoming& incoming, const Told& told) {
  const bool of_key = told.key || !told.events.empty();
  return incoming.services.sighted != nullptr && of_key && told.ending != telemetry::Ending::observed;
}

telemetry::Sighting sighting_of(const telemetry::LogEntry& entry, const Told& told) {
  return {.id = {},
          .at = entry.at,
          .fence = told.fence,
          .shape = told.shape,
          .time = entry.time,
          .upstream_time = told.upstream_time,
          .status = entry.status,
          .upstream_status = told.upstream_status,
          .ending = told.ending,
          .problem = told.problem,
          .cause = told.cause,
          .waited = told.waited,
          .upstream = told.upstream,
          .route = entry.route,
          .client = entry.client,
          .agent = entry.agent};
}

// Of several events, some may have run with this delivery and others before it: those were repeated, or came too late.
void sight_events(telemetry::SightingBuffer& into, const telemetry::Sighting& seen, const Told& told) {
  for (const EventTold& event : told.events) {
    telemetry::Sighting one = seen;
    one.id = event.id;
    one.fence = event.fence;
    if (event.fence == 0 && !told.upstream.empty()) {
      one.upstream = {};
      one.upstream_status = 0;
      one.ending = event.superseded ? telemetry::Ending::superseded : telemetry::Ending::replayed;
      one.problem = std::nullopt;
      one.cause = telemetry::Cause::none;
    }
    into.add(one);
  }
}

void sight(const Incoming& incoming, const telemetry::LogEntry& entry, const Told& told) {
  telemetry::Sighting seen = sighting_of(entry, told);
  if (!told.events.empty()) {
    sight_events(*incoming.services.sighted, seen, told);
    return;
  }
  seen.id = entry.key->id;
  incoming.services.sighted->add(seen);
}

}  // namespace

void record(const Incoming& incoming, telemetry::RouteMetrics& route, const Told& told) {
  take_note(incoming, route, told);
  telemetry::count(route.by_ending, told.ending);
  if (told.problem) telemetry::count(route.by_problem, *told.problem);
  if (told.bad_outcome_field) route.bad_outcome_fields.fetch_add(1, std::memory_order_relaxed);
  if (told.upstream_time.count() > 0) {
    route.upstream_seconds.add(std::chrono::duration<double>(told.upstream_time).count());
  }
  const std::uint16_t status = incoming.client.status_sent();
  const config::LogLevel level = level_of(told, status);
  const bool logged = incoming.config().log.takes(level);
  const bool sighted = is_sighted(incoming, told);
  const bool watched = incoming.services.tail.watched();
  if (!logged && !sighted && !watched) return;
  const telemetry::LogEntry entry{.at = incoming.services.clock.wall(),
                                  .level = level,
                                  .method = incoming.request.method,
                                  .path = incoming.request.path,
                                  .route = route.label,
                                  .outcome = name(told.ending),
                                  .problem = told.problem ? Problem::of(*told.problem).slug() : std::string_view(),
                                  .status = status,
                                  .key = told.key ? &*told.key : nullptr,
                                  .fence = told.fence,
                                  .time = incoming.services.clock.stopwatch() - incoming.started,
                                  .upstream_time = told.upstream_time,
                                  .cause = name(told.cause),
                                  .differs = told.differs,
                                  .would = told.would,
                                  .client = incoming.request.ip,
                                  .agent = incoming.client.head().find("User-Agent").value_or(""),
                                  .trace = incoming.client.head().find("traceparent").value_or(""),
                                  .detail = told.detail,
                                  .event_type = told.event.type,
                                  .object = told.event.object};
  if (logged) incoming.services.log.add(entry);
  if (sighted) sight(incoming, entry, told);
  if (watched) incoming.services.tail.offer(entry);
}

}  // namespace semel::gateway
