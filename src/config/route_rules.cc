// Rules between the keys of one route: what is an error, and what deserves a warning.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "config/sections.h"
#include "policy/expression.h"
#include "policy/route.h"
#include "policy/target.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/once.h>

namespace semel::config {
namespace {

// Whether the caller chooses the value of the part, so that two operations can have different ones.
bool is_chosen_by_caller(const policy::Part& part) {
  switch (part.kind) {
    case policy::PartKind::header:
    case policy::PartKind::cookie:
    case policy::PartKind::query:
    case policy::PartKind::json:
      return true;
    default:
      return false;
  }
}

void check_key(reading::TableReader& table, const policy::Route& route) {
  if (!table.good("key_from") || route.key == KeyMode::off) return;
  const auto& parts = route.key_from.parts;
  const bool any =
      std::ranges::any_of(parts, [](const policy::Part& p) { return is_chosen_by_caller(p) && !p.optional; });
  if (!any) {
    table.reject("key_from", table.at("key_from"),
                 "key_from needs a header, cookie, query or json part without `?`: otherwise requests that have none "
                 "of it would all share one key");
  }
  const auto check_target = [&](std::string_view name, const std::optional<policy::Expression>& target) {
    if (!target || !target->has(policy::PartKind::key) || parts.size() <= 1) return;
    table.reject(name, table.at(name),
                 fmt::format("{{key}} in a {} needs a key_from of one part: of several, only a hash is kept", name));
  };
  check_target("probe", route.probe);
  check_target("revalidate", route.revalidate);
}

void check_scope(reading::TableReader& table, const policy::Route& route) {
  if (!table.good("scope") || route.key == KeyMode::off) return;
  const policy::Expression& scope = route.scope;
  const bool authentic = scope.has(policy::PartKind::header) || scope.has(policy::PartKind::cookie) ||
                         scope.has(policy::PartKind::client_cert) || scope.has(policy::PartKind::jwt);
  if (authentic) return;
  if (scope.has(policy::PartKind::query) || scope.has(policy::PartKind::json)) {
    table.warn("scope",
               "scope comes from something that callers choose freely, so one tenant can ask for another's answers; "
               "use what authenticates them");
  } else if (scope.has(policy::PartKind::ip)) {
    table.warn("scope", "scope is the address of the connection; callers behind one proxy or NAT share it");
  } else {
    table.warn("scope", "scope is the same for every caller: anyone who knows a key and its request gets the answer");
  }
}

void check_unknown(reading::TableReader& table, const policy::Route& route) {
  const bool probes = route.target.policy.on_unknown == Policy::OnUnknown::probe;
  if (!table.good("on_unknown") || !table.good("probe")) return;
  if (probes && !route.probe) {
    table.reject("probe", table.at("on_unknown"), "on_unknown = \"probe\" needs `probe`, the target to ask");
  }
  if (route.target.policy.on_unknown == Policy::OnUnknown::retry) {
    table.warn("on_unknown", "on_unknown = \"retry\" runs a request again that may have taken effect");
  }
}

void check_keep(reading::TableReader& table, const policy::Route& route) {
  if (!table.good("keep")) return;
  const auto releases = [&](std::uint16_t status) { return route.target.keep.find(status) == Verdict::release; };
  if (releases(200) || releases(201)) {
    table.warn("keep", "keep releases a success, so a retry has its effect a second time");
  }
  if (releases(502) || releases(504)) {
    table.warn("keep", "keep releases 502 or 504, which may come after the effect; a retry may have it a second time");
  }
}

}  // namespace

void check_route(reading::TableReader& table, const policy::Route& route) {
  check_key(table, route);
  check_scope(table, route);
  check_terms(table, route.target.policy);
  check_unknown(table, route);
  check_keep(table, route);
  const bool waits = route.target.policy.in_flight == Policy::InFlight::wait;
  if (table.good("wait_max") && table.good("ttl") && waits && route.target.policy.wait_max > route.target.policy.ttl) {
    table.reject("wait_max", table.at("wait_max"), "wait_max is longer than ttl");
  }
  if (table.has("wait_max") && !waits && table.good("in_flight")) {
    table.warn("wait_max", "wait_max has no effect unless in_flight = \"wait\"");
  }
  if (table.good("ttl") && route.target.policy.ttl < reading::one_day) {
    table.warn("ttl", "ttl is under 24h, which clients of such APIs expect; a later retry runs again");
  }
  if (route.fingerprint == BodyForm::raw && table.good("fingerprint")) {
    if (!route.ignore.empty()) {
      table.reject("ignore", table.at("ignore"), "ignore needs fingerprint = \"json\"");
    }
    table.warn("fingerprint",
               "fingerprint = \"raw\": a retry that writes the same JSON in another way is refused (422)");
  }
  if (route.target.on_store_down == policy::OnStoreDown::forward) {
    table.warn("on_store_down",
               "on_store_down = \"forward\": while the store is down, retries have their effect again");
  }
  if (route.mode == policy::Mode::observe) {
    table.warn("mode", "mode = \"observe\" only counts; nothing is guarded on this route");
  }
}

}  // namespace semel::config
