#include "cli/resolving.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "config/config.h"
#include "core/printable.h"
#include "gateway/ask_probe.h"
#include "gateway/gateway.h"
#include "gateway/scribe.h"
#include "reading/issue.h"
#include "resolver/resolvers.h"
#include "resolver/route_resolver.h"
#include "telemetry/exposition.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::cli {

Result<std::unique_ptr<resolver::Resolvers>> make_resolvers(const config::Config& config, const ResolverStore& store,
                                                            gateway::Gateway& gateway, Clock& clock) {
  if (config.resolvers.empty()) return nullptr;
  if (store.desk == nullptr || store.audit == nullptr || store.history == nullptr) {
    return fail(Code::invalid, "[[resolver]] needs a store that can be looked into, with an audit log and a history");
  }
#ifndef SEMEL_HAS_POSTGRES
  for (const config::ResolverConfig& each : config.resolvers) {
    if (each.ask != config::ResolverAsk::sql) continue;
    return fail(Code::invalid,
                "[[resolver]]: this program was built without PostgreSQL, so ask = \"sql\" is not there");
  }
#endif
  resolver::ResolverParts parts{
      .books = {.desk = *store.desk,
                .audit = *store.audit,
                .history = store.history,
                .forget = [&gateway](Key key) { return gateway.forget(std::move(key)); },
                .now = [&clock] { return clock.wall(); }},
      .clock = clock,
      .node = gateway::node_name(),
      .say = [](const std::string& line) { fmt::print(stderr, "semel: {}\n", core::printable(line)); }};
  const auto ask = [&gateway](gateway::ProbeTarget asked) { return gateway.ask_target(std::move(asked)); };
  return std::make_unique<resolver::Resolvers>(std::move(parts), config, ask);
}

bool check_resolvers(const config::Config& config, const std::string& path, const Clock& clock) {
  bool sound = true;
  for (const config::ResolverConfig& resolver : config.resolvers) {
    if (resolver.ask != config::ResolverAsk::sql) continue;
    const std::string& route = config.routes[resolver.route].path.text;
    const Result<void> checked = resolver::check_source(clock, config, resolver);
    if (checked) {
      fmt::print("  resolver of {}: its database takes the query\n", route);
      continue;
    }
    const bool wrong = checked.error().code == Code::invalid;
    const std::string message =
        wrong ? "the database does not take the query of the resolver: " + checked.error().detail
              : fmt::format("the database of the resolver of {} cannot be asked, so its query was not looked at: {}",
                            route, checked.error().detail);
    const reading::Issue issue{.severity = wrong ? reading::Severity::error : reading::Severity::warning,
                               .file = path,
                               .at = resolver.query_at.at,
                               .message = message,
                               .suggestion = {}};
    fmt::print(stderr, "{}\n", reading::to_text(issue));
    sound = sound && !wrong;
  }
  return sound;
}

void render_resolvers(std::string& out, const resolver::Resolvers* resolvers, const gateway::Gateway& gateway) {
  if (resolvers == nullptr) return;
  resolvers->render(out);
  telemetry::heading(out, "semel_resolver_reminders_lost_total", "counter",
                     "Requests that went on although what a resolver needs to ask about them could not be noted.");
  telemetry::sample(out, "semel_resolver_reminders_lost_total", gateway.reminders_lost());
}

}  // namespace semel::cli
