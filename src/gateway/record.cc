#include "gateway/record.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/config.h"
#include "gateway/clue.h"
#include "gateway/incoming.h"
#include "gateway/told.h"
#include "telemetry/histogram.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
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

}  // namespace

void record(const Incoming& incoming, telemetry::RouteMetrics& route, const Told& told) {
  take_note(incoming, route, told);
  telemetry::count(route.by_ending, told.ending);
  if (told.problem) telemetry::count(route.by_problem, *told.problem);
  if (told.bad_outcome_field) route.bad_outcome_fields.fetch_add(1, std::memory_order_relaxed);
  const std::uint16_t status = incoming.client.status_sent();
  const config::LogLevel level = level_of(told, status);
  if (!incoming.config().log.takes(level)) return;
  incoming.services.log.add({.at = incoming.services.clock.wall(),
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
                             .trace = incoming.client.head().find("traceparent").value_or(""),
                             .detail = told.detail,
                             .event_type = told.event.type,
                             .object = told.event.object});
}

}  // namespace semel::gateway
