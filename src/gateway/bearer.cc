#include "gateway/bearer.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/check.h"
#include "gateway/incoming.h"
#include "gateway/key_cache.h"
#include "gateway/told.h"
#include "policy/caller_token.h"
#include "policy/expression.h"
#include "policy/fields.h"
#include "policy/request_view.h"
#include "telemetry/metrics.h"
#include "webhook/fetched_keys.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr std::string_view payer = "[jwt]";
constexpr std::string_view not_now = "the keys that verify tokens cannot be fetched right now";
// An issuer that is down for some hours must not stop every payment.
constexpr Millis keys_usable_for{24 * 3'600'000};

Bearer bearer_from(policy::JudgedCaller judged) {
  Bearer bearer;
  if (auto* const claims = std::get_if<policy::TokenClaims>(&judged)) bearer.claims = std::move(claims->json);
  if (const auto* const fault = std::get_if<policy::TokenFault>(&judged)) bearer.fault = policy::words(*fault);
  if (const auto* const wanted = std::get_if<policy::KeysWanted>(&judged)) {
    bearer.unknowable = !wanted->refresh;  // otherwise the newest keys do not have the one that is named
    bearer.fault = wanted->refresh ? policy::words(policy::TokenFault::signature) : not_now;
  }
  return bearer;
}

// The service would get the request without it, and take it for somebody else's.
bool is_dropped(const policy::TokenRules& rules, const policy::RequestView& request) {
  const policy::Part& from = rules.from.parts.front();
  return from.kind == policy::PartKind::header &&
         policy::contains_name(policy::named_by_connection(request.fields), from.text);
}

}  // namespace

Task<Bearer> bearer_of(const Incoming* incoming) {
  const policy::TokenRules& rules =
      core::present(incoming->config().jwt, "a route with {jwt:} is refused where there is no [jwt]");
  if (is_dropped(rules, incoming->request)) {
    co_return Bearer{.claims = {}, .fault = "the Connection field names the field of the token"};
  }
  KeyCache& keys = incoming->services.keys;
  const auto judge = [&](std::optional<std::string_view> fetched) {
    return policy::judge_caller(rules, incoming->request, incoming->services.clock.wall(), fetched);
  };
  policy::JudgedCaller judged = judge(keys.find(rules.keys_url));
  if (std::holds_alternative<policy::KeysWanted>(judged)) {
    webhook::Wanted wanted{.url = rules.keys_url, .usable_for = keys_usable_for};
    const bool fetched = co_await keys.fetch(std::move(wanted), std::string(payer));
    judged = judge(fetched ? keys.find(rules.keys_url) : keys.find_aged(rules.keys_url));
  }
  if (std::holds_alternative<policy::TokenClaims>(judged) && !rules.keys_url.empty()) keys.confirm(rules.keys_url);
  co_return bearer_from(std::move(judged));
}

Told told_unknowable() {
  Told told = told_plainly(telemetry::Ending::refused, 503,
                           "Who the bearer is cannot be told: " + std::string(not_now) + ".", Problem::Retry::same_key);
  std::get<OwnReply>(told.reply).response.fields.push_back({.name = "Retry-After", .value = "5"});
  told.detail = not_now;
  return told;
}

Field challenge(const Bearer& bearer) {
  if (bearer.fault.empty()) return {.name = "WWW-Authenticate", .value = "Bearer"};
  return {.name = "WWW-Authenticate",
          .value = fmt::format("Bearer error=\"invalid_token\", error_description=\"{}\"", bearer.fault)};
}

}  // namespace semel::gateway
